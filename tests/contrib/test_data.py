"""Data sets: readers, checksums, the download (from this machine), and the commands."""

import functools
import hashlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sparsecrf import InputError, Template
from sparsecrf.contrib.datasets import cmudict
from sparsecrf.contrib.datasets.fetch import cache, carried, contents, fetch, is_here
from sparsecrf.contrib.datasets.readers import column_text, conllu, token_and_label
from sparsecrf.contrib.datasets.registry import REGISTRY, DataSet, Source, find

CONLLU = (
    "# sent_id = 1\n# text = vámonos New York\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_\n"
    "2.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tNew York\tNew York\tPROPN\tN\t_\t1\tobl\t_\t_\r\n"
    "\n\n# sent_id = 2\n"
    "1\t#\t#\tSYM\tS\t_\t0\troot\t_\t_"
)


def run(*arguments, **options):
    command = [sys.executable, "-m", "sparsecrf", "data", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


# ---- Readers


def test_conllu():
    files = dict.fromkeys(("a.conllu", "b.conllu", "c.conllu"), CONLLU.encode())
    first = [("vamos", "VERB", "V"), ("nos", "PRON", "P"), ("New_York", "PROPN", "N")]
    found = conllu("form", "upos", "xpos")(files)
    assert list(found) == ["train", "dev", "test"]
    assert all(sequences == [first, [("#", "SYM", "S")]] for sequences in found.values())


def test_conllu_names_the_line():
    files = {"a.conllu": b"# x\n1\tfew\n", "b.conllu": b"", "c.conllu": b""}
    with pytest.raises(InputError, match=r"a\.conllu, line 2: expected 10 fields separated by tabs, found 2"):
        conllu("form")(files)


def test_token_and_label():
    text = b"#tag\tO\nParis\tB-location\n\t\nI\tO\n\n\n"
    files = dict.fromkeys(("a", "b", "c"), text)
    found = token_and_label()(files)
    assert found["dev"] == [[("#tag", "O"), ("Paris", "B-location")], [("I", "O")]]
    with pytest.raises(InputError, match=r"a, line 1: expected.*token.*tab.*label.*found 'New York"):
        token_and_label()({"a": b"New York\tB-location\n", "b": b"", "c": b""})


def test_column_text():
    assert column_text([[("a", "X"), ("b", "Y")], [("c", "Z")]]) == "a\tX\nb\tY\n\nc\tZ\n\n"


def test_cmudict_lines():
    lines = ("tax T AE1 K S", "tax(2) T AA1 K S", "o'clock AH0 K L AA1 K", "tete T EH1 T # french", "a AH0")
    text = "\n".join([*lines, "fbi EH1 F B IY2 AY1 Z Z Z"])  # the last has more sounds than letters can make
    assert cmudict.parse(text) == [("tax", ["T", "AE", "K", "S"]), ("tete", ["T", "EH", "T"])]
    with pytest.raises(InputError, match=r"cmudict\.dict, line 2: expected a word and phonemes, found ';;; old'"):
        cmudict.parse("tax T AE1 K S\n;;; old\n")


def test_rare_labels():
    assert cmudict.usual([["A", "A"], ["A"], ["A", "B"]], least=2) == [True, True, False]


def test_cmudict_columns():
    words = [f"{a}{b} {a.upper()} {b.upper()}" for a in "bdfgkt" for b in "aeiou"]
    text = "\n".join([*words * 3, "bx B K S"])  # one word alone needs two sounds for a letter: it is left out
    parts = cmudict.columns({"cmudict.dict": text.encode()})
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 72, "dev": 9, "test": 9}
    assert all(letter.upper() == label for rows in parts.values() for word in rows for letter, label in word)


# ---- Registry


def test_registry_is_fixed_and_complete():
    assert len({entry.name for entry in REGISTRY}) == len(REGISTRY) >= 3
    for entry in REGISTRY:
        assert entry.licence
        assert entry.template.endswith("B\n")
        for file in entry.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.url.startswith("https://")
            assert "/master/" not in file.url  # a branch moves; a commit or a release does not
            assert "/main/" not in file.url


def test_unknown_name():
    with pytest.raises(InputError, match=r"expected one of cmudict, .*, found 'nosuch'"):
        find("nosuch")


def test_installed_dictionary_has_its_checksum():
    [file] = find("cmudict").files
    data = carried(file)
    assert data is not None
    assert len(data) == file.size
    assert is_here(find("cmudict"))


def test_another_version_of_the_package_is_refused(tmp_path, monkeypatch):
    (tmp_path / "carrier").mkdir()
    (tmp_path / "carrier" / "__init__.py").write_text("raise AssertionError('never imported')")
    (tmp_path / "carrier" / "words.txt").write_text("old")
    monkeypatch.syspath_prepend(tmp_path)
    file = Source("https://example.org/words.txt", "0" * 64, 3, package=("carrier", "words.txt"))
    with pytest.raises(InputError, match=r"words.txt: expected SHA-256 0+, found [0-9a-f]{64}: the package carrier"):
        carried(file)
    assert carried(Source("https://example.org/words.txt", "0" * 64, 3, package=("nosuch", "words.txt"))) is None


# ---- Download, from a server of our own


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A data set of three files on a local server; gives the set and the directory that is served."""
    pytest.importorskip("pooch", reason="downloads need the extra `data`")
    directory = tmp_path / "served"
    directory.mkdir()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(directory))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    monkeypatch.setenv("SPARSECRF_DATA_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        files = []
        for part in ("train", "dev", "test"):
            text = f"{part}\tX\n".encode()
            (directory / f"{part}.conll").write_bytes(text)
            address = f"http://127.0.0.1:{server.server_address[1]}/{part}.conll"
            files.append(Source(address, hashlib.sha256(text).hexdigest(), len(text)))
        yield (
            DataSet("tiny", "three tokens", "token label", "CC0-1.0", "", tuple(files), token_and_label(), "B\n"),
            directory,
        )
        server.shutdown()


def test_download(served, tmp_path):
    data_set, directory = served
    assert not is_here(data_set)
    out = tmp_path / "new" / "out"
    assert fetch(data_set, out) == [out / name for name in ("train.txt", "dev.txt", "test.txt", "template.txt")]
    assert [path.read_text() for path in sorted(out.iterdir())] == ["dev\tX\n\n", "B\n", "test\tX\n\n", "train\tX\n\n"]
    assert is_here(data_set)
    for path in directory.iterdir():
        path.unlink()
    assert contents(data_set)["dev.conll"] == b"dev\tX\n"  # kept: no second download
    assert fetch(data_set)[0] == Path(cache(), "tiny", "train.txt")


def test_download_with_another_content(served, tmp_path):
    data_set, directory = served
    (directory / "dev.conll").write_text("dev\tY\n")
    with pytest.raises(InputError, match=r"dev.conll: expected SHA-256 [0-9a-f]{64}, found different content"):
        fetch(data_set, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_download_of_what_is_not_there(served, tmp_path):
    data_set, directory = served
    (directory / "test.conll").unlink()
    with pytest.raises(InputError, match=r"test.conll: could not download 7 bytes: 404"):
        fetch(data_set, tmp_path / "out")


def test_without_a_connection(served, tmp_path, monkeypatch):
    requests = pytest.importorskip("requests")
    files = [replace(file, url="http://127.0.0.1:9/none") for file in served[0].files]
    offline = replace(served[0], files=tuple(files))
    with pytest.raises(InputError, match=r"^tiny: could not connect to 127.0.0.1; are you online\? \[.*refused"):
        fetch(offline, tmp_path / "out")

    def late(*_, **__):
        raise requests.exceptions.ReadTimeout("Read timed out. (read timeout=30)")

    monkeypatch.setattr(requests.Session, "send", late)
    with pytest.raises(InputError, match=r"are you online\? Read timed out. \(read timeout=30\)$"):
        fetch(offline, tmp_path / "out")


def test_without_pooch_the_command_to_install_it_is_named(served, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"tiny: downloads need the package pooch: .*pip install 'sparsecrf\[data\]'"):
        fetch(served[0], tmp_path / "out")
    monkeypatch.delenv("SPARSECRF_DATA_DIR")
    with pytest.raises(InputError, match=r"give a directory to write to \(-o DIR\)"):
        fetch(served[0])


def test_nothing_is_half_written(served, tmp_path, monkeypatch):
    def fail(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        fetch(served[0], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


# ---- The commands


@pytest.mark.slow
def test_list():
    done = run("list")
    assert done.returncode == 0
    assert all(entry.name in done.stdout and entry.licence in done.stdout for entry in REGISTRY)
    entries = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    assert [entry["name"] for entry in entries] == [entry.name for entry in REGISTRY]
    assert entries[0]["fetched"] is True


@pytest.mark.slow
def test_simulate(tmp_path):
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    done = run("simulate", "-o", str(first), "--sequences", "20", "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(first / f"{part}.txt") for part in ("train", "dev", "test", "template")]
    assert len(Template.load(first / "template.txt")) == 2
    assert "the Bayes error is 15.40 %" in done.stderr
    text = (first / "train.txt").read_text()
    sequences = text.rstrip("\n").split("\n\n")
    assert [len(sequence.splitlines()) for sequence in sequences] == [5] * 20
    assert {line.split("\t")[1] for line in text.splitlines() if line} <= set("ABCDEF")
    run("simulate", "-o", str(again), "--sequences", "20", "--seed", "5")
    run("simulate", "-o", str(other), "--sequences", "20", "--seed", "6")
    assert (again / "test.txt").read_text() == (first / "test.txt").read_text()
    assert (other / "test.txt").read_text() != (first / "test.txt").read_text()
    assert (first / "train.txt").read_text() != (first / "dev.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("fetch", "nosuch"), 2), (("fetch",), 2), (("simulate",), 2), (("simulate", "-o", "x", "--sequences", "0"), 2)],
)
def test_exit_status(arguments, status, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [(), ("list",), ("fetch",), ("simulate",)])
def test_help_has_an_example(command):
    assert "Example: sparsecrf data" in run(*command, "--help").stdout
