"""The third extension that the paper announces: many labels, for which sparse recursions help most. The labels are 161
phonemes with stress."""

from __future__ import annotations

from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, scientific, table
from experiments.data import TASKS
from experiments.running_time import figure, kernel_table
from experiments.training import active, job

RHO1 = [20, 5, 1, 0.2]
SEQUENCES = 3000  # for timing the kernels: a dense pass over all 16,452 words takes seconds


def jobs(quick: bool) -> dict[str, Job]:
    options = {"rho1": RHO1[1::2] if quick else RHO1, "sequences": SEQUENCES, "rounds": 2}
    found = {
        f"kernels, {task}": Job(
            "experiments.running_time:kernels", {"task": task, **options}, TASKS[task].files, minutes
        )
        for task, minutes in (("stress", 4.0), ("letters", 1.0))
    }
    found["trained"] = job("stress", minutes=2.0, rho1=0.5, rho2=0.001, tol=3e-3 if quick else 1e-3)
    return found


def report(results: dict[str, Result]) -> Report:
    many, few, trained = results["kernels, stress"], results["kernels, letters"], results["trained"]
    gain = {r["labels"]: [_gain(row) for row in r["rows"]] for r in (few, many)}
    sparse_rows = slice(0, len(many["rows"]) - 1)  # the last model has all features
    better = {labels: max(values[sparse_rows]) for labels, values in gain.items()}
    share = active(trained) / trained["virtual"]
    return Report(
        numbers={
            "many": many,
            "few": few,
            "gain": gain,
            "trained": {k: v for k, v in trained.items() if k != "history"},
        },
        tables={
            f"{many['labels']} labels, {many['tokens']:,} tokens, milliseconds": kernel_table(many["rows"]),
            f"{few['labels']} labels, {few['tokens']:,} tokens, milliseconds": kernel_table(few["rows"]),
            "All words, `auto`": _trained_table(trained),
        },
        figures={"many_labels": figure(many["rows"], "sweep", "pass")},
        relations=[
            Relation(
                "Sparse recursions gain more the more labels there are (dense / automatic time of a pass)",
                better[many["labels"]] > better[few["labels"]],
                ", ".join(f"{labels} labels: up to {value:.1f} times" for labels, value in better.items()),
                full_only=True,
            ),
            Relation(
                "Few of the features are active",
                share < 0.1,
                f"{active(trained):,} of {trained['virtual']:,}, {100 * share:.1f} %",
            ),
        ],
        headline=(
            f"{many['labels']} labels: sparse recursions are up to {better[many['labels']]:.0f} times faster than "
            f"dense ones ({better[few['labels']]:.0f} times with {few['labels']} labels); trained to kkt "
            f"{scientific(trained['kkt'])} in {duration(trained['time_s'])}, {active(trained):,} of "
            f"{trained['virtual']:,} features, test error {trained['test_error']:.1f} %."
        ),
    )


def _gain(row: dict[str, float]) -> float:
    return row["pass dense"] / row["pass auto"]


def _trained_table(trained: Result) -> list[str]:
    row = [
        "0.5",
        duration(trained["time_s"]),
        number(trained["passes"]),
        f"{trained['train_error']:.1f}",
        f"{trained['test_error']:.1f}",
        f"{trained['active_unigram']:,}",
        f"{trained['active_bigram']:,}",
        scientific(trained["kkt"]),
        number(trained["peak_mb"]),
    ]
    return table(["rho1", "time", "passes", "train %", "test %", "K_mu", "K_lambda", "kkt", "MB"], [row])


EXPERIMENT = Experiment("many-labels", "Many labels", "announced in section 7", jobs, report)
