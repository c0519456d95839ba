"""Golden digests: whether training, inference, files and the program still give what they gave, bit for bit.

    python tests/golden check [NAME ...]     compare with digests.json; exit status 1 names each component that changed
    python tests/golden record [NAME ...]    write digests.json: only where a change of results is intended
    python tests/golden show NAME            print what the cases whose names contain NAME give

A check runs the cases of the core and of solver auto once for each instruction set of the machine, with 1, 2 or 3
threads in turns, and the others in one setting each, in turns. It exits with status 3 if digests of this machine cannot
be compared with the recorded ones. `record` runs all combinations and refuses if the number
of threads matters; `check --all` runs them, too. To record a few cases anew, name them.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time

# NumPy and its BLAS choose kernels by the processor, and each rounds in its own way. These run wherever AVX2 does.
if platform.machine().lower() in ("x86_64", "amd64"):
    os.environ |= {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}

import golden  # after the environment, since it imports NumPy


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tests/golden", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=["check", "record", "show"])
    parser.add_argument("names", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--all", action="store_true", help="every number of threads with every instruction set")
    given = parser.parse_args()
    begin = time.process_time()
    if given.command == "record":
        report = golden.record(given.names)
    elif given.command == "show":
        report = golden.show(given.names)
    else:
        report = golden.check(given.names, every_setting=given.all)
    print(*report.lines, sep="\n")
    print(f"golden: {report.summary}, {time.process_time() - begin:.0f} s of processor time")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
