"""The server as a process: requests under way when it ends, files that change, clients that stall."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra `serve`")

from served import running, word_model

from sparsecrf import Model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="ends processes by SIGTERM"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "words.safetensors"
    word_model().save(path)
    return path


def post(port, body, connection=None, headers=None):
    connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/label", json.dumps(body), headers or {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_to_the_end(file):
    """Requests that have been sent when the server is asked to end are answered; it ends with status 0."""
    expected = Model.load(file).label(["Ada", "went"])
    with running(file) as server:
        answers, errors, stop = [], [], threading.Event()

        def ask_again_and_again():
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            while not stop.is_set():
                try:
                    found = post(server.port, {"tokens": [["Ada", "went"]] * 200, "scores": True}, connection)
                except ConnectionRefusedError:
                    return  # after the end
                except OSError as error:
                    errors.append(error)
                    return
                answers.append(found[0] == 200 and found[1]["labels"] == [expected] * 200)

        team = [threading.Thread(target=ask_again_and_again) for _ in range(4)]
        for one in team:
            one.start()
        time.sleep(0.5)
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        stop.set()
        for one in team:
            one.join()
        assert errors == []
        assert len(answers) > 4
        assert all(answers)


def test_a_changed_file(file, tmp_path):
    served = tmp_path / "m.safetensors"
    served.write_bytes(file.read_bytes())
    with running(served) as server:
        assert post(server.port, {"tokens": ["Ada"]})[1]["labels"] == [Model.load(file).label(["Ada"])]
        Model.from_weights(["new"], {("x", "new"): 1.0}).save(served)
        until = time.monotonic() + 15
        while post(server.port, {"tokens": ["Ada"]})[1]["labels"] != [["new"]]:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_clients_that_stall(file):
    """Half a head, half a body, an answer that is not read: the connection is closed, others are answered."""
    with running(file, "--time-limit", "0.5") as server:

        def stalled(text):
            made = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            made.sendall(text)
            return made

        head = stalled(b"POST /label HTT")
        body = stalled(b'POST /label HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"tokens"')
        nothing = stalled(b"")
        assert post(server.port, {"tokens": ["Ada"]})[0] == 200
        assert body.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert head.recv(1000) == b""
        assert nothing.recv(1000) == b""
        for one in (head, body, nothing):
            one.close()
        assert post(server.port, {"tokens": ["Ada"]})[0] == 200


def test_token_file(file, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    with running(file, "--token-file", tmp_path / "token") as server:
        assert post(server.port, {"tokens": ["Ada"]})[0] == 401
        assert post(server.port, {"tokens": ["Ada"]}, headers={"Authorization": "Bearer s3cret"})[0] == 200


def test_wrong_usage(file, tmp_path, program):
    (tmp_path / "empty").write_text("\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = program("serve", str(file), "--port", port)
    assert (done.status, f"--port {port}: expected an address to listen on" in done.err) == (1, True)
    done = program("serve", str(file), "--token-file", str(tmp_path / "empty"))
    assert (done.status, "expected a token" in done.err) == (1, True)
    assert program("serve", str(file), str(file)).status == 2
    assert program("serve", "nowhere.safetensors").status == 1


def test_without_the_extra(file):
    """A message that says what to install."""
    code = (
        "import sys; sys.modules['uvicorn'] = None; sys.argv[0] = 'sparsecrf'; from sparsecrf.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert 'pip install "sparsecrf[serve]"' in done.stderr
    assert "Traceback" not in done.stderr
