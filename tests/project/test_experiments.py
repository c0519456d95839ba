"""The paper's experiments on small made-up data: they run, they resume, and what they state holds there too."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparsecrf import InputError

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # experiments and benchmarks are not part of the package

from experiments import made_up, pages  # noqa: E402
from experiments.common import Job, Store, number, table  # noqa: E402
from experiments.data import TASKS, read  # noqa: E402
from experiments.run import experiments, run, run_jobs  # noqa: E402
from experiments.simulated import READINGS  # noqa: E402

# These four take a minute of processor time: `make torture` runs them.
NAMES = [name for name in experiments() if name not in ("simulated", "letters", "path", "context")]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return made_up.write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_relations_hold_on_made_up_data(name, data, out):
    report = run([experiments()[name]], data, out, quick=True, at_once=0)[name]
    broken = [f"{r.text}: {r.found}" for r in report.relations if not r.holds and not r.full_only]
    assert not broken
    assert any(not relation.full_only for relation in report.relations) or name == "running-time"  # all seconds
    written = {path.name for path in (out / name).iterdir()}
    pictures = {f"{figure}{suffix}" for figure in report.figures for suffix in (".svg", ".png")}
    assert written == {"numbers.json", "table.md", *pictures}
    json.loads((out / name / "numbers.json").read_text(), parse_constant=pytest.fail)  # no NaN, no infinity


@pytest.mark.slow
def test_finished_jobs_are_not_done_again(data, tmp_path):
    job = Job("test_experiments:fails_the_second_time", {"mark": str(tmp_path / "mark")})
    store = Store(tmp_path / "jobs")
    first = run_jobs({"it": job}, data, store, at_once=0)
    assert run_jobs({"it": job}, data, store, at_once=0) == first
    with pytest.raises(RuntimeError, match="again"):
        run_jobs({"it": job}, data, store, at_once=0, again=True)


def fails_the_second_time(data, *, mark):
    if Path(mark).exists():
        raise RuntimeError("done again")
    Path(mark).touch()
    return {"value": float("inf")}


def test_the_key_changes_with_options_and_data(tmp_path):
    for name, text in (("one", "a x\n"), ("other", "b x\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)
    job, longer = Job("m:f", {"n": 1}, ("file",)), Job("m:f", {"n": 1}, ("file",), minutes=9.0)
    key = job.key(tmp_path / "one")
    assert longer.key(tmp_path / "one") == key
    assert Job("m:f", {"n": 2}, ("file",)).key(tmp_path / "one") != key
    assert job.key(tmp_path / "other") != key


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_result(data, tmp_path):
    options = {"task": "letters", "options": {"rho1": 1.0, "max_iter": 3}}
    jobs = {"it": Job("experiments.training:train", options, TASKS["letters"].files)}
    here, there = (run_jobs(jobs, data, Store(tmp_path / str(n)), at_once=n)["it"] for n in (0, 1))
    assert here["objective"] == there["objective"]
    assert 10 < there["peak_mb"] < 2000


@pytest.mark.slow
def test_a_failing_process_is_reported(data, tmp_path):
    with pytest.raises(InputError, match="no_such_function"):
        run_jobs({"it": Job("experiments.training:no_such_function")}, data, Store(tmp_path), at_once=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_missing_data_are_named(tmp_path):
    command = [sys.executable, "-m", "experiments.run", "letters", "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "expected nettalk/train.txt" in done.stderr
    with pytest.raises(InputError, match=r"train\.txt: expected a column file"):
        read(tmp_path, "letters")


@pytest.mark.slow
def test_made_up_data_are_the_same_every_time(data, tmp_path):
    again = made_up.write(tmp_path)
    files = sorted(path.relative_to(again) for path in again.rglob("*.txt"))
    assert len(files) > 10
    for file in files:
        assert (data / file).read_bytes() == (again / file).read_bytes()


@pytest.mark.parametrize("reading", READINGS)
def test_both_readings_have_the_papers_bayes_error(reading):
    assert abs(READINGS[reading]().bayes_error() - 0.154) < 0.0005


def test_templates_are_the_papers(data):
    """Bias terms in context only; a pseudo n-gram tests letters one by one, an n-gram k-grams centred on the letter."""
    attributes = {}
    for name in ("letters", "pseudo 5-gram", "5-gram"):
        strings = read(data, name).vocabulary.attributes
        attributes[name] = {strings[k] for k in range(len(strings))}
    assert {name: "*" in found for name, found in attributes.items()} == {
        "letters": False,
        "pseudo 5-gram": True,
        "5-gram": True,
    }
    lengths = {name: {text.count("/") + 1 for text in found if text != "*"} for name, found in attributes.items()}
    assert lengths == {"letters": {1}, "pseudo 5-gram": {1}, "5-gram": {1, 3, 5}}


def test_pages_are_filled_between_their_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin it -->\nold\n<!-- end it -->\nafter\n")
    pages.fill(page, {"it": table(["a", "b"], [["x", number(1234.5, 1)]])})
    once = page.read_text()
    assert "| x | 1,234.5 |" in once
    assert "old" not in once
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    pages.fill(page, {"it": table(["a", "b"], [["x", number(1234.5, 1)]])})
    assert page.read_text() == once
    with pytest.raises(InputError, match="expected the marks of other once, found them 0 times"):
        pages.fill(page, {"other": []})


@pytest.mark.slow
def test_results_become_pages(data, out, tmp_path):
    known = experiments()
    run([known["coordinatewise"]], data, out, quick=True, at_once=0)
    for name in ("README.md", "RESULTS.md"):
        shutil.copy(ROOT / "experiments" / name, tmp_path)
    (tmp_path / "record").mkdir()
    shutil.copy(ROOT / "experiments" / "record" / "many-labels.json", tmp_path / "record")
    pages.write_pages(out, tmp_path, list(known.values()))
    readme, results = ((tmp_path / name).read_text(encoding="utf-8") for name in ("README.md", "RESULTS.md"))
    assert "| coordinate-wise |" in readme
    assert "(record/coordinatewise.svg)" in readme
    assert (tmp_path / "record" / "coordinatewise.svg").exists()
    date = json.loads((out / "coordinatewise" / "numbers.json").read_text())["date"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    assert f"| {date} | `make experiments ONLY=coordinatewise`" in results
    assert "`make experiments ONLY=many-labels`" in results, "what was not run again stays as it was recorded"
    assert "instruction set" in results


def test_every_experiment_has_its_place_in_the_readme():
    text = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
    for name in [*NAMES, "machine"]:
        assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_the_bound_of_bound_optimisation_is_one():
    """b bounds the curvature along any direction; a tenth of it does not."""
    import numpy as np
    from experiments.earlier import BoundOptimisation
    from problems import make_problem

    from sparsecrf.encoding.numbering import Numbering
    from sparsecrf.training.objective import Objective
    from sparsecrf.training.penalty import ElasticNet

    problem = make_problem(seed=4, n_labels=3, lengths=[2, 1, 3], n_attributes=3, sequence_weights=True)
    objective = Objective(problem.corpus(), ElasticNet(0.1, 0.1), threads=1)
    known = objective.working_set(objective.prepared.oracle.virtual())
    b = BoundOptimisation(objective).b[Numbering.of(known.feature_set).block(known.numbers)]
    rng, step, largest = np.random.default_rng(0), 1e-4, []
    for spread in (0.0, 0.3, 1.0):
        w, moves = spread * rng.normal(size=known.size), step * np.eye(known.size)
        change = [objective.loss_grad(known, w + d)[1] - objective.loss_grad(known, w - d)[1] for d in moves]
        scaled = np.array(change) / (2 * step) / np.sqrt(np.outer(b, b))
        largest.append(np.linalg.eigvalsh((scaled + scaled.T) / 2)[-1])
    assert 0.1 < max(largest) <= 1


def test_the_gain_of_induction_is_that_of_the_best_weight():
    import numpy as np
    from experiments.earlier import gains
    from scipy.optimize import minimize_scalar

    from sparsecrf.training.feature_sets import WorkingSet

    for c, e, m in ((3.0, 1.0, 10.0), (1.0, 4.0, 9.0), (2.0, 2.0, 5.0), (0.5, 2.0, 6.0)):
        best = minimize_scalar(lambda w, c=c, e=e, m=m: -c * w + m * np.log(1 - e / m + e / m * np.exp(w)))
        known = WorkingSet(np.array([0]), None, np.array([c]))
        np.testing.assert_allclose(gains(known, np.array([e]), np.array([m])), -best.fun, atol=1e-8)
