"""Files on a Dask cluster: read, cut into parts and labelled as on one machine; the program with --dask."""

import json
import os
from io import BytesIO
from itertools import pairwise

import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("distributed", reason="clusters need the extra `dask`")

import dask
from partitions import OPTIONS, cut, left_on, names
from sentences import sentences

from sparsecrf import CRF, InputError, Model, fit
from sparsecrf.cli.options import Inputs
from sparsecrf.cli.reading import read
from sparsecrf.cli.train import RunOptions
from sparsecrf.contrib.dask import train
from sparsecrf.contrib.dask.partitions import File, parts_of
from sparsecrf.encoding.formats import format_named

TEMPLATE = "U1:%x[0,0]\n*2:%x[0,1]\nU3:%x[-1,0]\nB\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    X, y = sentences(40, seed=5)
    for k, (a, b) in enumerate(zip(cut(X, 4), cut(y, 4), strict=True)):
        text = "\n".join(
            "".join(f"{' '.join(row)} {name}\n" for row, name in zip(rows, labels, strict=True))
            for rows, labels in zip(a, b, strict=True)
        )
        (folder / f"part{k}.txt").write_text(text)
    (folder / "template").write_text(TEMPLATE)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_column_files(client, files, template):
    found = train(client, str(files / "part*.txt"), template=template, dev=str(files / "part0.txt"), **OPTIONS)
    sources = [str(files / f"part{k}.txt") for k in range(4)]
    template_file = None if template is None else str(files / "template")
    with read(Inputs(sources, template_file), RunOptions(), threads=1, quiet=True) as local:
        pass  # data in memory
    assert names(found.data.vocabulary.attributes) == names(local.vocabulary.attributes)
    assert names(found.data.vocabulary.labels) == names(local.vocabulary.labels)
    expected = fit(local.corpus, threads=1, **OPTIONS)
    assert found.fit.objective == pytest.approx(expected.objective, rel=1e-4)
    assert found.model.n_columns == local.model(expected).n_columns
    assert found.fit.history[-1].dev_error < 20


@pytest.mark.slow
def test_files_by_url(client, files):
    from fsspec.implementations.local import LocalFileSystem

    by_path = train(client, [str(files / f"part{k}.txt") for k in range(4)], max_iter=2, **OPTIONS)
    by_url = train(client, f"file://{files}/part*.txt", max_iter=2, **OPTIONS)
    assert LocalFileSystem().exists(str(files))
    assert_array_equal(by_url.fit.w, by_path.fit.w)
    with pytest.raises(InputError, match="no file matches this pattern"):
        train(client, f"file://{files}/nothing*.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("columns", "a A\nb B\n\nc A\n \t\n\nd B\ne A\n\nf B\n" + "g A\n" * 20 + "\nh B\ni A"),
        ("columns", "a A\r\nb B\r\n\r\nc A\r\n\r\nd B\r\n"),
        ("jsonl", "".join(f'{{"tokens": ["w{k}", "x"], "labels": ["A", "B"]}}\n' for k in range(12))),
    ],
)
def test_large_files_are_cut_between_sequences(name, text, tmp_path):
    file, format = tmp_path / "data", format_named(name)
    content = "\n\n".join([text] * 2000).encode()
    file.write_bytes(content)
    whole = [piece.data for all_of in format.pieces(file) for piece in format.sequences(all_of)]
    for size in (5_000, 6_001, len(content) // 2, len(content), 10 * len(content)):
        parts = parts_of(str(file), format, size)
        assert (len(parts) > 1) == (size <= len(content) // 2)
        assert (parts[0].begin, parts[-1].end) == (0, None)
        assert all(a.end == b.begin for a, b in pairwise(parts))
        cut = [BytesIO(content[part.begin : part.end]) for part in parts]
        found = [piece.data for part in cut for all_of in format.pieces(part) for piece in format.sequences(all_of)]
        assert found == whole


@pytest.mark.slow
def test_parts_of_a_file_are_as_files(client, tmp_path):
    """The same bits as from files that were cut by hand; an error names the line of the whole file."""
    X, y = sentences(1000, seed=5)
    lines = [
        "".join(f"{' '.join(row)} {name}\n" for row, name in zip(rows, labels, strict=True)) + "\n"
        for rows, labels in zip(X, y, strict=True)
    ]
    (tmp_path / "all.txt").write_text("".join(lines))
    parts = parts_of(str(tmp_path / "all.txt"), format_named("columns"), 1 << 14)
    assert len(parts) > 2
    for k, part in enumerate(parts):
        (tmp_path / f"cut{k:02}.txt").write_bytes((tmp_path / "all.txt").read_bytes()[part.begin : part.end])
    options = OPTIONS | {"max_iter": 2}
    for url in (str(tmp_path / "all.txt"), f"file://{tmp_path}/all.txt"):
        found = train(client, url, partition_bytes=1 << 14, **options)
        expected = train(client, str(tmp_path / "cut*.txt"), **options)
        assert_array_equal(found.fit.numbers, expected.fit.numbers)
        assert_array_equal(found.fit.w, expected.fit.w)
        assert names(found.data.vocabulary.attributes) == names(expected.data.vocabulary.attributes)
    lines[-2] = "one_column_only\n\n"
    (tmp_path / "all.txt").write_text("".join(lines))
    number = "".join(lines[:-2]).count("\n") + 1
    with pytest.raises(InputError, match=rf"partition {len(parts) - 1}: .*all.txt, line {number}: expected"):
        train(client, str(tmp_path / "all.txt"), partition_bytes=1 << 14)
    with pytest.raises(InputError, match="partition_bytes: expected a positive integer, found 0"):
        train(client, str(tmp_path / "all.txt"), partition_bytes=0)


@pytest.mark.slow
def test_parts_without_labels_or_ends_and_other_names(client, tmp_path):
    """A part may have no label, if others have some; a file may have no end of a sequence for long, or at all; and a
    name need not be text."""
    file = os.path.join(os.fsencode(tmp_path), b"a\xff.txt")
    with open(file, "wb") as out:
        out.write(b"x A\ny B\n\n" * 2000 + b"x ?\ny ?\n\n" * 2000)
    found = train(client, os.fsdecode(file), missing="?", partition_bytes=1 << 13, max_iter=2, **OPTIONS)
    assert names(found.data.vocabulary.labels) == ["A", "B"]
    assert found.data.shards.n_missing == 4000
    with open(file, "wb") as out:
        out.write(b"x ?\n\n" * 4000)
    with pytest.raises(InputError, match="expected labels, but all are missing"):
        train(client, os.fsdecode(file), missing="?", partition_bytes=1 << 13)
    (tmp_path / "long").write_text("x A\n" * 9000 + "\n" + "y B\n" * 300)
    for size in (5000, 20_000, 36_000):
        parts = parts_of(str(tmp_path / "long"), format_named("columns"), size)
        assert [part.begin for part in parts] == [0, 36_001]
    (tmp_path / "one").write_text("x A\n" * 9000)
    assert len(parts_of(str(tmp_path / "one"), format_named("columns"), 5000)) == 1
    assert parts_of(str(tmp_path / "nothing"), format_named("columns"), 5000) == [File(str(tmp_path / "nothing"))]


def test_broken_files(client, files, tmp_path):
    (tmp_path / "a.txt").write_text("x A\ny B\n")
    (tmp_path / "b.txt").write_text("x q A\n")
    (tmp_path / "c.txt").write_text("\n\n")
    with pytest.raises(InputError, match=r"partition 1: .*b.txt, line 1: expected 2 columns, found 3"):
        train(client, [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    with pytest.raises(InputError, match=r"partition 1: .*c.txt: expected at least one sequence, found none"):
        train(client, [str(tmp_path / "a.txt"), str(tmp_path / "c.txt")])
    (tmp_path / "d.txt").write_text("x A\ny B B\n")
    with pytest.raises(InputError, match=r"partition 0: .*d.txt, line 2: expected 2 columns"):
        train(client, [str(tmp_path / "d.txt")])
    with pytest.raises(FileNotFoundError):
        train(client, [str(tmp_path / "e.txt")])


@pytest.mark.slow
def test_megabytes_of_blank_lines_are_no_part(client, tmp_path):
    """At the beginning, in the middle and at the end; on one machine they are ignored, too."""
    file, blank = tmp_path / "a.txt", b" \t\n\n" * 30_000
    file.write_bytes(blank + b"x A\ny B\n\n" * 1000 + blank + b"  y B\nx A\n\n" + blank)
    parts = parts_of(str(file), format_named("columns"), 1 << 13)
    assert parts[0].begin == 0
    assert parts[-1].begin == 2 * len(blank) + 9000
    assert len(parts) > 2
    found = train(client, str(file), partition_bytes=1 << 13, max_iter=2, **OPTIONS)
    assert found.data.shards.n_sequences == 1001
    file.write_bytes(blank)
    with pytest.raises(InputError, match=r"a.txt: expected at least one sequence, found none"):
        train(client, str(file), partition_bytes=1 << 13)


def test_columns_that_change_at_a_cut(client, tmp_path):
    file, text, size = tmp_path / "a.txt", b"xyz A\n\n" * 3000, 11_000
    file.write_bytes(text)
    at = parts_of(str(file), format_named("columns"), size)[1].begin
    file.write_bytes(text[:at] + text[at:].replace(b"xyz", b"x z"))
    line = 1 + text[:at].count(b"\n")
    with pytest.raises(InputError, match=rf"partition 1: .*a.txt, line {line}: expected 2 columns, found 3"):
        train(client, str(file), partition_bytes=size)


@pytest.mark.slow
def test_program(client, files, program):
    address, model = client.scheduler.address, program.directory / "m.safetensors"
    options = ["-m", str(model), "--rho1", "0.1", "--tol", "1e-5", "-t", str(files / "template"), "--json"]
    done = program("train", str(files / "part*.txt"), "--dask", address, *options)
    assert done.status == 0, done.err
    assert f"reading on cluster {address}" in done.err
    there = json.loads(done.out.splitlines()[-1])
    done = program("train", *(str(files / f"part{k}.txt") for k in range(4)), *options)
    here = json.loads(done.out.splitlines()[-1])
    assert there["objective"] == pytest.approx(here["objective"], rel=1e-3)
    for name in ("virtual_features", "observed_features", "labels", "attributes", "sequences", "tokens", "stopped_by"):
        assert there[name] == here[name]
    assert program("label", "-m", str(model), str(files / "part1.txt")).status == 0
    assert left_on(client) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [["--encoding", "latin-1"], ["--encoding", "bytes"], ["--ragged", "--encoding", "latin-1"]]
)
def test_workers_read_other_encodings_and_ragged_lines(client, program, options):
    lines = "caf\xe9 {}N\nna\xefve {}A\n\nun {}D\n\n"
    text = lines.format("x " if "--ragged" in options else "", *[""] * 2).encode("latin-1")
    for name in ("a.txt", "b.txt"):
        (program.directory / name).write_bytes(text * 3)
    program.write(t_txt="U:%x[0,0]\nB\n")
    common = ["-t", "t.txt", "--rho1", "0.1", *options, "-m"]
    done = program("train", "[ab].txt", "--dask", client.scheduler.address, "--dev", "a.txt", *common, "there")
    assert done.status == 0, done.err
    assert program("train", "a.txt", "b.txt", *common, "here").status == 0
    there, here = (Model.load(program.directory / name) for name in ("there", "here"))
    assert names(there.vocabulary.attributes) == names(here.vocabulary.attributes)
    assert there.training["encoding"] == here.training["encoding"]
    assert left_on(client) == []


@pytest.mark.slow
@pytest.mark.parametrize("dev", ["dev.txt", "-"])
def test_labels_of_dev_data_that_the_workers_do_not_have(client, program, dev):
    text = "in O\nNew B-LOC\nYork I-LOC\n\nBob B-PER\nran O\n\n"
    other = text.replace("PER", "ORG")
    program.write(a_txt=text * 5, b_txt=text * 5, dev_txt=other)
    address, options = client.scheduler.address, ["--rho1", "0.1", "-m", "m", "--json"]
    done = program("train", "[ab].txt", "--dask", address, "--dev", dev, *options, stdin=other.encode())
    assert "1 of 5 tokens have labels that do not occur in the training data and count as wrong: 'B-ORG'" in done.err
    expected = json.loads(program("eval", "-m", "m", "dev.txt", "--json").out)
    assert json.loads(done.out)["dev_f1"] == pytest.approx(expected["f1"])
    message = r"dev: expected labels of the training data .* found only 'NOUN'"
    with pytest.raises(InputError, match=message):
        train(client, [[["dog"]]], [[["N"]]], dev=([["dog"]], [["NOUN"]]))
    assert left_on(client) == []


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["--dask", "local:none"], 2, "--dask: expected a number of workers after local:, found 'none'"),
        (["--dask", "nowhere"], 1, "--dask: expected a Dask scheduler at nowhere"),
        (["--dask", "local:2", "--solver", "sbcd"], 2, "--dask local:2 is not supported by --solver sbcd; use"),
    ],
)
def test_program_refuses(program, files, arguments, status, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with dask.config.set({"distributed.comm.timeouts.connect": 1}):
        done = program("train", str(files / "part*.txt"), "-m", "m.safetensors", *arguments)
    assert done.status == status
    assert expected in done.err
    assert program.files() == []


@pytest.mark.slow
def test_label_sets(client, tmp_path):
    """In files and in memory, as on one machine."""
    text = "the D\ncan N|V\nrusts V\n\nwe P\ncan ?\nfish N|V\n\nthe D\nfish N\n\n"
    for k in range(3):
        (tmp_path / f"part{k}.txt").write_text(text)
    X = [["the", "can", "rusts"], ["we", "can", "fish"], ["the", "fish"]]
    y = [["D", {"N", "V"}, "V"], ["P", None, {"N", "V"}], ["D", "N"]]
    options = {**OPTIONS, "tol": 1e-6}
    from_files = train(
        client, str(tmp_path / "part*.txt"), missing="?", label_sets="|", template="U:%x[0,0]", **options
    )
    assert sorted(names(from_files.data.vocabulary.labels)) == ["D", "N", "P", "V"]
    assert from_files.data.shards.n_missing == 9
    expected = CRF(template="U:%x[0,0]", **options).fit(X * 3, y * 3)
    assert from_files.fit.objective == pytest.approx(expected.objective_, rel=1e-5)
    in_memory = train(client, [X] * 3, [y] * 3, template="U:%x[0,0]", **options)
    assert in_memory.fit.objective == pytest.approx(expected.objective_, rel=1e-5)
    with pytest.raises(InputError, match=r"gap.* missing labels or label sets"):
        train(client, [X] * 3, [y] * 3, gap=0.1)
    assert left_on(client) == []
