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
        "values": tiny_data.values(),
        "ud values": tiny_data.ud_values(),
        "rare": tiny_data.rare(),
        "rare ud": tiny_data.ud(rare_too=True),
        "very many": tiny_data.many_labels(260),
    }
    return {family.name: family for family in internals.families(data)}


def _sums_and_answers(name: str, kernel: str, setting: Setting) -> dict[str, Any]:
    family = _families()[name]
    return {
        **internals.sums(family, kernel, setting.threads),
        **internals.inference(family, kernel, setting.threads),
    }


def _steps(name: str, kernel: str, setting: Setting) -> dict[str, Any]:
    return internals.steps(_families()[name], kernel, setting.threads)


def cases() -> list[Case]:
    found = []
    for name, family in _families().items():
        for kernel in internals.kernels(family):
            forced = kernel != "auto"
            found.append(Case(f"core/{name}/{kernel}", partial(_sums_and_answers, name, kernel), forced_kernel=forced))
            if internals.takes_steps(family):
                found.append(Case(f"core steps/{name}/{kernel}", partial(_steps, name, kernel), forced_kernel=forced))
    return found
