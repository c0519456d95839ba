"""Old names of modules that have moved: they are the new ones, with a warning at the caller's line."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from sparsecrf.moved import MOVED, new_name


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["import sparsecrf.compat as it", "import sparsecrf.compat.metrics as it", "from sparsecrf import plots as it"],
)
def test_old_names_are_the_new_ones(statement):

    code = f"{statement}\nprint(it.__name__, it.__spec__.name)"
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    name, spec = done.stdout.split()
    assert name == spec
    assert name.startswith("sparsecrf.contrib.")
    assert "has moved: import sparsecrf.contrib." in done.stderr


def test_every_new_name_exists():

    assert [name for name in MOVED.values() if find_spec(f"sparsecrf.{name}") is None] == []
    assert new_name("sparsecrf.model.wapiti") == "sparsecrf.contrib.convert.wapiti"
    assert new_name("sparsecrf.model.file") is None
