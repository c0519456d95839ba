"""CRF++'s models: the text (`crf_learn -t` writes MODEL.txt) and the binary file, which stores weights in single
precision.

The text consists of five parts, with a blank line after each part but the last:

    version: 100, cost-factor: C, maxid: K, xsize: COLUMNS      a line each; scores are C times the sum of weights;
                                                                the template uses COLUMNS columns, data may have more
    labels                                                      a line each
    template                                                    its lines, U... first, then B...
    NUMBER ATTRIBUTE                                            the number of its first weight
    weights                                                     K lines

An attribute U... has Y weights, one per label; B... has Y * Y, previous label first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.convert.exporting import Tool, exported
from sparsecrf.contrib.convert.importing import assemble, number_of, text_of
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_lines import Line, lines_of
from sparsecrf.files.charset import UTF8_TEXT, Charset
from sparsecrf.lazy import np
from sparsecrf.model import Model

_TOOL = Tool("CRF++", boundary="crf++", before="_B-1", unigram="U", bigram="B", has_both=False)
#: Limits in CRF++'s sources: distance of rows, and length in bytes of the lines of a text model.
_FARTHEST_ROW, _LONGEST_LINE = 8, 8191
_MOST_WEIGHTS = 2**31 - 1


def from_text(data: bytes, source: str, charset: Charset = UTF8_TEXT) -> Model:
    """Read a model in the text format."""
    parts = _parts(text_of(data, source, charset).replace("\r\n", "\n").split("\n"), source)
    (_, header), (_, labels), (_, lines), (at_names, names), (at_weights, weights) = parts
    cost_factor, n = _header(header, source)
    if len(weights) != n:
        raise InputError(f"{source}: expected {n} weights (maxid), found {len(weights)}")
    w = cost_factor * np.array([number_of(text, f"{source}, line {at_weights + k}") for k, text in enumerate(weights)])
    attributes, first = [], []
    for k, line in enumerate(names):
        number, _, name = line.partition(" ")
        if not _is_whole(number) or not fits(name, int(number), len(labels), n):
            raise InputError(
                f"{source}, line {at_names + k}: expected the number of a first weight below {n} and an attribute "
                f"U... or B..., found {line[:60]!r}"
            )
        attributes.append(name)
        first.append(int(number))
    return model_of(source, labels, lines, attributes, first, w)


def model_of(
    source: str, labels: Sequence[str], lines: Sequence[str], attributes: Sequence[str], first: Sequence[int], w: Any
) -> Model:
    """Make a model. `lines`: the template; `first[k]`: the index in `w` of the first weight of attribute k."""
    Y = len(labels)
    taken = sum(_size(name, Y) for name in attributes)
    if taken > len(w):  # without this check, a small file could request any amount of memory
        raise InputError(f"{source}: expected separate weights for each attribute, {taken} in all, found {len(w)}")
    is_bigram = np.array([name[0] == "B" for name in attributes], dtype=bool)
    x, begin = np.arange(len(attributes)), np.array(first, dtype=np.int64)
    within = np.arange(Y * Y if is_bigram.any() else Y)  # number of weights per bigram attribute in the file
    u, b = (np.stack([x, begin], axis=1)[which][:, :, None] for which in (~is_bigram, is_bigram))
    unigram_cells = np.stack(np.broadcast_arrays(u[:, 0], within[:Y]), axis=-1).reshape(-1, 2)
    bigram_cells = np.stack(np.broadcast_arrays(b[:, 0], *divmod(within, max(Y, 1))), axis=-1).reshape(-1, 3)
    unigram, bigram = w[(u[:, 1] + within[:Y]).ravel()], w[(b[:, 1] + within).ravel()]
    template = Template("".join(f"{line}\n" for line in lines), "crf++", f"{source}: template")
    cells = (unigram_cells, unigram), (bigram_cells, bigram)
    return assemble(source, labels, attributes, *cells, tool="crf++", template=template)


def fits(attribute: str, first: int, Y: int, n: int) -> bool:
    """Whether this is an attribute whose weights, which begin at this number, all lie among n weights."""
    return attribute[:1] in ("U", "B") and first + _size(attribute, Y) <= n


def _size(attribute: str, Y: int) -> int:
    """The number of weights of an attribute."""
    return Y * Y if attribute[0] == "B" else Y


def _parts(lines: list[str], source: str) -> list[tuple[int, list[str]]]:
    """The five parts, each with the number of its first line."""
    if lines and not lines[-1]:
        lines.pop()
    parts: list[tuple[int, list[str]]] = []
    at = 0
    for _ in range(4):
        if "" not in lines[at:]:
            raise InputError(f"{source}: expected five parts separated by blank lines, found {len(parts) + 1}")
        end = lines.index("", at)
        parts.append((at + 1, lines[at:end]))
        at = end + 1
    return [*parts, (at + 1, lines[at:])]


def _header(lines: list[str], source: str) -> tuple[float, int]:
    """Cost factor and number of weights. xsize is the highest column that the template uses; data may contain more
    columns."""
    header = dict(line.partition(": ")[::2] for line in lines)
    version, n, columns = header.get("version", ""), header.get("maxid", ""), header.get("xsize", "")
    if not _is_whole(version) or int(version) // 100 != 1 or not _is_whole(n) or not _is_whole(columns, 10):
        found = f"version {version!r}, maxid {n!r}, xsize {columns!r}"
        raise InputError(f"{source}: expected version 1xx, maxid and xsize, found {found}")
    return number_of(header.get("cost-factor", ""), f"{source}: cost-factor"), int(n)


def _is_whole(text: str, digits: int = 19) -> bool:
    """Whether the text is an integer with fewer digits than this limit."""
    return text.isascii() and text.isdigit() and len(text) < digits


def to_text(model: Model, charset: Charset = UTF8_TEXT) -> bytes:
    """The content of a text model. `crf_learn -C TEXT BINARY` converts it to the file that crf_test reads."""
    if model.template is not None:
        _check_macros(lines_of(model.template))
    made, Y = exported(model, _TOOL), len(model.labels)
    if not made.attributes:
        raise InputError("CRF++ models must have weights: expected at least one nonzero weight, found none")
    sizes = np.array([_size(name, Y) for name in made.attributes], dtype=np.int64)
    first = sizes.cumsum() - sizes
    if (n := int(sizes.sum())) > _MOST_WEIGHTS:
        raise InputError(
            f"CRF++ stores a weight for every label (pair) of an attribute: expected at most 2^31 weights, found {n:,}"
        )
    w = np.zeros(n)
    x, y = made.unigram.T
    w[first[x] + y] = made.unigram_w
    x, previous, y = made.bigram.T
    w[first[x] + Y * previous + y] = made.bigram_w
    columns = 1 if model.template is None else max(1, model.template.n_columns)
    parts = [
        ["version: 100", "cost-factor: 1", f"maxid: {n}", f"xsize: {columns}"],
        model.labels,
        sorted(made.lines, key=lambda line: line[0] != "U"),
        [f"{k} {name}" for k, name in zip(first.tolist(), made.attributes, strict=True)],
    ]
    for name in (*model.labels, *made.lines, *made.attributes):
        if not name or len(charset.raw(name)) > _LONGEST_LINE - 12 or any(blank in name for blank in " \t\n\r"):
            expected = "text of at most 8 kB without whitespace"
            raise InputError(
                f"text models of CRF++ contain one name per line: expected {expected}, found {name[:60]!r}"
            )
    text = b"".join(b"".join(charset.raw(line) + b"\n" for line in part) + b"\n" for part in parts)
    return text + "".join(f"{v!r}\n" for v in w.tolist()).encode()


def _check_macros(lines: list[Line]) -> None:
    """Reject macros that CRF++ does not support."""
    for line in lines:
        for macro in line.macros:
            if macro.letter != "x" or macro.absolute or abs(macro.row) > _FARTHEST_ROW:
                expected = f"%x[row,column] with rows from -{_FARTHEST_ROW} to {_FARTHEST_ROW}"
                raise InputError(f"template: CRF++ supports only {expected}, found {macro.text} in {line.text!r}")
