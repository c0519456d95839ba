"""The container recipe and the systemd units of examples/serve, as far as they can be tried without either."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra `serve`")

from served import word_model

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "serve"
check = runpy.run_path(str(EXAMPLE / "check.py"))


def test_what_is_copied_is_there_and_enough():
    """All that pyproject.toml and CMakeLists.txt need; what runs is what was installed."""
    steps = check["instructions"]((EXAMPLE / "Dockerfile").read_text())
    copied = {
        source
        for instruction, rest in steps
        if instruction == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    assert {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "cpp", "src"} <= copied
    assert "/opt/sparsecrf/bin/sparsecrf" in dict(steps)["ENTRYPOINT"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="hands over a socket as systemd does")
def test_socket_of_systemd(tmp_path):
    """The command of the service, with an open socket instead of a port."""
    word_model().save(tmp_path / "model.safetensors")
    command = check["command_of"]((EXAMPLE / "sparsecrf.service").read_text())
    assert command[:2] == ["/opt/sparsecrf/bin/sparsecrf", "serve"]
    own = [sys.executable, "-m", "sparsecrf", "serve", *command[2:-1], str(tmp_path / "model.safetensors")]
    with check["activated"](own) as port:
        check["asked"](port)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="of systemd")
def test_units(tmp_path):
    """systemd accepts the units, with a program that is there."""
    for name in ("sparsecrf.service", "sparsecrf.socket"):
        text = (EXAMPLE / name).read_text().replace("/opt/sparsecrf/bin/sparsecrf", sys.executable)
        (tmp_path / name).write_text(text)
    units = [str(tmp_path / name) for name in ("sparsecrf.service", "sparsecrf.socket")]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert not [line for line in done.stderr.splitlines() if "sparsecrf" in line]
