"""Labelled data, as the commands that train read them."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparsecrf._core import Corpus, InputError
from sparsecrf.cli.files import total_bytes
from sparsecrf.cli.options import Inputs
from sparsecrf.cli.vectors import VectorsOfData, asked_vectors, scale_of
from sparsecrf.encoding.unknown_labels import UnknownLabels, with_unknown
from sparsecrf.files.charset import UTF8, Charset
from sparsecrf.files.text import name_of, readable_twice
from sparsecrf.model.charset import charset_for
from sparsecrf.model.format import FORMAT
from sparsecrf.progress import Advance, progress, say

if TYPE_CHECKING:
    from sparsecrf.encoding.formats import Format
    from sparsecrf.encoding.label_parts import LabelParts
    from sparsecrf.encoding.resources import Resource
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import Looked, VectorFile, WordVectors
    from sparsecrf.encoding.vocabulary import Vocabulary, Words
    from sparsecrf.model import Model
    from sparsecrf.shards import Shards
    from sparsecrf.training import Fit


@dataclass(frozen=True)
class Labelled:
    """Training data and, if asked for, other data by the same names."""

    vocabulary: Vocabulary
    corpus: Corpus | Shards
    template: Template | None  #: None: the files had attributes of their own
    n_columns: int  #: of each line, without the label; 0 for a format without columns
    dev: Corpus | None
    read_s: float  #: seconds that reading took
    encoding: str = UTF8  #: of the files
    format: str = ""  #: of the files, if it is one that `label` must be told of
    looked: Looked | None = None  #: vectors of words, which the corpora have as dense columns
    unknown: UnknownLabels = field(default_factory=UnknownLabels)  #: labels of `dev` that the training data do not have

    def label_parts(self, asked: str | None, class_pairs: bool) -> LabelParts | None:
        """The parts of the labels, as asked, with classes for `class_pairs`; None: they have none."""
        from sparsecrf.encoding.label_parts import LabelParts

        labels = self.vocabulary.labels
        names = [labels[y] for y in range(len(labels))]
        return None if asked is None else LabelParts.of(names, asked, classes=class_pairs)

    def model(self, found: Fit) -> Model:
        """The model of a fit to the training data."""
        made = found.model(self.vocabulary, template=self.template, n_columns=self.n_columns)
        if self.looked is not None:
            made.dense, made.vectors = self.looked.dense, self.looked.vectors
        if self.encoding != UTF8:
            made.training["encoding"] = self.encoding
        if self.format:
            made.training[FORMAT] = self.format
        return made


@dataclass(frozen=True)
class Manner:
    """How files are read: as the options say or, where they say nothing, as for the model that training starts from."""

    format: Format
    template: Template | None  #: None: the default of the format
    start: bool
    labels: tuple[str, ...] = ()  #: that there are, whether or not the data have them
    encoding: str = UTF8
    vectors: VectorFile | WordVectors | None = None  #: of words; None: none

    def check_no_vectors(self, option: str) -> None:
        """Raise for vectors, where data are kept in parts that have no room for them."""
        if self.vectors is not None:
            raise InputError(
                f"{option}: expected no vectors of words (--vectors, or of the model of --init), found some"
            )

    @property
    def recorded_format(self) -> str:
        """What a model is to remember: nothing where it is plain from the model itself, for columns and CRFsuite's."""
        from sparsecrf.encoding.formats import Records

        return self.format.name if isinstance(self.format, Records) else ""


def manner_of(inputs: Inputs, init: Model | None = None) -> Manner:
    """That of the options and of the model of --init."""
    from sparsecrf.encoding.formats import COLUMNS, FORMATS, format_named, format_of
    from sparsecrf.encoding.presets import preset
    from sparsecrf.encoding.template import Template

    format = format_of(inputs.data[0]) if inputs.format is None else format_named(inputs.format, "--format")
    if inputs.format is None and format is COLUMNS:  # the name of the file says nothing
        if inputs.features == "documents":
            format = FORMATS["documents"]
        elif init is not None and FORMAT in init.training:
            format = format_named(str(init.training[FORMAT]), "--init")
    if inputs.features == "documents" and not format.token_a_line:
        raise InputError(f"--features: documents expected files of --format documents, found {format.title} files")
    format.check_template(inputs.template, "--template")
    format.check_template(inputs.features, "--features")
    if inputs.features is not None and inputs.template is not None:
        raise InputError("--features: expected no --template with it, found both")
    charset = charset_for(init, inputs.encoding)
    format.check_columns(inputs.ragged, charset.is_bytes, "--")
    format.check_vectors(inputs.vectors, "--vectors")
    vectors = asked_vectors(inputs, init)
    if vectors is not None and charset.is_bytes:
        raise InputError("--vectors: expected text, whose words can be looked up, found --encoding bytes")
    has_template = (inputs.template or inputs.features) is not None
    if inputs.ragged and not has_template and (init is None or init.template is None):
        raise InputError("--ragged: expected --template with it, which says what columns are needed, found none")
    template = None
    resources, in_bytes = _resources(inputs), inputs.bytes or charset.is_bytes
    if inputs.template is not None:
        template = Template.load(inputs.template, inputs.boundary, bytes=in_bytes, resources=resources)
    elif inputs.features is not None:
        n_columns = _n_observed(inputs, format) if inputs.features == "columns" else 1
        lines = preset(inputs.features, n_columns, "--features", resources)
        template = Template(lines, inputs.boundary, f"--features {inputs.features}", in_bytes, resources)
    if init is None:
        return Manner(format, template, inputs.start is not False, encoding=charset.name, vectors=vectors)
    if template is None:
        if format.takes_template != (init.template is not None):
            found = "one without" if init.template is None else "one with a template"
            needed = "a model with a template" if format.takes_template else "a model without a template"
            remedy = ", or one by --template" if format.takes_template else ""
            raise InputError(f"--init: expected {needed} for {format.title} files{remedy}, found {found}")
        template = init.template
    start = init.vocabulary.start if inputs.start is None else inputs.start
    return Manner(format, template, start, tuple(init.labels), charset.name, vectors)


def resource_files(inputs: Inputs) -> list[str]:
    """The files of --lexicon, --clusters and --classes; what has another form is left to the one who reads them."""
    given = [*(inputs.lexicon or ()), *(inputs.clusters or ()), *(inputs.classes or ())]
    return [file for _, _, file in (text.partition("=") for text in given) if file]


def _resources(inputs: Inputs) -> list[Resource]:
    """Those of --lexicon, --clusters and --classes."""
    given = {"lexicon": inputs.lexicon, "clusters": inputs.clusters, "classes": inputs.classes}
    if not any(given.values()):
        if inputs.refer and inputs.vectors is None:
            raise InputError("--refer: expected --lexicon, --clusters, --classes or --vectors with it, found none")
        return []
    from sparsecrf.encoding.resources import named

    if inputs.template is None and inputs.features is None:
        option = next(kind for kind, files in given.items() if files)
        raise InputError(f"--{option}: expected --features or --template with it, found none")
    return [made for kind, files in given.items() for made in named(files or (), kind, store=not inputs.refer)]


def _n_observed(inputs: Inputs, format: Format) -> int:
    """Columns before the label, by the first line: --features columns needs to know before the data are read."""
    if inputs.ragged or inputs.data[0] == "-":
        found = "--ragged" if inputs.ragged else "standard input"
        raise InputError(f"--features: columns expected a file whose lines have equally many columns, found {found}")
    name = inputs.data[0]
    found_widths = (format.width(piece, name) for piece in format.pieces(name))
    return max(1, next((columns for columns in found_widths if columns > 0), 0) - 1)


def read_labelled(
    inputs: Inputs, init: Model | None = None, *, min_count: int = 1, threads: int = 1, quiet: bool
) -> Labelled:
    """Read files into memory, as the options and the model `init` say, without attributes that are too rare."""
    from sparsecrf.encoding.encode import encode_files
    from sparsecrf.encoding.rare import without_rare

    began = time.perf_counter()
    how = manner_of(inputs, init)
    vocabulary = how.format.vocabulary(how.start, how.labels)
    vectors = None if how.vectors is None else VectorsOfData(how.vectors, scale_of(inputs, init))
    columns = range(0) if vectors is None else vectors.name_columns(vocabulary)
    words = None if vectors is None else vectors.words()
    with _reading(inputs, quiet) as advance:
        encoded = encode_files(
            how.format,
            inputs.data,
            vocabulary,
            how.template,
            grow=True,
            missing=inputs.missing,
            ragged=inputs.ragged,
            encoding=how.encoding,
            words=words,
            threads=threads,
            progress=advance,
        )
        corpus = encoded.corpus
        numbers = corpus.words
        if min_count > 1:
            corpus, vocabulary = without_rare(corpus, vocabulary, min_count, columns)
        dev, unknown = _read_dev(inputs, how, vocabulary, encoded.template, encoded.n_columns, threads, advance, words)
    if vectors is not None:
        vectors.read(numbers, quiet)
        corpus = vectors.added(corpus, numbers, vocabulary)
        dev = None if dev is None else vectors.added(dev, dev.words, vocabulary)
    took = time.perf_counter() - began
    return Labelled(
        vocabulary,
        corpus,
        encoded.template,
        max(0, encoded.n_columns - 1),
        dev,
        took,
        how.encoding,
        how.recorded_format,
        None if vectors is None else vectors.found,
        unknown,
    )


def read_cached(
    inputs: Inputs,
    cache: str,
    shard_tokens: int | None,
    memory: int | None,
    init: Model | None,
    *,
    threads: int,
    quiet: bool,
) -> Labelled:
    """The same by way of a folder of encoded shards, which is made if it is not there."""
    from sparsecrf.shards.encode_folder import SHARD_TOKENS, encode_folder

    began = time.perf_counter()
    how = manner_of(inputs, init)
    how.check_no_vectors("--cache")
    with _reading(inputs, quiet) as advance:
        folder = encode_folder(
            cache,
            inputs.data,
            how.template,
            format=how.format.name,
            start=how.start,
            labels=how.labels,
            missing=inputs.missing,
            ragged=inputs.ragged,
            encoding=how.encoding,
            shard_tokens=SHARD_TOKENS if shard_tokens is None else shard_tokens,
            threads=threads,
            progress=advance,
        )
        dev, unknown = _read_dev(inputs, how, folder.vocabulary, folder.template, folder.n_columns, threads, advance)
        shards = folder.in_shards(threads, memory)
    took = time.perf_counter() - began
    return Labelled(
        folder.vocabulary,
        shards,
        folder.template,
        max(0, folder.n_columns - 1),
        dev,
        took,
        how.encoding,
        how.recorded_format,
        unknown=unknown,
    )


def _reading(inputs: Inputs, quiet: bool) -> AbstractContextManager[Advance]:
    files = [*inputs.data, *([] if inputs.dev is None else [inputs.dev])]
    return progress("reading", total_bytes(files), quiet=quiet)


def _read_dev(
    inputs: Inputs,
    how: Manner,
    vocabulary: Vocabulary,
    template: Template | None,
    n_columns: int,
    threads: int,
    advance: Advance,
    words: Words | None = None,
) -> tuple[Corpus | None, UnknownLabels]:
    """The file --dev, if there is one, by the names of the training data, and its labels that these do not have."""
    from sparsecrf.encoding.encode import encode_files

    if inputs.dev is None:
        return None, UnknownLabels()
    source = readable_twice(inputs.dev)
    encoded = encode_files(
        how.format,
        [source],
        vocabulary,
        template,
        n_columns=n_columns,
        missing=inputs.missing,
        ragged=inputs.ragged,
        encoding=how.encoding,
        words=words,
        threads=threads,
        progress=advance,
    )
    charset = Charset(how.encoding)
    found = with_unknown(encoded.corpus, how.format, source, inputs.missing, charset, ragged=inputs.ragged)
    say_unknown(inputs.dev, found.unknown, vocabulary)
    return found


def say_unknown(dev: str, unknown: UnknownLabels, vocabulary: Vocabulary) -> None:
    """Say which labels of the dev data the training data do not have, and how often they come; raise if it is all."""
    labels = vocabulary.labels
    remark = unknown.remark(name_of(dev), [labels[y] for y in range(len(labels))])
    if remark is not None:
        say(f"sparsecrf: warning: {remark}")
