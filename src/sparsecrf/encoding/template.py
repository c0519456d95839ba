"""Feature templates in the syntax of CRF++ and Wapiti."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparsecrf import _core
from sparsecrf._core import InputError
from sparsecrf.encoding.presets import PRESETS, preset

if TYPE_CHECKING:
    from sparsecrf.encoding.resources import Resource

_BIAS = re.compile(r"\s*([UBTubt*]\d*(:.*)?)?\s*(#.*)?")  # a line without macros


class Template(_core.Template):
    """Lines that generate attributes from the columns around a position.

    `U...` conditions labels, `B...` label pairs, `*...` both, and `T...` label pairs and longer label n-grams, up to
    the order of a model. `%x[row,column]` is a cell, and `%X` is the same in lower case. `%t[row,column,"re"]` is
    true or false: whether the regular expression matches, and `%m[row,column,"re"]` is the matching text. `@row`
    counts from the ends of the sequence. Functions of words are: `%l` lower case, `%p[row,column,n]` and
    `%s[row,column,n]` the first and last n characters, `%h` the shape, `%c` classes of characters, `%n` length,
    `%e[row]` first or last. `%d[row,column,NAME]` looks up a cell in the resource with that name (one of `resources`),
    and `%D` looks up its lowercase form. A bare `U`, `B`, `T` or `*` is the bias. `boundary` names the cells beyond the
    ends: 'crf++' or 'wapiti'. With `bytes`, regular expressions match bytes of UTF-8, as in Wapiti, not characters;
    parts of a split character are written as \\xd0.
    """

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        boundary: str = "crf++",
        *,
        bytes: bool = False,
        resources: Sequence[Resource] = (),
    ) -> Template:
        """Read a template file."""
        with open(path, "rb") as file:
            source = os.fsencode(path).decode("utf-8", "backslashreplace")
            return cls(file.read(), boundary, source, bytes, resources)

    @classmethod
    def of(
        cls,
        given: Template | str | os.PathLike[str],
        resources: Sequence[Resource] = (),
        boundary: str = "crf++",
        *,
        bytes: bool = False,
    ) -> Template:
        """Make a template from a `Template`, its lines, or the name of its file, with these resources. A `Template`
        keeps its own settings unless `boundary` or `bytes` overrides them.

        Text of several lines is the template itself; a single line is a file name if the file exists, else a template.
        """
        if isinstance(given, Template):
            if resources:
                raise InputError("resources: pass them to the Template: Template(..., resources=...)")
            if (boundary, bytes) in (("crf++", False), (given.boundary, given.bytes)):
                return given
            other = given.boundary if boundary == "crf++" else boundary
            return cls(given.text, other, "template", bytes or given.bytes, given.resources)
        if not isinstance(given, (str, os.PathLike)):
            raise InputError(
                f"template: expected a file name, the lines of a template or a Template, found {given!r:.60}"
            )
        if not isinstance(given, str) or ("\n" not in given and os.path.exists(given)):
            return cls.load(given, boundary, bytes=bytes, resources=resources)
        if "\n" not in given and "%" not in given and not _BIAS.fullmatch(given):
            hint = f" (did you mean features={given!r}?)" if given in PRESETS else ""
            raise InputError(
                f"template: expected a file name or the lines of a template, found {given!r:.60}, but there is no file "
                f"with this name{hint}"
            )
        try:
            return cls(given, boundary, bytes=bytes, resources=resources)
        except InputError as error:
            if "\n" in given:
                raise
            raise InputError(
                f"template: expected a file name or the lines of a template, found {given!r:.60}, but there is no file "
                f"with this name, and it is not a valid template ({error})"
            ) from None

    @classmethod
    def of_columns(cls, n_columns: int) -> Template:
        """A template with every column of the position itself and the bias, all of which condition labels and label
        pairs."""
        return cls("".join(f"*{k}:%x[0,{k}]\n" for k in range(n_columns)) + "*\n", source="columns")

    @classmethod
    def preset(cls, name: str, n_columns: int = 1, *, resources: Sequence[Resource] = ()) -> Template:
        """A ready-made template: "words", "tagging", "letters", "documents" for rows of `with_mentions`, or "columns"
        for rows of `n_columns` columns. It contains lines for all `resources`.

        `.text` contains the lines, for printing or editing.
        """
        text = preset(name, n_columns, "preset", resources)
        return cls(text, source=f"preset {name}", resources=resources)

    @staticmethod
    def conditions_pairs(attribute: str) -> bool:
        """Whether an attribute that a template made conditions label pairs."""
        return attribute[:1] in ("B", "b", "T", "t", "*")

    def ngram_attributes(self, attributes: _core.StringTable) -> list[int] | None:
        """The ids of the attributes that condition label n-grams of three labels or more. They come from the lines
        `T...` or, without `T...` lines, are the attributes that occur at every position. None means that there are no
        such attributes; all attributes that condition label pairs then also condition longer n-grams."""
        if "T" in self.kinds:
            names = [attributes[k] for k in range(len(attributes))]
            return [k for k, name in enumerate(names) if name[:1] in ("T", "t")]
        made = self.attributes([[""] * max(1, self.n_columns)])[0]  # attributes of lines without macros
        every = zip(made, self.kinds, self.varies, strict=True)
        found = [attributes.find(name) for name, kind, varies in every if kind != "U" and not varies]
        return [k for k in found if k is not None] or None

    def __reduce__(self) -> tuple[Any, tuple[str, str, str, bool, list[Any]]]:
        """Support pickle and copy, which scikit-learn uses to clone the parameters of estimators."""
        return type(self), (self.text, self.boundary, "template", self.bytes, self.resources)
