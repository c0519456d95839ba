"""What a golden case is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What must not matter (threads), or only as far as the cost model says so (instruction set)."""

    threads: int
    instruction_set: str


class Case(NamedTuple):
    name: str
    #: Everything that is compared, by component: features, weights, objective, model, labels, ...
    run: Callable[[Setting], dict[str, Any]]
    #: Whether every instruction set must give the same bits. With `auto` kernels the cost model chooses sparse or dense
    #: sums by instruction set (docs/internals/determinism.md), so digests may differ; forced kernels agree to the bit.
    forced_kernel: bool = False
    #: Whether a check runs it in only one setting, in rotation: other cases also cover what depends on the setting.
    once: bool = False
