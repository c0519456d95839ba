"""Every Python block of README.md runs, and prints what its comments say."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), flags=re.S | re.M)


def test_blocks_are_found():
    assert BLOCKS


@pytest.mark.parametrize("last", range(len(BLOCKS)))
def test_python_blocks(last, capsys):
    names: dict = {}
    for block in BLOCKS[: last + 1]:  # later blocks use names of earlier ones
        capsys.readouterr()
        exec(compile(block, str(README), "exec"), names)
    promised = re.findall(r"^print\(.*\)  # (.*)$", BLOCKS[last], flags=re.M)
    assert promised
    assert capsys.readouterr().out.splitlines() == promised
