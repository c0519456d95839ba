"""CoNLL-U, JSON lines and token lines: read, trained on, labelled, scored; and what is wrong with files."""

import io
import json
import warnings

import pytest
from model_content import content

from sparsecrf import CRF, InputError, Model, read_conllu, read_jsonl, read_tokens
from sparsecrf.encoding.formats import format_named
from sparsecrf.files.words import word_offsets

SENTENCES = ["Ada went to Oslo", "the cat saw Grace in Lima", "Alan said hello", "a cat in Kyoto", "Emmy saw the cat"]
LABELS = ["B-PER O O B-LOC", "O O O B-PER O B-LOC", "B-PER O O", "O O O B-LOC", "B-PER O O O"]
WORDS, TAGS = [s.split() for s in SENTENCES], [s.split() for s in LABELS]
OPTIONS = ["--rho1", "0.05", "-q"]

CONLLU = """\
# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tvamos\tir\tVERB\tv\tMood=Imp|Number=Plur\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\tCase=Acc\t1\tobj\t1:obj\tKeep=Yes
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\ts\t_\t5\tcase\t_\t_
4\tel\tel\tDET\td\tNumber=Sing\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tn\tNumber=Sing\t1\tobl\t_\t_
5.1\t(ver)\tver\tVERB\tv\t_\t_\t_\t1:conj\t_

# sent_id = 2
1\t20 000\t20 000\tNUM\tz\t_\t0\troot\t_\t_
2\tmares\tmar\tNOUN\tn\tNumber=Plur\t1\tnmod\t_\t_

"""
UPOS = [["VERB", "PRON", "ADP", "DET", "NOUN"], ["NUM", "NOUN"]]


def lines(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


TOKENS_JSON = lines(*({"tokens": w, "labels": t, "id": i} for i, (w, t) in enumerate(zip(WORDS, TAGS, strict=True))))


def spans_of(words, tags):
    text, spans = " ".join(words), []
    for t, tag in enumerate(tags):
        start = len(" ".join(words[:t])) + (t > 0)
        if tag != "O":
            spans.append({"start": start, "end": start + len(words[t]), "label": tag[2:]})
    return {"text": text, "spans": spans}


TEXT_JSON = lines(*(spans_of(w, t) for w, t in zip(WORDS, TAGS, strict=True)))
TOKEN_LINES = "".join(
    " ".join(f"{word}/{tag}" for word, tag in zip(w, t, strict=True)) + "\n" for w, t in zip(WORDS, TAGS, strict=True)
)
COLUMNS = "".join(
    "".join(f"{word} {tag}\n" for word, tag in zip(w, t, strict=True)) + "\n" for w, t in zip(WORDS, TAGS, strict=True)
)


@pytest.fixture
def run(program):
    program.write(
        t_conllu=CONLLU, tokens_jsonl=TOKENS_JSON, text_jsonl=TEXT_JSON, lines_txt=TOKEN_LINES, columns_txt=COLUMNS
    )
    return program


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [["tokens.jsonl"], ["text.jsonl"], ["lines.txt", "--format", "tokens"], ["tokens.jsonl", "--cache", "folder"]],
)
def test_the_same_model_from_every_format(run, data):
    assert run("train", "columns.txt", "--features", "words", "-m", "expected", *OPTIONS).status == 0
    done = run("train", *data, "-m", "found", "--dev", data[0], *OPTIONS)
    assert done.status == 0, done.err
    assert content("found") == content("expected")
    assert Model.load("found").label(["Kurt", "went", "to", "Accra"]) == ["B-PER", "O", "O", "B-LOC"]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("upos", UPOS),
        ("xpos", [["v", "p", "s", "d", "n"], ["z", "n"]]),
        ("feats", [["Mood=Imp|Number=Plur", "Case=Acc", "_", "Number=Sing", "Number=Sing"], ["_", "Number=Plur"]]),
        (
            "upos+feats",
            [
                ["VERB|Mood=Imp|Number=Plur", "PRON|Case=Acc", "ADP", "DET|Number=Sing", "NOUN|Number=Sing"],
                ["NUM", "NOUN|Number=Plur"],
            ],
        ),
    ],
)
def test_labels_of_treebanks(run, label, expected):
    found = list(read_conllu("t.conllu", label))
    assert [words for words, _ in found] == [["vamos", "nos", "a", "el", "mar"], ["20 000", "mares"]]
    assert [labels for _, labels in found] == expected
    assert run("train", "t.conllu", "--format", f"conllu:{label}", "-m", "m", "--rho1", "0.001", "-q").status == 0
    done = run("label", "-m", "m", "t.conllu")  # the model knows which label it is
    assert done.status == 0, done.err
    assert done.out == CONLLU  # every line as it was: comments, multiword tokens, empty nodes
    assert '"token_error": 0.0' in run("eval", "t.conllu", "-m", "m", "--json").out


def test_labels_of_treebanks_are_filled_in(run):
    assert run("train", "t.conllu", "-m", "m", "--rho1", "0.001", "-q").status == 0
    bare = "".join(
        "\t".join([*line.split("\t")[:3], "_", *line.split("\t")[4:]]) + "\n" if "\t" in line else line + "\n"
        for line in CONLLU.split("\n")[:-1]
    )
    run.write(bare_conllu=bare)
    assert run("label", "-m", "m", "bare.conllu", "-o", "out.conllu").status == 0
    assert (run.directory / "out.conllu").read_text() == CONLLU.replace(
        "\tVERB\tv\t_\t_\t_\t1:conj", "\t_\tv\t_\t_\t_\t1:conj"
    )
    assert '"token_error": 0.0' in run("eval", "out.conllu", "--gold", "t.conllu", "--json").out
    sure = run("label", "-m", "m", "bare.conllu", "--marginals").out.split("\n")
    assert sure[4].startswith("2\tnos\tnosotros\tPRON\t")
    assert sure[4].split("\t")[9].startswith("Keep=Yes|Prob=0.")
    run.write(sure_conllu="\n".join(sure))
    assert (
        run("label", "-m", "m", "sure.conllu", "--marginals").out.split("\n") == sure
    )  # a second one replaces the first
    done = run("train", "bare.conllu", "-m", "m2", "-q")
    assert (done.status, "expected labels, but all are missing" in done.err) == (1, True)


@pytest.mark.slow
def test_tokens_in_json(run):
    assert run("train", "tokens.jsonl", "-m", "m", *OPTIONS).status == 0
    assert run("label", "-m", "m", "tokens.jsonl").out == TOKENS_JSON
    asked = lines({"id": 7, "tokens": ["Kurt", "went", "to", "Accra"], "more": {"a": 1}}, {"tokens": []})
    (first, second) = map(json.loads, run("label", "-m", "m", "--marginals", stdin=asked.encode()).out.splitlines())
    assert list(first) == ["id", "tokens", "more", "labels", "probabilities"]
    assert first["labels"] == ["B-PER", "O", "O", "B-LOC"]
    best = Model.load("m").marginals(["Kurt", "went", "to", "Accra"]).max(axis=1)
    assert first["probabilities"] == [round(p, 6) for p in best.tolist()]
    assert second == {"tokens": [], "labels": []}
    run.write(tags_jsonl=TOKENS_JSON.replace('"labels"', '"ner"'))
    assert run("train", "tags.jsonl", "--format", "jsonl:ner", "-m", "m2", *OPTIONS).status == 0
    assert json.loads(run("label", "-m", "m2", stdin=asked.encode()).out.split("\n")[0])["ner"] == first["labels"]


def test_columns_in_json(run):
    rows = lines({"tokens": [["Ada", "NNP"], ["went", "VBD"]], "labels": ["PER", "O"]})
    run.write(rows_jsonl=rows)
    assert run("train", "rows.jsonl", "--features", "columns", "-m", "m", "--rho1", "0.01", "-q").status == 0
    assert run("label", "-m", "m", "rows.jsonl").out == rows
    assert Model.load("m").n_columns == 2
    assert list(read_jsonl("rows.jsonl")) == [([["Ada", "NNP"], ["went", "VBD"]], ["PER", "O"])]


def test_spans_of_characters(run):
    assert run("train", "text.jsonl", "-m", "m", *OPTIONS).status == 0
    assert run("label", "-m", "m", "text.jsonl").out == TEXT_JSON
    text = "  Kurt went  to Accra"
    asked = lines({"text": text, "id": 1}, {"text": ""}, {"text": text, "spans": [[2, 6, "PER"]]})
    found = list(map(json.loads, run("label", "-m", "m", "--marginals", stdin=asked.encode()).out.splitlines()))
    assert [text[s["start"] : s["end"]] + " " + s["label"] for s in found[0]["spans"]] == ["Kurt PER", "Accra LOC"]
    model = Model.load("m")
    spans = model.spans([text[a:b] for a, b in word_offsets(text)])
    assert [s["probability"] for s in found[0]["spans"]] == [round(s.probability, 6) for s in spans]
    assert found[1]["spans"] == []
    assert found[2]["spans"] == [[2, 6, "PER"], [16, 21, "LOC"]]  # in the form in which they were given


def test_labels_that_are_no_chunks_are_spans_of_one_word(run):
    run.write(tagged_txt="the/D cat/N\na/D dog/N\n")
    assert run("train", "tagged.txt", "--format", "tokens", "-m", "m", "--rho1", "0.01", "-q").status == 0
    found = run("label", "-m", "m", "--format", "jsonl", stdin=lines({"text": "the dog"}).encode())
    assert json.loads(found.out)["spans"] == [
        {"start": 0, "end": 3, "label": "D"},
        {"start": 4, "end": 7, "label": "N"},
    ]


def test_token_lines(run):
    assert run("train", "lines.txt", "--format", "tokens", "-m", "m", *OPTIONS).status == 0
    done = run("label", "-m", "m", stdin=b"Kurt went to Accra\n\nthe cat/dog saw it\n")
    assert done.out == "Kurt/B-PER went/O to/O Accra/B-LOC\n\nthe/O cat/dog/B-PER saw/O it/O\n"
    assert run("label", "-m", "m", "--force", stdin=b"Kurt/O went/O\n").out == "Kurt/O/O went/O/O\n"
    assert next(read_tokens("lines.txt")) == (WORDS[0], TAGS[0])


def test_readers_feed_estimators():
    X, y = zip(*read_jsonl(io.BytesIO(TEXT_JSON.encode())), strict=True)
    assert (list(X), list(y)) == (WORDS, TAGS)
    X, y = zip(*read_conllu(io.BytesIO(CONLLU.encode())), strict=True)
    assert CRF(features="tagging", rho1=0.001).fit(X, y).predict(X).tolist() == UPOS
    gaps = io.BytesIO(CONLLU.replace("\tADP\t", "\t_\t").encode())
    assert next(read_conllu(gaps))[1] == ["VERB", "PRON", None, "DET", "NOUN"]


def test_constraints_and_forced_labels(run):
    assert run("train", "tokens.jsonl", "-m", "m", *OPTIONS).status == 0
    forced = lines({"tokens": ["Kurt", "went"], "labels": ["O", None]})
    assert json.loads(run("label", "-m", "m", "--force", stdin=forced.encode()).out)["labels"][0] == "O"
    none = run("label", "-m", "m", "--force", stdin=lines({"tokens": ["a"]}).encode())
    assert "standard input, line 1: --force: expected labels to keep, found none" in none.err
    bio = lines({"tokens": ["New", "York"], "labels": ["B-LOC", "I-LOC"]}, {"tokens": ["in"], "labels": ["O"]})
    run.write(bio_jsonl=bio)
    assert run("train", "bio.jsonl", "-m", "m", "--rho1", "0.01", "-q").status == 0
    done = run("label", "-m", "m", "--constrain", "iob2", stdin=lines({"tokens": ["York", "New"]}).encode())
    assert json.loads(done.out)["labels"][0] != "I-LOC"
    impossible = lines({"tokens": ["in"]}, {"tokens": ["York", "York"], "labels": ["O", "I-LOC"]})
    done = run(
        "label",
        "-m",
        "m",
        "--constrain",
        "iob2",
        "--force",
        stdin=impossible.replace('["in"]', '["in"], "labels": ["O"]').encode(),
    )
    assert done.status == 1
    assert "standard input, line 2: " in done.err


def test_sequences_that_cannot_be_labelled(run):
    assert run("train", "tokens.jsonl", "-m", "m", *OPTIONS).status == 0
    data = b'{"tokens": ["to", "Oslo"]}\n{"tokens": 3}\nnonsense\n{"tokens": ["Oslo"]}\n'
    done = run("label", "-m", "m", "--on-error", "skip", stdin=data)
    assert [json.loads(line).get("labels") for line in done.out.splitlines()] == [["O", "B-LOC"], None, None, ["B-LOC"]]
    assert 'standard input, line 2, "tokens": expected a list, found 3; the sequence was skipped' in done.err
    assert run("label", "-m", "m", stdin=data).status == 1


def test_other_encodings(run):
    run.write(t_conllu=CONLLU.encode("latin-1"))
    assert run("train", "t.conllu", "--encoding", "latin-1", "-m", "m", "--rho1", "0.001", "-q").status == 0
    run("label", "-m", "m", "t.conllu", "-o", "out.conllu")
    assert (run.directory / "out.conllu").read_bytes() == CONLLU.encode("latin-1")
    done = run("train", "t.conllu", "-m", "m", "-q")
    assert "t.conllu, line 2, byte 11: expected text in UTF-8, found byte 0xE1" in done.err
    assert (
        "--encoding: expected text for CoNLL-U files, found bytes"
        in run("train", "t.conllu", "--encoding", "bytes", "-m", "m").err
    )


@pytest.mark.slow
def test_formats_that_do_not_fit(run):
    assert run("train", "tokens.jsonl", "-m", "m", *OPTIONS).status == 0
    for option in (["--nbest", "2"], ["--score"], ["--all-marginals"], ["--token-scores"]):
        done = run("label", "-m", "m", "tokens.jsonl", *option)
        assert f"{option[0]}: expected column files, found JSON-lines files" in done.err
    assert "--ragged: expected column files" in run("label", "-m", "m", "tokens.jsonl", "--ragged").err
    run.write(a_crfsuite="A\ta\n")
    assert run("train", "a.crfsuite", "-m", "own", "-q").status == 0
    done = run("label", "-m", "own", "tokens.jsonl", "--format", "jsonl")
    assert "--format: expected a model with a template for JSON-lines files, found a model without" in done.err
    done = run("eval", "tokens.jsonl")
    assert "--gold: expected a file with gold labels or -m MODEL for JSON-lines files, found neither" in done.err
    run.write(short_jsonl=lines({"tokens": ["Ada"], "labels": ["O"]}))
    done = run("eval", "short.jsonl", "--gold", "tokens.jsonl")
    assert "short.jsonl, line 1, sequence 1: expected 4 tokens, as in tokens.jsonl, found 1" in done.err
    done = run("eval", "columns.txt", "--gold", "columns.txt", "--json")
    assert '"token_error": 0.0' in done.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"tokens": ["a"]}', "line 1: expected labels, found none"),
        (
            '{"tokens": ["a"], "labels": []}',
            r'line 1, "labels": expected.*list.*1 label, .*token.*found \[\]',
        ),
        (
            '{"tokens": ["a"], "labels": [1]}',
            r'"labels": expected text labels .* found 1',
        ),
        ('{"tokens": ["a"], "labels": ["X\\u0000Y"]}', r'"labels": expected text labels without NUL'),
        ('{"text": "ab", "spans": [[0, 2, "X\\u0000"]]}', r'"spans": expected start, end and label'),
        ('{"text": "a b", "spans": [[true, 3, "X"]]}', r'"spans": expected start, end and label'),
        ('{"tokens": [1], "labels": ["A"]}', r'"tokens": expected strings, or lists of columns, found 1'),
        ('{"words": []}', r'line 1: expected an object with "tokens" or "text"'),
        ("[1]", 'line 1: expected an object with "tokens" or "text"'),
        ('{"tokens": ', "line 1: expected a JSON object, found"),
        ('{"text": "ab", "spans": [[0, 9, "X"]]}', r'"spans": expected start, end and label of a span of the text'),
        ('{"text": "ab", "spans": [{"start": 0}]}', r'"spans": expected start, end and label of a span of the text'),
        ('{"text": "a b", "spans": [[1, 2, "X"]]}', r'"spans": expected spans that contain at least one word'),
        ('{"text": "a b", "spans": [[0, 3, "X"], [2, 3, "Y"]]}', r'"spans": expected spans that do not share a word'),
        ('{"text": "a b", "spans": 3}', r'"spans": expected a list of spans, found 3'),
        ('{"text": 3}', r'"text": expected a text, found 3'),
    ],
)
def test_wrong_json(content, message):
    with pytest.raises(InputError, match=message):
        list(read_jsonl(io.BytesIO(content.encode())))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\ta\tb\n", r"line 1: expected 10 columns separated.*found 3"),
        ("1\ta" + "\t_" * 8 + "\n3\tb" + "\t_" * 8, "line 2: expected word number 2, found 3"),
        ("1\t" + "\t_" * 8, r"line 1: expected.*FORM.*second column.*found an empty cell"),
        ("# c\n" + "\t".join(["x", *["_"] * 9]), r"line 2: expected the number of a word \(3, 3-4 or 3.1\), found 'x'"),
    ],
)
def test_wrong_treebanks(content, message):
    with pytest.raises(InputError, match=message):
        list(read_conllu(io.BytesIO(content.encode())))


def test_wrong_token_lines():
    with pytest.raises(InputError, match=r"line 2: expected.*word.*slash.*label.*found 'c'"):
        list(read_tokens(io.BytesIO(b"a/A\nb/B c\n")))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conllu:lemma", r"--format: expected conllu:upos\|xpos\|feats\|upos\+feats, found conllu:lemma"),
        ("jsonl:", r"--format: expected.*field.*labels.*spans.*found ''"),
        ("columns:3", r"--format: expected columns alone, found columns:3"),
    ],
)
def test_choices_that_there_are_not(name, message):
    with pytest.raises(InputError, match=message):
        format_named(name, "--format")


def test_spans_inside_of_words_are_widened():
    record = '{"text": "10km to Oslo", "spans": [[0, 2, "N"], [8, 12, "LOC"]]}'
    with pytest.warns(UserWarning, match="spans: some spans begin or end inside a word"):
        assert list(read_jsonl(io.BytesIO(record.encode()))) == [(["10km", "to", "Oslo"], ["B-N", "O", "B-LOC"])]
    blanks = '{"text": "to Oslo now", "spans": [[2, 8, "LOC"]]}'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert next(read_jsonl(io.BytesIO(blanks.encode())))[1] == ["O", "B-LOC", "O"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ada's 10km run, in São Paulo (2020).", "Ada ' s 10km run , in São Paulo ( 2020 ) ."),
        ("हिन्दी में", "हिन्दी में"),
        ("e\N{COMBINING ACUTE ACCENT}tude", "e\N{COMBINING ACUTE ACCENT}tude"),
        ("東京 ok", "東 京 ok"),
        ("ก็ดี", "ก็ ดี"),
        (" \n\t ", ""),
    ],
)
def test_words_of_text(text, words):
    assert [text[a:b] for a, b in word_offsets(text)] == words.split()


@pytest.mark.slow
def test_data_are_converted(run):
    def convert(source, target, a, b):
        done = run("convert", source, target, "--from", a, "--to", b)
        assert done.status == 0, done.err
        return (run.directory / target).read_text()

    assert convert("tokens.jsonl", "a.txt", "jsonl", "columns") == COLUMNS
    assert convert("columns.txt", "b.txt", "columns", "tokens") == TOKEN_LINES
    assert [json.loads(line)["tokens"] for line in convert("b.txt", "c", "tokens", "jsonl").splitlines()] == WORDS
    (run.directory / "one.conllu").write_text(CONLLU.split("\n\n")[0] + "\n\n", encoding="utf-8")
    assert convert("one.conllu", "d", "conllu:xpos", "tokens") == "vamos/v nos/p a/s el/d mar/n\n"
    assert convert("b.txt", "e", "tokens", "conllu").split("\n")[0] == "1\tAda\t_\tB-PER\t_\t_\t_\t_\t_\t_"
    done = run("convert", "t.conllu", "f", "--from", "conllu", "--to", "columns")
    assert "sequence 1, position 0: expected text without whitespace, found '20 000'" in done.err


@pytest.mark.parametrize(
    ("name", "rows", "label"),
    [
        ("tokens", [["New York"]], "LOC"),
        ("tokens", [["Oslo", "NNP"]], "LOC"),
        ("tokens", [["Oslo"]], "LOC/city"),
        ("conllu", [["Oslo", "NNP"]], "PROPN"),
        ("conllu", [["a\tb"]], "X"),
        ("conllu", [[""]], "X"),
    ],
)
def test_what_a_format_cannot_say_is_not_written(name, rows, label):
    with pytest.raises(InputError, match="out, sequence 0: expected"):
        list(format_named(name, "--to").write_rows([(rows, [label])], "out"))


def test_halves_of_characters_and_deep_nesting():
    record = '{"tokens": ["\\ud800x", "Oslo"], "labels": ["O", "B-LOC"]}\n'
    again = next(format_named("jsonl", "--to").write_rows([([["\ud800x"], ["Oslo"]], ["O", "B-LOC"])], "out"))
    assert again == record
    deep = b'{"tokens": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    with pytest.raises(InputError, match="line 1"):
        list(read_jsonl(io.BytesIO(deep)))
