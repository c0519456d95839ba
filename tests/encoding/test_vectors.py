"""Vectors of words from files, and a model with them."""

import unicodedata

import numpy as np
import pytest

from sparsecrf import CRF, InputError
from sparsecrf._core import StringTable, VectorText
from sparsecrf.encoding.vector_files import lowered, width_of
from sparsecrf.encoding.vectors import WordVectors

GLOVE = "dog 1.0 0.5\ncat 0.9 0.6\nruns -1 0\ndog 7 7\n"


def test_formats(tmp_path):
    """GloVe, word2vec with its first line and blanks at line ends, NumPy with a file of words."""
    (tmp_path / "a.txt").write_text(GLOVE)
    (tmp_path / "b.txt").write_text("3 2\ndog 1.0 0.5 \ncat 0.9 0.6 \r\nruns -1 0\n")
    np.save(tmp_path / "c.npy", [[1.0, 0.5], [0.9, 0.6], [-1.0, 0.0]])
    (tmp_path / "c.words").write_text("dog\ncat\nruns\n")
    given = [{"path": tmp_path / "a.txt"}, {"path": tmp_path / "b.txt"}]
    for how in [*given, {"path": tmp_path / "c.npy", "words": tmp_path / "c.words"}]:
        vectors = WordVectors.load(**how)
        assert (len(vectors), vectors.width) == (3, 2)
        found = vectors.of([["Dog", "runs"], [], ["bird"]])
        assert np.allclose(found[0], [[1.0, 0.5], [-1.0, 0.0]])
        assert found[1].shape == (0, 2)
        assert np.allclose(found[2], vectors.values.mean(axis=0))


def test_model(tmp_path):
    (tmp_path / "a.txt").write_text(GLOVE)
    vectors = WordVectors.load(tmp_path / "a.txt")
    X, y = [["dog", "runs"]] * 3, [["N", "V"]] * 3
    crf = CRF(rho1=0.1).fit(X, y, dense=vectors.of(X))
    assert crf.predict([["cat"]], dense=vectors.of([["cat"]]))[0] == ["N"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", "f.txt, line 2: expected a word and 2 numbers, found 1"),
        ("2 3\na 1 2\n", "f.txt, line 2: expected a word and 3 numbers, found 2"),
        ("a 1 x\n", "f.txt, line 1: expected numbers after 'a'"),
        ("a 1 2\nb 1 2 3\n", "f.txt, line 2: expected a word and 2 numbers, found 3"),
        ("2 3\na 1 2 3\n 1 2 3\n", "f.txt, line 3: expected a word and 3 numbers, found 3"),
        ("a 1 nan\n", "f.txt, line 1, number 2: expected a finite number, found nan"),
        ("a 1 1e40\n", "f.txt, line 1, number 2: expected a finite number, found 1e40"),
        ("", r"f.txt: expected lines.*word.*numbers.*found none"),
    ],
)
def test_mistakes_in_files(tmp_path, text, message):
    (tmp_path / "f.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        WordVectors.load(tmp_path / "f.txt")


def test_width(tmp_path):
    """Recognised by the first vector, wherever it is; a header alone is not enough."""
    path = tmp_path / "f.txt"
    for text in ("dog 1 2\n", "1 2\ndog 1 2\n", "\n \n\ndog 1 2\n", "1 2\n\n\ndog 1 2"):
        path.write_text(text)
        assert width_of(path) == WordVectors.load(path).width == 2
    for text in ("", "\n\n", "1 99999999999\n", "1 99999999999\n\n"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"f\.txt: expected lines.*word.*numbers.*found none"):
            width_of(path)
    np.save(tmp_path / "none.npy", np.empty((0, 10**9), dtype=np.float32))
    (tmp_path / "words").write_text("")
    with pytest.raises(InputError, match=r"none\.npy: expected.*row.*numbers.*word.*found none"):
        width_of(tmp_path / "none.npy", tmp_path / "words")


def test_mistakes(tmp_path):
    vectors = WordVectors(["a"], [[1.0]])
    with pytest.raises(InputError, match="sentence 0, position 1: expected a word with a vector, found 'b'"):
        vectors.of([["a", "b"]], missing="error")
    with pytest.raises(InputError, match="missing: expected 'mean' or 'error', found 'zero'"):
        vectors.of([["a"]], missing="zero")
    with pytest.raises(InputError, match=r"expected.*row.*1 words.*found an array of shape \(2, 1\)"):
        WordVectors(["a"], [[1.0], [2.0]])
    with pytest.raises(InputError, match="vector of 'a', number 1: expected a finite number, found inf"):
        WordVectors(["a"], [[np.inf]])
    np.save(tmp_path / "v.npy", [[1.0]])
    with pytest.raises(InputError, match=r"an \.npy file of vectors needs a second file with the words of its rows"):
        WordVectors.load(tmp_path / "v.npy")
    with pytest.raises(InputError, match=r"v\.txt: this is not an \.npy file, so it cannot have a"):
        WordVectors.load(tmp_path / "v.txt", tmp_path / "w")


def test_words_with_blanks(tmp_path):
    """GloVe's largest file has some."""
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\n. . . 3 4\n", encoding="utf-8")
    found = WordVectors.load(path)
    np.testing.assert_array_equal(found.values[found.place[". . ."]], [3.0, 4.0])


def test_lower_case(tmp_path):
    """Of words that are wanted, Python keeps the rows of an .npy file that the core looks up."""
    wanted, words = StringTable(), ["οδοσ", "οδος", "i\u0307"]
    for word in ("ΟΔΟΣ", "\u0130"):
        wanted.intern(word)
    np.save(tmp_path / "v.npy", [[1.0], [2.0], [3.0]])
    (tmp_path / "words").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    found = WordVectors.load(tmp_path / "v.npy", tmp_path / "words", wanted=wanted)
    assert sorted(found.place) == ["i\u0307", "οδοσ"]
    assert [found.core(None).row(word) for word in ("ΟΔΟΣ", "\u0130")] == [0, 1]


@pytest.mark.slow
def test_lower_case_of_characters():
    """Every character, and Σ wherever it stands, as the core has it: it keeps the lines of wanted words."""
    known = (chr(c) for c in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(c)) != "Cn")  # to every Python
    words = [c for c in known if lowered(c) != c] + ["ΟΔΟΣ", "ΣΑΣ Σ"]
    wanted = StringTable()
    for word in words:
        wanted.intern(word)
    text = VectorText("f", 0, wanted)
    text.add("".join(f"{lowered(word)} 1\n" for word in words).encode())
    kept, _ = text.take()
    assert {kept[k] for k in range(len(kept))} == {lowered(word) for word in words}
    assert len(words) > 800
