"""What the commands that read data share: options and files that are checked before work begins."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from math import isfinite

from sparsecrf._core import InputError
from sparsecrf.defaults import ORDER, ORDER_FACTOR, PENALTIES, PENALTY, RHO1, SOLVERS
from sparsecrf.files.atomic import temporary_name


def check_readable(*names: str | None) -> None:
    """Raise for files that cannot be opened, before anything else is done."""
    for name in names:
        if name is not None and name != "-":
            if os.path.isdir(name):
                raise InputError(f"{name}: expected a file, found a directory")
            with open(name, "rb"):
                pass


def check_writable(*names: str | None, inputs: Iterable[str | None] = ()) -> None:
    """Raise for files that cannot be made, or that would replace an input, before anything else is done."""
    read = [name for name in inputs if name is not None and name != "-" and os.path.exists(name)]
    for name in names:
        if name is None:
            continue
        if name == "-":
            raise InputError("-: expected the name of a file to write, found standard output")
        target = os.path.realpath(name)
        directory, there = os.path.dirname(target), os.path.exists(target)
        if os.path.isdir(target):
            raise InputError(f"{name}: expected the name of a file, found a directory")
        if not os.path.isdir(directory):
            raise InputError(f"{name}: expected a directory {directory!r} to write to, found none")
        if there and any(os.path.samefile(name, other) for other in read):
            raise InputError(f"{name}: expected a file of its own to write, found one that is read")
        if there and not os.path.isfile(target):
            continue  # a device or a pipe
        try:  # what `replacing` will do
            trial = temporary_name(target)
            open(trial, "xb").close()
            os.unlink(trial)
        except OSError as error:
            raise InputError(f"{name}: expected a place that can be written to: {error.strerror}") from None


def check_solver(name: str, rho1: float = RHO1) -> None:
    """Raise for a solver that there is not, or that cannot do with an l1 penalty."""
    import typer

    if name not in SOLVERS:
        raise typer.BadParameter(f"expected one of {', '.join(SOLVERS)}, found {name!r}", param_hint="--solver")
    if name == "sgd" and rho1 != 0:
        raise typer.BadParameter(f"expected 0 for sgd, found {rho1:g}; sgd-l1 takes an l1 penalty", param_hint="--rho1")
    if not isfinite(rho1):
        raise typer.BadParameter(f"expected a finite number, found {rho1}", param_hint="--rho1")


def check_penalty(name: str, solver: str, rho1: float = RHO1) -> None:
    """Raise for a penalty that there is not, or that does not go together with the solver or with rho1."""
    import typer

    if name not in (*PENALTIES, "group"):
        raise typer.BadParameter(f"expected one of {', '.join(PENALTIES)}, found {name!r}", param_hint="--penalty")
    if name == PENALTY:
        return
    from sparsecrf.training import OVER_GROUPS

    if solver not in OVER_GROUPS:
        expected = " or ".join(OVER_GROUPS)
        raise typer.BadParameter(f"expected {expected} with --penalty {name}, found {solver!r}", param_hint="--solver")
    if not rho1 > 0:
        raise typer.BadParameter(f"expected a number above 0 with --penalty {name}, found 0", param_hint="--rho1")


def check_order(order: int | None, factor: float, penalty: str, solver: str, rho1: float = RHO1) -> None:
    """Raise for label n-grams that do not go together with the solver, rho1 or the penalty, before data are read."""
    import typer

    from sparsecrf.training.fitting import check_longer

    if order != ORDER:
        check_longer(order, solver, rho1)
    if factor != ORDER_FACTOR and order == ORDER:
        raise typer.BadParameter(f"expected --order above 2 with it, found {order}", param_hint="--order-factor")
    if factor != ORDER_FACTOR and penalty != PENALTY:
        raise typer.BadParameter(f"expected 1 with --penalty {penalty}, found {factor:g}", param_hint="--order-factor")


def total_bytes(names: Sequence[str]) -> int | None:
    """Size of all files together; None where one of them is a pipe."""
    total = 0
    for name in names:
        if name == "-":
            return None
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


def check_label_parts(asked: str | None, class_pairs: bool, order: int | None, solver: str) -> None:
    """Raise for parts of labels that cannot be asked for like this, or that the solver does not know."""
    import typer

    from sparsecrf.encoding.label_parts import check_asked
    from sparsecrf.training.fitting import check_parts

    if class_pairs and asked is None:
        raise typer.BadParameter("expected --label-parts with it, found none", param_hint="--class-pairs")
    if class_pairs and order != 2:
        raise typer.BadParameter(f"expected --order 2 with it, found {order or 'none'}", param_hint="--class-pairs")
    if asked is not None:
        check_asked(asked)
        check_parts(solver)
