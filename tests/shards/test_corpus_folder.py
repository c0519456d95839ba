"""Folders of encoded shards: made once, used again, never half of one."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from random_columns import TEMPLATE, column_text

from sparsecrf import InputError, Template, Vocabulary
from sparsecrf.shards import encode_folder as module
from sparsecrf.shards.dataset import encode_columns, encode_crfsuite
from sparsecrf.shards.encode_folder import encode_folder
from sparsecrf.shards.folder import MANIFEST, VOCABULARY, CorpusFolder, shard_name


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "data.txt"
    file.write_text(column_text(60))
    return file


def made(tmp_path, *sources, **options):
    options.setdefault("template", Template(TEMPLATE))
    options.setdefault("shard_tokens", 30)
    return encode_folder(tmp_path / "cache", sources, **options)


def all_arrays(folder):
    """`to_arrays` of all shards together."""
    parts = [folder.open(k).to_arrays() for k in range(len(folder.shards))]
    joined = {}
    for name in ("lengths", "labels", "unigram_id", "bigram_id", "unigram_value", "bigram_value"):
        joined[name] = np.concatenate([part[name] for part in parts])
    for name in ("unigram_ptr", "bigram_ptr"):
        joined[name] = np.concatenate([np.diff(part[name]) for part in parts])
    return joined


def test_shards_are_the_corpus_in_pieces(tmp_path, data):
    folder = made(tmp_path, data)
    vocabulary = Vocabulary(Template.conditions_pairs)
    whole = encode_columns([data], vocabulary, Template(TEMPLATE), grow=True)
    assert len(folder.shards) > 3
    assert (folder.n_sequences, folder.n_tokens) == (whole.corpus.n_sequences, whole.corpus.n_tokens)
    assert (folder.n_labels, folder.n_attributes) == (whole.corpus.n_labels, whole.corpus.n_attributes)
    assert folder.n_columns == whole.n_columns + 1 == 3
    for table, other in (
        (folder.vocabulary.labels, vocabulary.labels),
        (folder.vocabulary.attributes, vocabulary.attributes),
    ):
        assert [table[k] for k in range(len(table))] == [other[k] for k in range(len(other))]
    expected = whole.corpus.to_arrays()
    for name, found in all_arrays(folder).items():
        assert_array_equal(found, np.diff(expected[name]) if name.endswith("ptr") else expected[name])
    for k, shard in enumerate(folder.shards):
        corpus = folder.open(k)
        assert (corpus.n_sequences, corpus.n_tokens) == (shard.sequences, shard.tokens)
        assert (corpus.n_labels, corpus.n_attributes) == (folder.n_labels, folder.n_attributes)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cache", "data.txt"]


def test_shards_stay_in_memory_as_far_as_it_suffices(tmp_path, data):
    folder = made(tmp_path, data)
    sizes = [(folder.path / shard_name(k)).stat().st_size for k in range(len(folder.shards))]
    enough_for = 3 * sum(sizes[:2]) + 2 * 32 * folder.n_attributes

    def kept(**options):
        return [shard._keep for shard in folder.in_shards(1, **options).workers.here]

    assert len(sizes) > 3
    assert kept() == [True] * len(sizes)  # a quarter of the memory is enough for that
    assert kept(memory=enough_for) == [True, True] + [False] * (len(sizes) - 2)
    assert kept(memory=enough_for - 1) == [True] + [False] * (len(sizes) - 1)
    assert kept(memory=0) == [False] * len(sizes)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need the memory")
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_is_seen(kind):
    code = (
        "import resource\n"
        "from sparsecrf._core import usable_memory\n"
        f"resource.setrlimit(resource.{kind}, (3 * 10**9, resource.RLIM_INFINITY))\n"
        "print(usable_memory())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3 * 10**9


def test_files_of_crfsuite(tmp_path):
    data = tmp_path / "data.crfsuite"
    data.write_text("x\ta:0.5\tb\ny\tb\n\n" * 20)
    folder = made(tmp_path, data, template=None, format="crfsuite", shard_tokens=6)
    expected = encode_crfsuite([data], Vocabulary("bias"), grow=True).corpus.to_arrays()
    assert (folder.template, folder.n_columns, folder.vocabulary.bigrams) == (None, 0, "bias")
    assert len(folder.shards) > 1
    for name, found in all_arrays(folder).items():
        assert_array_equal(found, np.diff(expected[name]) if name.endswith("ptr") else expected[name])


def test_a_folder_is_used_again_for_the_same_data(tmp_path, data, monkeypatch):
    first = made(tmp_path, data)
    data.rename(tmp_path / "other-name.txt")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_encode", None)  # cannot be called
        again = made(tmp_path, tmp_path / "other-name.txt")
    assert (again.recipe, again.shards) == (first.recipe, first.shards)


@pytest.mark.parametrize(
    "change",
    [
        {"template": Template("U:%x[0,0]\nB\n")},
        {"template": None},
        {"shard_tokens": 31},
        {"start": False},
        {"missing": "x"},
    ],
)
def test_what_changes_makes_a_new_folder(tmp_path, data, change):
    first = made(tmp_path, data)
    second = made(tmp_path, data, **change)
    assert second.recipe != first.recipe
    assert CorpusFolder.load(tmp_path / "cache").recipe == second.recipe


def test_new_data_make_a_new_folder(tmp_path, data):
    made(tmp_path, data)
    data.write_text(column_text(5))
    assert made(tmp_path, data).n_sequences == 5
    assert made(tmp_path, data, data).n_sequences == 10
    assert len(list((tmp_path / "cache").iterdir())) == 2 + len(CorpusFolder.load(tmp_path / "cache").shards)


def test_labels_that_come_late(tmp_path):
    data = tmp_path / "data.txt"
    data.write_text("a ?\n\n" * 40 + "a x\n\n" * 3)
    folder = made(tmp_path, data, template=None, missing="?", shard_tokens=4)
    assert folder.n_sequences == 43
    assert folder.shards[0].tokens >= 40
    data.write_text("a ?\n\n" * 40)
    with pytest.raises(InputError, match=r"data\.txt: expected labels, but all are missing"):
        made(tmp_path, data, template=None, missing="?", shard_tokens=4)


def test_an_error_in_the_data_leaves_the_old_folder(tmp_path, data):
    first = made(tmp_path, data)
    data.write_text(column_text(60) + "too few\n")
    with pytest.raises(InputError, match=r"data\.txt, line \d+: expected 3 columns"):
        made(tmp_path, data)
    assert CorpusFolder.load(tmp_path / "cache").recipe == first.recipe
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cache", "data.txt"]


def test_other_folders_are_left_alone(tmp_path, data):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "thesis.txt").write_text("all of it")
    with pytest.raises(InputError, match=r"expected.*folder.*encoded data.*found 'thesis\.txt' in it"):
        made(tmp_path, data)
    (tmp_path / "cache" / "thesis.txt").rename(tmp_path / "thesis.txt")
    assert made(tmp_path, data).n_sequences == 60  # an empty folder is free
    with pytest.raises(InputError, match="found a file"):
        encode_folder(data, [data])
    with pytest.raises(InputError, match=r"parent directory .* does not exist"):
        encode_folder(tmp_path / "a" / "b", [data])


def test_what_cannot_be_read_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="standard input: expected a regular file"):
        made(tmp_path, "-")
    with pytest.raises(InputError, match=r"none\.txt: expected a regular file"):
        made(tmp_path, tmp_path / "none.txt")


@pytest.mark.parametrize("name", [MANIFEST, VOCABULARY, "shard-00002.corpus"])
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damage_is_named_with_the_way_out(tmp_path, data, name, damage):
    made(tmp_path, data)
    file = tmp_path / "cache" / name
    content = file.read_bytes()
    if damage == "flip":
        at = content.index(b"4") if name == MANIFEST else len(content) // 2
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    elif damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    else:
        file.unlink()
    if (name, damage) == (MANIFEST, "remove"):
        with pytest.raises(InputError, match=r"found no manifest\.json"):
            CorpusFolder.load(tmp_path / "cache")
        assert made(tmp_path, data).n_sequences == 60
        return
    with pytest.raises(InputError, match=rf"{name}: .*; delete the folder .*cache to rebuild it"):
        made(tmp_path, data).open(2)


def test_shards_of_another_folder_are_refused(tmp_path, data):
    made(tmp_path, data)
    first, second = (tmp_path / "cache" / f"shard-0000{k}.corpus" for k in (0, 1))
    first.write_bytes(second.read_bytes())
    with pytest.raises(InputError, match="found other content"):
        CorpusFolder.load(tmp_path / "cache").open(0)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_killed_process_leaves_no_half_folder(tmp_path, data):
    """A process is killed after its first shards; the next one finds nothing of use and begins anew."""
    code = (
        "import sys, time\n"
        "from sparsecrf.shards.encode_folder import encode_folder\n"
        "encode_folder(sys.argv[1], [sys.argv[2]], shard_tokens=30, progress=lambda n: time.sleep(0.05))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "cache", data]) as child:
        for _ in range(6000):
            if (tmp_path / ".cache.new" / "shard-00001.corpus").exists() or child.poll() is not None:
                break
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    assert not (tmp_path / "cache").exists()
    assert (tmp_path / ".cache.new").exists()
    folder = made(tmp_path, data, template=None)
    assert folder.n_sequences == 60
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cache", "data.txt"]


def test_a_folder_that_is_used_again_loses_what_a_killed_process_left(tmp_path, data):
    made(tmp_path, data)
    (tmp_path / ".cache.new").mkdir()
    made(tmp_path, data)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cache", "data.txt"]


@pytest.mark.slow
def test_processes_that_want_the_same_folder_make_it_once(tmp_path, data):
    code = (
        "import sys\n"
        "from sparsecrf.shards import encode_folder as module\n"
        "encode = module._encode\n"
        "module._encode = lambda *given: (print('made', flush=True), encode(*given))\n"
        "print(module.encode_folder(sys.argv[1], [sys.argv[2]], shard_tokens=30).n_sequences)\n"
    )
    command = [sys.executable, "-c", code, tmp_path / "cache", data]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [child.communicate(timeout=120)[0].split() for child in children]
    assert sorted(map(len, printed)) == [1, 1, 2]
    assert {words[-1] for words in printed} == {"60"}


def test_the_manifest_says_what_is_there(tmp_path, data):
    folder = made(tmp_path, data)
    entries = json.loads(Path(tmp_path, "cache", MANIFEST).read_text())
    assert entries["tokens"] == sum(shard["tokens"] for shard in entries["shards"]) == folder.n_tokens
    assert (entries["labels"], entries["attributes"]) == (folder.n_labels, folder.n_attributes)
    assert folder.n_bytes == sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())


SHARD = {"sequences": 1, "tokens": 1, "digest": "0" * 16}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"start": "x"}, "expected true or false as start, found 'x'"),
        ({"recipe": 7}, "expected text as recipe, found 7"),
        ({"n_columns": -1}, "expected a count as n_columns, found -1"),
        ({"n_columns": 1}, "expected at least 3 columns, as the template needs, found 1"),
        ({"labels": 10**400}, "expected a count as labels, found 1000"),
        ({"labels": 4}, "vocabulary: expected 4 labels, found 3"),
        ({"vocabulary": None}, "expected text as vocabulary, found None"),
        ({"vocabulary": "0"}, "vocabulary: expected content with digest 0"),
        ({"shards": []}, "expected a list that is not empty as shards"),
        ({"shards": [3]}, "expected an object as shard 0, found 3"),
        ({"shards": [{"tokens": 1}]}, "shard 0: expected the entries"),
        ({"shards": [SHARD | {"digest": "-1"}]}, "shard 0: expected 16 hexadecimal digits as digest, found '-1'"),
        ({"shards": [SHARD]}, "expected 60 sequences in all shards, found 1"),
        ({"template": {"text": "U", "boundary": 1}}, "expected a template's text and boundary"),
        ({"template": {"text": "\ud800", "boundary": "crf++"}}, "expected JSON"),
        ({"more": 1}, "expected the entries"),
        ({"version": {}}, "of version 1, found"),
    ],
)
def test_forged_manifests_are_refused(tmp_path, data, change, expected):
    """Their digest is right: anyone who can write the file can compute it."""
    folder = made(tmp_path, data)
    forge(folder, change)
    with pytest.raises(InputError, match=re.escape(expected)) as error:
        CorpusFolder.load(folder.path)
    assert str(error.value).endswith("to rebuild it")
    with suppress(InputError):  # not read if the folder is rebuilt; no other error
        made(tmp_path, data, start=False)


def forge(folder, change):
    file = folder.path / MANIFEST
    entries = json.loads(file.read_text()) | change
    del entries["digest"]
    entries["digest"] = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(entries))


def test_a_folder_that_another_run_has_made_anew(tmp_path, data):
    """Deleting it, as for a damaged folder, would end the other run."""
    first = made(tmp_path, data)
    made(tmp_path, data, shard_tokens=50)
    last = len(first.shards) - 1
    with pytest.raises(InputError, match=r"another run has rebuilt.*; give each run its own folder") as error:
        first.open(last)
    assert "delete" not in str(error.value)


def test_shards_that_the_manifest_counts_wrongly(tmp_path, data):
    folder = made(tmp_path, data)
    shards = json.loads((folder.path / MANIFEST).read_text())["shards"]
    shards[0]["tokens"], shards[1]["tokens"] = shards[0]["tokens"] + 1, shards[1]["tokens"] - 1
    forge(folder, {"shards": shards})
    with pytest.raises(InputError, match=r"shard-00000\.corpus: expected \d+ sequences with \d+ tokens in all, found"):
        CorpusFolder.load(folder.path).open(0)
