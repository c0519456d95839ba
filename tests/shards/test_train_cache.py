"""Training from a folder of encoded shards: the same model as from memory, and `sparsecrf train --cache`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from random_columns import TEMPLATE, column_text

from sparsecrf import CorpusFolder, InputError, Model, Template, Vocabulary, encode_folder, fit
from sparsecrf.shards.dataset import encode_columns


@pytest.fixture
def ready(program):
    program.write(train_txt=column_text(80), dev_txt=column_text(20, seed=1), t_tpl=TEMPLATE)
    return program


@pytest.mark.slow
def test_the_optimum_is_that_of_the_whole(ready):
    template = Template(TEMPLATE)
    folder = encode_folder("cache", ["train.txt"], template, shard_tokens=40)
    whole = encode_columns(["train.txt"], Vocabulary(Template.conditions_pairs), template, grow=True).corpus
    assert len(folder.shards) > 3
    options = {"rho1": 0.5, "rho2": 0.1, "tol": 1e-7, "threads": 1}
    expected, found = (fit(data, **options) for data in (whole, CorpusFolder.load("cache")))
    assert found.stopped_by == "tol"
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert found.n_features == expected.n_features
    again = fit(CorpusFolder.load("cache"), **options)
    np.testing.assert_array_equal(again.w, found.w)


def test_one_shard_gives_the_bits_of_the_whole(ready):
    folder = encode_folder("cache", ["train.txt"], Template(TEMPLATE))
    whole = encode_columns(["train.txt"], Vocabulary(Template.conditions_pairs), Template(TEMPLATE), grow=True).corpus
    assert len(folder.shards) == 1
    expected, found = (fit(data, rho1=0.5, threads=1) for data in (whole, folder))
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    np.testing.assert_array_equal(found.w, expected.w)


def test_solvers_that_need_all_data_are_refused(ready):
    folder = encode_folder("cache", ["train.txt"])
    with pytest.raises(InputError, match="'sbcd' does not support data in shards; use auto, owlqn, lbfgs or fista"):
        fit(folder, solver="sbcd")


@pytest.mark.slow
def test_the_program(ready):
    options = ["-t", "t.tpl", "--dev", "dev.txt", "--rho1", "0.5", "--tol", "1e-6", "--json", "--threads", "1"]
    plain = ready("train", "train.txt", "-m", "plain.safetensors", *options)
    command = ["train", "train.txt", "-m", "m.safetensors", "--cache", "cache", "--shard-tokens", "40", *options]
    first = ready(*command)
    assert (plain.status, first.status) == (0, 0), first.err
    expected, found = (json.loads(done.out.splitlines()[-1]) for done in (plain, first))
    for name in ("labels", "attributes", "sequences", "tokens", "virtual_features", "observed_features"):
        assert found[name] == expected[name]
    assert found["objective"] == pytest.approx(expected["objective"], rel=1e-6)
    content = (ready.directory / "m.safetensors").read_bytes()
    model = Model.from_bytes(content)
    sentence = [["w1", "s1"], ["w8", "s1"]]
    assert model.label(sentence) == Model.load("plain.safetensors").label(sentence)
    shards = sorted(ready.directory.glob("cache/shard-*"))
    written = [file.stat().st_mtime_ns for file in shards]
    assert ready(*command).status == 0
    assert [file.stat().st_mtime_ns for file in shards] == written  # used again
    assert (ready.directory / "m.safetensors").read_bytes() == content
    assert ready(*command, "--cache-memory", "0").status == 0  # no shard stays in memory
    assert Model.load("m.safetensors").w.tolist() == model.w.tolist()


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (
            ["train.txt", "--cache", "cache", "--solver", "sgd-l1"],
            2,
            "cache is not supported by --solver sgd-l1",
        ),
        (
            ["train.txt", "--cache", "cache", "--dask", "local:1"],
            2,
            "--cache cache cannot be combined with --dask local:1",
        ),
        (["train.txt", "--shard-tokens", "5"], 2, "--cache"),
        (["train.txt", "--cache", "cache", "--shard-tokens", "0"], 2, "--shard-tokens"),
        (["train.txt", "--cache-memory", "5"], 2, "--cache-memory 5 needs --cache"),
        (["-", "--cache", "cache"], 1, "standard input: expected a regular file"),
        (["train.txt", "--cache", "dev.txt"], 1, "expected a folder with encoded data or a new name, found a file"),
        (["train.txt", "--cache", "none/cache"], 1, "none' does not exist"),
    ],
)
def test_what_is_refused(ready, arguments, status, expected):
    done = ready("train", "-m", "m.safetensors", *arguments)
    assert done.status == status
    assert expected in done.err
    assert ready.files() == ["dev.txt", "t.tpl", "train.txt"]


def test_a_damaged_folder_is_a_clear_error(ready):
    command = ["train", "train.txt", "-m", "m.safetensors", "--cache", "cache", "--shard-tokens", "40", "--quiet"]
    assert ready(*command).status == 0
    shard = ready.directory / "cache" / "shard-00001.corpus"
    content = bytearray(shard.read_bytes())
    content[-40] ^= 4
    shard.write_bytes(content)
    done = ready(*command)
    assert done.status == 1
    assert done.err.startswith("sparsecrf: ")
    assert "shard-00001.corpus: expected" in done.err
    assert "delete the folder" in done.err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows lets nobody shorten a file that is mapped")
def test_a_shard_that_is_shortened_in_place_is_an_error_not_a_crash(ready):
    """Pages of a mapped file that are gone end the process (SIGBUS): shards are copies, made again for each pass."""
    encode_folder("c", ["train.txt"], Template(TEMPLATE), shard_tokens=30)
    code = (
        "import os, sys\n"
        "from sparsecrf import CorpusFolder, InputError, fit\n"
        "folder = CorpusFolder.load(sys.argv[1])\n"
        "corpus, shards = folder.open(0), folder.in_shards(1, memory=0)\n"
        "before = corpus.fingerprint\n"
        "os.truncate(os.path.join(sys.argv[1], 'shard-00000.corpus'), 0)\n"
        "assert corpus.fingerprint == before\n"
        "try:\n"
        "    fit(shards, rho1=0.5)\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "c"], capture_output=True, text=True, check=True)
    assert "shard-00000.corpus: expected a corpus file, found 0 bytes; delete the folder c" in done.stdout
