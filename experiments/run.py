"""The paper's experiments: `make experiments DATA=FOLDER`, `make experiments QUICK=1`, or

    PYTHONPATH=. python -m experiments.run [NAME ...] [--data FOLDER] [--out FOLDER] [--quick] [--list] [--write]

Every job runs in its own process with one thread, `--jobs` of them at a time. Results of finished jobs are kept in
OUT/jobs, so that a run that was stopped resumes where it was. `--quick` needs no data: it simulates a small data set.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import machine

from experiments import made_up
from experiments.common import Experiment, Job, Report, Result, Store, write_report
from experiments.one import call
from sparsecrf import InputError
from sparsecrf.files.atomic import write_atomically
from sparsecrf.progress import progress, say

#: The experiments in the order of the paper, then the extensions that it only announces.
MODULES = (
    "simulated",
    "coordinatewise",
    "letters",
    "running_time",
    "context",
    "entities",
    "path",
    "active_set",
    "many_labels",
    "order",
    "groups",
    "parts",
    "earlier",
)
HERE = Path(__file__).resolve().parent


def experiments() -> dict[str, Experiment]:
    found = [importlib.import_module(f"experiments.{name}").EXPERIMENT for name in MODULES]
    return {experiment.name: experiment for experiment in found}


class Processes:
    """Runs jobs in their own processes, which end when this process ends."""

    def __init__(self, data: Path) -> None:
        self.data, self.running, self.stopped = data, set[subprocess.Popen[str]](), False

    def __call__(self, job: Job) -> Result:
        if self.stopped:
            raise KeyboardInterrupt
        command = [sys.executable, "-m", "experiments.one", job.function, json.dumps(dict(job.options)), str(self.data)]
        # The job gets its own session, so that Ctrl-C reaches only this process. A solver would otherwise return an
        # unfinished result.
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=_environment(),
        )
        self.running.add(child)
        try:
            out, errors = child.communicate()
        finally:
            self.running.discard(child)
        if child.returncode != 0:
            raise InputError(
                f"{job.function} {dict(job.options)}: expected exit status 0, found {child.returncode}: {errors}"
            )
        result: Result = json.loads(out.splitlines()[-1])
        return result

    def stop(self) -> None:
        self.stopped = True
        for child in list(self.running):
            child.terminate()


def _environment() -> dict[str, str]:
    """The environment that limits all libraries to one thread, so that times are for one core."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def run_jobs(
    jobs: Mapping[str, Job], data: Path, store: Store, *, at_once: int, again: bool = False
) -> dict[str, Result]:
    """Results by the names of the jobs. With `at_once` = 0, jobs run in this process, one after the other."""
    keys = {name: job.key(data) for name, job in jobs.items()}
    wanted = {key: jobs[name] for name, key in keys.items()}
    results = {} if again else {key: found for key in wanted if (found := store.load(key)) is not None}
    # Long jobs start first, so that no core is idle at the end.
    todo = {key: wanted[key] for key in sorted(wanted, key=lambda k: -wanted[k].minutes) if key not in results}
    name_of = {key: name for name, key in reversed(keys.items())}
    with progress("experiments", len(wanted)) as advance:
        advance(len(results), f"{len(results)} of {len(wanted)} jobs were done before")
        for key, result in _results(todo, data, at_once):
            store.save(key, todo[key], result)
            results[key] = result
            advance(1, f"{name_of[key]}: {result['seconds']:.1f} s")
    return {name: results[key] for name, key in keys.items()}


def _results(todo: Mapping[str, Job], data: Path, at_once: int) -> Iterator[tuple[str, Result]]:
    """Results in the order in which jobs finish."""
    if at_once == 0:
        for key, job in todo.items():
            yield key, call(job.function, dict(job.options), data)
        return
    with _pool(data, at_once) as (pool, work):
        waiting: dict[Future[Result], str] = {pool.submit(work, job): key for key, job in todo.items()}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()


@contextmanager
def _pool(data: Path, at_once: int) -> Iterator[tuple[ThreadPoolExecutor, Processes]]:
    work = Processes(data)
    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield pool, work
        except BaseException:
            work.stop()
            pool.shutdown(cancel_futures=True)
            raise


def run(
    chosen: list[Experiment], data: Path, out: Path, *, quick: bool, at_once: int, again: bool = False
) -> dict[str, Report]:
    """Run all jobs of the chosen experiments, then write their pages."""
    jobs = {f"{e.name}: {name}": job for e in chosen for name, job in e.jobs(quick).items()}
    results = run_jobs(jobs, data, Store(out / "jobs"), at_once=at_once, again=again)
    write_atomically(out / "machine.json", (json.dumps(machine()) + "\n").encode())
    reports = {}
    for experiment in chosen:
        names = {f"{experiment.name}: {name}": name for name in experiment.jobs(quick)}
        report = experiment.report({name: results[full] for full, name in names.items()})
        keys = {name: jobs[full].key(data) for full, name in names.items()}
        write_report(report, experiment, out / experiment.name, keys)
        reports[experiment.name] = report
    return reports


def main() -> None:
    options = _parse()
    known = experiments()
    if options.list:
        for experiment in known.values():
            minutes = sum(job.minutes for job in experiment.jobs(False).values())
            print(f"{experiment.name:16} {minutes:4.0f} min on one core  {experiment.title} ({experiment.paper})")
        return
    if options.write:
        from experiments.pages import write_pages

        write_pages(options.out, HERE, list(known.values()))
        return
    if unknown := [name for name in options.names if name not in known]:
        raise InputError(f"experiment: expected some of {', '.join(known)}, found {', '.join(unknown)}")
    chosen = [known[name] for name in options.names or known]
    with tempfile.TemporaryDirectory() as folder:
        data = made_up.write(Path(folder)) if options.quick else options.data
        _check(chosen, data, quick=options.quick)
        at_once = 0 if options.quick else options.jobs
        reports = run(chosen, data, options.out, quick=options.quick, at_once=at_once, again=options.again)
    for name, report in reports.items():
        print(f"{name}: {report.headline}")
        for relation in report.relations:
            if not relation.holds and not (relation.full_only and options.quick):
                print(f"{name}: does not hold: {relation.text} ({relation.found})")
    say(f"tables and figures are in {options.out}")


def _check(chosen: list[Experiment], data: Path | None, *, quick: bool) -> None:
    """Raise if a file is missing, before hours of work begin."""
    for experiment in chosen:
        for job in experiment.jobs(quick).values():
            for file in job.files:
                if data is None or not (data / file).exists():
                    where = "no data folder (--data FOLDER)" if data is None else f"no {data / file}"
                    raise InputError(f"{experiment.name}: expected {file}, found {where}; --quick makes data up")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="experiments", description="The paper's experiments.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="some experiments only (--list)")
    parser.add_argument("--data", type=Path, help="folder with nettalk and conll2003")
    parser.add_argument("--out", type=Path, help="folder for results; experiments/out, or experiments/out/quick")
    parser.add_argument("--quick", action="store_true", help="small made-up data, few replications: minutes")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default 2)")
    parser.add_argument("--again", action="store_true", help="do finished jobs again")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--write", action="store_true", help="put the tables of OUT into README.md and RESULTS.md")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs: expected at least 1, found {options.jobs}")
    if options.out is None:
        options.out = HERE / "out" / ("quick" if options.quick else "full")
    return options


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        say(f"error: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from here")
        sys.exit(130)
