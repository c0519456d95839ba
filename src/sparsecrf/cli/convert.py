"""`sparsecrf convert`: converts models and data to and from the formats of other tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any, TypeAlias

import typer

from sparsecrf._core import InputError
from sparsecrf.chunks import CODES, recode
from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.options import for_typer
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import ENCODING, parameter
from sparsecrf.encoding.formats import FORMATS, Format, format_named
from sparsecrf.encoding.template import Template
from sparsecrf.files.atomic import replacing
from sparsecrf.files.charset import UTF8, Charset, decoded
from sparsecrf.files.text import Source, name_of
from sparsecrf.model import Model

#: A function that reads one file and writes another. The encoding may be None, for the default.
Conversion: TypeAlias = "Callable[[str, str, str | None], None]"


def _model_from(tool: str) -> Conversion:
    def convert(source: str, target: str, encoding: str | None) -> None:
        from sparsecrf.contrib.convert.foreign import READERS

        READERS[tool](source, **({} if encoding is None else {"encoding": encoding})).save(target)

    return convert


def _model_to(tool: str) -> Conversion:
    def convert(source: str, target: str, encoding: str | None) -> None:
        from sparsecrf.contrib.convert.foreign import WRITERS

        model = Model.load(source)
        WRITERS[tool](model if encoding is None else model.noted(encoding=encoding), target)

    return convert


def _data(read: Format, write: Format, template: Template | None, chunks: str | None) -> Conversion:
    def convert(source: str, target: str, encoding: str | None) -> None:
        charset = Charset(encoding or UTF8, "--encoding")
        if charset.is_bytes:
            raise OptionError(
                "--encoding bytes is not supported for data; give the encoding of the text, such as latin-1"
            )
        with decoded(source, charset) as text:
            lines = converted(text, read, write, template, chunks)
            _write(target, (charset.encoded(line.encode(), source) for line in lines))

    return convert


def _write(target: str, lines: Iterable[bytes]) -> None:
    if target == "-":
        sys.stdout.buffer.writelines(lines)
        return
    with replacing(target) as file:
        file.writelines(lines)


#: --from and --to accept any two different data formats; a field may follow the name: conllu:xpos.
_DATA = [*permutations(FORMATS, 2)]
#: Formats whose files contain only tokens and labels, so rewriting a file with other labels loses nothing.
_WITH_NOTHING_ELSE = ("columns", "tokens")
_ONE_OF = f"{', '.join(CODES[:-1])} or {CODES[-1]}"
#: Conversions of models, by --from and --to. Both options together determine the kind of a file: a crfsuite file that
#: is converted to sparsecrf is a model, but a crfsuite file that is converted to columns is data.
_MODELS: dict[tuple[str, str], Conversion] = {
    ("crfsuite", "sparsecrf"): _model_from("crfsuite"),
    ("wapiti", "sparsecrf"): _model_from("wapiti"),
    ("crf++", "sparsecrf"): _model_from("crf++"),
    ("sparsecrf", "crfsuite"): _model_to("crfsuite"),
    ("sparsecrf", "crfsuite-binary"): _model_to("crfsuite-binary"),
    ("sparsecrf", "wapiti"): _model_to("wapiti"),
    ("sparsecrf", "crf++"): _model_to("crf++"),
}


@for_typer
def convert(
    source: str = parameter(..., "The file to convert.", metavar="IN"),
    target: str = parameter(..., "The file to write.", metavar="OUT"),
    from_: str = parameter(..., "Format of IN.", "--from", metavar="F"),
    to: str = parameter(..., "Format of OUT.", "--to", metavar="F"),
    template: str | None = parameter(
        None, "Template that generates the attributes for crfsuite from columns.", "--template", "-t", metavar="FILE"
    ),
    chunks: str | None = parameter(
        None,
        f"For data, write chunk labels in this scheme, {_ONE_OF}. In this case, --from and --to may both be columns or "
        "both be tokens.",
        metavar="SCHEME",
    ),
    boundary: str = parameter(
        "crf++",
        "Names of the template's cells beyond the ends of a sequence, as in crf++ (_B-1, _B+1) or wapiti (_x-1, _x+1).",
        metavar="crf++|wapiti",
    ),
    bytes: bool = parameter(False, "Match regular expressions of the template against bytes, as Wapiti does."),
    encoding: str | None = parameter(None, ENCODING),
) -> None:
    """Convert models to and from sparsecrf's format, or data between the formats that `train` reads.

    Models convert to sparsecrf from crfsuite (a model file, or the text of `crfsuite dump`), wapiti (a model file, or
    the text of `wapiti dump`) and crf++ (a model file, or the text model of `crf_learn -t`). They convert from
    sparsecrf to crfsuite (the text of `crfsuite dump`), crfsuite-binary (a model file), wapiti (a model file) and
    crf++ (a text model, which `crf_learn -C` turns into a model file). Anything that the other tool cannot express is
    an error.

    Data convert from any of these formats to any other: columns, crfsuite, conllu (conllu:xpos, ...), jsonl, tokens,
    documents and simpletagger; [bold]-[/bold] is standard input or output.
    """
    names = from_.partition(":")[0], to.partition(":")[0]
    is_data = names in _DATA or (chunks is not None and names[0] == names[1] and names[0] in _WITH_NOTHING_ELSE)
    for k, name in enumerate(("--from", "--to")):
        known = dict.fromkeys([*FORMATS, *(pair[k] for pair in _MODELS)])
        if names[k] not in known:
            raise typer.BadParameter(f"expected {', '.join(known)}, found {names[k]!r}", param_hint=name)
    if not is_data and names not in _MODELS:
        models = ", ".join(f"{a} to {b}" for a, b in _MODELS)
        raise typer.BadParameter(
            f"expected two different formats of data, or, for models, {models}; found {from_} to {to}",
            param_hint="--from, --to",
        )
    if not is_data and chunks is not None:
        raise typer.BadParameter("not supported for models; leave it out", param_hint="--chunks")
    if chunks not in (None, *CODES):
        raise typer.BadParameter(f"expected {_ONE_OF}, found {chunks}", param_hint="--chunks")
    if not is_data and names != (from_, to):
        wrong = "a field (NAME:FIELD) is only supported for data; to convert a model, give the name of the tool alone"
        raise typer.BadParameter(wrong, param_hint="--from, --to")
    if template is not None and not (is_data and FORMATS[names[0]].takes_template):
        raise typer.BadParameter(f"not supported for {from_} files; leave it out", param_hint="--template")
    if not is_data and "-" in (source, target):
        raise typer.BadParameter(
            "models need file names; - (standard input or output) works only for data", param_hint="IN, OUT"
        )
    if not is_data and "crfsuite" in (from_, to) and encoding is not None:
        raise typer.BadParameter("not supported for CRFsuite models, whose names are in UTF-8", param_hint="--encoding")
    check_readable(source, template)
    check_writable(None if target == "-" else target, inputs=[source, template])
    lines = None if template is None else Template.load(template, boundary, bytes=bytes)
    if is_data:
        conversion = _data(format_named(from_, "--from"), format_named(to, "--to"), lines, chunks)
    else:
        conversion = _MODELS[names]
    conversion(source, target, encoding)


def converted(
    source: Source, read: Format, write: Format, template: Template | None = None, chunks: str | None = None
) -> Iterator[str]:
    """Read sequences in the format `read` and yield the lines of a file in the format `write`.

    A template generates the attributes if `write` uses them. `chunks`: the scheme (iob1, iob2, iobes) of the new
    labels.
    """
    read.check_template(template, "template")
    name = name_of(source)
    if read.takes_template and write.takes_template and template is None:
        return write.write_rows(_recoded(read.read_rows(source), chunks, name), name)  # keep the columns unchanged
    return write.write(_recoded(read.read(source, template), chunks, name), name)


def _recoded(
    sequences: Iterable[tuple[Any, list[str]]], chunks: str | None, source: str
) -> Iterator[tuple[Any, list[str]]]:
    for i, (tokens, labels) in enumerate(sequences):
        try:
            yield tokens, labels if chunks is None else recode(labels, chunks)
        except InputError as error:
            raise InputError(f"{source}, sequence {i}, {error}") from None
