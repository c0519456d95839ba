"""Runs the steps of the Dockerfile and of the systemd unit in a clean folder, without Docker and without systemd.

    python examples/serve/check.py MODEL

COPY and pip's RUN steps are run as written, with /src and /opt/sparsecrf in the folder; steps that change the system
(apt-get, useradd) are skipped. Then the script starts the entry point, queries it with the health check, and ends it
with SIGTERM. It starts the service with an open socket, as systemd does. Most of the time is spent compiling the
package.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LEFT_OUT = ("apt-get", "useradd")  # steps that change the system


def instructions(text: str) -> list[tuple[str, str]]:
    """The lines of a Dockerfile, each split into the instruction and the rest."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def command_of(unit: str) -> list[str]:
    """The command of a systemd service."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, flags=re.M)
    return line.split()


def build(folder: Path, steps: list[tuple[str, str]]) -> None:
    """Run the steps that build the image in a folder."""

    def inside(text: str) -> str:
        return re.sub(r"(?<![\w.])/(src|opt)\b", rf"{folder}/\1", text)

    for instruction, rest in steps:
        if instruction == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            place = Path(inside(target))
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("*.so", "*.pyi", "__pycache__"))
                else:
                    place.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, place)
        elif instruction == "RUN" and not rest.startswith(LEFT_OUT):
            print(f"RUN {rest}", flush=True)
            (folder / "opt").mkdir(exist_ok=True)
            subprocess.run(inside(rest), shell=True, check=True, cwd=folder)


@contextmanager
def activated(command: list[str]) -> Iterator[int]:
    """Start a command with an open socket, as systemd does; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        handed = listening.fileno()
        script = f'exec 3<&{handed}; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
        with subprocess.Popen(["bash", "-c", script, "bash", *command], pass_fds=[handed]) as process:
            yield listening.getsockname()[1]  # connections wait until the server is ready
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, f"expected status 0, found {process.returncode}"


def asked(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/models")
    (model,) = json.loads(connection.getresponse().read())["models"]
    connection.request("GET", "/health")
    assert json.loads(connection.getresponse().read())["status"] == "ok"
    print(f"serves {model['name']}: {len(model['labels'])} labels, {model['weights']} weights", flush=True)


def main(model: str) -> None:
    steps = instructions((HERE / "Dockerfile").read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, steps)
        entry = json.loads(dict(steps)["ENTRYPOINT"])
        health = json.loads(dict(steps)["HEALTHCHECK"].partition(" CMD ")[2])
        entry, health = ([part.replace("/opt/", f"{folder}/opt/") for part in each] for each in (entry, health))
        shutil.copy(model, folder / "model.safetensors")
        with activated([*entry, str(folder / "model.safetensors")]) as port:
            asked(port)
            subprocess.run([part.replace(":8000", f":{port}") for part in health], check=True)
        service = command_of((HERE / "sparsecrf.service").read_text())
        with activated([entry[0], *service[1:-1], str(folder / "model.safetensors")]) as port:
            asked(port)
    print("the steps of the Dockerfile and of the service work")


if __name__ == "__main__":
    main(sys.argv[1])
