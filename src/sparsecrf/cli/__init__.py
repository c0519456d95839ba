"""The command line: `sparsecrf COMMAND`. One command a file; what it needs is imported when it runs."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from inspect import getdoc
from typing import Annotated

import typer

from sparsecrf.cli.convert import convert
from sparsecrf.cli.data import data
from sparsecrf.cli.demo import demo
from sparsecrf.cli.evaluate import evaluate
from sparsecrf.cli.label import label
from sparsecrf.cli.path import path
from sparsecrf.cli.report import report
from sparsecrf.cli.show import show
from sparsecrf.cli.train import train

HELP = "Sparse linear-chain conditional random fields: exact and fast."
EPILOG = "Example: [bold]sparsecrf demo[/bold] learns to pronounce English words in a minute."

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


def _command(function: Callable[..., None], name: str, *examples: str) -> None:
    # A paragraph of the docstring is one line, for the terminal to break.
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
    label,
    "label",
    "sparsecrf label -m model.safetensors test.txt -o labelled.txt",
    "tokenize < text | sparsecrf label -m model.safetensors --marginals",
)
_command(evaluate, "eval", "sparsecrf eval labelled.txt --confusion 10", "sparsecrf eval test.txt -m model.safetensors")
_command(path, "path", "sparsecrf path train.txt -t template.txt --dev dev.txt -o models")
_command(show, "show", "sparsecrf show model.safetensors --label B-NP --top 20")
_command(
    report,
    "report",
    "sparsecrf report model.safetensors -o report.html",
    "sparsecrf report model.safetensors -o report.html --data test.txt",
)
_command(
    convert,
    "convert",
    "sparsecrf convert old.crfsuite model.safetensors --from crfsuite --to sparsecrf",
    "sparsecrf convert train.txt train.crfsuite --from columns --to crfsuite -t template.txt",
)
app.add_typer(data, name="data")
_command(demo, "demo", "sparsecrf demo --words 4000 -o demo")


def main() -> None:
    """Run the program. Exit status: 0 done, 1 an error in input or files, 2 wrong usage, 130 interrupted."""
    from sparsecrf import InputError

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _terminated)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that cannot be shown must not end the program
    try:
        try:
            app(prog_name="sparsecrf")
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # what waits may find no room; the interpreter would notice after the exit status
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename is not None else ""
        if not isinstance(error, BrokenPipeError):
            typer.echo(f"sparsecrf: {where}{error.strerror or error}", err=True)
        sys.exit(1)
    except InputError as error:
        hint = " (--encoding says what else it is)" if ": expected text in UTF-8, found byte" in str(error) else ""
        typer.echo(f"sparsecrf: {error}{hint}", err=True)
        sys.exit(1)
    except (MemoryError, RuntimeError, ImportError) as error:
        said = _of_memory(error)
        if said is None:
            raise
        typer.echo(f"sparsecrf: expected enough memory, found too little ({said})", err=True)
        sys.exit(1)


def _of_memory(error: BaseException) -> str | None:
    """What an error says of too little memory; None: it is another one. A library that cannot be loaded says more."""
    if isinstance(error, MemoryError):
        return str(error) or "out of memory"
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if any(words in line for words in _WITHOUT_MEMORY)), None)


#: What is said where there is too little memory for a thread, or to load a library.
_WITHOUT_MEMORY = ("new thread", "failed to map segment", "annot allocate memory", "cannot apply additional memory")


def _drop_output() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminated(*_: object) -> None:
    """The end of a session is a Ctrl-C: what was asked to be saved is saved."""
    raise KeyboardInterrupt
