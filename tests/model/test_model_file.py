"""Model files: what comes back, and what is refused."""

import json
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import BIAS, InputError, Model, Template, Vocabulary, fit
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import FORMAT, VERSION

TOKENS = [["dogs", "suffix:s"], ["bark"], ["unknown", ("loud", 2.5)]]


@pytest.fixture
def model():
    return Model.from_weights(
        ["NOUN", "VERB", "Ü"],
        {
            ("dogs", "NOUN"): 2.0,
            ("nothing", "VERB"): 0.0,
            ("bark", "VERB"): 0.1,
            ("loud", "Ü"): -1 / 3,
            ("é", "Ü"): 1.0,
        },
        {(BIAS, None, "NOUN"): 0.5, (BIAS, "NOUN", "VERB"): 1.5, ("bark", "NOUN", "VERB"): 0.25, ("é", "Ü", "Ü"): 0.0},
    )


def parts(model):
    """Metadata and arrays of the model's file, free to be changed."""
    metadata, arrays = unpack(model.to_bytes(), "good", FORMAT, VERSION)
    for name in ("format", "version"):
        del metadata[name]
    return metadata, {name: np.array(array.data).reshape(array.shape) for name, array in arrays.items()}


def test_round_trip(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = Model.load(path)
    assert loaded.labels == model.labels
    assert loaded.n_active == len(loaded.w) == 7
    assert [loaded.vocabulary.attributes[k] for k in range(len(loaded.vocabulary.attributes))] == [
        "dogs",
        "bark",
        "loud",
        "é",
        BIAS,
    ]
    assert loaded.vocabulary.bigrams == {"bark", BIAS}
    assert loaded.vocabulary.start
    assert loaded.label(TOKENS) == model.label(TOKENS)
    assert np.array_equal(loaded.marginals(TOKENS), model.marginals(TOKENS))
    assert loaded.to_bytes() == model.to_bytes() == path.read_bytes()
    assert os.listdir(tmp_path) == [path.name]


def test_what_comes_with_the_weights(model):
    template = Template("# words\nU:%x[0,0]\nB\n", "wapiti")
    record = {"rho1": 0.5, "gap": None, "solver": "auto", "counts": {"tokens": 12}, "note": "naïve \x1f\n"}
    given_ = Model(model.vocabulary, model.features, model.w, template=template, n_columns=3, training=record)
    loaded = Model.from_bytes(given_.to_bytes())
    assert (loaded.template.text, loaded.template.boundary) == (template.text, "wapiti")
    assert (loaded.n_columns, loaded.training) == (3, record)
    assert Model.from_bytes(model.to_bytes()).template is None


@pytest.mark.parametrize(("bigrams", "expected"), [("bias", "bias"), ("all", "all"), ({"a"}, {"a", BIAS})])
def test_which_attributes_condition_pairs(bigrams, expected):
    pairs = {"bias": [BIAS], "all": [BIAS, "a", "b"]}.get(bigrams if isinstance(bigrams, str) else "", [BIAS, "a"])
    weights = {(x, "N", "V"): 1.0 for x in pairs}
    made = Model.from_weights(["N", "V"], {("a", "N"): 1.0, ("b", "V"): 1.0}, weights, bigrams=bigrams)
    assert Model.from_bytes(made.to_bytes()).vocabulary.bigrams == expected


def test_no_start_label():
    made = Model.from_weights(["N", "V"], {("a", "N"): 1.0}, {(BIAS, "N", "V"): 1.0}, start=False)
    assert not Model.from_bytes(made.to_bytes()).vocabulary.start


def test_a_model_without_weights():
    loaded = Model.from_bytes(Model.from_weights(["N"], {("a", "N"): 0.0}).to_bytes())
    assert (loaded.n_active, len(loaded.vocabulary.attributes), loaded.label(["a", "b"])) == (0, 0, ["N", "N"])


def test_training_is_on_record():
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([["a", "b"]] * 3, [["X", "Y"]] * 3, grow=True)
    found = fit(corpus, rho1=0.1, rho2=0.0)
    record = Model.from_bytes(found.model(vocabulary).to_bytes()).training
    assert (record["rho1"], record["tokens"], record["stopped_by"]) == (0.1, 6, found.stopped_by)
    assert record["objective"] == found.objective


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
weights = st.floats(-100, 100) | st.just(0.0)


@st.composite
def models(draw):
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    attributes = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    one, x = st.sampled_from(labels), st.sampled_from(attributes)
    unigram = draw(st.dictionaries(st.tuples(x, one), weights, max_size=8))
    bigram = draw(st.dictionaries(st.tuples(x | st.just(BIAS), st.none() | one, one), weights, max_size=8))
    token = st.lists(x | st.tuples(x, st.floats(-2, 2)), max_size=3)
    sequence = draw(st.lists(token, min_size=1, max_size=5))
    return Model.from_weights(labels, unigram, bigram, start=draw(st.booleans())), sequence


@pytest.mark.slow
@given(models())
def test_answers_are_the_same_to_the_bit(drawn):
    made, sequence = drawn
    loaded, compact = Model.from_bytes(made.to_bytes()), made.compacted()
    assert loaded.to_bytes() == made.to_bytes() == compact.to_bytes()
    assert loaded.label(sequence) == compact.label(sequence)
    assert np.array_equal(loaded.marginals(sequence), compact.marginals(sequence))
    np.testing.assert_allclose(loaded.marginals(sequence), made.marginals(sequence), rtol=1e-10, atol=1e-12)


def test_the_safetensors_package_reads_it(model):
    from safetensors.numpy import load

    arrays = load(model.to_bytes())
    assert arrays["labels.bytes"].tobytes().decode() == "NOUNVERBÜ"
    assert arrays["labels.offsets"].tolist() == [0, 4, 8, 10]
    assert np.array_equal(arrays["weights"], model.w[model.w != 0])


def test_bytes_of_any_kind(model):
    data = model.to_bytes()
    for same in (bytearray(data), memoryview(b"x" + data)[1:]):
        assert Model.from_bytes(same).to_bytes() == data


# Files.


def test_the_file_is_free_after_loading(model, tmp_path):
    """After loading, the file is free: its content was copied."""
    path = tmp_path / "model.safetensors"
    model.save(path)
    path.chmod(0o400)
    loaded = Model.load(path)
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as maps:
            assert str(path) not in maps.read()
    path.chmod(0o600)
    path.write_bytes(b"")
    assert np.array_equal(loaded.w, model.w[model.w != 0])


def test_a_save_that_fails_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    model.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            Model.from_weights(["other"], {("a", "other"): 1.0}).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_where_no_model_can_be(model, tmp_path):
    with pytest.raises(InputError, match=r"nosuch.*the directory .* does not exist"):
        model.save(tmp_path / "nosuch" / "model.safetensors")
    with pytest.raises(OSError, match="directory"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError):
        Model.load(tmp_path / "nosuch")
    with pytest.raises(OSError, match="directory"):
        Model.load(tmp_path)
    with pytest.raises(InputError, match="expected a sparsecrf model, found something other than a file"):
        Model.load(os.devnull)


def test_loading_imports_little(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    script = (
        "import sys; from sparsecrf.model import Model; Model.load(sys.argv[1]); "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'safetensors', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


# Damage.


def refuses(data, expected, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(InputError, match=expected) as error:
        Model.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "found" in str(error.value)
    return str(error.value)


@pytest.mark.slow
def test_every_flipped_bit_is_found(model):
    whole = model.to_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            with pytest.raises(InputError, match=r"(?s)^model in memory: expected .*found"):
                Model.from_bytes(damaged)


def test_every_missing_end_is_found(model):
    whole = model.to_bytes()
    for length in range(len(whole)):
        with pytest.raises(InputError, match="expected"):
            Model.from_bytes(whole[:length])
    with pytest.raises(InputError, match="expected"):
        Model.from_bytes(whole + b"\0")


def test_foreign_files(tmp_path):
    from safetensors.numpy import save

    refuses(b"", "expected a sparsecrf model, found an empty file", tmp_path)
    refuses(b"He PRP B-NP\nreckons VBZ B-VP\n\n", "found text that begins with .He PRP B-NP", tmp_path)
    refuses(b"PK\x03\x04" + bytes(100), "a file of another kind", tmp_path)
    refuses(save({"w": np.zeros(3)}), "found 'another kind of file'", tmp_path)
    refuses(save({"w": np.zeros(3)}, {"format": "pt"}), "found 'pt'", tmp_path)
    refuses(pack("sparsecrf checkpoint", 2, {}, {}), "found 'sparsecrf checkpoint'", tmp_path)


def test_an_error_may_cut_a_character(model, tmp_path):
    """Errors show the first 80 bytes of what is wrong."""
    metadata, arrays = parts(model)
    wrong = {**metadata, "training": "{" + "é" * 50}
    refuses(pack(FORMAT, 1, wrong, arrays), r"expected JSON as training, found '\{é+\\xc3' \(byte", tmp_path)


def test_another_version(model, tmp_path):
    metadata, arrays = parts(model)
    refuses(pack(FORMAT, 4, metadata, arrays), "expected .* of version 1 or 2 or 3, found version '4'", tmp_path)
    refuses(pack(FORMAT, 2, metadata, arrays), "expected arrays .*ngrams", tmp_path)


def with_header(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


DESCRIBED = {"__metadata__": {"format": FORMAT, "version": str(VERSION)}}


def array(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack("<Q", 2**63) + b"{}" + bytes(100), "header of 9223372036854775808"),
        (struct.pack("<Q", 96) + b"{}", r"an incomplete one \(10 bytes, header of 96\)"),
        (with_header(b"[" * 100_000), "does not begin with"),
        (with_header(b'{"a":' + b"[" * 100_000), "not a JSON object"),
        (with_header(b'{"a":NaN}'), "not a JSON object"),
        (with_header(b'{"a":1' + b"0" * 10_000 + b"}"), "another kind of file"),
        (with_header(b'{"a":"\xff"}'), "not a JSON object"),
        (with_header(b'{"__metadata__":{"a":"1","a":"2"}}'), "not a JSON object .*expected distinct names"),
        (with_header({"__metadata__": {"format": 1}}), "metadata that map names to strings"),
        (with_header(DESCRIBED | {"w": 3}, bytes(8)), "dtype, shape and data_offsets"),
        (with_header(DESCRIBED | {"w": array("F16")}, bytes(8)), "a dtype of"),
        (with_header(DESCRIBED | {"w": array(["F64"])}, bytes(8)), "a dtype of"),
        (with_header(DESCRIBED | {"w": array(shape=[1.0])}, bytes(8)), "integers from 0 to 2.63 - 1 as shape"),
        (with_header(DESCRIBED | {"w": array(shape=[True])}, bytes(8)), "integers from 0 to 2.63 - 1 as shape"),
        (
            with_header(DESCRIBED | {"w": array(offsets=[-8, 0])}, bytes(8)),
            "integers from 0 to 2.63 - 1 as data_offsets",
        ),
        (with_header(DESCRIBED | {"w": array(offsets=[0])}, bytes(8)), "two data_offsets"),
        (with_header(DESCRIBED | {"w": array(shape=[2**61])}, bytes(8)), "aligned bytes"),
        (
            with_header(DESCRIBED | {"w": array(shape=[2**40], offsets=[0, 2**43])}, bytes(8)),
            f"expected at least {2**43} bytes of arrays, found 8: the file is incomplete",
        ),
        (with_header(DESCRIBED | {"v": array(), "w": array()}, bytes(16)), "'w' at 8 of 16 bytes, found it at 0"),
        (with_header(DESCRIBED | {"w": array(offsets=[8, 16])}, bytes(16)), "'w' at 0 of 16 bytes, found it at 8"),
        (with_header(DESCRIBED | {"b": array("U8", [4], [0, 4]), "w": array(offsets=[4, 12])}, bytes(12)), "aligned"),
        (with_header(DESCRIBED | {"w": array()}, bytes(16)), "expected 8 bytes of arrays, found 16"),
        (with_header(DESCRIBED | {"w": array()}, bytes(8)), "digest none"),
    ],
)
def test_headers_that_lie(data, expected, tmp_path):
    refuses(data, expected, tmp_path)


def change(name, value):
    return lambda metadata, arrays: arrays.update({name: value(arrays[name]) if callable(value) else value})


def describe(name, value):
    return lambda metadata, arrays: metadata.update({name: value})


def at(place, value):
    def change_one(array_):
        array_[place] = value
        return array_

    return change_one


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda metadata, arrays: arrays.pop("weights"), "expected arrays"),
        (lambda metadata, arrays: arrays.update(more=np.zeros(1)), "expected arrays"),
        (lambda metadata, arrays: metadata.pop("start"), "expected metadata"),
        (change("weights", at(0, np.nan)), "weight of feature 0: expected a finite number"),
        (change("weights", at(1, -np.inf)), "weight of feature 1: expected a finite number"),
        (change("weights", lambda w: w[1:]), "expected F64.7., found F64.6."),
        (change("weights", lambda w: w.view(np.int64)), "expected F64.7., found I64"),
        (change("weights", lambda w: w.reshape(1, 7)), "expected F64.7., found F64.1, 7."),
        (change("features", at(1, 0)), "expected ascending feature numbers"),
        (change("features", at(0, -1)), "expected ascending feature numbers"),
        (change("features", at(-1, 10**9)), "expected ascending feature numbers below"),
        (change("features", lambda n: n.astype(np.int32)), "expected I64"),
        (change("labels.offsets", at(0, 1)), "labels: expected offsets of strings from 0 to 10, found 1 to 10"),
        (change("labels.offsets", at(1, 9)), "labels: string 1: expected ascending offsets up to 10, found 9 before 8"),
        (change("labels.offsets", at(1, -5)), "labels: string 0: expected ascending offsets"),
        (change("labels.offsets", at(1, 2**62)), "labels: string 0: expected ascending offsets"),
        (change("labels.offsets", at(-1, 2**62)), "labels: expected offsets of strings"),
        (change("labels.offsets", np.zeros(0, np.int64)), "labels: expected offsets of strings"),
        (change("labels.offsets", at(2, 9)), "labels: string 1: expected UTF-8, found byte 0xC3"),
        (change("labels.bytes", at(0, 0xFF)), "labels: string 0: expected UTF-8, found byte 0xFF"),
        (
            change("labels.bytes", np.frombuffer(b"NOUNNOUN\xc3\x9c", np.uint8)),
            "distinct strings, found 'NOUN' as 0 and 1",
        ),
        (change("attributes.bytes", lambda b: b.astype(np.int32)), "expected U8"),
        (describe("start", "1"), "expected bool as start"),
        (describe("start", "tru"), "expected JSON as start"),
        (describe("n_columns", "-1"), "expected int as n_columns"),
        (describe("n_columns", "true"), "expected int as n_columns"),
        (describe("training", "[]"), "expected dict as training"),
        (describe("training", "[" * 100_000), "expected JSON as training"),
        (describe("template", "[]"), "a template's text and boundary"),
        (describe("template", '{"text":"U","boundary":3}'), "a template's text and boundary"),
        (describe("template", '{"text":"U:%y","boundary":"crf++"}'), "template, line 1"),
    ],
)
def test_content_that_makes_no_sense(model, spoil, expected, tmp_path):
    """The digest is right: these files are forged, not damaged."""
    metadata, arrays = parts(model)
    spoil(metadata, arrays)
    refuses(pack(FORMAT, VERSION, metadata, arrays), expected, tmp_path)


def test_too_many_labels(tmp_path):
    """No array of all pairs is made before the number of labels has been checked."""
    metadata, arrays = parts(Model.from_weights(["N"], {("a", "N"): 1.0}))
    names_ = [str(k).encode() for k in range(70_000)]
    arrays["labels.bytes"] = np.frombuffer(b"".join(names_), np.uint8)
    arrays["labels.offsets"] = np.cumsum([0, *map(len, names_)])
    refuses(pack(FORMAT, VERSION, metadata, arrays), "labels, found 70000", tmp_path)


def test_a_record_that_is_no_json(model):
    for value in (float("nan"), {1, 2}):
        spoiled = Model(model.vocabulary, model.features, model.w, training={"gap": value})
        with pytest.raises(InputError, match="training record: expected JSON values"):
            spoiled.to_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"lCRF" + bytes(60),
            "found a model of CRFsuite; `sparsecrf convert .* --from crfsuite .*compat.Tagger opens it",
        ),
        (b"#mdl#2#6\n#rdr#3/1/0\n", "found a model of Wapiti; `sparsecrf convert .* NEW --from wapiti --to sparsecrf`"),
        (b"version: 100\ncost-factor: 1\n", r"found a text model of CRF\+\+; .*--from crf\+\+"),
        (pickle.dumps({"a": 1}), "found a pickle; pickle.load or joblib.load open it"),
        (pickle.dumps([1.5] * 9, protocol=2), "found a pickle"),
    ],
)
def test_other_files_are_told_apart(content, message, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        Model.load(path)
    assert str(error.value).startswith(f"{path}: expected a sparsecrf model, ")
