"""The commands of the program, with their help and examples."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Annotated

import typer

from sparsecrf.cli.audit import audit
from sparsecrf.cli.calibrate import calibrate
from sparsecrf.cli.compact import compact
from sparsecrf.cli.convert import convert
from sparsecrf.cli.data import data
from sparsecrf.cli.demo import demo
from sparsecrf.cli.evaluate import evaluate
from sparsecrf.cli.label import label
from sparsecrf.cli.options import for_typer
from sparsecrf.cli.path import path
from sparsecrf.cli.report import report
from sparsecrf.cli.serve import serve
from sparsecrf.cli.show import show
from sparsecrf.cli.suggest import suggest
from sparsecrf.cli.train import train
from sparsecrf.cli.usage import Commands

HELP = "Sparse linear-chain conditional random fields: exact and fast."
EPILOG = "Example: [bold]sparsecrf demo[/bold] learns to pronounce English words in a minute."

app = typer.Typer(
    name="sparsecrf",
    cls=Commands,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from sparsecrf import __version__

        typer.echo(f"sparsecrf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """The options that come before the command."""


def _command(function: Callable[..., None], name: str, *examples: str) -> None:
    # Join each paragraph of the docstring into one line; the terminal wraps it.
    paragraphs = (getdoc(function) or "").split("\n\n")
    described = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    lines = [f"[bold]{text}[/bold]" for text in examples]
    lines[0] = f"{'Example' if len(lines) == 1 else 'Examples'}: {lines[0]}"
    app.command(name, help=described, epilog="\n\n".join(lines))(function)


_command(
    train,
    "train",
    "sparsecrf train train.txt -t template.txt -m model.safetensors --rho1 1 --dev dev.txt",
    "sparsecrf train data.crfsuite -m model.safetensors",
)
_command(
    for_typer(label),
    "label",
    "sparsecrf label -m model.safetensors test.txt -o labelled.txt",
    "tokenize < text | sparsecrf label -m model.safetensors --marginals",
)
_command(evaluate, "eval", "sparsecrf eval labelled.txt --confusion 10", "sparsecrf eval test.txt -m model.safetensors")
_command(path, "path", "sparsecrf path train.txt -t template.txt --dev dev.txt -o models")
_command(
    audit,
    "audit",
    "sparsecrf audit train.txt --features words",
    "sparsecrf audit train.txt --features words -o suspects.jsonl -o suspects.html",
)
_command(
    suggest,
    "suggest",
    "sparsecrf suggest pool.jsonl -m model.safetensors -n 100 -o next.jsonl --rest pool2.jsonl",
    "sparsecrf suggest pool.txt -m model.safetensors | sparsecrf label -m model.safetensors > to-correct.txt",
)
_command(show, "show", "sparsecrf show model.safetensors --label B-NP --top 20")
_command(
    report,
    "report",
    "sparsecrf report model.safetensors -o report.html",
    "sparsecrf report model.safetensors -o report.html --data test.txt",
)
_command(
    serve,
    "serve",
    "sparsecrf serve model.safetensors",
    "sparsecrf serve ner.safetensors tags=pos.safetensors --port 8080 --token-file token.txt",
)
_command(
    convert,
    "convert",
    "sparsecrf convert old.crfsuite model.safetensors --from crfsuite --to sparsecrf",
    "sparsecrf convert train.txt train.crfsuite --from columns --to crfsuite -t template.txt",
)
_command(
    calibrate,
    "calibrate",
    "sparsecrf calibrate model.safetensors held-out.txt",
)
_command(
    compact,
    "compact",
    "sparsecrf compact model.safetensors small.safetensors",
    "sparsecrf compact model.safetensors small.safetensors --data test.txt",
)
app.add_typer(data, name="data")
_command(demo, "demo", "sparsecrf demo --words 4000 -o demo")
