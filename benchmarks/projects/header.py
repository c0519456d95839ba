"""GROBID's header model: its raw training lines with the labels of its TEI files, trained with Wapiti and with
sparsecrf.

A line of a raw file is a token with its columns; the TEI file contains the same text in elements. Nonblank characters
are counted in both, and a token is labelled with the element that contains its first character: `I-<x>` where the
element begins, `<x>` where it continues. GROBID's own trainer does this in Java and differs in some details.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import run

_PLACE = "grobid-trainer/resources/dataset/header"
#: Elements without a meaning of their own.
_PLAIN = {"lb", "pb", "front", "text", "tei", "TEI", "teiHeader", "fileDesc", "byline", "docTitle", "p", "ptr", "div"}


def report(project: Path, n_documents: int, limit_s: float) -> None:
    """Train on 4/5 of the documents, score the others."""
    if not (project / _PLACE / "corpus" / "raw").is_dir():
        print("**grobid-header**: left out, no raw training files\n", flush=True)
        return
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        documents = [text for text in labelled(project / _PLACE / "corpus", n_documents) if text]
        for name, held_out in (("train", False), ("test", True)):
            kept = [text for k, text in enumerate(documents) if (k % 5 == 0) == held_out]
            (out / f"{name}.txt").write_text("\n".join(kept), encoding="utf-8")
        print(f"**grobid-header**: {len(documents)} documents\n", flush=True)
        template = project / _PLACE / "crfpp-templates" / "header.template"
        train, penalty = out / "train.txt", ["--rho1", 0.5, "--rho2", 0.0001]
        command = [
            "sparsecrf",
            "train",
            train,
            "-t",
            template,
            "-m",
            out / "m",
            "--recipe",
            "boundary=wapiti",
            "--no-start",
            "--json",
        ]
        done = run([*command, *penalty, "--time-limit", limit_s, "--quiet"], one_thread=False)
        found = done.answer
        score = run(["sparsecrf", "eval", "-m", out / "m", out / "test.txt", "--scheme", "grobid", "--json"]).answer
        sizes = f"{found['virtual_features']:,} features, {found['labels']} labels, {found['tokens']:,} tokens"
        way = f"{found['iterations']} iterations, {found['passes']:.1f} passes, {found['time_train_s']:.0f} s"
        cost = f"CPU {done.cpu_s:.0f} s, {done.peak_mb:,.0f} MB; model {(out / 'm').stat().st_size / 1000:.0f} KB"
        wrong = f"{score['token_error']:.2f} % of tokens wrong, F1 of fields {score['f1']:.2f}"
        ended = f"objective {found['objective']:.1f} (stopped by {found['stopped_by']})"
        print(f"sparsecrf: {sizes}; {ended} after {way}, {cost}; {wrong}\n", flush=True)
        if shutil.which("wapiti") is None:
            return
        wapiti = ["wapiti", "train", "-a", "l-bfgs", "-1", 0.5, "-2", 0.0001, "-t", 2, "-p", template, train, out / "w"]
        done = run(wapiti, limit_s)
        rows = re.findall(r"\[ *(\d+)\].*?obj=([0-9.e+-]+)", done.text)
        last = f"objective {float(rows[-1][1]):.1f} after {rows[-1][0]} iterations" if rows else "no iteration"
        print(
            f"Wapiti, 2 threads, {done.wall_s:.0f} s: {last}, CPU {done.cpu_s:.0f} s, {done.peak_mb:,.0f} MB\n",
            flush=True,
        )


def labelled(corpus: Path, n: int) -> Iterator[str]:
    """Documents as column files; those whose two files do not have the same characters are left out."""
    for raw in sorted((corpus / "raw").iterdir())[:n]:
        tei = corpus / "tei" / f"{raw.name}.tei.xml"
        if tei.is_file():
            yield _document(raw.read_text(encoding="utf-8", errors="replace"), tei)


def _document(raw: str, tei: Path) -> str:
    try:
        root = ET.fromstring(re.sub(r"&(?!(amp|lt|gt|quot|apos|#\w+);)", "&amp;", tei.read_text(encoding="utf-8")))
    except ET.ParseError:
        return ""
    front = next((element for element in root.iter() if element.tag.endswith("front")), None)
    characters = list(_characters(front, "other", [0])) if front is not None else []
    lines, at, last = [], 0, ""
    for line in raw.splitlines():
        cells = line.split()
        if not cells:
            continue
        if at >= len(characters) or characters[at][0] != cells[0][0]:
            return "\n".join(lines) + "\n" if len(lines) > 50 else ""
        _, label, field = characters[at]
        lines.append(f"{line} {'<' if f'{label}{field}' == last else 'I-<'}{label}>")
        last = f"{label}{field}"
        at += len(cells[0])
    return "\n".join(lines) + "\n"


def _characters(element: ET.Element, label: str, counter: list[int]) -> Iterator[tuple[str, str, int]]:
    """The nonblank characters, each with its label and the number of its field."""
    name = element.tag.rpartition("}")[2]
    if kind := element.get("type"):
        label = kind
    elif name not in _PLAIN:
        label = name
    counter[0] += 1
    field = counter[0]
    yield from ((c, label, field) for c in element.text or "" if not c.isspace())
    for child in element:
        yield from _characters(child, label, counter) if child.tag.rpartition("}")[2] not in ("lb", "pb") else ()
        yield from ((c, label, field) for c in child.tail or "" if not c.isspace())
