"""Packs arrays and strings for the page: numbers are written in base64, and each name is written once."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np

#: The types that page/base.js supports, the smallest first.
_WHOLE = {"u8": "<u1", "i16": "<i2", "i32": "<i4"}


def whole(values: Any) -> dict[str, str]:
    """Integers, in the smallest type that holds them."""
    array = np.asarray(values, dtype=np.int64)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for name, dtype in _WHOLE.items():
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return {name: _text(array.astype(dtype))}
    raise OverflowError(f"expected 32-bit integers, found {low} and {high}")


def real(values: Any) -> dict[str, str]:
    """Real numbers with the 7 digits of a float32: more than the page shows."""
    limit = float(np.finfo(np.float32).max)
    return {"f32": _text(np.clip(np.asarray(values, dtype=np.float64), -limit, limit).astype("<f4"))}


def _text(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


class Names:
    """Strings that are stored once in the page and referred to by number."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._number: dict[str, int] = {}
        for name in names:
            self.number(name)

    def number(self, name: str) -> int:
        return self._number.setdefault(name, len(self._number))

    def __len__(self) -> int:
        return len(self._number)

    @property
    def all(self) -> list[str]:
        return list(self._number)
