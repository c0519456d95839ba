"""Memory of this process, by kind: what it holds, and pages of files, which the system can drop and read again."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

_EVERY_S = 0.02


def resident() -> dict[str, float]:
    """MB in memory: `anonymous` and `file` pages; `data`, used or not, is what RLIMIT_DATA counts (Linux)."""
    names = {"RssAnon": "anonymous", "RssFile": "file", "VmData": "data"}
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {names[words[0][:-1]]: int(words[1]) / 1024 for words in lines if words and words[0][:-1] in names}


class Peak:
    """The largest of each kind while this lasts, looked at every 20 ms."""

    def __init__(self) -> None:
        self.mb: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        for name, mb in resident().items():
            self.mb[name] = max(mb, self.mb.get(name, 0.0))
