"""The micro-benchmark: `make bench-micro`, or  PYTHONPATH=. python benchmarks/micro/run.py [--quick] [--all-sets].

Writes benchmarks/record/micro-<date>.json, micro.md and micro.svg. One thread, float64, a few minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys

from benchmarks.common import RECORD, machine
from benchmarks.micro import density, nettalk, report
from benchmarks.tasks import DATA

from sparsecrf import _core

DENSITIES = (0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.45, 0.6, 0.8, 1)
QUICK_DENSITIES = (0, 1e-3, 0.01, 0.1, 0.3, 1)
# One matrix for all positions, then as many matrices as NETtalk has letters; with 500 labels, these would take 100 MB.
SETTINGS = (
    density.Setting(8, 1, 20_000),
    density.Setting(51, 1, 6_000),
    density.Setting(161, 1, 2_000),
    density.Setting(500, 1, 500),
    density.Setting(8, 26, 20_000),
    density.Setting(51, 26, 8_000),
    density.Setting(161, 26, 2_600),
)


def distinct(setting: density.Setting, densities: tuple[float, ...]) -> list[float]:
    """The densities that result in different numbers of entries."""
    return list({density.entries(setting.n_labels, x): x for x in reversed(densities)}.values())[::-1]


def curves(arguments: argparse.Namespace) -> list[dict]:
    rows = []
    best = _core.instruction_set()
    sets = _core.instruction_sets()[::-1] if arguments.all_sets else [best]
    for name in sets:
        _core.set_instruction_set(name)
        for setting in SETTINGS:
            for x in distinct(setting, QUICK_DENSITIES if arguments.quick else DENSITIES):
                found = density.measure(setting, x, *((3, 0.1) if arguments.quick else (7, 2.0)))
                ratios = ", ".join(f"{v['auto / better']:.3f}" for v in found.values())
                print(f"{name}, {setting}, density {x:g}: automatic / better {ratios}", file=sys.stderr)
                rows += [
                    {
                        "instruction set": name,
                        "labels": setting.n_labels,
                        "lists": setting.n_lists,
                        "tokens": setting.n_tokens,
                        "density": x,
                        "entries": density.entries(setting.n_labels, x),
                        "quantity": quantity,
                        **values,
                    }
                    for quantity, values in found.items()
                ]
    _core.set_instruction_set(best)
    return rows


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The micro-benchmark.")
    parser.add_argument("--quick", action="store_true", help="few densities and rounds: only to see it run")
    parser.add_argument("--all-sets", action="store_true", help="curves of every instruction set, not of the best only")
    parser.add_argument("--data", type=pathlib.Path, help="folder that holds nettalk/train.txt")
    parser.add_argument("--out", type=pathlib.Path, default=RECORD, help="folder for the record")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"), help="for the dense limit")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    data = arguments.data or DATA
    if not (data / "nettalk" / "train.txt").exists():
        print("no nettalk/train.txt (--data FOLDER): using a simulated corpus instead", file=sys.stderr)
    record = {
        "command": "PYTHONPATH=. python benchmarks/micro/run.py"
        + "".join(f" --{x}" for x in ("quick", "all-sets") if getattr(arguments, x.replace("-", "_"))),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine(),
    }
    if shutil.which(arguments.compiler):
        version = subprocess.check_output([arguments.compiler, "--version"], text=True).splitlines()[0]
        record["machine"]["compiler"] = version
        print("NETtalk's letters against the dense limit", file=sys.stderr)
        record["letters"] = nettalk.measure(data, arguments.compiler, 3 if arguments.quick else 15)
    else:
        print(f"no compiler {arguments.compiler}: the dense limit is left out", file=sys.stderr)
    record["curves"] = curves(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"micro-{record['date']}.json").write_text(json.dumps(record, indent=1) + "\n")
    (arguments.out / "micro.md").write_text(report.markdown(record))
    report.plot(record, arguments.out / "micro.svg")
    print(report.summary(record))


if __name__ == "__main__":
    main()
