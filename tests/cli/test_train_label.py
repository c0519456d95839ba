"""The commands train and label: what they write, where, and what they say."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from simulated_columns import TEMPLATE, simulated

from sparsecrf import Model, Template, Vocabulary, fit
from sparsecrf.shards.dataset import encode_columns

FIELDS = [
    "objective",
    "loss",
    "gap",
    "remaining",
    "kkt",
    "active_unigram",
    "active_bigram",
    "virtual_features",
    "observed_features",
    "labels",
    "attributes",
    "sequences",
    "tokens",
    "iterations",
    "passes",
    "time_read_s",
    "time_train_s",
    "peak_rss_mb",
    "stopped_by",
    "solver",
    "dev_error",
    "dev_f1",
    "dev_precision",
    "dev_recall",
]
LOG = [
    "iter",
    "time_s",
    "passes",
    "objective",
    "loss",
    "gap",
    "kkt",
    "active_unigram",
    "active_bigram",
    "dev_error",
    "active_ngram",
]


@pytest.fixture
def trained(program):
    """A program in a directory with data and a model of it."""
    program.write(train_txt=simulated(60, 1), dev_txt=simulated(20, 2), t_txt=TEMPLATE)
    done = program("train", "train.txt", "-t", "t.txt", "-m", "m.safetensors", "--rho1", "0.5", "--json", "-q")
    assert (done.status, done.err) == (0, "")
    program.result = json.loads(done.out.splitlines()[-1])
    return program


def test_train_equals_fit(trained):
    vocabulary = Vocabulary(bigrams=Template.conditions_pairs)
    encoded = encode_columns(["train.txt"], vocabulary, Template(TEMPLATE), grow=True)
    twin = fit(encoded.corpus, rho1=0.5)
    result = trained.result
    assert list(result) == FIELDS
    assert result["objective"] == twin.objective
    assert result["active_unigram"] + result["active_bigram"] == len(twin.w)
    assert (result["labels"], result["sequences"], result["stopped_by"]) == (len(vocabulary.labels), 60, "tol")
    # U lines have Y features an attribute, the line * (Y + 1) Y + Y, the bare B (Y + 1) Y.
    Y, names = len(vocabulary.labels), [vocabulary.attributes[k] for k in range(len(vocabulary.attributes))]
    unigram, bigram = sum(name != "B" for name in names), sum(name[0] in "B*" for name in names)
    assert result["virtual_features"] == Y * unigram + (Y + 1) * Y * bigram
    model = Model.load("m.safetensors")
    assert model.training["objective"] == twin.objective
    assert (model.template.text, model.n_columns) == (TEMPLATE, 1)


def test_label_equals_model(trained):
    done = trained("label", "-m", "m.safetensors", "dev.txt")
    assert (done.status, done.err) == (0, "")
    model, lines = Model.load("m.safetensors"), done.out.split("\n")
    for sequence in trained.directory.joinpath("dev.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        rows = sequence.split("\n")
        labels = model.label([line.split()[:-1] for line in rows])
        assert [lines.pop(0) for _ in rows] == [f"{a} {b}" for a, b in zip(rows, labels, strict=True)]
        assert lines.pop(0) == ""
    assert lines == [""]


def test_unlabelled_input_gets_the_same_labels(trained):
    labelled = trained("label", "-m", "m.safetensors", "dev.txt").out
    bare = "".join(line.split(" ")[0] + "\n" for line in simulated(20, 2).split("\n")).encode()
    done = trained("label", "-m", "m.safetensors", "-", stdin=bare)
    assert [line.split()[-1:] for line in done.out.split("\n")] == [line.split()[-1:] for line in labelled.split("\n")]


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_keep_the_order(trained, threads, monkeypatch):
    monkeypatch.setattr("sparsecrf.encoding.formats.Format.pieces.__defaults__", (200,))
    expected = trained("label", "-m", "m.safetensors", "train.txt", "--threads", "1").out
    assert trained("label", "-m", "m.safetensors", "train.txt", "--threads", threads).out == expected
    assert trained("label", "-m", "m.safetensors", "train.txt", "-o", "o.txt", "--threads", threads).out == ""
    assert trained.directory.joinpath("o.txt").read_text(encoding="utf-8") == expected


def test_marginals_scores_and_nbest(trained):
    model = Model.load("m.safetensors")
    trained.write(one_txt="".join(simulated(1, 3).splitlines(keepends=True)[:4]))
    rows = [line.split()[:-1] for line in trained.directory.joinpath("one.txt").read_text().splitlines()]
    best = model.nbest(rows, 3)
    p = model.marginals(rows)

    done = trained("label", "-m", "m.safetensors", "one.txt", "--nbest", "3")
    blocks = done.out.strip().split("\n\n")
    assert len(blocks) == 3
    for rank, (block, (labels, probability)) in enumerate(zip(blocks, best, strict=True)):
        header, *lines = block.split("\n")
        mark, number, found, _ = header.split()
        assert (mark, int(number)) == ("#", rank)
        assert float(found) == pytest.approx(probability, rel=1e-4)
        assert [line.split()[-1] for line in lines] == labels

    lines = trained("label", "-m", "m.safetensors", "one.txt", "--score", "--all-marginals").out.split("\n")
    assert float(lines[0].split()[2]) == pytest.approx(best[0][1], rel=1e-4)
    for t, line in enumerate(lines[1:5]):
        _, _, label, confidence, *rest = line.split()
        assert label == best[0][0][t]
        assert float(confidence) == pytest.approx(p[t, model.labels.index(label)], abs=1e-6)
        found = dict(pair.rsplit(":", 1) for pair in rest)
        assert [float(v) for v in found.values()] == sorted(map(float, found.values()), reverse=True)
        for y, name in enumerate(model.labels):
            assert float(found[name]) == pytest.approx(p[t, y], abs=1e-6)


def test_force_keeps_known_labels(trained):
    model = Model.load("m.safetensors")
    (trained.directory / "f.txt").write_text("A ?\nB X\nC ?\n".replace("X", model.labels[2]), encoding="utf-8")
    done = trained("label", "-m", "m.safetensors", "f.txt", "--force")
    found = [line.split()[-1] for line in done.out.strip().split("\n")]
    assert found == model.label([["A"], ["B"], ["C"]], fixed=[None, model.labels[2], None])
    assert found[1] == model.labels[2]


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [("iob1", "O B-X I-X B-Y I-Y"), ("iob2", "O B-X I-X B-Y I-Y"), ("iobes", "O B-X I-X E-X S-X S-Y")],
)
def test_constraints(program, scheme, labels):
    """The best of all label sequences that the scheme allows, by enumeration."""
    labels, words = labels.split(), "abcd"
    rng = np.random.default_rng(5)
    weights = {(f"U:{word}", label): float(rng.normal()) for word in words for label in labels}
    pairs = {("B", None if a is None else a, b): float(rng.normal()) for a in [None, *labels] for b in labels}
    made = Model.from_weights(labels, weights, pairs)
    Model(made.vocabulary, made.features, made.w, template=Template("U:%x[0,0]\nB"), n_columns=1).save("m.safetensors")

    def valid(path):
        """By the letter: what may come after what, and at the end."""
        for before, (prefix, kind) in zip([("O", ""), *path], path, strict=False):
            inside = before[0] in "BI" and before[1] == kind
            if scheme == "iob1" and prefix == "B" and not inside:
                return False
            if scheme == "iob2" and prefix == "I" and not inside:
                return False
            if scheme == "iobes" and (prefix in "IE") != (before[0] in "BI"):
                return False
            if scheme == "iobes" and prefix in "IE" and before[1] != kind:
                return False
        return scheme != "iobes" or path[-1][0] not in "BI"

    split = {label: (label[0], label[2:]) for label in labels}
    changed = 0
    for x in itertools.product(words, repeat=3):
        best, score = None, -np.inf
        for path in itertools.product(labels, repeat=3):
            total = sum(weights[f"U:{a}", y] for a, y in zip(x, path, strict=True))
            total += sum(pairs["B", p, y] for p, y in zip([None, *path], path, strict=False))
            if valid([split[y] for y in path]) and total > score:
                best, score = list(path), total
        program.write(x_txt="".join(f"{a}\n" for a in x))
        done = program("label", "-m", "m.safetensors", "x.txt", "--constrain", scheme)
        assert [line.split()[1] for line in done.out.split("\n")[:3]] == best
        changed += best != made.label([[f"U:{a}", "B"] for a in x])
        if changed > 5:
            return
    assert changed


def test_new_columns_are_set_off_as_the_old_ones_are(trained):
    trained.write(tab_txt="A\tx\n", blank_txt="A x\n")
    found = {
        name: trained("label", "-m", "m.safetensors", f"{name}.txt", "--marginals").out for name in ("tab", "blank")
    }
    assert found["tab"].startswith("A\tx\t")
    assert found["tab"].replace("\t", " ") == found["blank"]


@pytest.mark.slow
def test_the_model_is_saved_whoever_listens(trained):
    arguments = ["train", "train.txt", "-t", "t.txt", "--rho1", "0.5"]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sparsecrf", *arguments, "-m", "a.safetensors"],
            cwd=trained.directory,
            stderr=full,
            stdout=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 0
    assert Model.load("a.safetensors").training["objective"] == trained.result["objective"]
    done = trained(*arguments, "-m", "b.safetensors", "--log", "/dev/full")
    assert done.status == 1
    assert "/dev/full: No space left on device; the model was saved" in done.err
    assert Model.load("b.safetensors").training["objective"] == trained.result["objective"]


def test_lbfgs_keeps_to_limits(trained):
    command = [
        "train",
        "train.txt",
        "-t",
        "t.txt",
        "-m",
        "l.safetensors",
        "--solver",
        "lbfgs",
        "--rho1",
        "0",
        "--json",
        "-q",
    ]
    done = json.loads(trained(*command, "--max-iter", "2", "--tol", "1e-12").out)
    assert (done["iterations"], done["stopped_by"]) == (2, "max_iter")


@pytest.mark.slow
def test_log_dev_and_resume(trained):
    options = [
        "train",
        "train.txt",
        "-t",
        "t.txt",
        "-m",
        "r.safetensors",
        "--rho1",
        "0.1",
        "--tol",
        "1e-6",
        "-q",
        "--json",
    ]
    options += ["--checkpoint", "c", "--resume", "--dev", "dev.txt", "--log", "l.jsonl"]
    first = trained(*options, "--max-iter", "4")
    assert json.loads(first.out)["stopped_by"] == "max_iter"
    last = json.loads(trained(*options).out)
    records = [json.loads(line) for line in trained.directory.joinpath("l.jsonl").read_text().splitlines()]
    assert list(records[0]) == LOG
    assert [record["iter"] for record in records] == list(range(last["iterations"] + 1))
    assert records[-1]["iter"] == last["iterations"]
    assert records[-1]["dev_error"] is not None
    whole = trained("train", "train.txt", "-t", "t.txt", "-m", "w.safetensors", "--rho1", "0.1", "--tol", "1e-6", "-q")
    assert whole.status == 0
    a, b = Model.load("r.safetensors"), Model.load("w.safetensors")
    assert (a.w == b.w).all()


@pytest.mark.slow
def test_a_log_that_ends_in_the_middle_of_a_line(trained):
    """As a full disk or a power cut leaves it."""
    options = ["train", "train.txt", "-t", "t.txt", "-m", "q.safetensors", "--tol", "1e-6", "-q", "--json"]
    options += ["--checkpoint", "d", "--resume", "--log", "d.jsonl"]
    trained(*options, "--max-iter", "4")
    log = trained.directory / "d.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    done = trained(*options)
    assert done.status == 0
    iterations = [json.loads(line)["iter"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert iterations == list(range(json.loads(done.out)["iterations"] + 1))
    (trained.directory / "d").unlink()  # nothing to resume from: the log starts again, too
    trained(*options, "--max-iter", "2")
    assert [json.loads(line)["iter"] for line in log.read_text(encoding="utf-8").splitlines()] == [0, 1, 2]


def test_warm_start(trained):
    cold = ["train", "train.txt", "-t", "t.txt", "-m", "n.safetensors", "--rho1", "0.5", "-q", "--json"]
    done = json.loads(trained(*cold, "--init", "m.safetensors").out)
    assert done["iterations"] < trained.result["iterations"]
    assert done["objective"] <= trained.result["objective"] * (1 + 1e-9)


INIT = ["-m", "n", "--init", "m", "--rho1", "0.01"]


@pytest.mark.parametrize("cache", [[], ["--cache", "folder"]])
def test_init_takes_template_labels_and_start_of_the_model(program, cache):
    """The new data lack a label and have another; without -t the columns themselves would be the attributes."""
    program.write(t_txt='U:%m[0,0,".$"]\nB\n', a_txt="an A\nob B\n\nec C\n\n", b_txt="en A\nub B\n\ned D\n\n")
    first = [
        "train",
        "a.txt",
        "-t",
        "t.txt",
        "-m",
        "m",
        "--rho1",
        "0.01",
        "--no-start",
        "--recipe",
        "boundary=wapiti",
        "--recipe",
        "bytes=true",
    ]
    assert program(*first).status == 0
    before = Model.load("m")
    done = program("train", "b.txt", *INIT, *cache)
    assert done.status == 0
    after = Model.load("n")
    assert after.labels == ["A", "B", "C", "D"]
    assert (after.template.text, after.template.boundary, after.template.bytes) == (
        before.template.text,
        "wapiti",
        True,
    )
    assert not after.vocabulary.start
    assert after.label([["n"], ["b"]]) == ["A", "B"]
    assert "from m: the template, 3 labels (1 more in the data), no start label, " in done.err
    # Given options take precedence over those of the model.
    program.write(u_txt="U:%x[0,0]\n")
    done = program("train", "b.txt", *INIT, "-t", "u.txt", "--start")
    assert "from m: 3 labels (1 more in the data), 0 of" in done.err
    assert "training starts from zero" in done.err
    assert (Model.load("n").template.text, Model.load("n").vocabulary.start) == ("U:%x[0,0]\n", True)


def test_init_by_a_model_of_another_kind_of_data(program):
    program.write(a_txt="a A\n\nb B\n\n", c_crfsuite="A\ta\n\nB\tb\n\n")
    assert program("train", "c.crfsuite", "-m", "m", "--rho1", "0.01").status == 0
    done = program("train", "a.txt", *INIT)
    assert done.status == 2
    needed = "--init: expected a model with a template for column files, or a template in --template"
    assert f"{needed}, found a model without a template" in done.err
    assert program("train", "a.txt", "-m", "m", "--rho1", "0.01").status == 0
    done = program("train", "c.crfsuite", *INIT)
    assert "--init: expected a model without a template for CRFsuite files, found a model with a template" in done.err


def test_json_has_no_infinite_numbers(trained):
    """With a missing label there is no certificate: the gap is infinite, and null in JSON."""
    text = simulated(60, 1)
    trained.write(train_txt=text.replace(text.split("\n")[2], text.split("\n")[2].split()[0] + " ?", 1))
    options = ["--missing", "?", "--json", "--log", "l.jsonl"]
    done = trained("train", "train.txt", "-t", "t.txt", "-m", "n.safetensors", *options)
    assert "no certified bound" in done.err

    def refuse(constant):
        raise ValueError(constant)

    lines = [done.out, *trained.directory.joinpath("l.jsonl").read_text().splitlines()]
    assert all(json.loads(line, parse_constant=refuse)["gap"] is None for line in lines)
    asked = trained("train", "train.txt", "-t", "t.txt", "-m", "o.safetensors", "--missing", "?", "--gap", "0.1")
    assert asked.status == 2
    assert "--gap 0.1 cannot be combined with missing labels" in asked.err


def test_progress_is_plain_lines_without_a_terminal(trained):
    done = trained("train", "train.txt", "-t", "t.txt", "-m", "n.safetensors")
    assert done.out == ""
    assert "reading" in done.err
    assert "objective" in done.err
    assert "\x1b" not in done.err


# ---- In a process of its own.
def start(directory, *arguments, **options):
    command = [sys.executable, "-m", "sparsecrf", *arguments]
    return subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_label_answers_a_pipe_sequence_by_sequence(trained):
    process = start(trained.directory, "label", "-m", "m.safetensors", stdin=subprocess.PIPE)
    try:
        for word in ("A", "B"):
            process.stdin.write(f"{word}\n\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode().split()[0] == word
            assert process.stdout.readline() == b"\n"
        process.stdin.close()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()


def test_an_error_does_not_wait_for_more_input(trained):
    process = start(trained.directory, "label", "-m", "m.safetensors", "--threads", "2", stdin=subprocess.PIPE)
    try:
        process.stdin.write(b"A\n\nA\n\nA b c d\n\n")
        process.stdin.flush()
        assert process.wait(20) == 1
        assert b"standard input, line 5: expected 1 column" in process.stderr.read()
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_training_saves_the_model(trained, number):
    trained.write(long_txt=simulated(1500, 5))
    arguments = ["train", "long.txt", "-t", "t.txt", "-m", "i.safetensors", "--checkpoint", "c", "--log", "l.jsonl"]
    process = start(
        trained.directory, *arguments, "--rho1", "1e-4", "--rho2", "1e-8", "--tol", "1e-12", "--solver", "owlqn"
    )
    log = trained.directory / "l.jsonl"
    try:
        began = time.monotonic()
        while not log.exists() or log.read_text().count("\n") < 3:
            assert process.poll() is None
            assert time.monotonic() - began < 60
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert b"interrupted" in err
    assert Model.load(trained.directory / "i.safetensors").training["stopped_by"] == "interrupt"
    assert (trained.directory / "c").exists()
    assert not [name for name in trained.files() if name.endswith(".tmp")]


def test_an_interrupt_while_an_object_is_finalized_is_not_lost(trained, monkeypatch):
    """Python drops exceptions there. On a Dask cluster 2 of 290 interrupts were lost so, and training went on."""

    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def write(log, record):
        if record["iter"] == 1:
            Finalized()

    monkeypatch.setattr("sparsecrf.cli.watched_run.Log.__call__", write)
    done = trained("train", "train.txt", "-t", "t.txt", "-m", "i.safetensors", "--tol", "1e-12", "--solver", "owlqn")
    assert (done.status, "Traceback" in done.err) == (130, False), done.err
    assert Model.load(trained.directory / "i.safetensors").training["stopped_by"] == "interrupt"


def test_label_needs_neither_numpy_nor_scipy_nor_sklearn(trained):
    script = (
        "import sys\nfrom sparsecrf.cli import main\n"
        "sys.argv = ['sparsecrf', 'label', '-m', 'm.safetensors', 'dev.txt', '-o', 'o.txt']\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'matplotlib', 'rich.console') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=trained.directory, check=False
    )
    assert done.stdout == "[]\n", done.stderr


CHUNKED = "a B-X\nb I-X\nc O\n\na B-X\nc O\n\nc O\nb O\n\nd B-Y\nc O\n\n"


@pytest.mark.slow
def test_train_says_how_good_chunks_are_on_dev_data(program):
    """By tokens a model that finds no chunk looks good: most tokens are in none."""
    program.write(train_txt=CHUNKED * 10, dev_txt=CHUNKED.replace("b I-X", "b O"))
    done = program("train", "train.txt", "-m", "m", "--dev", "dev.txt", "--features", "words")
    assert done.status == 0
    scored = json.loads(program("eval", "dev.txt", "-m", "m", "--json").out)
    said = f"dev data: chunk F1 {scored['f1']:.2f} % (precision {scored['precision']:.2f}, recall"
    assert said in done.err
    assert 0 < scored["f1"] < 100
    assert "dev data:" not in program("train", "train.txt", "-m", "m").err
    program.write(tags_txt="a X\nb Y\n\n" * 5, other_txt="a X\nb X\n\n" * 2)  # no chunks: the error by tokens
    done = program("train", "tags.txt", "-m", "m", "--dev", "other.txt")
    assert "dev data: 50.00 % of the labels are wrong (2 of 4)" in done.err
    done = program("train", "tags.txt", "-m", "m", "--dev", "other.txt", "-q")
    assert done.err == "dev data: 50.00 % of the labels are wrong (2 of 4)\n"  # -q asks for no progress
    assert program("train", "tags.txt", "-m", "m", "--dev", "other.txt", "-q", "--json").err == ""


DOCUMENT = "-DOCSTART- O\n\n" + CHUNKED


@pytest.mark.slow
def test_the_next_step_of_a_run(program):
    """One hint at the end, of at most two lines: the first of what the run has not done."""
    program.write(train_txt=CHUNKED * 3, t_txt="U:%x[0,0]\nB\n", tags_txt="a X B\nb Y I\n\n" * 3)
    program.write(documents_txt=DOCUMENT * 3, data_crfsuite="X\ta\nY\tb\n\n" * 9, names_txt="a\n")
    program("train", "train.txt", "-m", "first", "-q")
    alone = "next: --dev FILE, labelled data that you do not train on, shows how good the model is\n"
    words, dev, rho1 = ["--features", "words"], ["--dev", "train.txt"], ["--rho1", "0.3"]
    for arguments, expected in {
        ("train.txt",): "next: --features words (named entities, fields) or --features tagging",
        ("tags.txt",): "next: --features columns",
        ("train.txt", "--init", "first"): "next: --dev FILE",  # the features of the model
        ("train.txt", "-t", "t.txt"): "next: --dev FILE",
        ("train.txt", *words): "next: --dev FILE",
        ("data.crfsuite",): "next: --dev FILE",
        ("train.txt", *words, "--rho1", "auto"): alone,  # chosen already
        ("train.txt", "--prior", "first"): alone,  # which --rho1 auto does not support
        ("train.txt", "--prior", "first", *dev): None,
        ("train.txt", *words, "--cache", "parts"): alone,
        ("train.txt", *words, *dev): "next: --rho1 auto chooses rho1 on the dev data",
        ("train.txt", *words, *dev, *rho1): "next: add word clusters from unlabelled text",
        ("documents.txt", *words, *dev, *rho1): "next: --features documents, since documents.txt contains documents",
        ("train.txt", "-t", "t.txt", *dev, *rho1): None,
        ("train.txt", *words, *dev, *rho1, "--lexicon", "names=names.txt"): None,
        ("train.txt", "-q"): None,
        ("train.txt", "--json"): None,
    }.items():
        done = program("train", *arguments, "-m", "m")
        assert done.status == 0, done.err
        said, found, hint = done.err.partition("next: ")
        assert (found + hint).startswith(expected or "")
        assert ("next: " in said + hint, bool(found)) == (False, expected is not None), arguments
        assert hint.count("\n") <= 2


@pytest.mark.slow
def test_columns_that_features_ignore(program):
    program.write(train_txt="a X B\nb Y I\n\n" * 3)
    said = "--features words uses 1 of the 2 columns before the label and ignores the others; --features columns uses"
    assert said in program("train", "train.txt", "-m", "m", "--features", "words").err
    assert "ignores" not in program("train", "train.txt", "-m", "m", "--features", "columns").err


def test_warnings_about_data_are_lines_of_the_program(program):
    program.write(train_jsonl='{"text": "Ada left", "spans": [[0, 2, "PER"]]}\n' * 2)
    done = program("train", "train.jsonl", "-m", "m")
    assert "sparsecrf: warning: spans: some spans begin or end inside a word" in done.err
    assert "UserWarning" not in done.err
