"""Options that several commands have, declared once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

DataFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(help="Labelled data, one file or several; [bold]-[/bold] is standard input.", metavar="TRAIN"),
]
TemplateFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--template",
        "-t",
        help="Feature templates. Without them: the columns themselves, all of them *.",
        metavar="FILE",
    ),
]
Boundary: TypeAlias = Annotated[
    str,
    typer.Option(
        rich_help_panel="Data",
        help="Whose cells stand beyond the ends of a sequence: crf++ (_B-1, _B+1) or wapiti (_x-1, _x+1).",
        metavar="crf++|wapiti",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        rich_help_panel="Data",
        help="Format of the data; by default what the name says (.crfsuite), else columns.",
        metavar="columns|crfsuite",
    ),
]
Missing: TypeAlias = Annotated[
    str,
    typer.Option(
        "--missing",
        rich_help_panel="Data",
        help="The label that stands where the label is not known, such as ?.",
        metavar="LABEL",
    ),
]
Start: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--start/--no-start",
        rich_help_panel="Data",
        help="Whether the first token of a sequence follows a start label (CRF++, Wapiti and CRFsuite have none).",
    ),
]
Threads: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, max=1024, help="Threads to use; 0: all cores.")]
Plot: TypeAlias = Annotated[
    str | None, typer.Option(help="Draw how it went into this .svg, .png or .pdf file.", metavar="FILE")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="The result as one JSON object, the last line of standard output.")
]
Rho2: TypeAlias = Annotated[float, typer.Option(metavar="X", min=0, help="Squared (l2) penalty: rho2/2 |w|^2.")]

#: As sparsecrf.training has them, which takes long to import.
SOLVERS = ("auto", "sbcd", "cd", "owlqn", "lbfgs", "sgd", "sgd-l1")
Solver: TypeAlias = Annotated[
    str, typer.Option(help=f"One of {', '.join(SOLVERS)}.", metavar="NAME", autocompletion=lambda: list(SOLVERS))
]
