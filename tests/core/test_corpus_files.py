"""Corpora in files: what comes back is what was saved, or an error; never a crash."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from problems import make_problem
from strategies import problems

from sparsecrf import Corpus, InputError, _core

# The positions of the words of the header (cpp/core/corpus/corpus_file.hpp).
WORDS = {"n_labels": 24, "n_attributes": 32}
LENGTHS = {name: 40 + 8 * k for k, name in enumerate(("offsets", "labels", "unigram", "base", "rest"))}
LENGTHS |= {"sequence_weight": 80, "token_weight": 88, "unigram ptr": 96, "unigram id": 104, "unigram value": 112}


def saved(corpus, directory):
    path = Path(directory) / "a.corpus"
    corpus.save(path)
    return path


def small_corpus():
    kinds = {"real_values": True, "token_weights": True, "sequence_weights": True}
    return make_problem(seed=3, n_labels=3, lengths=[3, 2], n_attributes=4, list_size=3, **kinds).corpus()


@pytest.mark.slow
@given(problem=problems(weights=("moderate",), missing=True, token_weights=True, sequence_weights=True))
def test_what_was_saved_comes_back(tmp_path_factory, problem):
    corpus = problem.corpus()
    path = saved(corpus, tmp_path_factory.mktemp("corpus"))
    again = Corpus.open(path)
    assert again.fingerprint == corpus.fingerprint == Corpus.open(path, copy=True).fingerprint
    for name, expected in corpus.to_arrays().items():
        assert_array_equal(again.to_arrays()[name], expected)
    features = problem.features()
    first, second = (_core.Oracle(c, 1).loss_grad_curvature(features, problem.w) for c in (corpus, again))
    for expected, found in zip(first, second, strict=True):
        assert_array_equal(found, expected)  # to the bit


def test_a_corpus_outlives_the_name_of_its_file(tmp_path):
    corpus = small_corpus()
    path = saved(corpus, tmp_path)
    again = Corpus.open(path)
    if os.name == "posix":
        path.unlink()
    assert (
        again.subset(np.array([1, 0], dtype=np.int64)).fingerprint
        == corpus.subset(np.array([1, 0], dtype=np.int64)).fingerprint
    )


def test_counts_may_have_grown(tmp_path):
    path = saved(small_corpus(), tmp_path)
    again = Corpus.open(path, n_labels=5, n_attributes=9)
    assert (again.n_labels, again.n_attributes) == (5, 9)
    with pytest.raises(InputError, match="expected at most 2 labels, found 3"):
        Corpus.open(path, n_labels=2)
    with pytest.raises(InputError, match="expected at most 3 attributes, found 4"):
        Corpus.open(path, n_attributes=3)


def test_the_digest_tells_files_apart(tmp_path):
    corpus = small_corpus()
    digest = corpus.save(tmp_path / "a.corpus")
    assert corpus.save(tmp_path / "b.corpus") == digest
    assert Corpus.open(tmp_path / "a.corpus", digest=digest).fingerprint == corpus.fingerprint
    with pytest.raises(InputError, match="expected content with digest 7, found other content"):
        Corpus.open(tmp_path / "a.corpus", digest=7)


def test_every_flipped_bit_is_seen(tmp_path):
    path = saved(small_corpus(), tmp_path)
    content = path.read_bytes()
    with open(path, "r+b", buffering=0) as file:

        def put(k, byte):
            file.seek(k)
            file.write(bytes([byte]))

        for k, byte in enumerate(content):
            put(k, byte ^ 1 << k % 8)
            with pytest.raises(InputError, match=r"a\.corpus: expected"):
                Corpus.open(path)
            put(k, byte)
    assert Corpus.open(path).n_sequences == 2


def test_every_shorter_file_is_refused(tmp_path):
    path = saved(small_corpus(), tmp_path)
    content = path.read_bytes()
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        with pytest.raises(InputError, match="expected"):
            Corpus.open(path)
    path.write_bytes(content + bytes(32))
    with pytest.raises(InputError, match="expected the end of the file after the last array, found 32 more bytes"):
        Corpus.open(path)


@pytest.mark.parametrize("at", [*WORDS.values(), *LENGTHS.values()])
@pytest.mark.parametrize("value", [0, 2**31, 2**60, 2**61 + 1, 2**64 - 1])
def test_absurd_sizes_are_refused_without_memory(tmp_path, at, value):
    path = saved(small_corpus(), tmp_path)
    content = bytearray(path.read_bytes())
    struct.pack_into("=Q", content, at, value)
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected"):
        Corpus.open(path)


def with_digest(content):
    """The file with the digest that fits it: what a damaged file would be whose digest happened to fit."""
    lanes, mask = [1, 2, 3, 4], 2**64 - 1
    whole = bytearray(content)
    struct.pack_into("=Q", whole, 16, 0)
    for at in range(0, len(whole), 32):
        for k, word in enumerate(struct.unpack_from("=4Q", whole, at)):
            h = ((lanes[k] ^ word) * 0x9E3779B97F4A7C15) & mask
            lanes[k] = (h << 29 | h >> 35) & mask
    digest = 0
    for lane in lanes:
        x = (digest ^ lane) + 0x9E3779B97F4A7C15 & mask
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
        digest = x ^ x >> 31
    struct.pack_into("=Q", whole, 16, digest)
    return bytes(whole)


def test_the_digest_is_as_described(tmp_path):
    content = saved(small_corpus(), tmp_path).read_bytes()
    assert with_digest(content) == content


@pytest.mark.slow
def test_what_passes_the_digest_is_checked_all_the_same(tmp_path):
    """Every word after the counts set to what may be out of range: refused, or as harmless as another weight."""
    corpus = small_corpus()
    path = saved(corpus, tmp_path)
    content = path.read_bytes()
    refused = 0
    for at in range(min(LENGTHS.values()), len(content), 4):
        for value in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
            changed = bytearray(content)
            struct.pack_into("=I", changed, at, value)
            path.write_bytes(with_digest(changed))
            try:
                found = Corpus.open(path)
            except InputError:
                refused += 1
                continue
            oracle = _core.Oracle(found, 1)
            features = _core.FeatureSet.all_virtual(found)
            oracle.loss_grad(features, np.zeros(len(features)))
    assert refused > 100


def test_errors_of_the_system_are_its_own(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Corpus.open(tmp_path / "none.corpus")
    assert caught.value.filename == str(tmp_path / "none.corpus")
    with pytest.raises(OSError, match="directory"):
        Corpus.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        small_corpus().save(tmp_path / "none" / "a.corpus")
    with pytest.raises(OSError, match="directory"):
        small_corpus().save(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows has no limit on the size of files")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    import resource
    import signal

    path = saved(small_corpus(), tmp_path)
    content = path.read_bytes()
    large = make_problem(seed=0, n_labels=2, lengths=[400] * 20, n_attributes=50, list_size=5).corpus()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(content), before[1]))
        with pytest.raises(OSError, match="large"):
            large.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["a.corpus"]


def repeated_list(n_tokens, n_attributes):
    """The file of a sequence whose tokens all have the same attributes: one list, however often it occurs."""
    tokens = np.zeros(n_tokens, dtype=np.uint32)
    lists = [np.array([0, 0, n_attributes]), np.arange(n_attributes, dtype=np.uint32), np.zeros(0)]
    none = [np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.uint32), np.zeros(0)]
    arrays = [np.array([0, n_tokens]), tokens.astype(np.int32), tokens + 1, tokens, tokens, np.zeros(0), np.zeros(0)]
    arrays += [*lists, *none, *none]
    header = struct.pack("=8sIIQQQ16Q24x", b"sparseCF", 1, 0x01020304, 0, 2, n_attributes, *map(len, arrays))
    parts = (array.tobytes() for array in arrays)
    return with_digest(header + b"".join(part + bytes(-len(part) % 32) for part in parts))


def test_more_occurrences_than_offsets_can_count(tmp_path):
    """2^32 of them would need 34 GB before any of their offsets could be wrong: they are counted first."""
    path, n = tmp_path / "a.corpus", 2**16 + 1
    path.write_bytes(repeated_list(4, 3))
    _core.Oracle(Corpus.open(path), 1)
    path.write_bytes(repeated_list(n, n))
    with pytest.raises(InputError, match=rf"sequence 0: expected at most {2**32 - 1} occurrences.*found {n * n}; cut"):
        _core.Oracle(Corpus.open(path), 1)
