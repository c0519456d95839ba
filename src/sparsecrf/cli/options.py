"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from sparsecrf.compatibility import Capabilities, OptionError, Trait, has
from sparsecrf.declared import ENCODING, QUIET, RAGGED, Declared
from sparsecrf.encoding.formats import COLUMNS, FORMATS
from sparsecrf.encoding.presets import PRESETS
from sparsecrf.options import OptionField, option, options_of


def as_typer(declared: Declared, names: tuple[str, ...]) -> Any:
    """The Typer declaration of an option with these names or, without names, of an argument."""
    if not names:
        return typer.Argument(help=declared.help, metavar=declared.metavar)
    return typer.Option(
        *names,
        help=declared.help,
        metavar=declared.metavar,
        min=declared.min,
        max=declared.max,
        parser=None if declared.parse is None else _parser(declared.parse),
        autocompletion=(lambda: list(declared.choices)) if declared.choices else None,
        rich_help_panel=declared.panel,
    )


def _parser(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def parsed(given: Any) -> Any:
        try:
            return parse(given)
        except OptionError as error:
            raise typer.BadParameter(error.as_typed()) from None

    return parsed


_SUFFIXES = ", ".join(format.suffix for format in FORMATS.values() if format.suffix)

ANY_MODEL = Declared("A model file of sparsecrf, CRFsuite, Wapiti or CRF++.", metavar="MODEL")
MODEL = Declared("The model file.", "--model", "-m", metavar="FILE")
MISSING_LABEL = Declared("The placeholder for an unknown label, such as ?.", panel="Data", metavar="LABEL")
LABEL_SETS = Declared(
    "Separator of alternative labels of a token: with |, NOUN|VERB means NOUN or VERB. No label may contain it.",
    panel="Data",
    metavar="SEPARATOR",
)


@dataclass(frozen=True)
class Inputs:
    """The labelled training data, and the options for reading them."""

    data: list[str] = option(
        ..., "Labelled data, one file or several; [bold]-[/bold] is standard input.", metavar="TRAIN"
    )
    template: str | None = option(
        None,
        "Feature template. By default, the raw columns are the features (lines *), except that CoNLL-U files use "
        "--features tagging, and JSON lines and token lines use --features words.",
        "--template",
        "-t",
        metavar="FILE",
    )
    features: str | None = option(
        None,
        "Use a ready-made template: words (for entities, chunks, fields), tagging (for parts of speech), letters, "
        "columns (words and a window over the other columns), or documents (words and their other mentions in the same "
        "document; see --format documents). [bold]sparsecrf data template NAME[/bold] prints it.",
        metavar="|".join(PRESETS),
        choices=tuple(PRESETS),
    )
    lexicon: list[str] | None = option(
        None,
        "A lexicon: one entry (a word or a phrase) per line, optionally followed by a tab and a class. May be "
        "given more than once. Templates look it up with [bold]%d\\[0,0,NAME][/bold]; --features use it "
        "automatically.",
        panel="Data",
        metavar="NAME=FILE",
    )
    clusters: list[str] | None = option(
        None,
        "Word clusters as written by [bold]sparsecrf data clusters[/bold] and Brown clustering programs; used "
        "like a lexicon.",
        panel="Data",
        metavar="NAME=FILE",
    )
    classes: list[str] | None = option(
        None, "Any other list of words and their classes; used like a lexicon.", panel="Data", metavar="NAME=FILE"
    )
    vectors: str | None = option(
        None,
        "Word vectors, used in addition to the features: text files of word2vec, GloVe or fastText (a word and its "
        "vector on each line), or a NumPy file. The model file contains the vectors.",
        panel="Data",
        metavar="FILE",
        capabilities=Capabilities(frozenset({Trait.DENSE}), refuses={Trait.IN_FOLDER: "", Trait.ON_CLUSTER: ""}),
    )
    dev: str | None = option(
        None,
        "Held-out labelled data for scoring the model and recording the token error of every iteration or model.",
        metavar="FILE",
        capabilities=has(Trait.DEV),
    )
    start: bool | None = option(
        None,
        "Put a start label before the first token of a sequence (CRF++, Wapiti and CRFsuite use none). The default "
        "is yes, or the setting of the --init model.",
        "--start/--no-start",
        panel="Data",
    )
    format: str | None = option(
        None,
        f"Format of the data. By default, the file name determines it ({_SUFFIXES}); otherwise it is {COLUMNS.name}. "
        "conllu:xpos (upos, feats, upos+feats) and jsonl:FIELD select the labels; documents are column files in "
        "which -DOCSTART- begins a document.",
        panel="Data",
        metavar="|".join(FORMATS),
    )
    missing: str | None = option(None, MISSING_LABEL)
    label_sets: str | None = option(None, LABEL_SETS)
    ragged: bool = option(False, RAGGED)
    encoding: str | None = option(None, ENCODING)
    min_count: int | None = option(
        None,
        "Leave out attributes that occur at fewer than N positions, as crf_learn -f does.",
        panel="Data",
        metavar="N",
        min=1,
        capabilities=Capabilities(
            refuses=dict.fromkeys((Trait.IN_FOLDER, Trait.ON_CLUSTER), "attributes are counted in memory")
        ),
    )
    recipe: list[str] | None = option(
        None,
        "Read data options (format, features, lexicon, encoding, ...) from this TOML or JSON file, which --save-recipe "
        "can write, or set one of them, such as refer=true. May be given more than once. Other options take "
        "precedence.",
        panel="Data",
        metavar="FILE|SETTING=VALUE",
    )
    save_recipe: str | None = option(None, "Write the data options to this file.", panel="Data", metavar="FILE")


@dataclass(frozen=True)
class ReportOptions:
    """Options for reporting the progress and result of a command."""

    plot: str | None = option(None, "Plot the progress of training to this .svg, .png or .pdf file.", metavar="FILE")
    json: bool = option(False, "Print the result as one JSON object on the last line of standard output.")
    quiet: bool = option(False, QUIET)


def for_typer(command: Callable[..., None]) -> Callable[..., None]:
    """Convert a command for Typer. Each parameter is a dataclass such as `Inputs`, whose fields are options, or is
    declared by `parameter`."""
    hints, groups = get_type_hints(command), {}
    options: list[OptionField] = []
    for name, given in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            options += options_of(hints[name])
        else:
            options.append(OptionField(name, hints[name], *given.default))
    parameters = [_parameter(option) for option in options]
    defaults = {option.name: option.default for option in options if option.default is not ...}

    def run(**given: Any) -> None:
        given = defaults | given
        made = {name: group(**{f.name: given.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        command(**given, **made)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _parameter(option: OptionField) -> Parameter:
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if option.default is ... else option.default,
        annotation=Annotated[option.type, as_typer(option.declared, option.names)],
    )
