"""Labels with parts share weights: results on treebanks whose labels are a part of speech with its features."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from experiments.common import Experiment, Job, Relation, Report, Result, duration, table
from sparsecrf import CRF

#: Folders of the data folder: column files, the word first, labels such as `NOUN|Case=Nom|Number=Sing` last.
TREEBANKS = ("hungarian-tags", "latin-tags", "turkish-tags")
#: Whole labels, parts of labels, and parts plus weights for pairs of parts of speech.
MODELS: dict[str, dict[str, Any]] = {
    "whole": {},
    "parts": {"label_parts": "ud"},
    "parts, class pairs": {"label_parts": "ud", "solver_options": {"class_pairs": True}},
}
PENALTIES = ((0.5, 0.01), (0.2, 0.01), (0.05, 0.1), (0.1, 0.1))  # rho1 and rho2, chosen on dev
MINUTES = {"whole": 4.0, "parts": 7.0, "parts, class pairs": 4.0}


def jobs(quick: bool) -> dict[str, Job]:
    made = {}
    for treebank in TREEBANKS[:1] if quick else TREEBANKS:
        for name, model in MODELS.items():
            files = tuple(f"{treebank}/{part}.txt" for part in ("train", "dev", "test"))
            # Class pairs use only the last two penalties, which were best with parts on Hungarian and Latin.
            penalties = PENALTIES[-1:] if quick else PENALTIES[-2 if "class_pairs" in model else 0 :]
            options = {"treebank": treebank, "model": model, "penalties": [list(pair) for pair in penalties]}
            made[f"{treebank}, {name}"] = Job("experiments.parts:chosen", options, files, MINUTES[name])
    return made


def chosen(data: Path, *, treebank: str, model: dict[str, Any], penalties: list[list[float]]) -> Result:
    """The fit whose penalties are best on the dev part, and its error on the test part."""
    (X, y), dev, test = (_read(data / treebank / f"{part}.txt") for part in ("train", "dev", "test"))
    errors, best, spent = {}, None, 0.0
    for rho1, rho2 in penalties:
        began = time.process_time()
        crf = CRF(rho1=rho1, rho2=rho2, features="tagging", n_jobs=1, **model).fit(X, y)
        seconds = time.process_time() - began
        error = _error(crf, *dev)
        if best is None or error < min(errors.values()):
            best, spent = crf, seconds
        errors[f"{rho1:g}, {rho2:g}"] = error
    assert best is not None
    made = best.model_
    return {
        "penalties": min(errors, key=lambda pair: errors[pair]),
        "dev_errors": errors,
        "test_error": _error(best, *test),
        "labels": len(made.labels),
        "tokens": sum(map(len, X)),
        "parts": 0 if made.label_parts is None else len(made.label_parts.names),
        "weights": best.n_active_,
        "of_parts": int((made.features.unigram_label >= len(made.labels)).sum()),
        "gap": best.gap_ / best.objective_,
        "bytes": len(made.to_bytes(compact=True)),
        "time_s": spent,
    }


def _read(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Words and labels of a column file."""
    X: list[list[str]] = [[]]
    y: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            columns = line.split()
            X[-1].append(columns[0])
            y[-1].append(columns[-1])
        elif X[-1]:
            X.append([])
            y.append([])
    return (X, y) if X[-1] else (X[:-1], y[:-1])


def _error(crf: CRF, X: list[list[str]], y: list[list[str]]) -> float:
    """The percentage of tokens whose label is wrong."""
    pairs = [pair for found, labels in zip(crf.predict(X), y, strict=True) for pair in zip(found, labels, strict=True)]
    return 100.0 * sum(a != b for a, b in pairs) / len(pairs)


def report(results: dict[str, Result]) -> Report:
    treebanks = list(dict.fromkeys(name.partition(", ")[0] for name in results))
    by_treebank = {bank: {name: results[f"{bank}, {name}"] for name in MODELS} for bank in treebanks}
    errors = [
        f"{bank.removesuffix('-tags')} {of['whole']['test_error']:.1f} and {of['parts']['test_error']:.1f} %"
        for bank, of in by_treebank.items()
    ]
    return Report(
        numbers=dict(results),
        tables={_title(bank, of["parts"]): _table(of) for bank, of in by_treebank.items()},
        figures={},
        relations=[
            Relation(
                "Parts of labels lower the test error",
                all(of["parts"]["test_error"] < of["whole"]["test_error"] for of in by_treebank.values()),
                "; ".join(errors),
                full_only=True,
            ),
            Relation(
                "The penalty gives weights to parts",
                all(of["parts"]["of_parts"] > 0 for of in by_treebank.values()),
                ", ".join(f"{of['parts']['of_parts']:,} of {of['parts']['weights']:,}" for of in by_treebank.values()),
            ),
        ],
        headline=f"Test errors with whole labels and with parts: {', '.join(errors)}.",
    )


def _title(treebank: str, of: Result) -> str:
    return f"{treebank}: {of['tokens']:,} tokens, {of['labels']} labels with {of['parts']} parts"


def _table(of: dict[str, Result]) -> list[str]:
    rows = [
        [
            name,
            r["penalties"],
            f"{min(r['dev_errors'].values()):.2f}",
            f"{r['test_error']:.2f}",
            f"{r['weights']:,}",
            f"{r['of_parts']:,}",
            f"{100 * r['gap']:.1f}",
            f"{r['bytes'] / 1e6:.2f}",
            duration(r["time_s"]),
        ]
        for name, r in of.items()
    ]
    head = ["labels", "rho1, rho2", "dev %", "test %", "weights", "of parts", "gap %", "MB (compact)", "time"]
    return table(head, rows)


EXPERIMENT = Experiment("parts", "Labels with parts", "tied label features, cited in section 8", jobs, report)
