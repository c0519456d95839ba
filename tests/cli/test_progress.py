"""Plain lines of progress: what came last is said again while nothing comes."""

import re
import time
from itertools import pairwise

from sparsecrf import progress


def test_a_long_step_is_no_silence(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.1)
    monkeypatch.setattr(progress._Lines, "_every_s", 0.1)
    with progress.progress("training", None) as advance:
        advance(note="iteration 3")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3
    assert all(re.fullmatch(r"training  iteration 3  \(\d+ s\)", line) for line in lines)


def test_a_short_step_is_one_line(capsys):
    with progress.progress("training", 4.0) as advance:
        advance(3.0, note="nearly there")
        advance(1.0, note="done")
    assert capsys.readouterr().err.splitlines() == ["training  100 %  done"]


def test_a_long_run_has_fewer_and_fewer_lines(monkeypatch, capsys):
    """Of an hour with news every second."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    lines = progress._Lines("training", None)
    at = []
    for second in range(3601):
        now = float(second)
        lines(note=f"second {second}")
        if capsys.readouterr().err:
            at.append(second)
    assert at[:5] == [2, 4, 6, 8, 10]
    assert len(at) < 150
    assert max(b - a for a, b in pairwise(at)) <= 181
