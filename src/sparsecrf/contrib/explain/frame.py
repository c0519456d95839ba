"""Rows as a pandas frame; nothing else needs pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def frame(rows: Iterable[tuple[Any, ...]], columns: Sequence[str]) -> Any:
    """A pandas.DataFrame of rows."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame: expected the package pandas, found none; pip install pandas") from None
    return pandas.DataFrame.from_records(list(rows), columns=list(columns))
