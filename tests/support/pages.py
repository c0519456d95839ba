"""The code blocks of a Markdown page, run in order in one directory: what a reader would type.

```python   runs in the namespace of the page. What it prints is what `print(...)  # ...` says, or the ```text block
            right after it.
```sh       every `sparsecrf` command runs and must succeed. `<`, `>` and `|` mean what they mean in a shell.
```console  the same for lines that begin with `$ `; the lines below each are what it prints.

A command or block that cannot run says why: `# not run: REASON`. Other programs do not run; only those that install or
build may stand there without a reason. `sparsecrf data fetch` downloads, so it does not run either: the reader's
directory has files in the folder it would write (reader_files.py).
"""

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.S | re.M)
_NOT_RUN = re.compile(r"# not run: \S")
_INERT = {"text", "bibtex", "c"}  # and Sphinx's directives; test_c_library.py compiles and runs programs in C
_OF_DEVELOPERS = {"pip", "make", "cmake", "cc"}
_DOWNLOAD = ["sparsecrf", "data", "fetch"]


@dataclass
class Block:
    language: str
    text: str
    where: str  #: file:line
    output: str | None  #: of the text block that follows directly


def blocks_of(page: Path) -> list[Block]:
    content = page.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(content))
    made = []
    for k, match in enumerate(found):
        after = found[k + 1] if k + 1 < len(found) else None
        follows = after is not None and after[1] == "text" and not content[match.end() : after.start()].strip()
        line = content[: match.start()].count("\n") + 1
        made.append(Block(match[1].strip(), match[2], f"{page.name}:{line}", after[2] if follows else None))
    return made


def run_page(page: Path, program) -> int:
    """Run all blocks; the number of those that ran. `program` is the fixture: commands run in its directory."""
    names: dict = {"__name__": "__main__"}
    ran = 0
    for block in blocks_of(page):
        if block.language == "python":
            if not _NOT_RUN.match(block.text):
                _run_python(block, names)
                ran += 1
        elif block.language in ("sh", "console"):
            for command, expected in _commands(block):
                _run_command(command, expected, program, block.where)
                ran += 1
        else:
            known = block.language in _INERT or block.language.startswith("{")
            assert known, f"{block.where}: a block of {block.language!r} would not be tested"
    return ran


def _run_python(block: Block, names: dict) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, block.where, "exec"), names)
    promised = re.findall(r"^ *print\(.*\)  # (.*)$", block.text, flags=re.M)
    if block.output is not None:
        promised = _lines(block.output)
    _check(_lines(printed.getvalue()), promised, block.where)


def _commands(block: Block) -> list[tuple[str, str | None]]:
    """Commands and what they print (None: whatever)."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh":
        return [(line, None) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    parts = re.split(r"^\$ ", text, flags=re.M)
    assert not parts[0].strip(), f"{block.where}: expected lines that begin with '$ '"
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts[1:])]


def _run_command(line: str, expected: str | None, program, where: str) -> None:
    if _NOT_RUN.search(line):
        return
    data, target = b"", None
    for stage in " ".join(shlex.split(line, comments=True)).split(" | "):
        words = stage.split()
        if words[0] in _OF_DEVELOPERS or words[:3] == _DOWNLOAD:
            return
        if ">" in words:
            target = words[words.index(">") + 1]
            words = words[: words.index(">")]
        if "<" in words:
            data = (program.directory / words[words.index("<") + 1]).read_bytes()
            words = words[: words.index("<")]
        assert words[0] == "sparsecrf", f"{where}: {words[0]} is not run; say why: # not run: REASON"
        done = program(*words[1:], stdin=data)
        assert done.status == 0, f"{where}: {line}\n{done.err}"
        data = done.out.encode()
    if target is not None:
        (program.directory / target).write_bytes(data)
    if expected is not None:
        _check(_lines(data.decode()), _lines(expected), f"{where}: {line}")


def _check(found: list[str], promised: list[str], where: str) -> None:
    assert found == promised, "\n".join([f"{where} promises", *promised, "and prints", *found])


def _lines(text: str) -> list[str]:
    """Without blanks at the ends of lines and empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]
