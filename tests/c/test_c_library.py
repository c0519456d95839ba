"""libsparsecrf against the Python package: the same answers, the same refusals, from C, ctypes, Ruby and Java."""

import base64
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from c_library import EXAMPLES, HEADER, MAC, NAME_WITH_ABI, ROOT, cmake, compiled, library, tool
from newswire import sentences

from sparsecrf import BIAS, CRF, InputError, Model, Resource, Template
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import COMPACT, FORMAT, VERSION

if sys.platform == "win32":
    pytest.skip("libsparsecrf is tried on systems with cc", allow_module_level=True)

TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nU2:%s[0,0,2]\nU3:%h[1,0,1]\nU4:%m[0,0,"^.?.?"]\n*5:%x[0,1]\nB\n'
_spec = importlib.util.spec_from_file_location("label_by_ctypes", EXAMPLES / "label.py")
by_ctypes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(by_ctypes)


@pytest.fixture(scope="module")
def functions():
    return by_ctypes.Library(str(library()))


@pytest.fixture(scope="module")
def news():
    """Sentences for training and others: lists of (word, tag, label)."""
    made = sentences(120, 1)
    return made[:80], made[80:]


@pytest.fixture(scope="module")
def chunker(news):
    """A model with a template."""
    X = [[[word, tag] for word, tag, _ in sentence] for sentence in news[0]]
    y = [[label for _, _, label in sentence] for sentence in news[0]]
    return CRF(template=TEMPLATE, rho1=0.3, tol=0.2).fit(X, y).model_


@pytest.fixture(scope="module")
def by_name():
    """A model of attributes with values."""
    return Model.from_weights(
        ["NOUN", "VERB", "Ü"],
        {("dogs", "NOUN"): 2.0, ("bark", "VERB"): 0.1, ("loud", "Ü"): -1 / 3, ("é", "Ü"): 1.0},
        {(BIAS, None, "NOUN"): 0.5, (BIAS, "NOUN", "VERB"): 1.5, ("bark", "NOUN", "VERB"): 0.25},
    )


TOKENS = [["dogs", "suffix:s"], ["bark"], ["unknown", ("loud", 2.5), ("é", -0.5)], []]


@pytest.fixture(scope="module")
def files(news, chunker, tmp_path_factory):
    """A folder with model.safetensors, text.txt, and what `sparsecrf label` makes of it: expected.txt."""
    folder = tmp_path_factory.mktemp("labelled")
    chunker.save(folder / "model.safetensors")
    text = "".join("".join(f"{word} {tag}\n" for word, tag, _ in sentence) + "\n" for sentence in news[1])
    (folder / "text.txt").write_text(text, encoding="utf-8")
    (folder / "expected.txt").write_bytes(chunker.label_text(text.encode(), "text.txt"))
    return folder


# ---- Answers.
def assert_equal_answers(tagger, model, tokens):
    assert tagger.label(tokens) == model.label(tokens)
    assert tagger.marginals(tokens) == model.marginals(tokens).tolist()
    assert tagger.nbest(tokens, 5) == model.nbest(tokens, 5)


@pytest.mark.slow
def test_columns(functions, chunker, news):
    tagger = by_ctypes.Tagger(functions, chunker.to_bytes())
    assert tagger.labels == chunker.labels
    assert functions.n_columns(tagger.model) == 2
    for sentence in news[1]:
        assert_equal_answers(tagger, chunker, [[word, tag] for word, tag, _ in sentence])


def test_attributes(functions, by_name):
    tagger = by_ctypes.Tagger(functions, by_name.to_bytes())
    assert functions.n_columns(tagger.model) == -1
    assert_equal_answers(tagger, by_name, TOKENS)
    assert len(tagger.nbest(TOKENS[:1], 5)) == 3  # there are no more


@pytest.mark.slow
@pytest.mark.parametrize("compact", ["int16", "float32"])
def test_compact_files(functions, chunker, by_name, news, compact):
    for model, tokens in ((chunker, [[word, tag] for word, tag, _ in news[1][0]]), (by_name, TOKENS)):
        content = model.to_bytes(compact=compact)
        assert_equal_answers(by_ctypes.Tagger(functions, content), Model.from_bytes(content), tokens)


@pytest.mark.parametrize("lines", ["B\n", "B\n*1:%x[0,1]\n"])
def test_pairs_of_classes_of_labels(functions, news, lines):
    X = [[[word, tag] for word, tag, _ in sentence] for sentence in news[0]]
    y = [[label for _, _, label in sentence] for sentence in news[0]]
    # Two classes: chunks, and everything outside them.
    parts = {label: ["chunk"] for labels in y for label in labels if label != "O"}
    options = {"label_parts": parts, "solver_options": {"class_pairs": True}, "rho1": 0.3, "tol": 0.1}
    model = CRF(template=f"U0:%x[0,0]\nU1:%x[0,1]\n{lines}", **options).fit(X, y).model_
    assert model.features.n_class > 0
    for content in (model.to_bytes(), model.to_bytes(compact=True)):
        tagger, same = by_ctypes.Tagger(functions, content), Model.from_bytes(content)
        for sentence in news[1][:10]:
            tokens = [[word, tag] for word, tag, _ in sentence]
            assert_equal_answers(tagger, same, tokens)
            amounts = sum(reason[-1] for reason in tagger.reasons(tokens))
            np.testing.assert_allclose(amounts, same.chain.viterbi(same.encode([tokens]))[1][0], atol=1e-9)


def with_resources(folder, store):
    """A model whose template looks words up, in content of its own or in files."""
    (folder / "places.txt").write_text("".join(f"Town{k} Hill\tLOC\n" for k in range(3000)) + "Lima\tLOC\nAna\tPER\n")
    (folder / "clusters.txt").write_text("".join(f"{k % 64:06b} word{k} 5\n" for k in range(500)))
    resources = [
        Resource.lexicon("places", folder / "places.txt", store=store),
        Resource.clusters("brown", folder / "clusters.txt", store=store),
    ]
    template = Template("U0:%d[0,0,places]\nU1:%d[0,0,brown,4]\nU2:%x[0,0]\nB\n", resources=resources)
    X = [[["Ana"], ["saw"], ["Town7"], ["Hill"]], [["word3"], ["in"], ["Lima"]], [["word9"], ["word3"]]] * 3
    y = [["P", "O", "L", "L"], ["O", "O", "L"], ["O", "O"]] * 3
    return CRF(template=template, rho1=0.05, tol=0.1).fit(X, y).model_


NAMES = [["Town2999"], ["Hill"], ["word67"], ["word131"], ["Lima"], ["Ana"], ["Hill"]]


def test_stored_resources(functions, tmp_path):
    model = with_resources(tmp_path, store=True)
    assert_equal_answers(by_ctypes.Tagger(functions, model.to_bytes()), model, NAMES)
    assert "U0:B-LOC" in {reason[1] for reason in by_ctypes.Tagger(functions, model.to_bytes()).reasons(NAMES)}


def test_named_resources(functions, tmp_path):
    """In files: where they were, beside the model, changed, gone."""
    (tmp_path / "first").mkdir()
    model = with_resources(tmp_path / "first", store=False)
    model.save(tmp_path / "first" / "model")
    assert_equal_answers(by_ctypes.Tagger(functions, str(tmp_path / "first" / "model")), model, NAMES)
    moved = (tmp_path / "first").rename(tmp_path / "second")
    assert_equal_answers(by_ctypes.Tagger(functions, str(moved / "model")), Model.load(moved / "model"), NAMES)
    (moved / "places.txt").write_text("Lima\tLOC\n")
    with pytest.raises(ValueError, match="expected the file that the model was trained with"):
        by_ctypes.Tagger(functions, str(moved / "model"))
    (moved / "places.txt").unlink()
    with pytest.raises(ValueError, match=r"expected the file .*places.txt, found none"):
        by_ctypes.Tagger(functions, str(moved / "model"))


def test_python_and_c_unpack_alike(functions, tmp_path):
    """Content packed in all ways that zlib has, and damaged."""
    model, rng = with_resources(tmp_path, store=True), random.Random(5)
    metadata, arrays = unpack(model.to_bytes(), "good", FORMAT, VERSION)
    good = {name: np.array(array.data) for name, array in arrays.items()}
    kept = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    record = json.loads(kept["template"])
    places = record["resources"][0]
    content = zlib.decompress(base64.b64decode(places["content"]))

    def accepted(packed, **changes):
        record["resources"][0] = {**places, "content": base64.b64encode(packed).decode(), **changes}
        made = pack(FORMAT, VERSION, {**kept, "template": json.dumps(record)}, good)
        try:
            Model.from_bytes(made)
            expected = True
        except InputError:
            expected = False
        assert accepts(functions, made) == expected
        return expected

    for level, strategy in ((0, 0), (1, 0), (9, 0), (9, zlib.Z_FIXED), (9, zlib.Z_HUFFMAN_ONLY), (9, zlib.Z_RLE)):
        packer = zlib.compressobj(level, zlib.DEFLATED, 15, 9, strategy)
        assert accepted(packer.compress(content) + packer.flush())
    packed = zlib.compress(content)
    for at in (*(rng.randrange(len(packed)) for _ in range(60)), -1, -2, -3, -4):  # the last four are the checksum
        damaged = bytearray(packed)
        damaged[at] ^= 1 << rng.randrange(8)
        assert not accepted(bytes(damaged))
    for n in range(1, 6):
        assert not accepted(packed[:-n])
    assert not accepted(packed + b"\0")
    assert not accepted(packed, bytes=len(content) - 2)
    assert not accepted(packed, sha256="0" * 64)
    assert not accepted(packed, kind="other")
    assert not accepted(packed, content="A")
    assert not accepted(b"")
    assert not accepted(packed, path="places.txt")


def test_no_start_label(functions):
    model = Model.from_weights(["a", "b"], {("x", "a"): 0.5}, {(BIAS, "a", "b"): 1.0}, start=False)
    assert_equal_answers(by_ctypes.Tagger(functions, model.to_bytes()), model, [["x"], ["y"], ["x"]])


def test_label_n_grams(functions, by_name):
    X = [["a", "b", "b"], ["b", "a", "a"], ["a", "a", "b"]] * 3
    y = [["P", "Q", "P"], ["Q", "P", "Q"], ["P", "Q", "P"]] * 3
    model = CRF(rho1=0.05, order=3).fit(X, y).model_
    assert model.features.n_ngram > 0  # a file of version 2
    tagger = by_ctypes.Tagger(functions, model.to_bytes())
    assert_equal_answers(tagger, model, [["a"], ["b"], ["a"], ["b"]])
    with pytest.raises(ValueError, match="expected features of at most two labels"):
        tagger.reasons([["a"], ["b"]])


def test_reasons(functions, chunker, news):
    tagger = by_ctypes.Tagger(functions, chunker.to_bytes())
    for sentence in news[1][:5]:
        tokens = [[word, tag] for word, tag, _ in sentence]
        why = chunker.explain(tokens)
        expected = [
            (t, term.attribute, term.kind == "transition", token.label, term.value, term.weight)
            for t, token in enumerate(why.tokens)
            for term in token.contributions()
        ]
        found = [(t, x, before is not None, *rest) for t, x, before, *rest in tagger.reasons(tokens)]
        assert sorted(found) == sorted(expected)
        assert all(before is None or before != "start" or t == 0 for t, _, before, *_ in tagger.reasons(tokens))
        assert sum(value * weight for *_, value, weight in found) == pytest.approx(why.score)


def test_threads_share_a_model(functions, chunker, news):
    """Each thread has a sequence of its own; errors are those of the thread."""
    tagger = by_ctypes.Tagger(functions, chunker.to_bytes())
    rows = [[[word, tag] for word, tag, _ in sentence] for sentence in news[1]]
    expected = [chunker.label(tokens) for tokens in rows]

    def work(seed):
        mine = by_ctypes.Tagger.__new__(by_ctypes.Tagger)
        mine.library, mine.labels = functions, tagger.labels
        mine.model, mine.sequence = by_ctypes.c_void_p(), by_ctypes.c_void_p()
        functions.sequence_new(tagger.model, by_ctypes.byref(mine.sequence))
        order = random.Random(seed).sample(range(len(rows)), len(rows))
        for k in order:
            assert mine.label(rows[k]) == expected[k]
            with pytest.raises(ValueError, match=f"position {seed}: expected 2 columns as at position 0, found 1"):
                mine.put([["a", "b"]] * seed + [["a"]])
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 5)))


# ---- Refusals.
def test_tokens_that_do_not_fit(functions, chunker, by_name):
    tagger = by_ctypes.Tagger(functions, chunker.to_bytes())
    with pytest.raises(ValueError, match=r"position 0: expected 2 columns .* found 1"):
        tagger.label([["a"]])
    with pytest.raises(ValueError, match="sequence 0: expected at least one position, found none"):
        tagger.label([])
    with pytest.raises(ValueError, match="position 0: expected text in UTF-8, found byte 0xFF"):
        functions.add(tagger.sequence, b"\xff", 1, 1.0)
    functions.clear(tagger.sequence)
    functions.add(tagger.sequence, b"a", 1, 1.0)
    with pytest.raises(
        ValueError, match=r"position 0: expected a finished token, found .* \(call sparsecrf_end_token\)"
    ):
        functions.label(tagger.sequence, (by_ctypes.c_int32 * 0)(), 0)
    tagger = by_ctypes.Tagger(functions, by_name.to_bytes())
    with pytest.raises(ValueError, match="position 0: expected a finite unigram attribute value"):
        tagger.label([[("dogs", float("nan"))]])
    tagger.put(TOKENS)
    with pytest.raises(ValueError, match="labels: expected 4 elements, found 3"):
        functions.label(tagger.sequence, (by_ctypes.c_int32 * 3)(), 3)
    with pytest.raises(ValueError, match="sequence: expected a pointer, found NULL"):
        functions.end_token(None)


def test_files_that_are_no_models(functions, by_name, tmp_path):
    def refused(path):
        with pytest.raises(ValueError, match=str(path)) as error:
            by_ctypes.Tagger(functions, str(path))
        return str(error.value)

    assert "No such file" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").touch()
    assert "expected a sparsecrf model, found an empty file" in refused(tmp_path / "empty")
    content = by_name.to_bytes()
    (tmp_path / "newer").write_bytes(content.replace(b'"version":"1"', b'"version":"9"'))
    assert "found version '9'; newer files require a newer version of sparsecrf" in refused(tmp_path / "newer")
    (tmp_path / "damaged").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert re.search("expected content with digest .* found damaged content", refused(tmp_path / "damaged"))


def test_labels_that_c_would_cut_short(functions, tmp_path):
    Model.from_weights(["X", "X\0Y"], {("a", "X\0Y"): 1.0}).save(tmp_path / "m")
    with pytest.raises(ValueError, match="label 1: expected a name without NUL"):
        by_ctypes.Tagger(functions, str(tmp_path / "m"))


def word_vectors():
    rng = np.random.default_rng(1)
    return WordVectors([*"abcd", "é"], rng.normal(size=(5, 3)), window=1)


def test_models_that_look_up_vectors(functions, tmp_path):
    """Stored in the model, or in a file beside it; of words, and of a column."""
    X, y = [["a", "B", "c"], ["d", "x"], ["É", "a"]] * 3, [["N", "V", "N"], ["V", "V"], ["N", "V"]] * 3
    vectors = word_vectors()
    lines = [" ".join([vectors.table[k], *map(repr, row)]) for k, row in enumerate(vectors.values.tolist())]
    (tmp_path / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    named = WordVectors.load(tmp_path / "vectors.txt", window=1, store=False)
    for template in (None, "U:%x[0,0]\nB\n"):
        for given, compact in ((vectors, False), (vectors, True), (named, False)):
            model = CRF(vectors=given, template=template, rho1=0.01, tol=0.1).fit(X, y).model_
            content = model.to_bytes(compact=compact)
            same, tagger = Model.from_bytes(content), by_ctypes.Tagger(functions, content)
            assert functions.vector_width(tagger.model) == 0
            tokens = [["a"], ["new"], ["D"], ["é"]]
            assert_equal_answers(tagger, same, tokens)
            found = tagger.reasons(tokens)
            assert any(name.startswith("dense[") for _, name, *_ in found)
            score = same.chain.viterbi(same.encode([tokens]))[1][0]
            assert sum(value * weight for *_, value, weight in found) == pytest.approx(score)
    (tmp_path / "vectors.txt").write_text("a 1 2 3\n")
    with pytest.raises(ValueError, match="expected the file that the model was trained with"):
        by_ctypes.Tagger(functions, content)


def test_tokens_with_vectors(functions):
    X, y = [["a", "b", "c"], ["d", "x"]] * 3, [["N", "V", "N"], ["V", "V"]] * 3
    vectors = word_vectors()
    model = CRF(rho1=0.01, tol=0.1).fit(X, y, dense=vectors.of(X)).model_
    tagger = by_ctypes.Tagger(functions, model.to_bytes())
    assert functions.vector_width(tagger.model) == 3
    words = ["a", "c", "x"]
    rows = vectors.of([words])[0].astype(float)
    pairs = list(zip(words, rows, strict=True))
    in_lists = [([word], row.tolist()) for word, row in pairs]
    assert tagger.label(in_lists) == model.label(pairs)
    assert tagger.marginals(in_lists) == model.marginals(pairs).tolist()
    assert tagger.nbest(in_lists, 5) == model.nbest(pairs, 5)
    functions.clear(tagger.sequence)
    with pytest.raises(ValueError, match="position 0: expected a vector of 3 numbers, found none"):
        functions.end_token(tagger.sequence)
    with pytest.raises(ValueError, match="position 0: expected a vector of 3 numbers, found 2"):
        functions.add_vector(tagger.sequence, (by_ctypes.c_double * 2)(), 2)
    with pytest.raises(ValueError, match="position 0, dense column 1: expected a finite number, found nan"):
        functions.add_vector(tagger.sequence, (by_ctypes.c_double * 3)(0.0, float("nan"), 0.0), 3)
    plain = by_ctypes.Tagger(functions, Model.from_weights(["a"], {("x", "a"): 1.0}).to_bytes())
    with pytest.raises(ValueError, match=r"position 0: found a vector, but this model does not use vectors"):
        functions.add_vector(plain.sequence, (by_ctypes.c_double * 3)(), 3)


def accepts(functions, content):
    try:
        by_ctypes.Tagger(functions, content)
    except ValueError:
        return False
    return True


def test_python_and_c_refuse_the_same_files(functions, chunker):
    """One bit changed; and files that are whole but say something else."""
    content, rng = chunker.to_bytes(), random.Random(3)
    for _ in range(200):
        at = rng.randrange(len(content)) if rng.random() < 0.5 else rng.randrange(1500)
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.randrange(8)
        assert not accepts(functions, bytes(damaged))
    assert_refuse_alike(functions, content, VERSION, CHANGES)


def test_python_and_c_refuse_the_same_compact_files(functions, chunker):
    assert_refuse_alike(functions, chunker.to_bytes(compact=True), COMPACT, CHANGES[:10] + COMPACT_CHANGES)


def assert_refuse_alike(functions, content, version, changes):
    metadata, arrays = unpack(content, "good", FORMAT, version)
    good = {name: np.array(array.data) for name, array in arrays.items()}
    kept = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    for change in changes:
        described, changed = dict(kept), dict(good)
        change(described, changed)
        made = pack(FORMAT, version, described, changed)
        try:
            Model.from_bytes(made)
            expected = True
        except InputError:
            expected = False
        assert accepts(functions, made) == expected, change


CHANGES = [
    lambda m, a: None,
    lambda m, a: m.update(start="1"),
    lambda m, a: m.update(start="false"),
    lambda m, a: m.update(n_columns="-1"),
    lambda m, a: m.update(n_columns="2147483648"),
    lambda m, a: m.update(n_columns="2.0"),
    lambda m, a: m.update(training="[]"),
    lambda m, a: m.update(training='{"x": NaN}'),
    lambda m, a: m.update(training='{"x": 1e999}'),
    lambda m, a: m.update(training='{"note": "\\ud83d\\ude00 \\u00e9 \u007f 日本"}'),
    lambda m, a: m.update(training='{"note": "\\ud83d"}'),
    lambda m, a: m.update(training=json.dumps({"note": 'naïve \x1f\n\t"\\ 😀'}, ensure_ascii=False)),
    lambda m, a: m.update(template="null"),
    lambda m, a: m.update(template='{"text": "U:%x[0,0]"}'),
    lambda m, a: m.update(template='{"text": "U:%x[0,0", "boundary": "crf++"}'),
    lambda m, a: m.update(template='{"text": "U:%x[0,0]", "boundary": "other"}'),
    lambda m, a: m.update(template='{"text": "U:%x[0,0]", "boundary": "wapiti", "bytes": true}'),
    lambda m, a: m.update(more="1"),
    lambda m, a: m.pop("training"),
    lambda m, a: m.update({"n_columns, start": m.pop("start"), "x": m.pop("n_columns")}),
    lambda m, a: (m.pop("start"), m.update({"n_columns, start": m.pop("n_columns")})),
    lambda m, a: a.pop("weights"),
    lambda m, a: a.update(more=np.zeros(3)),
    lambda m, a: a.update(weights=a["weights"][1:]),
    lambda m, a: a.update(weights=a["weights"][:, None]),
    lambda m, a: a.update(weights=a["weights"] * np.nan),
    lambda m, a: a.update(weights=a["weights"] * 1e200),
    lambda m, a: a.update(features=a["features"][::-1].copy()),
    lambda m, a: a.update(features=a["features"].astype(np.float64)),
    lambda m, a: a.update(features=a["features"] + 10**15),
    lambda m, a: a.update({"labels.offsets": a["labels.offsets"] + 1}),
    lambda m, a: a.update({"attributes.bytes": a["attributes.bytes"] | 0x80}),
]


COMPACT_CHANGES = [
    lambda m, a: m.update(scale="0"),
    lambda m, a: m.update(scale="1e-3"),
    lambda m, a: m.update(scale="true"),
    lambda m, a: m.update(scale="1" + "0" * 400),
    lambda m, a: m.update(scale="1e101"),
    lambda m, a: m.pop("scale"),
    lambda m, a: a.update(weights=a["weights"].astype(np.float32)),
    lambda m, a: (m.update(scale="1"), a.update(weights=a["weights"].astype(np.float32))),
    lambda m, a: a.update(weights=a["weights"].astype(np.float64)),
    lambda m, a: a.update(weights=a["weights"][1:]),
    lambda m, a: a.update({"features.steps": a["features.steps"][1:]}),
    lambda m, a: a.update({"features.steps": a["features.steps"] | 0x80}),
    lambda m, a: a.update({"attributes.front": a["attributes.front"][:-1]}),
    lambda m, a: a.update({"attributes.front": a["attributes.front"][::-1].copy()}),
    lambda m, a: a.update({"ngrams.attribute": np.zeros(1, dtype=np.int64)}),
]


# ---- Programs.
def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow
def test_c_program(files, tmp_path):
    label = compiled(EXAMPLES / "label.c", tmp_path)
    expected = (files / "expected.txt").read_bytes()
    assert run(label, files / "model.safetensors", files / "text.txt") == expected
    (tmp_path / "wrong.txt").write_text("a b\n\na b c d\n")
    done = subprocess.run([label, files / "model.safetensors", tmp_path / "wrong.txt"], capture_output=True)
    assert done.returncode == 1
    assert b"wrong.txt, line 3: expected 2 columns" in done.stderr
    if (valgrind := shutil.which("valgrind")) and "LD_PRELOAD" not in os.environ:  # which sanitizers set
        few = tmp_path / "few.txt"
        few.write_bytes(b"\n\n".join((files / "text.txt").read_bytes().split(b"\n\n")[:3]))
        checks = ["-q", "--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all"]
        found = run(valgrind, *checks, "--error-exitcode=9", label, files / "model.safetensors", few)
        assert expected.startswith(found)


def test_program_of_the_manual(files, tmp_path):
    page = (HEADER.parents[2] / "docs" / "c-library.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```c\n(.*?)^```$", page, flags=re.S | re.M)
    (tmp_path / "sentence.c").write_text(text)
    program = compiled(tmp_path / "sentence.c", tmp_path)
    done = subprocess.run([program], cwd=files, capture_output=True, text=True, check=True)
    expected = Model.load(files / "model.safetensors").label([["the", "DET"], ["old", "ADJ"], ["dog", "NOUN"]])
    assert [line.split()[1] for line in done.stdout.splitlines()] == expected


@pytest.mark.slow
def test_installed(files, tmp_path):
    """What `cmake --install` makes, moved elsewhere, is found by pkg-config."""
    rules = library().parent / "cmake_install.cmake"
    pkg_config = shutil.which("pkg-config")
    if cmake() is None or pkg_config is None or not rules.exists():
        pytest.skip("expected cmake, pkg-config and a build folder")
    run(cmake(), "--install", rules.parent, "--prefix", tmp_path / "first")
    prefix = (tmp_path / "first").rename(tmp_path / "second")
    (described,) = prefix.rglob("sparsecrf.pc")
    flags = run("env", f"PKG_CONFIG_PATH={described.parent}", pkg_config, "--cflags", "--libs", "sparsecrf").split()
    lies_in = described.parents[1]
    program = tmp_path / "label"
    run(
        "cc",
        "-pthread",
        EXAMPLES / "label.c",
        *(flag.decode() for flag in flags),
        f"-Wl,-rpath,{lies_in}",
        "-o",
        program,
    )
    found = run(program, files / "model.safetensors", files / "text.txt")
    assert found == (files / "expected.txt").read_bytes()
    assert (lies_in / NAME_WITH_ABI).exists()


@pytest.mark.slow
@pytest.mark.skipif("tsan" in os.environ.get("LD_PRELOAD", ""), reason="the compiler does not run with it")
def test_folders_given_as_absolute_paths(tmp_path):
    """pkg-config finds what distributions install into folders of their own, and after a move, too."""
    ninja, pkg_config = tool("ninja"), shutil.which("pkg-config")
    if None in (cmake(), ninja, pkg_config):
        pytest.skip("expected cmake, ninja and pkg-config")
    build, prefix = tmp_path / "build", tmp_path / "first"
    folders = {"PREFIX": prefix, "LIBDIR": prefix / "lib" / "some-triplet", "INCLUDEDIR": prefix / "include" / "deep"}
    options = [f"-DCMAKE_INSTALL_{name}={folder}" for name, folder in folders.items()]
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DSPARSECRF_C_LIBRARY=ON"]
    run(cmake(), "-S", ROOT, "-B", build, *generator, *options)
    moved = tmp_path / "second" / "lib" / "some-triplet" / "pkgconfig"
    moved.mkdir(parents=True)
    shutil.copy(build / "cpp" / "c" / "sparsecrf.pc", moved)
    ask = ["env", f"PKG_CONFIG_PATH={moved}", pkg_config, "sparsecrf"]
    found = {
        name: Path(run(*ask, f"--variable={name}").decode().strip()).resolve()
        for name in ("prefix", "libdir", "includedir")
    }
    second = tmp_path.resolve() / "second"
    assert found == {
        "prefix": second,
        "libdir": second / "lib" / "some-triplet",
        "includedir": second / "include" / "deep",
    }


def test_ctypes_program(files):
    program = [sys.executable, EXAMPLES / "label.py", library(), files / "model.safetensors", files / "text.txt"]
    assert run(*program) == (files / "expected.txt").read_bytes()


def test_ruby_program(files):
    if shutil.which("ruby") is None:
        pytest.skip("Ruby is not installed")
    program = ["ruby", EXAMPLES / "label.rb", library(), files / "model.safetensors", files / "text.txt"]
    assert run(*program) == (files / "expected.txt").read_bytes()


def test_java_program(files):
    jna = Path("/usr/share/java/jna.jar")
    if shutil.which("javac") is None or not jna.exists():
        pytest.skip("a JDK and JNA are not installed")
    program = ["java", "-cp", jna, EXAMPLES / "Label.java", library(), files / "model.safetensors"]
    assert run(*program, files / "text.txt") == (files / "expected.txt").read_bytes()


def test_header_is_c_and_cpp(tmp_path):
    """And the functions that it declares are those that the library shows."""
    source = tmp_path / "use.c"
    source.write_text("#include <sparsecrf.h>\nint main(void) { return sparsecrf_abi_version() - 1; }\n")
    run(compiled(source, tmp_path))
    if (compiler := shutil.which("c++")) is not None:
        run(
            compiler,
            "-x",
            "c++",
            "-std=c++11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            source,
            f"-I{HEADER.parent}",
        )
    if (nm := shutil.which("nm")) is not None and not MAC:  # whose nm has other options
        shown = {line.split()[-1] for line in run(nm, "-D", "--defined-only", library()).decode().splitlines()}
        declared = set(re.findall(r"SPARSECRF_API [^;(]*?\b(sparsecrf_\w+)\(", HEADER.read_text()))
        assert shown == declared
