"""The format of the files that a model labels."""

from __future__ import annotations

from sparsecrf._core import InputError, UnsatisfiableError
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, FORMATS, Format, format_named, format_of
from sparsecrf.encoding.token_survey import tokenizer_of
from sparsecrf.files.charset import UTF8, Charset
from sparsecrf.files.text import Piece, Source, name_of
from sparsecrf.model import Model

FORMAT = "format"  #: key in the training record if the format is neither columns nor CRFsuite's


def format_for(model: Model, source: Source, given: str | None = None, tokenizer: str | None = None) -> Format:
    """The format named `given`. By default, the file name determines the format or, if it does not, the training data
    do.

    The label column or field is the same as in the training data. `tokenizer` is for running text; None means the
    tokenizer whose tokens look like the training data.
    """
    chosen = _format_for(model, source, given, "--format")
    if tokenizer is not None and chosen.tokenizer is None:
        raise OptionError(
            f"--tokenizer: expected running text (--format text or jsonl), found {chosen.title} files, which are "
            "already tokenized"
        )
    return chosen.with_tokenizer(tokenizer or tokenizer_of(model.training))


def _format_for(model: Model, source: Source, given: str | None, option: str) -> Format:
    default = COLUMNS if model.template is not None else CRFSUITE
    trained = format_named(str(model.training.get(FORMAT, default.name)), option)
    if given is None:
        by_name = format_of(name_of(source))
        if by_name is COLUMNS or type(by_name) is type(trained):
            return trained
        if by_name.takes_template != default.takes_template:
            expected = f"expected a {trained.title} file, as in training"
            remedy = f"if it is a {trained.title} file, use {option} {trained.name}"
            raise InputError(
                f"{name_of(source)}: {expected}, found a {by_name.title} file (judging by its name), which needs a "
                f"model {'with' if by_name.takes_template else 'without'} a template; {remedy}"
            )
        return by_name
    chosen = format_named(given, option)
    if chosen.takes_template != default.takes_template:
        found = "a model with a template" if default.takes_template else "a model without a template"
        needed = "a model with a template" if chosen.takes_template else "a model without a template"
        raise InputError(f"{option}: expected {needed} for {chosen.title} files, found {found}")
    if trained.name == "documents" and chosen.name in ("tokens", "text"):
        raise OptionError(
            f"{option}: expected column files, because the model labels whole documents, found {chosen.title} files; "
            "for single sentences, train with --features words"
        )
    return trained if ":" not in given and type(chosen) is type(trained) else chosen


def with_hint(error: InputError, format: Format, piece: Piece, option: str = "--format") -> InputError:
    """The error about the first piece of a file, with a hint if the file looks like another format."""
    if piece.line != 1 or isinstance(error, UnsatisfiableError) or (looks := _other(piece.data, format)) is None:
        return error
    if looks.takes_template != format.takes_template:
        hint = f"this looks like a {looks.title} file, but the model is for {format.title} files"
    else:
        hint = (
            f"this looks like a {looks.title} file, but it was read as a {format.title} file; use {option} {looks.name}"
        )
    return type(error)(f"{error}; {hint}")


def _other(data: bytes, format: Format) -> Format | None:
    """The format that a file looks like, judged by its first line that is neither blank nor a comment; None if that is
    `format`. Columns are the fallback if the line certainly does not belong to `format`."""
    lines = (line for line in data.splitlines() if line.strip() and not line.startswith(b"#"))
    if (first := next(lines, None)) is None or (own := format.looks_like(first)):
        return None
    known = next((of for of in FORMATS.values() if of.looks_like(first)), None)
    return known or (COLUMNS if own is False else None)


def charset_for(model: Model | None, given: str | None, option: str = "--encoding") -> Charset:
    """The encoding named `given`. The default is the encoding of the training data, or UTF-8 if none is recorded."""
    known = UTF8 if model is None else model.training.get("encoding", UTF8)
    return Charset(known if given is None else given, option)
