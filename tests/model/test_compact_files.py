"""Compact model files: their size, their error, and that the proof of unchanged labels holds."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named import named_models
from newswire import sentences

from sparsecrf import BIAS, CRF, InputError, Model
from sparsecrf._core import StringTable, pack_names, pack_numbers, unpack_names, unpack_numbers
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.compact import rounded
from sparsecrf.model.file import COMPACT, FORMAT, VERSION, WITH_NGRAMS
from sparsecrf.model.unchanged import compare

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%s[0,0,2]\nU3:%x[1,0]/%x[0,1]\nB\n"


@pytest.fixture(scope="module")
def news():
    return sentences(150, 2)


@pytest.fixture(scope="module")
def model(news):
    X = [[[word, tag] for word, tag, _ in sentence] for sentence in news[:100]]
    y = [[label for _, _, label in sentence] for sentence in news[:100]]
    return CRF(template=TEMPLATE, rho1=0.1, tol=0.1).fit(X, y).model_


# ---- Names and numbers in few bytes.
@pytest.mark.slow
@given(st.sets(st.text(max_size=8), max_size=8), st.integers(240, 270))
def test_names_come_back(names, length):
    """Prefixes longer than 15 and than 255 bytes, too."""
    long = "é" * (length // 2)
    ordered = sorted({*names, long, long + "x", long + "y" * 20}, key=str.encode)
    table = StringTable()
    for name in ordered:
        table.intern(name)
    found = unpack_names(np.frombuffer(pack_names(table), dtype=np.uint8))
    assert [found[k] for k in range(len(found))] == ordered


@given(st.sets(st.integers(0, 2**63 - 1)))
def test_numbers_come_back(numbers):
    ordered = np.array(sorted(numbers), dtype=np.int64)
    packed = np.frombuffer(pack_numbers(ordered), dtype=np.uint8)
    assert np.array_equal(np.frombuffer(unpack_numbers(packed, len(ordered)), dtype=np.int64), ordered)


def test_order_is_asked_for():
    with pytest.raises(InputError, match="number 1: expected a number above 5, found 5"):
        pack_numbers(np.array([5, 5]))
    table = StringTable()
    table.intern("b")
    table.intern("a")
    with pytest.raises(InputError, match="name 1: expected sorted, distinct names, found 'a' after 'b'"):
        pack_names(table)


@pytest.mark.parametrize("packed", [b"\x01", b"\x10a", b"\x02ab\x01a", b"\x01\xff", b"\xf0", b"\x0f\x80", b"\x01a\x10"])
def test_damaged_names(packed):
    with pytest.raises(InputError, match="expected"):
        unpack_names(np.frombuffer(packed, dtype=np.uint8))


@pytest.mark.parametrize(
    "packed", [b"", b"\x80", b"\x01\x00", b"\x01\x01\x01", b"\xff" * 9 + b"\x01", b"\xff" * 8 + b"\x7f\x7f"]
)
def test_damaged_numbers(packed):
    with pytest.raises(InputError, match="expected"):
        unpack_numbers(np.frombuffer(packed, dtype=np.uint8), 2)


# ---- Files.
@pytest.mark.parametrize(("compact", "share"), [(True, 0.35), ("int16", 0.35), ("float32", 0.45)])
def test_a_small_file(model, news, tmp_path, compact, share):
    model.save(tmp_path / "small", compact=compact)
    assert (tmp_path / "small").read_bytes() == model.to_bytes(compact=compact)
    plain = len(model.to_bytes()) - len(json.dumps(model.training))
    assert len(model.to_bytes(compact=compact)) - len(json.dumps(model.training)) < share * plain
    small = Model.load(tmp_path / "small")
    weights = {(w.attribute, w.previous, w.label): w.weight for w in model.explain(top=None).largest(None)}
    found = {(w.attribute, w.previous, w.label): w.weight for w in small.explain(top=None).largest(None)}
    error = small.training["compact"]["error"]
    assert set(found) <= set(weights)
    differences = [abs(w - found.get(key, 0.0)) for key, w in weights.items()]
    assert max(differences) == error > 0
    largest = max(map(abs, weights.values()))
    assert error <= largest * (2.0**-24 if compact == "float32" else 1 / 65534) * (1 + 1e-12)
    rows = [[word, tag] for word, tag, _ in news[120]]
    assert np.abs(small.marginals(rows) - model.marginals(rows)).max() < 1e-2
    assert (small.template.text, small.n_columns, small.labels) == (TEMPLATE, model.n_columns, model.labels)


def test_twice(model):
    """A compact model saved again is the same file, with the same error; saved plainly it keeps its weights."""
    content = model.to_bytes(compact=True)
    small = Model.from_bytes(content)
    assert small.to_bytes(compact=True) == content
    assert np.array_equal(np.sort(Model.from_bytes(small.to_bytes()).w), np.sort(small.w))
    both = Model.from_bytes(Model.from_bytes(model.to_bytes(compact="float32")).to_bytes(compact=True))
    alone = [Model.from_bytes(model.to_bytes(compact=kind)).training["compact"]["error"] for kind in ("float32", True)]
    assert alone[0] < both.training["compact"]["error"] <= 1.01 * sum(alone)


def test_older_versions_refuse(model):
    """What a reader of versions 1 and 2 says."""
    with pytest.raises(
        InputError, match=r"of version 1 or 2, found version '3'; newer files require a newer version of sparsecrf"
    ):
        unpack(model.to_bytes(compact=True), "small", FORMAT, VERSION, WITH_NGRAMS)


def test_n_grams():
    X = [["a", "b", "b"], ["b", "a", "a"], ["a", "a", "b"]] * 3
    y = [["P", "Q", "P"], ["Q", "P", "Q"], ["P", "Q", "P"]] * 3
    model = CRF(rho1=0.05, order=3).fit(X, y).model_
    small = Model.from_bytes(model.to_bytes(compact=True))
    assert small.features.n_ngram == model.features.n_ngram > 0
    assert np.abs(small.marginals(X[0]) - model.marginals(X[0])).max() < 1e-3
    found = compare(model, model._rounded("int16")[0], X)
    assert (found.proved, found.changed_sequences) == (9, 0)


def test_nothing_to_round():
    model = Model.from_weights(["a", "b"], {})
    assert Model.from_bytes(model.to_bytes(compact=True)).n_active == 0
    with pytest.raises(InputError, match="expected weights that float32 can represent, found 1e\\+50"):
        Model.from_weights(["a"], {("x", "a"): 1e50}).to_bytes(compact="float32")
    with pytest.raises(InputError, match="compact: expected True, False, 'int16' or 'float32', found 'int8'"):
        model.to_bytes(compact="int8")


@pytest.mark.parametrize(
    "change",
    [
        lambda m, a: m.update(scale="0"),
        lambda m, a: m.update(scale="true"),
        lambda m, a: m.update(scale='"1"'),
        lambda m, a: m.update(scale="1" + "0" * 400),
        lambda m, a: m.pop("scale"),
        lambda m, a: a.update(weights=a["weights"].astype(np.float32)),
        lambda m, a: a.update(weights=a["weights"].astype(np.float64)),
        lambda m, a: a.update(weights=a["weights"][1:]),
        lambda m, a: a.update({"features.steps": a["features.steps"][1:]}),
        lambda m, a: a.update({"attributes.front": a["attributes.front"][:-1]}),
        lambda m, a: a.update({"ngrams.attribute": np.zeros(1, dtype=np.int64)}),
    ],
)
def test_content_that_makes_no_sense(model, change):
    metadata, arrays = unpack(model.to_bytes(compact=True), "good", FORMAT, COMPACT)
    for name in ("format", "version"):
        del metadata[name]
    changed = {name: np.array(array.data) for name, array in arrays.items()}
    change(metadata, changed)
    with pytest.raises(InputError, match=r"model in memory: .*expected"):
        Model.from_bytes(pack(FORMAT, COMPACT, metadata, changed))


# ---- The proof.
@pytest.mark.slow
@given(named_models(), st.integers(2, 30))
def test_what_is_proved_holds(named, levels):
    """With weights rounded so coarsely that labels do change."""
    model = named.model
    largest = float(np.abs(model.w).max(initial=0.0))
    w = np.rint(model.w / largest * levels) / levels * largest if largest > 0 else model.w
    found = compare(model, Model(model.vocabulary, model.features, w), [named.tokens])
    assert found.sequences == 1
    assert found.proved + found.changed_sequences <= 1


def test_what_is_proved():
    """x has the margin 2 - 1.5 = 0.5: a change by 0.2 each cannot turn the labels, a change by 0.3 could."""
    model = Model.from_weights(["a", "b"], {("x", "a"): 2.0, ("x", "b"): 1.5})
    for change, proved in ((0.24, 1), (0.26, 0)):
        worse = Model(model.vocabulary, model.features, model.w + np.array([-change, change]))
        found = compare(model, worse, [["x"]])
        assert (found.proved, found.changed_sequences) == (proved, 1 - proved)


def test_rounding():
    w = np.array([-3.0, 1e-9, 0.5, 3.0])
    for kind in ("int16", "float32"):
        again, scale = rounded(w, kind)
        assert np.abs(again - w).max() <= (scale / 2 if kind == "int16" else 1e-7)
        assert np.array_equal(rounded(again, kind)[0], again)


# ---- The command.
def test_command(program, model, news):
    model.save(program.directory / "model")
    text = "".join("".join(f"{word} {tag}\n" for word, tag, _ in sentence) + "\n" for sentence in news[100:])
    (program.directory / "data").write_text(text, encoding="utf-8")
    done = program("compact", "model", "small", "--data", "data", "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert told["bytes"] == (program.directory / "small").stat().st_size < told["bytes_before"]
    assert told["sequences"] == 50
    assert told["proved"] + told["changed_sequences"] <= 50
    assert told["proved"] > 40
    assert "50 sentences have the same labels" in done.err or told["changed_sequences"]
    before, after = program("label", "-m", "model", "data"), program("label", "-m", "small", "data")
    pairs = zip(before.out.splitlines(), after.out.splitlines(), strict=True)
    assert sum(a != b for a, b in pairs) == told["changed_tokens"]
    assert program("compact", "model", "small", "--weights", "int8").status == 2


def test_command_for_attributes(program):
    model = Model.from_weights(["N", "V"], {("w=a", "N"): 1.0, ("é", "V"): 0.3}, {(BIAS, "N", "V"): 0.7})
    model.save(program.directory / "model")
    (program.directory / "data").write_text("N\tw=a:2\nV\té\n\nN\tw=a\n", encoding="utf-8")
    told = json.loads(program("compact", "model", "small", "--data", "data", "--json").out)
    assert (told["sequences"], told["tokens"], told["proved"]) == (2, 3, 2)


def test_vectors_stay():
    rng = np.random.default_rng(0)
    dense = [rng.normal(size=(3, 2)) for _ in range(6)]
    made = CRF(rho1=0.01).fit([["a", "b", "c"]] * 6, [["N", "V", "N"]] * 6, dense=dense).model_
    back = Model.from_bytes(made.to_bytes(compact=True))
    assert back.dense is not None
    assert made.dense is not None
    np.testing.assert_array_equal(back.dense.mean, made.dense.mean)
    np.testing.assert_array_equal(back.dense.scale, made.dense.scale)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"tokens": ["dogs", "bark"], "labels": ["N", "V"]}\n{"tokens": ["cats"], "labels": ["N"]}\n'),
        ("a.tokens", "dogs/N bark/V\ncats/N\n"),
    ],
)
def test_command_reads_the_format_of_the_model(program, name, text):
    (program.directory / name).write_text(text, encoding="utf-8")
    format = ["--format", "tokens"] if name.endswith("tokens") else []
    assert program("train", name, "-m", "m", "--rho1", "0.01", "-q", *format).status == 0
    found = json.loads(program("compact", "m", "small", "--data", name, "--json").out)
    assert (found["sequences"], found["tokens"], found["changed_tokens"]) == (2, 3, 0)
