"""`sparsecrf label` on a pipe: one answer a sequence, as soon as it is complete, whatever comes in."""

import subprocess
import sys

import pytest

from sparsecrf.encoding.formats import COLUMNS
from sparsecrf.files.text import Piece

TEMPLATE = "U:%x[0,0]\n"
DATA = "the DET\ncat NOUN\nruns VERB\n\ncats NOUN\nrun VERB\n\n" * 3


@pytest.fixture
def model(program):
    program.write(t_txt=TEMPLATE, a_txt=DATA)
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.1").status == 0
    return program


class Client:
    """Asks a running `sparsecrf label`, as a program in another language would."""

    def __init__(self, directory, *options):
        command = [sys.executable, "-m", "sparsecrf", "label", "-m", "m", *options]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=directory, **pipes)

    def send(self, *lines):
        self.process.stdin.write(b"".join(line + b"\n" for line in lines) + b"\n")
        self.process.stdin.flush()

    def receive(self):
        """The lines of one answer: up to the blank one."""
        answer = []
        while (line := self.process.stdout.readline()) not in (b"\n", b""):
            answer.append(line.rstrip(b"\n"))
        assert line == b"\n", self.process.stderr.read()
        return answer

    def ask(self, *lines):
        self.send(*lines)
        return self.receive()

    def close(self):
        """Exit status and what was reported."""
        out, err = self.process.communicate(timeout=60)
        assert out == b""
        return self.process.returncode, err.decode()


@pytest.fixture
def client(model):
    started = []

    def start(*options):
        started.append(Client(model.directory, *options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
def test_each_sequence_is_answered_before_the_next_is_sent(threads, client):
    service = client("--threads", threads)
    for _ in range(3):
        assert service.ask(b"the", b"cat") == [b"the DET", b"cat NOUN"]
        assert service.ask(b"", b"", b"runs") == [b"runs VERB"]  # more blank lines are no sequences
    service.send(b"cats")
    service.send(b"the")
    assert [service.receive(), service.receive()] == [[b"cats NOUN"], [b"the DET"]]
    assert service.close() == (0, "")


@pytest.mark.slow
def test_the_label_is_set_off_as_the_columns_are(client):
    service = client()
    assert service.ask(b"the x") == [b"the x DET"]
    assert service.close()[0] == 0
    service = client("--score")
    header, *lines = service.ask(b"cats\tNOUN", b"run\tVERB")
    assert header.split()[:2] == [b"#", b"0"]
    assert lines == [b"cats\tNOUN\tNOUN", b"run\tVERB\tVERB"]


BAD = [b"the", b"\xff\xfe"], [b"the a b"], [b"a\0"]


def test_a_bad_sequence_stops_the_service_unless_told_otherwise(client):
    service = client()
    assert service.ask(b"the") == [b"the DET"]
    service.send(*BAD[0])
    status, said = service.close()
    assert status == 1
    assert "standard input, line 4, byte 1: expected text in UTF-8, found byte 0xFF" in said


@pytest.mark.parametrize("threads", ["1", "2"])
def test_bad_sequences_are_skipped_with_an_empty_answer(threads, client):
    service = client("--on-error", "skip", "--threads", threads)
    for bad in BAD:  # also as the first
        assert service.ask(*bad) == []
        assert service.ask(b"the", b"cat") == [b"the DET", b"cat NOUN"]
    status, said = service.close()
    assert status == 0
    lines = said.strip().split("\n")
    assert [line.split(":")[1].strip() for line in lines] == [
        f"standard input, line {n}" for n in ("2, byte 1", "7", "12, byte 2")
    ]
    assert all(line.endswith("the sequence was skipped") for line in lines)


def test_what_cannot_be_decoded_is_replaced(client):
    service = client("--on-error", "replace")
    replacement = "\N{REPLACEMENT CHARACTER}".encode()
    assert service.ask(b"\xffthe") == [replacement + b"the DET"]
    assert service.ask(b"the", b"a\0") == [b"the DET", b"a" + replacement + b" DET"]
    assert service.ask(b"the a b") == []  # no character is to blame
    status, said = service.close()
    assert status == 0
    assert [line.rpartition("; ")[2] for line in said.strip().split("\n")] == [
        *["replaced"] * 2,
        "the sequence was skipped",
    ]


def test_files_are_answered_as_pipes_are(model):
    """One bad sequence among many of a piece: the others have their labels."""
    model.write(in_txt=b"the\n\n\xff\n\ncat\ncats\n\nx y z\n\n\n\nrun")
    done = model("label", "-m", "m", "in.txt", "--on-error", "skip")
    assert (done.status, done.out) == (0, "the DET\n\n\ncat NOUN\ncats NOUN\n\n\nrun VERB\n\n")
    assert done.err.count("the sequence was skipped") == 2
    assert model("label", "-m", "m", "in.txt").status == 1
    assert model("label", "-m", "m", "in.txt", "--on-error", "ignore").status == 2


def test_sequences_of_a_piece():
    piece = Piece(b"\n \na\nb\n\t\n\nc\r\n\r\nd", 5)
    assert list(COLUMNS.sequences(piece)) == [Piece(b"a\nb\n\t\n", 7), Piece(b"c\r\n\r\n", 11), Piece(b"d\n", 13)]
    assert list(COLUMNS.sequences(Piece(b"\n\n", 1))) == []
