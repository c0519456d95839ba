"""Shared code of the writers of Wapiti's and CRF++'s models.

Both tools use a template with lines u and b, and no start label. A separate line expresses the start label before the
first token. `%x[-1,0]` is a boundary cell there and nowhere else, so that

    b:%x[0,0]    with a weight of (b:dog, start, NOUN)
    u:start:%x[-1,0]:b:%x[0,0]    has the same weight of (u:start:_x-1:b:dog, NOUN)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_lines import Line, Macro, lines_of
from sparsecrf.lazy import np
from sparsecrf.model import Model

_START = ":start:"


@dataclass(frozen=True)
class Tool:
    """The properties of another tool's models."""

    name: str
    boundary: str  #: the name of its boundary cells, spelled as in a recipe
    before: str  #: the cell before the first token
    unigram: str  #: first letter of lines that condition labels
    bigram: str  #: first letter of lines that condition pairs
    has_both: bool  #: whether the tool supports lines *, which condition both labels and pairs

    def name_of(self, attribute: str, *, pairs: bool) -> str:
        """The tool's name for an attribute of the template that conditions labels, or label pairs."""
        if attribute[0] == "*":
            return attribute if self.has_both else (self.bigram if pairs else self.unigram) + attribute
        return (self.bigram if attribute[0] in "Bb" else self.unigram) + attribute[1:]


@dataclass(frozen=True)
class Exported:
    """A model in the tool's terms."""

    lines: list[str]  #: lines of the template
    attributes: list[str]  #: X
    unigram: Any  #: [n, 2] int64: attribute, label
    unigram_w: Any  #: [n]
    bigram: Any  #: [m, 3] int64: attribute, previous label, label
    bigram_w: Any  #: [m]


def exported(model: Model, tool: Tool) -> Exported:
    """The model for a tool. Raises an InputError that names what the tool cannot express."""
    if model.template is None:
        raise InputError(
            f"{tool.name} models generate attributes from columns: expected a model with a template, found a model "
            "without a template"
        )
    small = with_pairs_only(model, tool.name)
    lines = lines_of(model.template)
    _check_template(model.template, lines, tool)
    Y, f, w, names = len(small.labels), small.features, small.w, small.vocabulary.attributes
    n = f.n_unigram
    _check_letters(names, f.unigram_attribute, "Uu*", "labels")
    _check_letters(names, f.bigram_attribute, "Bb*", "label pairs")
    after_start = f.bigram_previous == Y
    ids = _Ids(lambda x: names[x])
    of_labels = ids.of(f.unigram_attribute, lambda name: tool.name_of(name, pairs=False))
    of_pairs = ids.of(f.bigram_attribute[~after_start], lambda name: tool.name_of(name, pairs=True))
    of_start = ids.of(
        f.bigram_attribute[after_start],
        lambda name: f"{tool.unigram}{_START}{tool.before}:{tool.name_of(name, pairs=True)}",
        start=True,
    )
    labels = np.concatenate([f.unigram_label, f.bigram_label[after_start]])
    return Exported(
        list(_lines(lines, tool, start=bool(after_start.any()))),
        ids.names,
        np.stack([np.concatenate([of_labels, of_start]), labels], axis=1).astype(np.int64),
        np.concatenate([w[:n], w[n:][after_start]]),
        np.stack([of_pairs, f.bigram_previous[~after_start], f.bigram_label[~after_start]], axis=1).astype(np.int64),
        w[n:][~after_start],
    )


def with_pairs_only(model: Model, tool: str) -> Model:
    """The same model without label parts and zero weights. Rejects vectors and label n-grams longer than pairs."""
    if model.dense is not None:
        raise InputError(f"{tool} models cannot contain vectors, but this model does")
    small = model.without_parts().compacted()
    if n := small.features.n_ngram:
        raise InputError(f"{tool} models cannot contain label n-grams longer than pairs: expected none, found {n}")
    return small


def _check_letters(names: StringTable, attributes: Any, letters: str, what: str) -> None:
    """Reject an attribute that no template line can generate. The first letter of an attribute determines what it
    conditions."""
    for x in dict.fromkeys(attributes.tolist()):
        if names[x][:1] not in tuple(letters):
            expected = f"attributes with weights of {what} to begin with {', '.join(letters[:-1])} or {letters[-1]}"
            raise InputError(f"expected {expected}, as template lines do, found {names[x]!r:.60}")


class _Ids:
    """Numbers new attributes in order of first use. It is an error if two attributes of the model would become one."""

    def __init__(self, old_name: Callable[[int], str]) -> None:
        self.names: list[str] = []
        self._old_name = old_name
        # Maps new names to ids, to old attributes, and to whether the old attributes follow the start label.
        self._known: dict[str, tuple[int, int, bool]] = {}

    def of(self, attributes: Any, rename: Callable[[str], str], *, start: bool = False) -> Any:
        """The new ids of these attributes, one for each entry."""
        distinct, place = np.unique(attributes, return_inverse=True)
        return np.array([self._id(x, rename, start) for x in distinct.tolist()], dtype=np.int64)[place]

    def _id(self, x: int, rename: Callable[[str], str], start: bool) -> int:
        name = rename(self._old_name(x))
        found, old, at_start = self._known.setdefault(name, (len(self.names), x, start))
        if (old, at_start) != (x, start):
            both = f"{self._old_name(old)!r} and {self._old_name(x)!r}"
            raise InputError(
                f"expected attributes that stay distinct, found {both}, which would both be named {name!r}"
            )
        if found == len(self.names):
            self.names.append(name)
        return found


def _check_template(template: Template, lines: list[Line], tool: Tool) -> None:
    """Reject template lines that the tool does not support or reads differently."""
    if line := _first(lines, lambda macro: macro.is_of_words):
        raise InputError(
            f"template: {tool.name} does not support functions of words; expected only %x, %t and %m, found "
            f"{line.text!r}"
        )
    if template.boundary != tool.boundary and (line := _first(lines, lambda macro: macro.leaves)):
        raise InputError(
            f"template, line {line.text!r}: {tool.name} names cells beyond the ends of a sequence differently; "
            f"expected a model trained with --recipe boundary={tool.boundary}, found boundary={template.boundary}"
        )
    letters = {str(line.parts[0])[0] for line in lines}
    if not letters.isdisjoint("Tt"):
        raise InputError(
            f"template: {tool.name} does not support T... lines (label n-grams); expected only U, B and * lines"
        )
    for pair in ("Uu", "Bb"):
        if letters >= set(pair):
            raise InputError(
                f"template: expected lines that all begin with {pair[0]} or all begin with {pair[1]}, found both"
            )
    reserved = [tool.unigram + _START] + ([] if tool.has_both or "*" not in letters else ["U*", "B*"])
    for line in lines:
        text = line.text[0].upper() + line.text[1:]
        if any(text.startswith(begin[0].upper() + begin[1:]) for begin in reserved):
            raise InputError(
                f"template: expected no line with the prefix reserved for {tool.name}, found {line.text!r}"
            )


def _first(lines: Iterable[Line], matches: Callable[[Macro], bool]) -> Line | None:
    return next((line for line in lines if any(map(matches, line.macros))), None)


def _lines(lines: list[Line], tool: Tool, *, start: bool) -> Iterable[str]:
    for line in lines:
        texts = [tool.name_of(line.text, pairs=pairs) for pairs in (False, True)]
        yield from dict.fromkeys(texts)
    if start:
        for line in lines:
            if line.kind != "U":
                yield f"{tool.unigram}{_START}%x[-1,0]:{tool.name_of(line.text, pairs=True)}"
