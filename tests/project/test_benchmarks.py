"""The benchmarks' harness on a folder of made-up data, and that its records can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # experiments and benchmarks are not part of the package

from benchmarks.common import RECORD, MemoryWatch, peak_mb, run  # noqa: E402
from benchmarks.labelling import report as labelling_report  # noqa: E402
from benchmarks.peers import record, tables  # noqa: E402
from benchmarks.tasks import TASKS, Task  # noqa: E402

posix = pytest.mark.skipif(os.name != "posix", reason="processes are watched and ended as on Linux and macOS")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """train.txt, test.txt and a template: 40 sentences whose labels follow from word and neighbour."""
    made = tmp_path / "made"
    made.mkdir()
    for name, shift in (("train", 0), ("test", 1)):
        words = [[f"w{(7 * n + 3 * t + shift) % 11}" for t in range(6)] for n in range(40)]
        rows = ("".join(f"{word} L{int(word[1:]) % 3}\n" for word in sentence) for sentence in words)
        (made / f"{name}.txt").write_text("\n".join(rows) + "\n")
    (made / "template").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    return made


def test_table_of_tasks() -> None:
    assert TASKS["conll2000"].plain
    assert not TASKS["conll2003"].plain
    assert "-l2" not in "".join(name for name, task in TASKS.items() if task.rho1 > 0)


def test_task_of_a_folder(folder: Path, tmp_path: Path) -> None:
    task = Task.of_folder(folder, 0.0, 1.0)
    assert (task.name, task.plain, task.available()) == ("made-l2", True, True)
    files = task.prepare(tmp_path / "work")
    assert files.train.read_text() == (folder / "train.txt").read_text()
    assert files.repeated(1000, "long")[1] == 1200  # 5 times the 240 tokens of the test file
    (folder / "template").write_text("U0:%x[0,0]\nB0:%x[0,0]\n")
    assert not Task.of_folder(folder, 1.0, 1.0).plain
    (folder / "test.txt").unlink()
    assert not task.available()


@pytest.mark.slow
@posix
def test_peers_on_a_folder(folder: Path, tmp_path: Path) -> None:
    """Trained by tools, scored by the harness, labelled; rows and page in a folder of records."""
    pytest.importorskip("pycrfsuite")
    pytest.importorskip("matplotlib")
    command = [sys.executable, "benchmarks/peers/run.py", "--data", str(folder), "--rho1", "0.5", "--limit", "0.2"]
    command += ["--repetitions", "1", "--parts", "--tools", "auto", "python-crfsuite", "--tokens", "300"]
    command += ["--rounds", "1", "--record", str(tmp_path / "record"), "--date", "2000-01-01"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    before = (ROOT / "benchmarks" / "README.md").read_bytes()
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    (written,) = (tmp_path / "record").glob("*/2000-01-01.csv")
    rows = [row for row in record.load(written) if row.space == "observed" and row.kind == "run"]
    found = {row.tool: row for row in rows}
    ours, theirs = found["sparsecrf auto"], found["python-crfsuite"]
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-3)
    assert ours.own_objective == pytest.approx(ours.objective, rel=1e-9)
    assert (ours.rho1, ours.rho2, ours.test_error) == (0.5, 0.1, 0.0)
    assert "rho1 = 0.5, rho2 = 0.1." in written.with_suffix(".md").read_text()
    assert (ROOT / "benchmarks" / "README.md").read_bytes() == before


def test_readme_has_the_place_of_the_summary() -> None:
    text = (RECORD.parent / "README.md").read_text(encoding="utf-8")
    before, begin, rest = text.partition(tables.BEGIN)
    assert before
    assert begin
    assert tables.END in rest


def test_page_of_labelling() -> None:
    memory = {"tenth": 20.0, "whole": 30.0}
    ours = {"tokens_per_s": 3e6, "elapsed_s": 0.3, "start_s": 0.1, "peak_mb": memory}
    wapiti = {"tokens_per_s": 1e6, "elapsed_s": 1.0, "start_s": 0.0, "peak_mb": memory}
    tools = {"sparsecrf": ours, "sparsecrf, 2 threads": ours, "Wapiti": wapiti}
    record = {"date": "2000-01-01", "machine": {"cores": "2"}, "note": "", "labelling": {"task": tools}}
    page = labelling_report.table(record)
    assert "| task | 3,000,000 | 1,000,000 | 3.0 x |" in page
    assert "| task | sparsecrf, 2 threads | 0.30 | 0.10 | 20 | 30 |" in page


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")
def test_memory_of_processes() -> None:
    done = run([sys.executable, "-c", "x = bytearray(100 << 20); import time; time.sleep(0.2); print('{}')"])
    assert 100 < done.peak_mb < 200
    assert done.answer == {}
    with MemoryWatch(["VmHWM"]) as watch:
        pass
    assert watch.mb["VmHWM"] == pytest.approx(peak_mb(), abs=20)


@posix
def test_processes_are_ended() -> None:
    slow = [sys.executable, "-u", "-c", "import time; print('ready'); time.sleep(60)"]
    assert run(slow, until="ready").status == -9
    assert run(slow, limit_s=0.5).wall_s < 30
    with pytest.raises(SystemExit, match="expected status 0, found 3: no data"):
        _ = run([sys.executable, "-c", "print('no data'); raise SystemExit(3)"]).answer


@pytest.mark.slow
def test_default_penalties_on_a_folder(folder: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    """Measured by measure.py, shown by table.py."""
    pytest.importorskip("pycrfsuite")
    from benchmarks.defaults import measure, table

    (folder / "dev.txt").write_text((folder / "test.txt").read_text())
    results = str(tmp_path / "results.jsonl")
    parts = ["small", "default", "grid", "auto", "crfsuite"]
    monkeypatch.setattr(sys, "argv", ["measure.py", str(folder), "-o", results, "--parts", *parts])
    measure.main()
    rows = [json.loads(line) for line in Path(results).read_text().splitlines()]
    assert [row["part"] for row in rows] == ["small", "default", *["grid"] * 8, "auto", "crfsuite"]
    assert all(0 < row["test"] <= 100 and row["weights"] > 0 for row in rows)
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["table.py", results, "--chosen", "made"])
    table.main()
    shown = capsys.readouterr().out
    assert shown.startswith("| rho1, rho2 | chosen on: dev | test |")
    small, default = (row["test"] for row in rows[:2])
    assert f"default to small: {default - small:+.2f}" in shown
