"""Constraints on labels that state which chunk tags may follow each other."""

from __future__ import annotations

from collections.abc import Sequence

from sparsecrf._core import InputError
from sparsecrf.chunks import split_label

SCHEMES = ("iob1", "iob2", "iobes")
BIO = "; here, BIO is called iob2, and BILOU and BIOES are called iobes"


def _follows(previous: tuple[str, str], tag: tuple[str, str], scheme: str) -> bool:
    """Whether a tag may directly follow another; ("", "") is the start of the sequence."""
    (before, before_kind), (prefix, kind) = previous, tag
    inside = before_kind == kind  # inside a chunk of the same type
    if scheme == "iob1":  # B is valid only directly after a chunk of the same type
        return prefix != "B" or (before in ("B", "I") and inside)
    if scheme == "iob2":
        return prefix != "I" or (before in ("B", "I") and inside)
    if before in ("B", "I"):  # an open chunk continues
        return prefix in ("I", "E") and inside
    return prefix not in ("I", "E")


def forbidden_pairs(labels: Sequence[str], scheme: str) -> tuple[bytes, bytes]:
    """Return the label pairs and endings that a scheme forbids, as bytes. The first result, [Y + 1, Y], contains 1 for
    each pair (previous label, label) that must not occur; its last row is the start. The second, [Y], contains 1 for
    each label that must not end a sequence. Tags are O, and B-, I-, E- and S- with a type.
    """
    if scheme not in SCHEMES:
        raise InputError(f"constrain: expected one of {', '.join(SCHEMES)}, found {scheme!r}{BIO}")
    known = {"iob1": "BI", "iob2": "BI", "iobes": "BIES"}[scheme]
    for label in labels:
        prefix, kind = split_label(label)
        if label != "O" and not (prefix in tuple(known) and kind):
            raise InputError(f"constraints {scheme}: expected labels O and {', '.join(known)}-TYPE, found {label!r}")
    tags = [split_label(label) for label in labels]
    begun = {kind for prefix, kind in tags if prefix in ("B", "S")}
    lonely = next(
        (label for label, (prefix, kind) in zip(labels, tags, strict=True) if prefix == "I" and kind not in begun), None
    )
    if scheme != "iob1" and lonely is not None:
        raise InputError(
            f"constraints {scheme}: expected a label B-... in addition to {lonely}, found none: is this iob1?"
        )
    if scheme == "iobes" and begun and not any(prefix in ("E", "S") for prefix, _ in tags):
        raise InputError("constraints iobes: expected labels E-... or S-..., found none: is this iob2?")
    pairs = bytes(not _follows(previous, tag, scheme) for previous in [*tags, ("", "")] for tag in tags)
    last = bytes(scheme == "iobes" and prefix in ("B", "I") for prefix, _ in tags)
    return pairs, last
