"""The command line: `sparsecrf COMMAND`. One command a file; what it needs is imported when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sparsecrf.cli.demo import demo
from sparsecrf.cli.evaluate import evaluate

HELP = "Sparse linear-chain conditional random fields: exact and fast."
EPILOG = "Example: [bold]sparsecrf demo[/bold] labels simulated sequences as well as anything can."

app = typer.Typer(
    name="sparsecrf",
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
    """Options before the command."""


app.command(epilog="Example: [bold]sparsecrf demo --sequences 500 --seed 7[/bold]")(demo)
app.command("eval", epilog="Example: [bold]sparsecrf eval labelled.txt --confusion 10[/bold]")(evaluate)


def main() -> None:
    """Run the program. Exit status: 0 done, 1 an error in input or files, 2 wrong usage, 130 interrupted."""
    from sparsecrf import InputError

    try:
        app(prog_name="sparsecrf")
    except (InputError, OSError) as error:
        typer.echo(f"sparsecrf: {error}", err=True)
        sys.exit(1)
