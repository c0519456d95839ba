"""Recipes for converting text to attributes, which the command line, the estimators, shards and Dask use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats import COLUMNS, Format, Records, format_named, format_of
from sparsecrf.encoding.presets import preset
from sparsecrf.encoding.recipe_file import SETTINGS, TABLES, read_settings, write_settings
from sparsecrf.encoding.resources import Resource
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.unknown_labels import UNCERTAIN
from sparsecrf.encoding.vector_files import check_files
from sparsecrf.encoding.vectors import VectorFile, WordVectors
from sparsecrf.encoding.vocabulary import Bigrams, Vocabulary
from sparsecrf.files.charset import UTF8, Charset

Path: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Recipe:
    """The settings for converting text to attributes. Immutable: `dataclasses.replace` makes a changed copy.

    Settings that are None are filled in by `resolved`, from the name of the first file or from another recipe.
    """

    format: str | None = None  #: format of files, named as for `--format`
    template: Template | Path | None = None  #: a template file, template lines, or a `Template`
    features: str | None = None  #: the name of a ready-made template, used instead of `template`
    lexicon: Mapping[str, Path] = field(default_factory=dict)  #: files by name, as are the next two settings
    clusters: Mapping[str, Path] = field(default_factory=dict)
    classes: Mapping[str, Path] = field(default_factory=dict)
    vectors: WordVectors | VectorFile | Path | None = None  #: word vectors
    vectors_words: Path | None = None  #: words of the rows of an .npy file
    vectors_column: int = 0
    vectors_window: int = 0
    vectors_scale: float | None = None  #: factor on standardised dense columns
    standardize: bool = True  #: whether to standardise dense columns to mean 0 and deviation 1
    refer: bool = False  #: the model keeps paths and checksums of resources and vectors, not their content
    bigrams: Bigrams = "bias"  #: attributes that condition label pairs, if no template generates the attributes
    start: bool | None = None  #: whether a start label precedes the first token
    boundary: str = "crf++"  #: names of a template's cells beyond the ends of a sequence
    bytes: bool = False  #: whether regular expressions of a template match bytes
    missing: str = ""  #: the placeholder for an unknown label in files
    label_sets: str = ""  #: the separator of the labels of a set in files; empty if there are no sets
    ragged: bool = False  #: whether lines of column files may differ in length
    encoding: str | None = None  #: encoding of files
    min_count: int = 1  #: attributes that occur at fewer positions are left out

    # Not stored in recipe files:
    resources: tuple[Resource, ...] = ()  #: resources in addition to lexicon, clusters and classes
    labels: tuple[str, ...] = ()  #: first labels of the vocabulary, even if they do not occur in the data
    lines: Template | None = None  #: made by `resolved` from `template` or `features`; None means the format's default
    called: Mapping[str, str] = field(default_factory=dict, compare=False)  #: names of settings, as the user typed them

    def __getitem__(self, setting: str) -> str:
        """The name of a setting in error messages."""
        return self.called.get(setting, setting)

    @property
    def reader(self) -> Format:
        """The format of files."""
        return COLUMNS if self.format is None else format_named(self.format, self["format"])

    @property
    def has_template(self) -> bool:
        """Whether tokens are rows of columns, for a template."""
        return any(given is not None for given in (self.template, self.features, self.lines))

    @property
    def charset(self) -> Charset:
        return Charset(UTF8 if self.encoding is None else self.encoding, self["encoding"])

    @property
    def word_vectors(self) -> WordVectors | VectorFile | None:
        """The word vectors that the recipe names; vectors in files are not read yet."""
        if not isinstance(self.vectors, (str, os.PathLike)):
            return self.vectors
        self.files()
        return VectorFile(self.vectors, self.vectors_words, self.vectors_column, self.vectors_window, not self.refer)

    @property
    def scale(self) -> float:
        """The factor on dense columns."""
        return 1.0 if self.vectors_scale is None else self.vectors_scale

    @property
    def record(self) -> dict[str, str]:
        """The entry for a model's training record, without settings that the model itself stores."""
        found = {} if self.encoding in (None, UTF8) else {"encoding": str(self.encoding)}
        found |= {name: value for name in UNCERTAIN if (value := getattr(self, name))}
        return {**found, "format": self.reader.name} if isinstance(self.reader, Records) else found

    def vocabulary(self, *, files: bool = True) -> Vocabulary:
        """An empty vocabulary, for files or for tokens, with the labels that are given in advance."""
        by_template = self.lines is not None or (files and self.reader.takes_template)
        made = Vocabulary(Template.conditions_pairs if by_template else self.bigrams, self.start is not False)
        for name in self.labels:
            made.labels.intern(name)
        return made

    def files(self, *, resources: bool = True) -> list[str]:
        """The files that the recipe names. Rejects vectors that are not a regular file, since reading a pipe could
        block."""
        named = [None if isinstance(self.template, str) and "\n" in self.template else self.template]
        if resources:
            named += [file for table in TABLES for file in getattr(self, table).values()]
        if isinstance(self.vectors, (str, os.PathLike)):
            if os.fspath(self.vectors).endswith(".npy") and self.vectors_words is None:
                raise OptionError(
                    f"{self['vectors']} {self.vectors} needs {self['vectors_words']}: a file with the words of its rows"
                )
            check_files(self.vectors, self.vectors_words)
            named += [self.vectors, self.vectors_words]
        return [os.fspath(file) for file in named if isinstance(file, (str, os.PathLike))]

    # ---- From settings to the resolved recipe

    def resolved(self, file: str = "", like: Recipe | None = None) -> Recipe:
        """The complete recipe for labelled files, of which `file` is the first. Missing settings are taken from `like`,
        the recipe of the model that training starts from."""
        other = _PLAIN if like is None else like
        format = self._format_for(file, other)
        charset = replace(self, encoding=other.encoding if self.encoding is None else self.encoding).charset
        marks: dict[str, Any] = {name: getattr(self, name) or getattr(other, name) for name in UNCERTAIN}
        replace(self, **marks)._check(format, charset, other)
        vectors = self.word_vectors or other.word_vectors
        self._check_vectors(vectors, charset)
        lines = replace(self, bytes=self.bytes or charset.is_bytes).made(lambda: self._n_observed(file, format))
        if lines is None and like is not None:
            lines = self._lines_of(like, format)
        return replace(
            self,
            format=format.name,
            encoding=charset.name,
            **marks,
            lines=lines,
            vectors=vectors,
            vectors_scale=other.vectors_scale if self.vectors_scale is None else self.vectors_scale,
            start=other.start if self.start is None else self.start,
            labels=self.labels or other.labels,
        )

    def made(self, n_columns: Callable[[], int]) -> Template | None:
        """The template: from a file, from lines, or ready-made for rows of `n_columns` columns. None means no
        template."""
        if self.lines is not None:
            return self.lines
        resources = self._resources()
        if self.features is not None:
            if self.template is not None:
                raise OptionError(f"{self['features']} and {self['template']}: give only one of them")
            text = preset(self.features, 1, self["features"], resources)  # rejects an unknown name
            if self.features == "columns":
                text = preset(self.features, n_columns(), self["features"], resources)
            rows = " for rows of with_mentions" if self.features == "documents" and not self.called else ""
            source = f"{self['features']} {self.features!r}{rows}"
            return Template(text, self.boundary, source, self.bytes, resources)
        if self.template is not None:
            return Template.of(self.template, resources, self.boundary, bytes=self.bytes)
        if resources:
            given = next((table for table in TABLES if getattr(self, table)), "resources")
            wanted = f"{self['features']} or {self['template']}"
            raise OptionError(f"{self[given]} needs {wanted}")
        return None

    def _format_for(self, file: str, like: Recipe) -> Format:
        if self.format is not None:
            return self.reader
        by_name = format_of(file)
        if by_name is COLUMNS and self.features == "documents":  # the file name does not reveal this format
            return format_named("documents")
        if by_name is COLUMNS and like.format is not None:
            return format_named(like.format, self["init"])
        return by_name

    def _check(self, format: Format, charset: Charset, like: Recipe) -> None:
        """Reject settings that cannot be combined."""
        if self.features == "documents" and not format.token_a_line:
            expected = f"expected files with {self['format']} documents"
            raise OptionError(f"{self['features']} documents: {expected}, found {format.title} files")
        for setting in ("template", "features"):
            format.check_template(getattr(self, setting), self[setting])
        format.check_columns(self.ragged, False, self["ragged"].removesuffix("ragged"))
        format.check_columns(False, charset.is_bytes, self["encoding"].removesuffix("encoding"))
        format.check_vectors(self.vectors, self["vectors"])
        if any(c.isspace() for c in self.label_sets) or (self.label_sets and self.label_sets in self.missing):
            found = f"{self['missing']} {self.missing}" if self.missing else repr(self.label_sets)
            expected = "expected characters other than whitespace that no label contains, such as |"
            raise OptionError(f"{self['label_sets']}: {expected}, found {found}")
        if self.ragged and all(template is None for template in (self.template, self.features, like.lines)):
            raise OptionError(f"{self['ragged']} needs {self['template']}, which determines the required columns")
        if self.refer and self.vectors is None and not any(getattr(self, table) for table in TABLES):
            wanted = ", ".join(self[name] for name in TABLES)
            raise OptionError(f"{self['refer']} needs {wanted} or {self['vectors']}")

    def _check_vectors(self, vectors: WordVectors | VectorFile | None, charset: Charset) -> None:
        """Reject settings of vectors that are invalid, alone or with the vectors of the model that training starts
        from."""
        if vectors is not None and charset.is_bytes:
            found = f"{self['encoding']} bytes"
            raise OptionError(f"{self['vectors']} cannot be combined with {found}: words are looked up as text")
        for setting in ("vectors_words", "vectors_column", "vectors_window"):
            if getattr(self, setting) and self.vectors is None:
                raise OptionError(f"{self[setting]} needs {self['vectors']}")
        if self.vectors_scale is not None and vectors is None:
            wanted = f"{self['vectors']}, or {self['init']} with a model that contains vectors"
            raise OptionError(f"{self['vectors_scale']} needs {wanted}")

    def _resources(self) -> list[Resource]:
        made = [
            Resource.made(name, table, file, store=not self.refer)
            for table in TABLES
            for name, file in getattr(self, table).items()
        ]
        return [*self.resources, *made]

    def _n_observed(self, file: str, format: Format) -> int:
        """The number of columns before the label in the first line. The features `columns` need this number before data
        are read."""
        if self.ragged or file in ("", "-"):
            found = self["ragged"] if self.ragged else "standard input"
            expected = "expected a file whose lines all have the same number of columns"
            raise OptionError(f"{self['features']} columns: {expected}, found {found}")
        widths = (format.width(piece, file) for piece in format.pieces(file))
        return max(1, next((columns for columns in widths if columns > 0), 0) - 1)

    def _lines_of(self, like: Recipe, format: Format) -> Template | None:
        if format.takes_template != (like.lines is not None):
            found = "a model without a template" if like.lines is None else "a model with a template"
            needed = "a model with a template" if format.takes_template else "a model without a template"
            remedy = f", or a template in {self['template']}" if format.takes_template else ""
            raise OptionError(f"{self['init']}: expected {needed} for {format.title} files{remedy}, found {found}")
        return like.lines

    # ---- Files

    def updated(self, given: Mapping[str, Any], called: Mapping[str, str]) -> Recipe:
        """The recipe with these settings replaced. A template replaces features, and features replace a template."""
        other = {"template": "features", "features": "template"}
        left: dict[str, Any] = {other[name]: None for name in given if name in other and other[name] not in given}
        names = {name: text for name, text in called.items() if name in given or name not in self.called}
        return replace(self, **left, **given, called={**self.called, **names})

    def given(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        return {name: getattr(self, name) for name in SETTINGS if getattr(self, name) != getattr(_PLAIN, name)}

    @classmethod
    def load(cls, path: Path) -> Recipe:
        """Read a recipe from its file."""
        return cls().with_file(path)

    def with_file(self, path: Path) -> Recipe:
        """The recipe with the settings in a file, which override its own."""
        given = read_settings(os.fspath(path))
        return self.updated(given, {key: f"{os.fspath(path)}, {key}" for key in given})

    def save(self, path: Path) -> None:
        """Write the recipe to a file: TOML, or JSON if the name ends in .json. Rejects Python objects: functions, and
        vectors and resources that are not files."""
        given = self.given()
        if isinstance(self.template, str) and "%" in self.template and not os.path.exists(self.template):
            given["template"] = _as_lines(self.template)
        if isinstance(self.template, Template) and not self.template.resources:
            lines = self.template
            given |= {"template": _as_lines(lines.text), "boundary": lines.boundary, "bytes": lines.bytes}
        if self.resources:
            raise InputError(
                f"{path}, resources: recipe files need resources that were read from files (lexicon, clusters, "
                "classes), found objects"
            )
        write_settings(given, os.fspath(path))


def _as_lines(template: str) -> str:
    """The text of a template for a recipe file. Text without a line break would be read as a file name."""
    return template if "\n" in template else f"{template}\n"


_PLAIN = Recipe()
