"""Compact model files, of about a quarter of the usual size: version 3 (docs/model-file.md).

    labels.bytes, labels.offsets    U8, I64[Y + 1]     as in version 1
    attributes.front                U8                 names in byte order, front-coded (cpp/core/corpus/packed.hpp)
    features.steps                  U8                 numbers of the features, as differences
    weights                         I16[K] or F32[K]   times `scale` (metadata; 1 for F32)

and, for label n-grams, the arrays of version 2. The weights differ from the weights of the saved model by at most
`error` in the `compact` entry of the training record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparsecrf._core import InputError, StringTable, pack_names, pack_numbers
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.lazy import NDArray, np

if TYPE_CHECKING:
    from sparsecrf.model.file import Parts

KINDS = ("int16", "float32")
RECORD = "compact"  #: key in the training record: {"weights": kind, "error": the largest change of a weight}
_LARGEST = 32767  # largest 16-bit integer


def kind_of(compact: bool | str) -> str | None:
    """The type of weights; True means int16, and False means that the file is not compact."""
    if compact is True or compact is False:
        return KINDS[0] if compact else None
    if compact not in KINDS:
        raise InputError(f"compact: expected True, False, {' or '.join(map(repr, KINDS))}, found {compact!r:.60}")
    return compact


def rounded(w: NDArray[np.float64], kind: str) -> tuple[NDArray[np.float64], float]:
    """The nearest weights that a file of this kind can represent, and their scale.

    int16: w' = scale round(w / scale), scale = max |w| / 32767, so |w' - w| <= scale / 2 = max |w| / 65534.
    """
    largest = float(np.abs(w).max(initial=0.0))
    if kind == "float32":
        if largest > float(np.finfo(np.float32).max):
            raise InputError(f"compact: expected weights that float32 can represent, found {largest:g}")
        return w.astype(np.float32).astype(np.float64), 1.0
    scale = largest / _LARGEST if largest > 0 else 1.0
    return np.rint(w / scale) * scale, scale


def pack_arrays(parts: Parts, kind: str, scale: float) -> dict[str, Any]:
    """The arrays of a file, except the arrays for label n-grams. `parts` are in byte order; `rounded` has rounded their
    weights with this scale."""
    w, (label_bytes, label_offsets) = np.asarray(parts.w), parts.labels.to_arrays()
    return {
        "labels.bytes": label_bytes,
        "labels.offsets": label_offsets,
        "attributes.front": pack_names(parts.attributes),
        "features.steps": pack_numbers(np.ascontiguousarray(parts.numbers, dtype=np.int64)),
        "weights": w.astype(np.float32) if kind == "float32" else np.rint(w / scale).astype(np.int16),
    }


def in_byte_order(parts: Parts) -> Parts:
    """The same model with its attributes numbered in the order of their names in UTF-8."""
    n_attributes = len(parts.attributes)
    names = [parts.attributes[x] for x in range(n_attributes)]
    order = sorted(range(n_attributes), key=lambda x: names[x].encode())
    place = np.empty(n_attributes, dtype=np.int64)  # [X] rank of each name
    place[order] = np.arange(n_attributes)
    table = StringTable()
    for x in order:
        table.intern(names[x])
    numbering = Numbering.with_parts(len(parts.labels), n_attributes, parts.label_parts)
    numbers, w = np.asarray(parts.numbers), np.asarray(parts.w)
    n_pairs = int(np.searchsorted(numbers, numbering.first_ngram))  # later features are numbered by a table
    moved = numbering.moved(numbers[:n_pairs], place[numbering.attribute(numbers[:n_pairs])], n_attributes)
    by_number = np.argsort(moved)
    ngrams = parts.ngrams
    if ngrams is not None:
        ngrams = ngrams._replace(attribute=place[ngrams.attribute].astype(np.int32))
    return parts._replace(
        attributes=table,
        numbers=np.concatenate([moved[by_number], numbers[n_pairs:]]),
        w=np.concatenate([w[:n_pairs][by_number], w[n_pairs:]]),
        ngrams=ngrams,
    )
