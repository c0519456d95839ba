"""Clusters of words from raw text, against the plain twin (reference.clusters)."""

import random
from collections import Counter
from pathlib import Path

import pytest

from reference import clusters as twin
from sparsecrf import InputError, Resource, Template
from sparsecrf._core import WordClusters
from sparsecrf.encoding.clusters import word_clusters


def text(n, seed):
    """Sentences of a small grammar, so that words of the same kind occur in the same contexts."""
    rng = random.Random(seed)
    kinds = {
        "D": ["the", "a", "this"],
        "N": ["dog", "cat", "cow", "sun", "fog"],
        "V": ["barks", "sleeps", "shines", "runs"],
        "A": ["old", "red", "big"],
    }
    shapes = ["DNV", "DANV", "DAANV", "DNVDN"]
    return [[rng.choice(kinds[kind]) for kind in rng.choice(shapes)] for _ in range(n)]


def made_of(sentences, n_classes, min_count):
    clusters = WordClusters()
    lines = "\n".join(map(" ".join, sentences)).encode()
    clusters.add(lines, "text")
    clusters.begin(n_classes, min_count)
    clusters.add(lines, "text")
    clusters.finish()
    return clusters


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threads", [1, 2])
def test_twin(seed, threads):
    sentences = [*text(60, seed), ["dog"], ["once"]]
    clusters = made_of(sentences, 5, 2)
    words = [word for word, _, _ in clusters.words]
    occurring = Counter(word for sentence in sentences for word in sentence)
    assert {word: n for word, n, _ in clusters.words} == {w: n for w, n in occurring.items() if n >= 2}
    counts = twin.pairs(sentences, words)

    def classes():
        return {word: c for word, _, c in clusters.words}

    before = -float("inf")
    while True:
        now = twin.objective(counts, classes())
        assert clusters.objective == pytest.approx(now, rel=1e-12)
        assert now >= before - 1e-9
        before = now
        if clusters.exchange(threads) == 0:
            break
    # No single move of a word from a cluster of several words improves the objective.
    found = classes()
    for word, c in found.items():
        if list(found.values()).count(c) > 1:
            assert all(twin.objective(counts, found | {word: other}) <= before + 1e-6 for other in range(5))
    assert dict(enumerate(clusters.merge(threads))) == twin.paths(counts, found)


def test_words_of_a_kind_are_together():
    found = {one.word: one for one in word_clusters(text(400, 1), n_clusters=4)}
    kinds = [["dog", "cat", "cow", "sun", "fog"], ["barks", "sleeps", "shines", "runs"], ["the", "a", "this"]]
    paths = [{found[word].path for word in kind} for kind in kinds]
    assert [len(one) for one in paths] == [1, 1, 1]
    assert len(set.union(*paths)) == 3


def test_paths_are_a_tree():
    paths = {one.path for one in word_clusters(text(200, 2), n_clusters=9)}
    assert len(paths) == 9
    assert sum(2.0 ** -len(path) for path in paths) == 1.0  # a full binary tree
    assert [one.path for one in word_clusters([["a", "a"]], n_clusters=3)] == ["0"]


def test_mistakes():
    with pytest.raises(InputError, match=r"text: expected words.*occur.*least 2.*found none"):
        word_clusters([["a", "b"]])
    with pytest.raises(InputError, match=r"sentence 1: expected.*list.*words without.*found 'a b'"):
        word_clusters([["a"], "a b"])
    with pytest.raises(InputError, match="n_clusters: expected a positive integer, found 0"):
        word_clusters([["a"]], n_clusters=0)
    with pytest.raises(FileNotFoundError):
        word_clusters(files=["nowhere.txt"])


@pytest.mark.slow
def test_program(program):
    sentences = text(100, 3)
    program.write(
        a_txt="\n".join(map(" ".join, sentences)),
        b_txt="\n\n".join("\n".join(f"{word} X" for word in sentence) for sentence in sentences),
        bad_txt=b"ok\n\xff\n",
    )
    assert program("data", "clusters", "a.txt", "-o", "a.paths", "-n", "4").status == 0
    assert program("data", "clusters", "b.txt", "-o", "b.paths", "-n", "4", "--columns", "--threads", "2").status == 0
    assert Path("a.paths").read_bytes() == Path("b.paths").read_bytes()
    found = Resource.clusters("brown", "a.paths")
    assert len(found) == 15
    made = Template("U:%d[0,0,brown]", resources=[found]).attributes([["dog"], ["cow"], ["the"]])
    assert made[0] == made[1] != made[2]
    done = program("data", "clusters", "bad.txt", "-o", "c.paths")
    assert (done.status, "bad.txt, line 2, byte 1: expected text in UTF-8" in done.err) == (1, True)
    done = program("data", "clusters", "nowhere.txt", "-o", "c.paths")
    assert (done.status, "nowhere.txt" in done.err, "c.paths" in program.files()) == (1, True, False)


def test_files_may_be_a_generator(tmp_path):
    sentences = text(200, 0)
    (tmp_path / "a.txt").write_text("".join(" ".join(s) + "\n" for s in sentences), encoding="utf-8")
    once = word_clusters(files=(path for path in [tmp_path / "a.txt"]), n_clusters=4, min_count=1)
    assert once == word_clusters(files=[tmp_path / "a.txt"], n_clusters=4, min_count=1)


def test_questions_in_another_order():
    made = WordClusters()
    made.add(b"a b a\n", "t")
    for question in (made.finish, lambda: made.exchange(1), lambda: made.merge(1), lambda: made.words):
        with pytest.raises(InputError, match="clusters: expected"):
            question()
    with pytest.raises(InputError, match="at least 1 cluster"):
        made.begin(0, 1)
    made.begin(2, 1)
    with pytest.raises(InputError, match=r"begin\(\) may be called only once"):
        made.begin(2, 1)
