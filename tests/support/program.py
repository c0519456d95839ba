"""Running the program inside the test's process: its exit status, standard output and standard error."""

import io
import sys
from dataclasses import dataclass

import pytest

from sparsecrf.cli import main


@dataclass
class Done:
    status: int
    out: str
    err: str


class Program:
    """`sparsecrf ARGUMENTS` in a directory of its own. Files are made there from text or bytes."""

    def __init__(self, directory, monkeypatch, capsys):
        self.directory, self._monkeypatch, self._capsys = directory, monkeypatch, capsys
        monkeypatch.chdir(directory)

    def write(self, **files):
        """A file `name_txt` becomes name.txt."""
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (self.directory / name.replace("_", ".")).write_bytes(data)

    def files(self):
        return sorted(path.name for path in self.directory.iterdir())

    def __call__(self, *arguments, stdin=b""):
        self._monkeypatch.setattr(sys, "argv", ["sparsecrf", *arguments])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = self._capsys.readouterr()
        return Done(stopped.value.code or 0, printed.out, printed.err)
