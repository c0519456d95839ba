"""The library in children made by fork, at the end of the interpreter, and in interpreters within the interpreter.

Each test runs a script of its own: what it looks for is a process that hangs or aborts.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="fork and signals of POSIX")

#: Sentences, and training on two threads: `loss()` is the same number in every process.
PRELUDE = """
    import os, sys, threading, time
    sys.path.insert(0, {here!r})
    from sentences import dicts, sentences
    from sparsecrf import CRF
    X, y = sentences(300, seed=1)
    X = dicts(X)

    def loss(_=0):
        return CRF(rho1=0.1, n_jobs=2).fit(X, y).objective_
"""


def start(script, **options):
    """A process that runs the script after PRELUDE."""
    prelude = textwrap.dedent(PRELUDE).format(here=str(Path(__file__).parent))
    return subprocess.Popen(
        [sys.executable, "-c", prelude + textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its children, which may hang, can be ended with it
        **options,
    )


def finish(process, seconds=60):
    """Its standard output, if it ends in time with status 0 and says nothing else."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"it still runs after {seconds} s: {process.communicate()}")
    assert (process.returncode, err) == (0, "")
    return out.split()


FORKS = {
    "os.fork": """
        expected = loss()
        child = os.fork()
        if child == 0:
            os._exit(0 if loss() == expected else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
    """,
    "a grandchild": """
        expected = loss()
        if os.fork() == 0:
            found = loss() == expected
            child = os.fork()
            if child == 0:
                os._exit(0 if loss() == expected else 1)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os._exit(0 if found and status == 0 else 1)
        print(os.waitstatus_to_exitcode(os.wait()[1]) == 0)
    """,
    "while another thread trains": """
        expected, busy = loss(), threading.Event()

        def work():
            while not busy.is_set():
                loss()

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if loss() == expected else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        busy.set()
        thread.join()
        print(True)
    """,
    "multiprocessing": """
        import multiprocessing
        expected = loss()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(loss, range(3)) == 3 * [expected])
    """,
    "ProcessPoolExecutor": """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        expected = loss()
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            print(list(pool.map(loss, range(3))) == 3 * [expected])
    """,
    "joblib": """
        from joblib import Parallel, delayed
        expected = loss()
        print(Parallel(n_jobs=2, backend="multiprocessing")(delayed(loss)() for _ in range(3)) == 3 * [expected])
    """,
}


@posix
@pytest.mark.parametrize("script", FORKS.values(), ids=FORKS.keys())
def test_a_child_trains_after_its_parent_did(script):
    assert finish(start(script)) == ["True"]
