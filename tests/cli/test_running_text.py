"""Running text is cut into tokens like those that the model was trained on."""

import json

import pytest

from sparsecrf import CRF, InputError, Model
from sparsecrf.encoding.token_survey import TokenSurvey, mismatch, tokenizer_of
from sparsecrf.files.words import TOKENIZERS

ADDRESS = "12 number\nMain street\nAve, street\nSpringfield, city\nIL state\n\n"
SENTENCE = "Ada B-PER\nsaw O\nthe O\nU.N. B-ORG\n, O\nnot O\nOslo B-LOC\n. O\n\n"
TEXT = "34 Main Ave, Springfield, IL"


@pytest.fixture
def addresses(program):
    program.write(train_txt=ADDRESS * 10, new_txt=TEXT + "\n", new_jsonl=json.dumps({"text": TEXT}) + "\n")
    assert program("train", "train.txt", "-m", "m", "--features", "words", "--rho1", "0.05", "-q").status == 0
    return program


def fields(line):
    record = json.loads(line)
    return [(record["text"][s["start"] : s["end"]], s["label"]) for s in record["spans"]]


WHOLE = [("34", "number"), ("Main Ave,", "street"), ("Springfield,", "city"), ("IL", "state")]


def test_a_model_of_blank_separated_columns_labels_blank_separated_text(addresses):
    assert Model.load("m").training["tokenizer"] == {
        "name": "blanks",
        "tokens": 50,
        "split": 20,
        "alone": 0,
        "example": "Ave,",
    }
    done = addresses("label", "-m", "m", "new.jsonl")
    assert (fields(done.out), done.err) == (WHOLE, "")
    done = addresses("label", "-m", "m", "new.txt", "--format", "text")
    assert (fields(done.out), done.err) == (WHOLE, "")


def test_columns_that_the_template_does_not_read_do_not_matter(addresses):
    addresses.write(wide_txt=ADDRESS.replace(" ", " x ") * 10)
    for features, expected in (("words", Model.load("m").training["tokenizer"]), ("columns", None)):
        assert addresses("train", "wide.txt", "-m", "wide", "--features", features, "-q").status == 0
        assert Model.load("wide").training.get("tokenizer") == expected


def test_spans_in_python_are_those_of_the_command(addresses):
    model = Model.load("m")
    found = model.text_spans(TEXT)
    assert [(TEXT[s.start : s.end], s.type) for s in found] == WHOLE
    probabilities = json.loads(addresses("label", "-m", "m", "new.jsonl", "--marginals").out)["spans"]
    assert [s.probability for s in found] == pytest.approx([s["probability"] for s in probabilities], abs=1e-6)
    assert all(TEXT[s.end - 1] != "," for s in model.text_spans(TEXT, tokenizer="words") if s.end - s.start > 1)
    assert model.text_spans("") == model.text_spans(" \n") == []
    fixed = ["city", None, None, None, None]
    assert model.text_spans(TEXT, fixed=fixed)[0][:3] == (0, 2, "city")
    with pytest.raises(InputError, match=r"^tokenizer: expected one of words, blanks, found 'lines'$"):
        model.text_spans(TEXT, tokenizer="lines")
    with pytest.raises(InputError, match=r"^text: expected a string, found \['Ada'\]$"):
        model.text_spans(["Ada"])
    with pytest.raises(InputError, match="expected a model with a template"):
        Model.from_weights(["A"], {("w", "A"): 1.0}).text_spans(TEXT)


def test_the_name_of_the_output_does_not_choose_its_format(addresses):
    done = addresses("label", "-m", "m", "train.txt", "-o", "out.jsonl")
    assert done.err == (
        "sparsecrf: warning: out.jsonl: expected JSON-lines data according to the file name, wrote column data; "
        "`sparsecrf convert out.jsonl NEW --from columns --to jsonl` changes the format\n"
    )
    assert (
        "CoNLL-U data according to the file name" in addresses("label", "-m", "m", "new.jsonl", "-o", "out.conllu").err
    )
    said = addresses("label", "-m", "m", "new.txt", "--format", "text", "-o", "out.conllu").err
    assert "wrote JSON-lines data; `sparsecrf convert out.conllu NEW --from jsonl --to conllu`" in said
    for more in (["train.txt", "-o", "out.txt"], ["new.jsonl", "-o", "out.jsonl"], ["new.txt", "-o", "out.jsonl"]):
        format = ["--format", "text"] if more[0] == "new.txt" else []
        assert addresses("label", "-m", "m", *more, *format).err == ""


def test_columns_that_the_template_ignores_need_not_be_there(program):
    """A model of words trained on word, part of speech and label used to refuse plain text and columns of words."""
    tagged = SENTENCE.replace(" ", " X ")
    words = "".join(line.partition(" ")[0] + "\n" for line in SENTENCE.splitlines())
    program.write(train_txt=tagged * 10, words_txt=words, text_txt="Ada saw Oslo.\n")
    assert program("train", "train.txt", "-m", "m", "--features", "words", "--rho1", "0.05", "-q").status == 0
    expected = [line.split()[-1] for line in SENTENCE.splitlines() if line]
    for name in ("words.txt", "train.txt"):
        done = program("label", "-m", "m", name)
        assert (done.status, done.err) == (0, "")
        assert [line.split()[-1] for line in done.out.splitlines() if line][: len(expected)] == expected
    done = program("label", "-m", "m", "text.txt", "--format", "text")
    assert [span["label"] for span in json.loads(done.out)["spans"]] == ["PER", "LOC"]
    assert json.loads(program("eval", "train.txt", "-m", "m", "--json").out)["f1"] == 100
    assert program("eval", "words.txt", "-m", "m").status == 1  # no gold labels
    program("train", "train.txt", "-m", "all", "--features", "columns", "--rho1", "0.05", "-q")
    assert "expected 2 columns of observations" in program("label", "-m", "all", "words.txt").err


def test_the_other_tokenizer_is_a_warning_with_a_count(addresses):
    done = addresses("label", "-m", "m", "new.jsonl", "--tokenizer", "words")
    assert done.status == 0
    assert fields(done.out) != WHOLE
    assert done.err == (
        "sparsecrf: warning: new.jsonl: 20 of 50 training tokens look like 'Ave,', which the words tokenizer splits; "
        "expect more errors than on the tokens of the training data; --tokenizer blanks suits this model\n"
    )
    assert addresses("label", "-m", "m", "new.jsonl", "--tokenizer", "words", "-q").err == ""
    tokens = json.dumps({"tokens": ["34", "Main", "Ave,"]}) + "\n"  # nothing to cut
    assert addresses("label", "-m", "m", "--format", "jsonl", "--tokenizer", "words", stdin=tokens.encode()).err == ""


def test_punctuation_that_stands_alone_means_words(program):
    program.write(train_txt=SENTENCE * 10, new_txt="Ada saw the U.N., not Oslo.\n\n")
    program("train", "train.txt", "-m", "m", "--features", "words", "--rho1", "0.05", "-q")
    assert Model.load("m").training["tokenizer"]["name"] == "words"
    ask = ["label", "-m", "m", "new.txt", "--format", "text"]
    done = program(*ask)
    lines = done.out.splitlines()
    assert ("Oslo", "LOC") in fields(lines[0])
    assert json.loads(lines[1]) == {"text": "", "spans": []}  # a line for each line
    assert "10 of 80 training tokens look like 'U.N.', which the words tokenizer splits" in done.err
    assert done.err.endswith("; if the text is already tokenized, use --format tokens\n")
    done = program(*ask, "--tokenizer", "blanks")
    assert "20 of 80 training tokens look like ',', which the blanks tokenizer leaves attached" in done.err
    assert "--tokenizer words suits this model" in done.err


def test_tokens_that_words_makes_need_no_record(program):
    program.write(train_txt="Ada B-PER\nran O\n. O\n\n" * 5, new_txt="Ada ran.\n")
    program("train", "train.txt", "-m", "m", "--features", "words", "-q")
    assert "tokenizer" not in Model.load("m").training
    assert program("label", "-m", "m", "new.txt", "--format", "text").err == ""


def test_every_way_to_train_keeps_the_tokenizer(addresses):
    expected = Model.load("m").training["tokenizer"]
    options = ["--features", "words", "--rho1", "0.05", "-q"]
    for _ in range(2):  # made, and used again
        addresses("train", "train.txt", "-m", "c", "--cache", "folder", *options)
        assert Model.load("c").training["tokenizer"] == expected
    rows = [line.split() for line in ADDRESS.splitlines() if line]
    words, labels = ([row[k] for row in rows] for k in (0, 1))
    found = CRF(features="words").fit([words] * 10, [labels] * 10)
    assert found.model_.training["tokenizer"] == expected
    token_line = " ".join(f"{word}/{label}" for word, label in rows) + "\n"
    tokens = json.dumps({"tokens": words, "labels": labels}) + "\n"
    for name, text in {"tokens": token_line, "jsonl": tokens}.items():
        addresses.write(other_txt=text * 10)
        addresses("train", "other.txt", "--format", name, "-m", "o", *options)
        assert Model.load("o").training["tokenizer"] == expected
    addresses.write(pairs_txt=ADDRESS.replace(" ", " X "))  # running text has no second column
    addresses("train", "pairs.txt", "-m", "p", "--features", "columns", "-q")
    assert "tokenizer" not in Model.load("p").training


def test_evaluation_cuts_text_the_same_way(addresses):
    spans = [[0, 2, "number"], [3, 12, "street"], [13, 25, "city"], [26, 28, "state"]]
    addresses.write(gold_jsonl=json.dumps({"text": TEXT, "spans": spans}) + "\n")
    done = addresses("eval", "gold.jsonl", "-m", "m", "--json")
    assert json.loads(done.out)["tokens"] == 5


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("12 Main Ave, Springfield, IL", "blanks"),
        ("192.168.0.1 GET /index.html 200", "blanks"),  # no mark is a token of its own
        ("the U.N. said , and so on .", "words"),
        ("plain words only", "words"),
        ("", "words"),
    ],
)
def test_which_tokenizer(tokens, expected):
    survey = TokenSurvey()
    survey.add(tokens.split())
    assert survey.tokenizer == expected
    assert tokenizer_of(survey.record) == expected
    cut = TOKENIZERS[expected](tokens)
    if expected == "blanks":
        assert [tokens[a:b] for a, b in cut] == tokens.split()


@pytest.mark.parametrize("record", [None, 3, {}, {"name": "other", "split": "many", "tokens": None, "example": 2}])
def test_records_of_other_programs(record):
    training = {"tokenizer": record}
    assert tokenizer_of(training) == "words"
    assert mismatch(training, "words") is None
    assert mismatch(training, "blanks") is None


def test_wrong_usage(addresses):
    done = addresses("label", "-m", "m", "train.txt", "--tokenizer", "blanks")
    assert (done.status, "--tokenizer: expected running text" in done.err) == (2, True)
    done = addresses("label", "-m", "m", "new.jsonl", "--tokenizer", "letters")
    assert (done.status, "expected one of words, blanks" in done.err) == (2, True)
    done = addresses("train", "new.txt", "--format", "text", "-m", "x")
    assert (done.status, "expected labelled data, found plain text" in done.err) == (1, True)
    done = addresses("convert", "train.txt", "x.txt", "--from", "columns", "--to", "text")
    assert (done.status, "plain text cannot contain labels" in done.err) == (1, True)
