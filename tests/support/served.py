"""Models to serve, requests to the application without a network, and a server as a process."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

from sparsecrf import CRF

WORDS = ["Ada went to Oslo", "the cat saw Grace in Lima", "Alan said hello", "a cat in New Kyoto", "Emmy saw the cat"]
LABELS = ["B-PER O O B-LOC", "O O O B-PER O B-LOC", "B-PER O O", "O O O B-LOC I-LOC", "B-PER O O O"]


def word_model(**options):
    """Entities of sentences that are lists of words."""
    X, y = [text.split() for text in WORDS], [labels.split() for labels in LABELS]
    return CRF(**{"features": "words", "rho1": 0.05, **options}).fit(X, y).model_


def ask(app, body=None, path="/label", method=None, headers=(), parts=None, more=False):
    """What the application answers: status, headers and content, from JSON if it is JSON. `parts`: of the body; `more`:
    the rest never comes."""
    parts = [body if isinstance(body, bytes) else json.dumps(body).encode()] if parts is None else parts
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages[-1]["more_body"] = more
    sent, given = [], [(name.lower().encode(), value.encode()) for name, value in headers]
    scope = {
        "type": "http",
        "method": method or ("POST" if path == "/label" else "GET"),
        "path": path,
        "root_path": "",
        "query_string": b"",
        "headers": given,
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "http_version": "1.1",
    }

    async def receive():
        if not messages:
            await asyncio.Event().wait()  # a client that sends no more
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    is_json = found["content-type"].startswith("application/json")
    return SimpleNamespace(
        status=sent[0]["status"], headers=found, content=json.loads(content) if is_json else content.decode()
    )


@contextmanager
def running(*arguments):
    """`sparsecrf serve` on a free port of the loopback: the process, with `port` and `stop()`, its exit status."""
    command = [sys.executable, "-m", "sparsecrf", "serve", "--port", "0", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            first = process.stderr.readline()
            found = re.match(r"serving at http://127\.0\.0\.1:(\d+)/", first)
            assert found, first + process.stderr.read()
            process.port = int(found[1])
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(20)
