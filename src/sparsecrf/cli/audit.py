"""`sparsecrf audit`: finds labels in a data set that are probably wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import typer

from sparsecrf.__main__ import INTERRUPTED
from sparsecrf.chunks import Scheme
from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.long_runs import shown_warnings, stopping
from sparsecrf.cli.options import Inputs, for_typer
from sparsecrf.cli.train import check_distinct
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import QUIET, THREADS, parameter
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.text import Source, readable_twice
from sparsecrf.options import RHO2_OPTION, option
from sparsecrf.progress import note, progress, say
from sparsecrf.tables import counted, text_table

if TYPE_CHECKING:
    from sparsecrf.contrib.audit import Audit, Judged
    from sparsecrf.encoding.recipe import Recipe
    from sparsecrf.shards.dataset import Dataset

_SHOWN = 20  # number of table rows printed to standard output


@dataclass(frozen=True)
class AuditOptions:
    """Options for splitting the data, training the models and judging the labels."""

    folds: int = option(
        5, "Number of folds; the labels in each fold are judged by a model trained on the others.", metavar="N", min=2
    )
    by: Literal["sentence", "document"] = option(
        "sentence", "Unit to keep in one fold: sentence or document (a document begins with -DOCSTART-)."
    )
    rho1: float = option(RHO1, "L1 penalty: rho1 |w|_1. Larger values give fewer nonzero weights.", metavar="X", min=0)
    rho2: float = option(RHO2, RHO2_OPTION)
    threads: int = option(0, THREADS)
    seed: int = option(0, "Random seed for assigning sequences to folds.", metavar="N", min=0)


@for_typer
def audit(
    inputs: Inputs,
    fitting: AuditOptions,
    output: list[str] | None = parameter(
        None,
        "File to write; may be given more than once. The suffix determines the format: .jsonl, one object per token; "
        ".tsv, a table; .html, a page with the most suspicious labels in their sentences and the evidence for either "
        "label; anything else, the data with two more columns: the suggested label and the score. By default, a table "
        f"of the {_SHOWN} most suspicious labels is printed to standard output.",
        "--output",
        "-o",
        metavar="FILE",
    ),
    unit: Literal["token", "span"] = parameter("token", "Rank tokens or spans."),
    scheme: Scheme = parameter(
        Scheme.AUTO, "Span encoding of the labels, as for eval. With runs, each run of equal labels is a span."
    ),
    top: int | None = parameter(
        None,
        "Show only the N most suspicious labels; by default, all of them, or 200 on an HTML page.",
        "--top",
        "-n",
        min=1,
        metavar="N",
    ),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Rank the labels of a data set by how likely they are to be wrong.

    The data are divided into folds. Each fold is judged by a model that was trained on the other folds. The model
    computes the probability of each label, with and without the labels around it, and suggests a better one. Check the
    top-ranked labels by hand. An interrupted run (Ctrl-C, SIGTERM) writes the results of the finished folds and exits
    with status 130.
    """
    from sparsecrf.cli.reading import recipe_for
    from sparsecrf.contrib.audit.out_of_fold import audit_of
    from sparsecrf.shards.dataset import read_files

    _check(inputs, fitting, output or [])
    recipe = recipe_for(inputs)
    sources = [readable_twice(name) for name in inputs.data]
    with shown_warnings():
        with progress("reading", None, quiet=quiet) as advance:
            tell = partial(say, quiet=quiet)
            data = read_files(sources, recipe, threads=fitting.threads, progress=advance, tell=tell)
        sequences = _sequences(sources, recipe)
        judged = _judged(data, fitting, scheme, sequences, quiet=quiet)
    found, interrupted = audit_of(data, judged), len(judged) < fitting.folds
    if judged:
        _write(found, sequences, output or [], unit, top, os.path.basename(inputs.data[0]))
        say(_closing(found), quiet=quiet)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _check(inputs: Inputs, fitting: AuditOptions, output: Sequence[str]) -> None:
    """Check the options before work begins."""
    from sparsecrf.cli.reading import asked_recipe, given_options, recipe_files
    from sparsecrf.training.choices import check_options, declared_choices

    if inputs.dev is not None:
        raise OptionError("--dev is not supported by audit, which holds out parts of the data in turn; omit --dev")
    check_readable(*recipe_files(inputs))
    check_options({"rho1": fitting.rho1, "rho2": fitting.rho2}, declared_choices(Inputs, given_options(inputs)))
    recipe, files = asked_recipe(inputs), [*inputs.data, *recipe_files(inputs)]
    check_readable(*files, *recipe.files(resources=False))
    check_writable(*output, inputs.save_recipe, inputs=[*files, *recipe.files()])
    if len({os.path.realpath(name) for name in output}) < len(output):
        raise OptionError("--output: the same file is given twice; give different files")
    check_distinct({"output": next(iter(output), None), "save_recipe": inputs.save_recipe})


def _sequences(sources: Sequence[Source], recipe: Recipe) -> list[Any]:
    """The tokens of all sequences, to show suspects in context."""
    from sparsecrf.contrib.audit.output import tokens_of_files

    for source in sources:
        if not isinstance(source, (str, os.PathLike)):
            source.seek(0)
    return list(tokens_of_files(sources, recipe))


def _judged(data: Dataset, fitting: AuditOptions, scheme: Scheme, sequences: list[Any], *, quiet: bool) -> list[Judged]:
    """Judge the folds; after Ctrl-C, return only the finished folds."""
    from sparsecrf.contrib.audit.out_of_fold import judged_folds
    from sparsecrf.path.folds import documents

    groups = documents(sequences) if fitting.by == "document" else None
    done: list[Judged] = []
    with stopping() as lost, progress("audit", fitting.folds, quiet=quiet) as advance:

        def watch(record: dict[str, Any]) -> None:
            advance(note=f"fold {len(done) + 1} of {fitting.folds}, {note(record)}")
            lost.raise_again()

        options: dict[str, Any] = {"rho1": fitting.rho1, "rho2": fitting.rho2, "threads": fitting.threads}
        options |= {"folds": fitting.folds, "groups": groups, "seed": fitting.seed, "scheme": scheme, "callback": watch}
        try:
            for fold in judged_folds(data, **options):
                done.append(fold)
                advance(1)
        except KeyboardInterrupt:
            return done
    return done


def _write(
    found: Audit, sequences: Sequence[Any], output: Sequence[str], unit: str, top: int | None, name: str
) -> None:
    from sparsecrf.contrib.audit import output as written
    from sparsecrf.contrib.audit.page import SUSPECTS, audit_page

    suspects = (found.spans if unit == "span" else found.tokens)[:top]
    if not output:
        table = [[name.replace("_", " ") for name in written.TABLE]]
        table += written.table_rows(suspects[: top or _SHOWN], sequences)
        head, *rows = ([row[3], *row[4:], *row[:3]] for row in table)
        print(text_table(head, rows))
    for file in output:
        lines: Iterator[str]
        if file.endswith(".html"):
            lines = iter([audit_page(found, sequences, name=name, top=top or SUSPECTS)])
        elif file.endswith(".jsonl"):
            lines = written.json_lines(suspects, sequences)
        elif file.endswith(".tsv"):
            lines = written.table(suspects, sequences)
        else:
            lines = written.columns(found, sequences)
        write_atomically(file, "".join(lines).encode("utf-8", "surrogatepass"))


def _closing(found: Audit) -> str:
    better = sum(suspect.probability < 0.5 and suspect.given_others < 0.5 for suspect in found.tokens)
    missing = found.n_sequences - len(found.fold)
    left = f"; {counted(missing, 'sequence')} {'was' if missing == 1 else 'were'} not judged" if missing else ""
    return f"{counted(len(found.tokens), 'token')} judged; for {better:,} of them, another label is more probable{left}"
