"""The library in child processes, at the end of the interpreter, and in interpreters within the interpreter.

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

from sparsecrf._core import STANDARD_LIBRARY

pytestmark = pytest.mark.slow

#: If C++ comes with its own unwinder (libc++ on Linux, as in wheels built with Zig), glibc's crashes when it unwinds a
#: thread through our frames; before Python 3.14 nothing prevents this.
unwound = pytest.mark.skipif(
    sys.platform == "linux" and STANDARD_LIBRARY == "libc++" and sys.version_info < (3, 14),
    reason="two unwinders: a daemon thread at the interpreter's end crashes",
)
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


def start(script, file=None, **options):
    """A process that runs the script after PRELUDE: from a file, if one is given."""
    code = textwrap.dedent(PRELUDE).format(here=str(Path(__file__).parents[1] / "support")) + textwrap.dedent(script)
    if file is not None:
        file.write_text(code)
    return subprocess.Popen(
        # Since 3.12, Python warns when a process with threads forks.
        [
            *(sys.executable, "-W", "ignore:This process:DeprecationWarning"),
            *(["-c", code] if file is None else [str(file)]),
        ],
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
    # Not backend="multiprocessing", which is Python's default: on Linux a fork server since 3.14. Its children cannot
    # import this script, which is not a file: they fail because `loss` is missing, and joblib waits forever.
    "joblib": """
        import multiprocessing
        from joblib import Parallel, delayed
        expected, fork = loss(), multiprocessing.get_context("fork")
        print(Parallel(n_jobs=2, backend=fork)(delayed(loss)() for _ in range(3)) == 3 * [expected])
    """,
}


not_with_asan = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="its allocator leaves a lock taken in 1 of 1,000 children that another thread was at work beside",
)


@posix
@pytest.mark.parametrize(
    "script",
    [pytest.param(FORKS[k], id=k, marks=[not_with_asan] if k == "while another thread trains" else []) for k in FORKS],
)
def test_a_child_trains_after_its_parent_did(script):
    assert finish(start(script)) == ["True"]


@posix
@not_with_asan
def test_a_child_labels_while_its_parent_does():
    """With label n-grams, whose tables are kept from call to call: the child lacks the thread that uses them."""
    script = """
        import signal
        crf = CRF(rho1=0.05, order=3, bigrams="all").fit(X[:60], y[:60])
        assert crf.model_.features.n_ngram > 0
        expected, done = crf.predict(X).tolist(), threading.Event()

        def label():
            while not done.is_set():
                crf.predict(X)

        threading.Thread(target=label).start()
        statuses = []
        for _ in range(40):
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                os._exit(0 if crf.predict(X[:5]).tolist() == expected[:5] else 1)
            statuses.append(os.waitpid(pid, 0)[1])
        done.set()
        print(statuses == 40 * [0])
    """
    assert finish(start(script)) == ["True"]


#: Calls of `loss` in children that import the script instead of being copies of the process.
IMPORTS = {
    "spawn": """
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            print(pool.map(loss, range(3)) == 3 * [expected])
    """,
    "forkserver": """
        with multiprocessing.get_context("forkserver").Pool(2) as pool:
            print(pool.map(loss, range(3)) == 3 * [expected])
    """,
    "forkserver, joblib": """
        from joblib import Parallel, delayed
        server = multiprocessing.get_context("forkserver")
        print(Parallel(n_jobs=2, backend=server)(delayed(loss)() for _ in range(3)) == 3 * [expected])
    """,
}


@pytest.mark.parametrize(
    "script",
    [pytest.param(script, id=name, marks=[] if name == "spawn" else posix) for name, script in IMPORTS.items()],
)
def test_a_child_trains_that_imports_the_script(script, tmp_path):
    """Python's default on Linux is a fork server since 3.14. There it imports the script: it trains before it forks."""
    begin = "import multiprocessing\nexpected = loss()\nif __name__ == '__main__':\n"
    code = begin + textwrap.indent(textwrap.dedent(script), "    ")
    assert finish(start(code, tmp_path / "script.py")) == ["True"]


#: The endless work of a thread, with X, y and a trained `crf`.
WORK = {
    "training": "CRF(rho1=0.01, n_jobs=2).fit(X, y)",
    "one sentence a call": "crf.model_.label(X[0])",
    "many sentences": "crf.predict(X)",
    "tokens from a generator": "crf.model_.label(token for token in X[0])",
    "mappings that run Python": "crf.model_.label([UserDict(token) for token in X[0]])",
}
THREADS = """
    from collections import UserDict
    crf = CRF(rho1=0.1).fit(X, y)

    def work():
        while True:
            {call}

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
"""


@unwound
@pytest.mark.parametrize("call", WORK.values(), ids=WORK.keys())
def test_daemon_threads_end_quietly_with_the_interpreter(call):
    assert finish(start(THREADS.format(call=call) + "    time.sleep(0.3)\n")) == []


@unwound
@posix
def test_daemon_threads_end_quietly_after_ctrl_c():
    process = start(
        THREADS.format(call=WORK["training"])
        + """
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run with it ignored
    print("ready", flush=True)
    try:
        while True:
            threads[0].join(1)  # Python loses a signal that comes just as an endless join() begins
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert finish(process) == ["interrupted"]


@unwound
@pytest.mark.parametrize("argument", ["scale", "q"])
def test_a_daemon_thread_ends_quietly_where_an_argument_runs_python(argument):
    """The thread comes back from its sleep while the interpreter ends, which `Last` makes long enough."""
    script = f"""
        import numpy as np
        from sparsecrf import _core
        inside = threading.Event()

        class Number:
            def __float__(self):
                inside.set()
                time.sleep(0.2)

        class Array:
            def __dlpack__(self, **_):
                inside.set()
                time.sleep(0.2)

        class Last:
            def __del__(self, sleep=time.sleep):
                sleep(0.6)

        arguments = dict(q=np.zeros(1, np.int16), scale=1.0)
        arguments["{argument}"] = Number() if "{argument}" == "scale" else Array()
        sys.modules["last"] = Last()  # goes when the interpreter has begun to end
        threading.Thread(target=_core.unpack_weights, kwargs=arguments, daemon=True).start()
        print(inside.wait(10))
    """
    assert finish(start(script)) == ["True"]


@pytest.mark.skipif(sys.platform != "linux", reason="calls functions of Linux's libraries by name")
def test_other_ends_of_the_process_are_as_before():
    """A call of std::terminate after the interpreter is gone ends the process and does not sleep."""
    process = start(
        """
        import ctypes
        terminate = ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev
        ctypes.CDLL(None).__cxa_atexit(ctypes.cast(terminate, ctypes.c_void_p), None, None)
        """
    )
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGABRT


@pytest.mark.parametrize("before", ["", "import sparsecrf._core"], ids=["first", "after the main interpreter"])
def test_a_subinterpreter_is_refused(before):
    script = f"""
        import sys
        try:
            import _interpreters as interpreters
            run = interpreters.exec
        except ImportError:
            import _xxsubinterpreters as interpreters
            run = interpreters.run_string
        {before}
        inner = interpreters.create()
        caught = "try: import sparsecrf._core\\nexcept ImportError as error: print(error)"
        run(inner, "import sys; sys.path[:] = " + repr(sys.path) + "\\n" + caught)
        interpreters.destroy(inner)  # since 3.14 Python warns at its end of those that remain
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "subinterpreter" in done.stdout
