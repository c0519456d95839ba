"""Sums over a corpus and answers of a chain, by the core alone: every family of features with every kernel."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import internals
import tiny_data
from case import Case, Setting


@cache
def _families() -> dict[str, internals.Family]:
    data = {
        "attributes": tiny_data.attributes(),
        "negative": tiny_data.values(negative=True),
        "missing": tiny_data.missing(),
        "weights": tiny_data.weighted(tokens=True).fit["sample_weight"],
        "many": tiny_data.many_labels(),
        "ud": tiny_data.ud(),
    }
    return {family.name: family for family in internals.families(data)}


def _run(name: str, kernel: str, setting: Setting) -> dict[str, Any]:
    family = _families()[name]
    return {
        **internals.sums(family, kernel, setting.threads),
        **internals.inference(family, kernel, setting.threads),
    }


def cases() -> list[Case]:
    return [
        Case(f"core/{name}/{kernel}", partial(_run, name, kernel), forced_kernel=kernel != "auto")
        for name in _families()
        for kernel in internals.KERNELS
    ]
