"""Counts for Prometheus, in the text format of Prometheus
(https://prometheus.io/docs/instrumenting/exposition_formats/)."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path

from sparsecrf.contrib.serve.models import ServedModels

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  #: seconds


class Metrics:
    """Counts of POST /label. Only the thread of the event loop changes them."""

    def __init__(self) -> None:
        self.began = time.time()
        self.requests: Counter[int] = Counter()  #: number of requests by HTTP status
        self.in_flight = 0
        self.sentences: Counter[str] = Counter()  #: number of sentences by model, for successful requests
        self.tokens: Counter[str] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)  # histogram of response times; the last bucket is above all limits
        self._seconds = 0.0

    def add(self, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests[status] += 1
        self._buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def add_work(self, model: str, sentences: int, tokens: int) -> None:
        self.sentences[model] += sentences
        self.tokens[model] += tokens

    def text(self, models: ServedModels) -> str:
        lines: list[str] = []

        def put(name: str, kind: str, about: str, values: dict[str, float]) -> None:
            lines.extend((f"# HELP {name} {about}", f"# TYPE {name} {kind}"))
            lines.extend(f"{name}{labels} {value:.17g}" for labels, value in values.items())

        every = list(models)
        status = {f'{{status="{code}"}}': float(n) for code, n in sorted(self.requests.items())}
        put("sparsecrf_requests_total", "counter", "Requests to /label, by HTTP status.", status)
        put("sparsecrf_requests_in_flight", "gauge", "Requests that are being answered.", {"": self.in_flight})
        lines.extend(self._histogram())
        for name, about, counts in (
            ("sparsecrf_sentences_total", "Sentences that were labelled.", self.sentences),
            ("sparsecrf_tokens_total", "Tokens that were labelled.", self.tokens),
        ):
            put(name, "counter", about, {_of(one.name): float(counts[one.name]) for one in every})
        put("sparsecrf_model_loaded_timestamp_seconds", "gauge", "Time at which the model was read.",
            {_of(one.name): one.loaded.time for one in every})  # fmt: skip
        put("sparsecrf_model_reloads_total", "counter", "Number of times that a changed file replaced the model.",
            {_of(one.name): one.reloads for one in every})  # fmt: skip
        put("sparsecrf_model_reload_failures_total", "counter", "Number of times that a changed file could not be "
                                                                "read.",
            {_of(one.name): one.failures for one in every})  # fmt: skip
        put("sparsecrf_model_stale", "gauge", "1 if the file has changed but could not be read.",
            {_of(one.name): float(one.error is not None) for one in every})  # fmt: skip
        put("process_start_time_seconds", "gauge", "Time at which the server started.", {"": self.began})
        if (memory := resident_bytes()) is not None:
            put("process_resident_memory_bytes", "gauge", "Memory in use.", {"": memory})
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        name, so_far = "sparsecrf_request_seconds", 0
        lines = [f"# HELP {name} Time from the header of a request to its answer.", f"# TYPE {name} histogram"]
        for limit, n in zip([*map(str, BUCKETS), "+Inf"], self._buckets, strict=True):
            so_far += n
            lines.append(f'{name}_bucket{{le="{limit}"}} {so_far}')
        return [*lines, f"{name}_sum {self._seconds:.17g}", f"{name}_count {so_far}"]


def _of(model: str) -> str:
    escaped = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{{model="{escaped}"}}'


def resident_bytes() -> int | None:
    """Memory in use by this process; None if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
