"""Plots the absolute weights of a model, attribute by label, like the paper's figures of the NETtalk weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import ModelDisplay, printable
from sparsecrf.contrib.plots.heatmap import Floats, add_bar, draw_cells, name_panels, pooled, size
from sparsecrf.encoding.template_groups import by_line
from sparsecrf.encoding.template_lines import lines_of
from sparsecrf.model import Model

TOP = 40  # default number of attributes shown
_KINDS = {"mu": r"$|\mu_{y,x}|$", "lambda": r"$\sum_{y'}|\lambda_{y',y,x}|$"}


class WeightsDisplay(ModelDisplay):
    """Heat maps of |mu[x, y]| and of the sum over y', including the start label, of |lambda[x, y', y]|."""

    def __init__(self, mu: Any, lam: Any, attributes: Sequence[str], labels: Sequence[str], *, head: str = "") -> None:
        """`mu` and `lam`: float64[attributes, labels], whose absolute values are drawn. `head`: the common prefix of
        all attributes, which is written once, at the axis.
        """
        self.mu, self.lam = np.abs(np.asarray(mu, float)), np.abs(np.asarray(lam, float))
        self.attributes, self.labels, self.head = list(attributes), list(labels), head
        for name, values in (("mu", self.mu), ("lam", self.lam)):
            if values.shape != (len(self.attributes), len(self.labels)):
                raise InputError(
                    f"{name}: expected {len(self.attributes)} attributes by {len(self.labels)} labels, "
                    f"found shape {values.shape}"
                )

    @classmethod
    def from_model(
        cls,
        model: Model,
        *,
        attributes: Iterable[str] | None = None,
        line: str | None = None,
        top: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> WeightsDisplay:
        """Create a display for the named attributes, in that order; or for the attributes of one `line` of the
        template, sorted by name; or for all attributes.

        `line` is the line itself (`*:%x[0,0]`) or the prefix of its attributes (`*:`, and `word:` for tokens that are
        mappings). `top` keeps the attributes with the largest sum of absolute weights, the largest first. If neither
        attributes nor a line are chosen, the default is 40, without attributes that occur at every position, whose
        weights `TransitionsDisplay` shows. `labels` selects columns and sets their order.
        """
        head = ""
        names = [model.vocabulary.attributes[k] for k in range(len(model.vocabulary.attributes))]
        if attributes is not None:
            ids = {name: k for k, name in enumerate(names)}
            chosen = np.array([_found(name, ids, "an attribute") for name in attributes], np.intp)
        elif line is not None:
            made, head = _of_line(line, model, names)
            chosen = np.array(sorted(made, key=names.__getitem__), np.intp)
        else:
            plain = set(model.plain_attributes())
            chosen = np.array([k for k, name in enumerate(names) if name not in plain], np.intp)
            top = TOP if top is None else top
        if top is not None:
            if top < 1:
                raise InputError(f"top: expected at least 1, found {top}")
            features = model.features
            attribute = np.concatenate([features.unigram_attribute, features.bigram_attribute, features.ngrams[0]])
            total = np.bincount(attribute, np.abs(model.w), features.n_attributes)
            chosen = chosen[np.argsort(-total[chosen], kind="stable")[:top]]
        columns = np.arange(len(model.labels))
        if labels is not None:
            known = {name: k for k, name in enumerate(model.labels)}
            columns = np.array([_found(name, known, "a label") for name in labels], np.intp)
        rows = [names[k] for k in chosen]
        mu, lam = (sizes[:, columns] for sizes in _sizes(model.without_parts(), chosen))
        return cls(mu, lam, rows, [model.labels[k] for k in columns], head=head)

    def plot(self, ax: Any = None, *, kind: str = "auto") -> WeightsDisplay:
        """`kind`: `mu`, `lambda`, `both`, or `auto`, which means both if there is any lambda.

        Both are drawn as two panels, one above the other if there are more labels than attributes, else side by side.
        """
        if kind not in ("auto", "both", *_KINDS):
            raise InputError(f"kind: expected auto, both, mu or lambda, found {kind!r}")
        if kind == "auto":
            kind = "both" if self.lam.any() else "mu"
        kinds = list(_KINDS) if kind == "both" else [kind]
        rows = [name.removeprefix(self.head) for name in self.attributes]
        down = len(kinds) if len(self.labels) > len(rows) else 1
        across = len(kinds) // down
        inches = size(rows, self.labels, across=across, down=down)
        what = f"attribute {printable(self.head)}".rstrip()
        with self._drawing(ax, down, across, size=inches) as axes:
            share, named = 1, []
            for k, (panel, name) in enumerate(zip(axes, kinds, strict=True)):
                values, share = pooled(self.mu if name == "mu" else self.lam)
                add_bar(panel, draw_cells(panel, values), _KINDS[name])
                first_column, last_row = k % across == 0, k // across == down - 1
                named.append((panel, rows if first_column else [], self.labels if last_row else []))
                if first_column:
                    panel.set_ylabel(what if share == 1 else f"{what} (each row is the largest of {share})")
                if last_row:
                    panel.set_xlabel("label")
            name_panels(named, share)
        return self


def _sizes(model: Model, chosen: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """|mu| and the sum over y' of |lambda|, float64[chosen, Y] each, for the chosen attributes only, since those of all
    attributes could take gigabytes."""
    features, w = model.features, np.abs(model.w)
    rows, place = np.unique(chosen, return_inverse=True)
    row_of = np.full(features.n_attributes, -1, np.intp)
    row_of[rows] = np.arange(len(rows))
    found = []
    for x, y, size_of in (
        (features.unigram_attribute, features.unigram_label, w[: features.n_unigram]),
        (features.bigram_attribute, features.bigram_label, w[features.n_unigram :][: features.n_bigram]),
    ):
        wanted = row_of[x] >= 0
        sizes = np.zeros((len(rows), features.n_labels))
        np.add.at(sizes, (row_of[x[wanted]], y[wanted]), size_of[wanted])
        found.append(sizes[place])
    return found[0], found[1]


def _of_line(line: str, model: Model, names: list[str]) -> tuple[list[int], str]:
    """The attributes that a line of the template generates, or that begin with this text, and their common prefix."""
    if model.template is not None:
        lines, group = by_line(names, model.template)
        for g, same in enumerate(lines):
            if line in same.split(" | "):
                made = np.flatnonzero(group == g).tolist()
                literal = next(len(one.literals[0]) for one in lines_of(model.template) if one.raw == line)
                return made, names[made[0]][:literal] if made else line
    found = [k for k, name in enumerate(names) if name.startswith(line)]
    if not found:
        raise InputError(
            f"line: expected a line of the template, or the beginning of some of the model's attributes, found {line!r}"
        )
    return found, line


def _found(name: str, ids: dict[str, int], what: str) -> int:
    if name not in ids:
        known = ", ".join(list(ids)[:10])
        raise InputError(f"expected {what} of the model ({known}{', ...' if len(ids) > 10 else ''}), found {name!r}")
    return ids[name]
