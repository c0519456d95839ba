"""CRF++'s text models (`crf_learn -t` writes MODEL.txt; the binary file has single precision only).

Five parts, a blank line after each but the last:

    version: 100, cost-factor: C, maxid: K, xsize: COLUMNS      a line each; scores are C times the sum of weights
    labels                                                      a line each
    template                                                    its lines, U... first, then B...
    NUMBER ATTRIBUTE                                            the number of its first weight
    weights                                                     K lines

An attribute U... has Y weights, one a label; B... has Y * Y, previous label first.
"""

from __future__ import annotations

from sparsecrf._core import InputError
from sparsecrf.model import Model
from sparsecrf.model.foreign import assemble, number_of, text_of


def from_text(data: bytes, source: str) -> Model:
    """The model in a text model."""
    import numpy as np

    from sparsecrf.encoding.template import Template

    if not data.startswith(b"version: "):
        raise InputError(
            f"{source}: expected a text model of CRF++ (crf_learn -t writes it, with .txt behind the name), "
            f"found {data[:20]!r}"
        )
    parts = _parts(text_of(data, source).replace("\r\n", "\n").split("\n"), source)
    (_, header), (_, labels), (_, lines), (at_names, names), (at_weights, weights) = parts
    cost_factor, n, n_columns = _header(header, source)
    if len(weights) != n:
        raise InputError(f"{source}: expected {n} weights (maxid), found {len(weights)}")
    w = cost_factor * np.array([number_of(text, f"{source}, line {at_weights + k}") for k, text in enumerate(weights)])

    Y = len(labels)
    unigram: list[tuple[int, int]] = []  # attribute and number of its first weight
    bigram: list[tuple[int, int]] = []
    attributes, taken = [], 0
    for k, line in enumerate(names):
        number, _, name = line.partition(" ")
        size = {"U": Y, "B": Y * Y}.get(name[:1])
        if size is None or not _is_whole(number) or int(number) + size > n:
            raise InputError(
                f"{source}, line {at_names + k}: expected the number of a first weight below {n} and an attribute "
                f"U... or B..., found {line[:60]!r}"
            )
        (unigram if name[0] == "U" else bigram).append((k, int(number)))
        attributes.append(name)
        taken += size
    if taken > n:  # or a small file could ask for any amount of memory
        raise InputError(f"{source}: expected weights of its own for each attribute, found {n} for {taken}")
    within = np.arange(Y * Y if bigram else Y)  # a bigram attribute has room in the file for so many
    u, b = np.array(unigram, dtype=np.int64).reshape(-1, 2, 1), np.array(bigram, dtype=np.int64).reshape(-1, 2, 1)
    unigram_cells = np.stack(np.broadcast_arrays(u[:, 0], within[:Y]), axis=-1).reshape(-1, 2)
    bigram_cells = np.stack(np.broadcast_arrays(b[:, 0], *divmod(within, max(Y, 1))), axis=-1).reshape(-1, 3)
    template = Template("".join(f"{line}\n" for line in lines), "crf++", f"{source}: template")
    return assemble(
        source,
        labels,
        attributes,
        (unigram_cells, w[(u[:, 1] + within[:Y]).ravel()]),
        (bigram_cells, w[(b[:, 1] + within).ravel()]),
        tool="crf++",
        template=template,
        n_columns=n_columns,
    )


def _parts(lines: list[str], source: str) -> list[tuple[int, list[str]]]:
    """The five parts, each with the number of its first line."""
    if lines and not lines[-1]:
        lines.pop()
    parts: list[tuple[int, list[str]]] = []
    at = 0
    for _ in range(4):
        if "" not in lines[at:]:
            raise InputError(f"{source}: expected five parts with blank lines between, found {len(parts) + 1}")
        end = lines.index("", at)
        parts.append((at + 1, lines[at:end]))
        at = end + 1
    return [*parts, (at + 1, lines[at:])]


def _header(lines: list[str], source: str) -> tuple[float, int, int]:
    """Cost factor, number of weights, number of columns of observations."""
    header = dict(line.partition(": ")[::2] for line in lines)
    version, n, columns = header.get("version", ""), header.get("maxid", ""), header.get("xsize", "")
    if not _is_whole(version) or int(version) // 100 != 1 or not _is_whole(n) or not _is_whole(columns, 10):
        found = f"version {version!r}, maxid {n!r}, xsize {columns!r}"
        raise InputError(f"{source}: expected version 1xx, maxid and xsize, found {found}")
    return number_of(header.get("cost-factor", ""), f"{source}: cost-factor"), int(n), int(columns)


def _is_whole(text: str, digits: int = 19) -> bool:
    """Whether it is a whole number of fewer digits than these."""
    return text.isascii() and text.isdigit() and len(text) < digits
