"""What the letter-to-sound demo prints: each part has a title, a line of explanation, and the content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from rich import box
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sparsecrf.contrib.datasets.align import SILENT
from sparsecrf.contrib.demo.chart import path_chart
from sparsecrf.contrib.demo.letters import Part, Task, phonemes, pronunciations
from sparsecrf.model import Model

WIDEST = 100  # columns of a chart: slopes are hard to judge in a wider one


def section(title: str, explanation: str, *content: RenderableType) -> Group:
    """A part of the screen, indented by two under its title."""
    head = Text.assemble((title, "bold"), "\n", (explanation, "dim"))
    return Group(head, "", *(Padding(part, (0, 0, 0, 2), expand=False) for part in content), "")


def what_next(commands: Mapping[str, str]) -> Panel:
    """Commands to try, each with what it gives."""
    lines = Text("\n").join(
        Text.assemble((f"# {purpose}\n", "dim"), (command, "bold")) for purpose, command in commands.items()
    )
    return Panel(lines, title="what to do next", title_align="left", border_style="dim", box=box.ROUNDED)


def alignment(task: Task, seconds: float) -> Group:
    """A few words with their labels under their letters, and how EM went."""
    shown = zip(task.examples.words, task.examples.labels, strict=True)
    values, n = task.log_likelihoods, len(task.train.words)
    note = f"EM: {len(values)} iterations, log-likelihood of a word {values[0] / n:.1f} to {values[-1] / n:.1f}"
    return section(
        "1  Alignment",
        f"{n:,} words of CMUdict; EM finds which letter makes which sound, {SILENT} is silent.",
        Columns((_letters_over_labels(spelling, labels) for (spelling, _), labels in shown), padding=(0, 4)),
        Text(f"\n{note}, {seconds:.1f} s", "dim"),
    )


def path(active: Sequence[int], errors: Sequence[float], rho1: Sequence[float], chosen: int, console: Console) -> Group:
    """The regularisation path, drawn."""
    ascii_only = not console.encoding.lower().startswith("utf")
    chart = path_chart(active, errors, chosen, width=min(console.width, WIDEST) - 2, ascii_only=ascii_only)
    star = "*" if ascii_only else "\u25c6"
    legend = Text.assemble(
        (f"\n{star} chosen: ", "bold green"),
        f"rho1 = {rho1[chosen]:.3g}, {active[chosen]:,} weights, dev error {errors[chosen]:.2f} %\n",
        ("the sparsest within one standard error of the best", "dim"),
    )
    explanation = f"As the penalty rho1 falls ({len(active)} steps): more weights, fewer errors, up to a point."
    return section("2  Regularisation path", explanation, chart, legend)


def errors(part: Part, found: Sequence[Sequence[str]], active: int, possible: int, seconds: float) -> Group:
    """Token and word error on words that no part of training has seen."""
    rows = list(zip(part.words, part.labels, found, strict=True))
    letters = [a != b for _, labels, mine in rows for a, b in zip(labels, mine, strict=True)]
    words = [phonemes(mine) != tuple(sounds) for (_, sounds), _, mine in rows]
    table = _table("", "wrong", "of", "error", numbers=("wrong", "of", "error"))
    for name, wrong in (("letters (tokens)", letters), ("words (any sound)", words)):
        error = f"{100 * sum(wrong) / len(wrong):.1f} %"
        table.add_row(name, f"{sum(wrong):,}", f"{len(wrong):,}", Text(error, "bold"))
    note = f"{active:,} of {possible:,} possible weights are not zero; the path took {seconds:.0f} s"
    explanation = "The chosen model on held-out words, used neither for EM nor for training or model selection."
    return section("3  Unseen words", explanation, table, Text(f"\n{note}", "dim"))


def words(part: Part, found: Sequence[Sequence[str]], n_right: int = 6, n_wrong: int = 4) -> Group:
    """The first correct and the first wrong words that fit on a line."""
    table = _table("word", "predicted", "", "dictionary")
    rows = [row for row in zip(part.words, found, strict=True) if len(row[0][0]) <= 11]
    right = (row for row in rows if phonemes(row[1]) == tuple(row[0][1]))
    wrong = (row for row in rows if phonemes(row[1]) != tuple(row[0][1]))
    for (spelling, _), mine in islice(right, n_right):
        table.add_row(spelling, " ".join(phonemes(mine)), Text("right", "green"), "")
    for (spelling, sounds), mine in islice(wrong, n_wrong):
        table.add_row(spelling, " ".join(phonemes(mine)), Text("wrong", "red"), " ".join(sounds))
    return section("4  Some of them", f"The first {n_right} correct and the first {n_wrong} wrong ones.", table)


def unsure(part: Part, model: Model, console: Console, n_words: int = 3, among: int = 200) -> Group:
    """Words with two pronunciations that the model finds about equally probable."""
    rated = [(word, pronunciations(model, word[0])) for word in part.words[:among] if 5 <= len(word[0]) <= 10]
    rated.sort(key=lambda item: abs(item[1][0][1] - 0.45))
    full = "\u2588" if console.encoding.lower().startswith("utf") else "#"
    table = _table("word", "pronunciation", "probability", "", "", numbers=("probability",))
    for (spelling, sounds), best in rated[:n_words]:
        for k, (mine, p) in enumerate(best):
            said = "dictionary" if mine == tuple(sounds) else ""
            bar = Text(full * max(1, round(16 * p)), "blue")
            table.add_row(spelling if k == 0 else "", " ".join(mine), f"{100 * p:.1f} %", bar, said)
        table.add_section()
    explanation = "Probabilities of the three best; label sequences that sound the same are added up."
    return section("5  Where the model is unsure", explanation, table)


def invented(model: Model, spellings: Iterable[str]) -> Group:
    """Words whose pronunciation the model has never seen."""
    table = _table("word", "predicted", "probability", numbers=("probability",))
    for spelling in spellings:
        sounds, p = pronunciations(model, spelling, 1)[0]
        table.add_row(spelling, " ".join(sounds), f"{100 * p:.0f} %")
    return section("6  Words that are not in the dictionary", "How would you say them?", table)


def _letters_over_labels(spelling: str, labels: Sequence[str]) -> Text:
    widths = [max(len(letter), len(label)) for letter, label in zip(spelling, labels, strict=True)]
    letters, sounds = (" ".join(map(str.ljust, line, widths)) for line in (spelling, labels))
    return Text.assemble((letters, "bold"), "\n", sounds)


def _table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """A plain table; the columns named in `numbers` are flush right."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left")
    return table
