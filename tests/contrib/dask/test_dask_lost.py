"""Workers and schedulers of a cluster that are lost: the same model, or an error within a limit."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

pytest.importorskip("distributed", reason="clusters need the extra `dask`")

import psutil
from distributed import Client, LocalCluster
from partitions import OPTIONS, cut, made_up
from sentences import sentences

from sparsecrf import Model
from sparsecrf.contrib.dask import ClusterError, train

pytestmark = pytest.mark.slow

SCHEDULER = """
import sys
from distributed import LocalCluster
n_workers, processes = int(sys.argv[1]), sys.argv[2] == "processes"
options = {"threads_per_worker": 1, "protocol": "tcp://", "dashboard_address": ":0"}
with LocalCluster(n_workers=n_workers, processes=processes, **options) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def data():
    return made_up()


@pytest.fixture
def elsewhere():
    """Starts schedulers in processes of their own, with workers that end with them."""
    started = []

    def start(n_workers, kind="threads"):
        command = [sys.executable, "-c", SCHEDULER, str(n_workers), kind]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_killed_worker_changes_nothing(elsewhere, data):
    X, y = data
    options = {**OPTIONS, "max_iter": 8}
    here = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with here, Client(here) as client:
        trained = train(client, cut(X), cut(y), **options)
    killed = []

    def kill(record):
        if record["iter"] == 3 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    _, address = elsewhere(2, "processes")
    with Client(address, timeout=60) as client:
        found = train(client, cut(X), cut(y), callback=kill, timeout=600.0, **options)
        assert killed
        assert found.fit.stopped_by == "max_iter"
        assert killed[0] not in client.run(os.getpid).values()
    assert found.model.to_bytes() == trained.model.to_bytes()


def test_a_lost_scheduler_is_an_error(elsewhere, data):
    process, address = elsewhere(1)
    X, y = data
    killed = []

    def kill(record):
        if record["iter"] == 2:
            process.kill()
            killed.append(time.monotonic())

    with Client(address, timeout=60) as client:
        with pytest.raises(ClusterError, match=r"cluster .*: "):
            train(client, cut(X), cut(y), callback=kill, timeout=60.0, **OPTIONS)
        assert time.monotonic() - killed[0] < 120.0


def test_no_workers_is_an_error(elsewhere, data):
    _, address = elsewhere(0)
    with Client(address, timeout=60) as client, pytest.raises(ClusterError, match="expected workers, found none after"):
        train(client, *map(cut, data), timeout=1.0)


def alive_in(session):
    """Processes of a session that have not ended."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
    return found


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_in_a_terminal_saves_the_model(tmp_path):
    """It reaches every process of the terminal: the workers go on, and rate the weights that are saved."""
    X, y = sentences(200, seed=6)
    for k, (rows, names) in enumerate(zip(cut(X, 2), cut(y, 2), strict=True)):
        lines = (
            "".join(f"{' '.join(r)} {n}\n" for r, n in zip(*one, strict=True)) for one in zip(rows, names, strict=True)
        )
        (tmp_path / f"part{k}.txt").write_text("\n".join(lines))
    arguments = ["train", "part*.txt", "-m", "m.safetensors", "--dask", "local:2", "--log", "l.jsonl"]
    arguments += ["--rho1", "1e-4", "--rho2", "1e-8", "--tol", "1e-12", "--solver", "owlqn"]
    command = [sys.executable, "-m", "sparsecrf", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **pipes)
    log = tmp_path / "l.jsonl"
    try:
        began = time.monotonic()
        while not log.exists() or log.read_text().count("\n") < 3:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() - began < 120
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert b"interrupted" in err
    assert b"Traceback" not in err, err.decode()
    assert Model.load(tmp_path / "m.safetensors").training["stopped_by"] == "interrupt"
    began = time.monotonic()
    while alive_in(process.pid) and time.monotonic() - began < 30:
        time.sleep(0.05)
    assert alive_in(process.pid) == []
