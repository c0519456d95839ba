"""Options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from sparsecrf.cli.declared import ENCODING, QUIET, RAGGED, hints_of
from sparsecrf.compatibility import Capabilities, OptionError, Trait, has
from sparsecrf.declared import Declared
from sparsecrf.encoding.formats import COLUMNS, FORMATS
from sparsecrf.encoding.presets import PRESETS
from sparsecrf.options import OptionField, option, options_of


def as_typer(declared: Declared, names: tuple[str, ...] = ()) -> Any:
    """The Typer declaration of an option or argument; `names` are used if it declares no names."""
    names = declared.names or names
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
MISSING_LABEL = Declared("The placeholder for an unknown label, such as ?.", "--missing", panel="Data", metavar="LABEL")
LABEL_SETS = Declared(
    "Separator of alternative labels of a token: with |, NOUN|VERB means NOUN or VERB. No label may contain it.",
    "--label-sets",
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
    """Convert a command for Typer. A parameter may be a dataclass such as `Inputs`, whose fields are options, may be an
    option made by `option`, or may be declared by `Declared`, without Typer."""
    hints = hints_of(command)
    groups = {name: hints[name] for name in signature(command).parameters if is_dataclass(hints[name])}
    expanded: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        name, hint, default = parameter.name, hints[parameter.name], parameter.default
        if name in groups:
            expanded += map(_parameter, options_of(hint))
        elif isinstance(default, Field):
            expanded.append(_parameter(OptionField.of(name, hint, default)))
        else:
            expanded.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=_for_typer(hint)))
    defaults = {parameter.name: parameter.default for parameter in expanded if parameter.default is not Parameter.empty}

    def run(**given: Any) -> None:
        given = defaults | given
        made = {name: group(**{f.name: given.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        command(**given, **made)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    run.__signature__ = Signature(expanded)  # type: ignore[attr-defined]
    return run


def _for_typer(hint: Any) -> Any:
    """A `Declared` annotation converted for Typer; any other annotation unchanged."""
    declared = next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Declared)), None)
    return hint if declared is None else Annotated[hint.__origin__, as_typer(declared)]


def _parameter(option: OptionField) -> Parameter:
    default = Parameter.empty if option.default is MISSING else option.default
    return Parameter(
        option.name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[option.type, as_typer(option.declared, option.names)],
    )
