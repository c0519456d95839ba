"""What newcomers did by mistake, and what went on without a word."""

import pytest

from sparsecrf import CRF, InputError, Model, Template

TAGS = "the D\ndog N\nbarks V\n\ndogs N\nbark V\n\n"


def test_label_does_not_write_over_its_input(program):
    program.write(train_txt=TAGS * 5)
    assert program("train", "train.txt", "-m", "m").status == 0
    before = (program.directory / "train.txt").read_bytes()
    done = program("label", "-m", "m", "train.txt", "-o", "train.txt")
    assert done.status == 1
    assert "train.txt: this file is also an input; write to another file" in done.err
    assert (program.directory / "train.txt").read_bytes() == before
    assert program("label", "-m", "m", "train.txt", "-o", "other.txt").status == 0


def test_labels_of_dev_data_that_training_data_do_not_have_are_named(program):
    program.write(train_txt=TAGS * 5, dev_txt=TAGS.replace("V", "VERB"), other_txt="dog NOUN\n\n")
    done = program("train", "train.txt", "-m", "m", "--dev", "dev.txt")
    assert done.status == 0
    expected = "dev.txt: 2 of 5 tokens have labels that do not occur in the training data and count as wrong: 'VERB'"
    assert expected in done.err
    assert "do not occur" not in program("train", "train.txt", "-m", "m", "--dev", "train.txt").err
    done = program("train", "train.txt", "-m", "m", "--dev", "other.txt")
    assert done.status == 1
    assert "other.txt: expected labels of the training data ('D', 'N', 'V', ...), found only 'NOUN'" in done.err


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("a O\nb O\n\n", "all labels are 'O', so there is nothing to learn"),
        (TAGS.replace("\n\n", "\n") * 101 + "\n", "one sequence of 505 tokens; separate sequences with blank lines"),
        (TAGS.replace("\n", "\n\n") * 5, "every sequence has one token"),
        (
            "".join(f"NOUN word{k}\n" for k in range(40)) + "\n",
            "40 labels for 40 tokens: is the last column the label?",
        ),
    ],
)
def test_data_that_are_hardly_meant(program, text, remark):
    program.write(train_txt=text, good_txt=TAGS * 5)
    done = program("train", "train.txt", "-m", "m", "--max-iter", "2")
    assert done.status == 0
    assert remark in done.err
    assert "warning" not in program("train", "good.txt", "-m", "m").err


@pytest.mark.slow
@pytest.mark.parametrize("header", ["Token\tLabel", "word pos NER", "id form upos"])
def test_a_header_is_told(program, header):
    text = TAGS.replace(" ", "\t") if "\t" in header else TAGS if header.count(" ") == 1 else TAGS.replace(" ", " x ")
    program.write(train_txt=f"{header}\n\n{text * 5}", more_txt=f"\n{header}\n{text}")
    done = program("train", "train.txt", "-m", "m")
    label = header.split()[-1]
    assert done.status == 0
    assert f"train.txt: the first line, {' '.join(header.split())!r}, looks like column names" in done.err
    assert f"the line was read as a token with the label {label!r}" in done.err
    both = program("train", "train.txt", "more.txt", "-m", "m").err
    assert "warning: train.txt: the first line" in both
    assert "warning: more.txt: the first line" in both
    assert "looks like column names" in program("train", "train.txt", "-m", "m", "--cache", "folder").err


def test_a_header_of_what_is_labelled_is_told(program):
    program.write(train_txt=TAGS * 5, new_txt="word\tlabel\nthe\tD\ndog\tN\n\n", one_txt="word\nthe\ndog\n\n")
    assert program("train", "train.txt", "-m", "m").status == 0
    done = program("label", "-m", "m", "new.txt")
    assert done.status == 0
    assert "new.txt: the first line, 'word label', looks like column names" in done.err
    assert "looks like column names" in program("label", "-m", "m", stdin=b"word label\nthe D\n\n").err
    assert program("label", "-m", "m", "new.txt", "-q").err == ""
    assert program("label", "-m", "m", "one.txt").err == ""  # a word may be "word"
    assert program("label", "-m", "m", "train.txt").err == ""


@pytest.mark.slow
def test_gold_labels_that_a_model_does_not_know_are_told(program):
    other = TAGS.replace(" D", " DET").replace(" V", " VERB")
    program.write(train_txt=TAGS * 5, other_txt=other, one_txt=TAGS.replace(" D", " DET"))
    assert program("train", "train.txt", "-m", "m").status == 0
    some = "one.txt: 1 of 5 tokens have gold labels that are not in the model and count as wrong: 'DET'\n"
    most = (
        "other.txt: 3 of 5 tokens have gold labels that are not in the model and count as wrong: 'VERB', 'DET'; "
        "was the model trained for this task?\n"
    )
    for file, remark in {"one.txt": some, "other.txt": most}.items():
        assert program("eval", file, "-m", "m").err.endswith(f"sparsecrf: warning: {remark}")
        assert f"sparsecrf: warning: {remark}" in program("report", "m", "--data", file, "-o", "page.html").err
    assert "warning" not in program("eval", "train.txt", "-m", "m").err
    assert "warning" not in program("report", "m", "--data", "train.txt", "-o", "page.html").err


@pytest.mark.parametrize(
    "text",
    [
        TAGS,
        "word tag\nof tag\n\n",  # labels with such a name, which other tokens also have
        "Word N\nis V\n\n",
        "good pos\nbad neg\n\n",  # of opinions, not parts of speech
        "text\n\n",
    ],
)
def test_other_first_lines_are_no_headers(program, text):
    program.write(train_txt=text * 5, one_crfsuite="label\tword\nD\tthe\n\n")
    assert "looks like column names" not in program("train", "train.txt", "-m", "m").err
    done = program("train", "one.crfsuite", "-m", "m")
    assert done.status == 0
    assert "looks like column names" not in done.err


def test_an_optimum_of_nothing_is_certified(program):
    program.write(train_txt="a O\nb O\n\n")
    assert "within 0 % of the optimum (certified)" in program("train", "train.txt", "-m", "m").err


CONLLU = "# text = the dog\n1\tthe\tthe\tD" + "\t_" * 6 + "\n2\tdog\tdog\tN" + "\t_" * 6 + "\n\n"
JSON = '{"tokens": ["the", "dog", "barks"], "labels": ["D", "N", "V"]}\n{"tokens": ["dogs"], "labels": ["N"]}\n'
FILES = {
    "conllu": CONLLU,
    "jsonl": JSON,
    "columns": TAGS,
    "crfsuite": "D\tw=the\nN\tw=dog\n\n",
    "tokens": "the/D dog/N\n",
}
TITLES = {"conllu": "CoNLL-U", "jsonl": "JSON-lines", "columns": "column", "crfsuite": "CRFsuite"}


@pytest.mark.parametrize("command", ["label", "eval"])
@pytest.mark.parametrize(
    ("trained", "given"),
    [
        ("columns", "conllu"),
        ("columns", "jsonl"),
        ("conllu", "columns"),
        ("conllu", "jsonl"),
        ("jsonl", "columns"),
        ("jsonl", "conllu"),
    ],
)
def test_a_file_of_another_format_is_told_with_what_to_do(program, command, trained, given):
    """Where its name says nothing of the format."""
    program.write(train_txt=FILES[trained] * 5, other_txt=FILES[given] * 5)
    assert program("train", "train.txt", "-m", "m", "--format", trained).status == 0
    done = program(command, "-m", "m", "other.txt")
    assert done.status == 1
    hint = f"this looks like a {TITLES[given]} file, but it was read as a {TITLES[trained]} file; use --format {given}"
    assert hint in done.err
    assert program(command, "-m", "m", "other.txt", "--format", given).status == 0


@pytest.mark.slow
def test_errors_in_a_file_of_the_right_format_have_no_hint(program):
    for name, bad in {
        "conllu": CONLLU.replace("2\tdog", "dog"),
        "jsonl": JSON.replace('["D"', '[["D"'),
        "columns": TAGS.replace("the D", "{ D").replace("dog", "dog x"),
        "crfsuite": FILES["crfsuite"].replace("\t", "\tw:abc\t", 1),
        "tokens": "the dog/N\n",
    }.items():
        program.write(train_txt=FILES[name] * 5, other_txt=bad)
        assert program("train", "train.txt", "-m", "m", "--format", name).status == 0
        done = program("eval", "-m", "m", "other.txt")
        assert done.status == 1
        assert "looks like" not in done.err


@pytest.mark.parametrize(("trained", "given"), [("crfsuite", "conllu"), ("crfsuite", "jsonl"), ("conllu", "crfsuite")])
def test_a_name_that_says_another_format_than_the_model_can_read(program, trained, given):
    """Such files were read as if they were like the training data: all labels were those of unknown words."""
    program.write(train_txt=FILES[trained] * 5, **{f"other_{given}": FILES[given], f"same_{given}": FILES[trained]})
    assert program("train", "train.txt", "-m", "m", "--format", trained).status == 0
    done = program("label", "-m", "m", f"other.{given}")
    assert done.status == 1
    assert f"other.{given}: expected a {TITLES[trained]} file, as in training, found" in done.err
    assert f"if it is a {TITLES[trained]} file, use --format {trained}" in done.err
    assert program("label", "-m", "m", f"same.{given}", "--format", trained).status == 0


def test_a_model_without_weights_is_told(program):
    program.write(train_txt=TAGS * 5)
    assert (
        "the model has no nonzero weights: --rho1 1000 is too large"
        in program("train", "train.txt", "-m", "m", "--rho1", "1000").err
    )


def test_text_is_no_sequence():
    words, labels = [["the", "dog"], ["dogs"]], [["D", "N"], ["N"]]
    model = CRF(rho1=0.1).fit(words, labels).model_
    with pytest.raises(InputError, match=r"expected a list of tokens, found text 'the dog'.*split"):
        model.label("the dog")


def test_from_model_learns_as_the_model_did(tmp_path):
    """The template, the start label and penalties are those of the file; what is given counts first."""
    words = [["the", "dog", "barks"], ["dogs", "bark"]] * 5
    labels = [["D", "N", "V"], ["N", "V"]] * 5
    crf = CRF(features="words", rho1=0.3, rho2=0.1, start=False).fit(words, labels)
    crf.model_.save(tmp_path / "m")
    again = CRF.from_model(tmp_path / "m")
    assert (again.rho1, again.rho2, again.start) == (0.3, 0.1, False)
    assert isinstance(again.template, Template)
    assert again.fit(words, labels).objective_ == crf.objective_
    assert CRF.from_model(tmp_path / "m", rho1=0.5).rho1 == 0.5
    bare = Model.from_weights(labels=["D", "N"], unigram={("the", "D"): 1.0})
    assert CRF.from_model(bare).rho1 == CRF().rho1


def test_from_model_has_one_template(tmp_path):
    """That of the model answered, whatever the other was."""
    crf = CRF(features="words").fit([["the", "dog"], ["dogs"]], [["D", "N"], ["N"]])
    crf.model_.save(tmp_path / "m")
    with pytest.raises(InputError, match=r"features: cannot be changed.*model.*template.*found 'tagging'"):
        CRF.from_model(tmp_path / "m", features="tagging")
    assert CRF.from_model(tmp_path / "m", features="tagging", template=None).features == "tagging"


@pytest.mark.parametrize("text", [TAGS * 50, "\na D\n", "Häuser N\r\n" * 50, "日本 N\n" * 50])
def test_text_is_no_model(tmp_path, text):
    (tmp_path / "train.txt").write_bytes(text.encode())
    first = text.split("\n")[text.startswith("\n")].strip()
    with pytest.raises(
        InputError, match=f"train.txt: expected a sparsecrf model, found text that begins with '{first}'"
    ):
        Model.load(tmp_path / "train.txt")


@pytest.mark.parametrize("command", ["train m -m other", "label -m m m", "eval m", "eval m -m m", "path m -o p"])
def test_a_model_is_no_data(program, command):
    program.write(train_txt=TAGS * 5)
    assert program("train", "train.txt", "-m", "m").status == 0
    done = program(*command.split())
    assert done.status == 1
    assert "m: expected text, found a sparsecrf model or another safetensors file" in done.err
    assert "run `sparsecrf label -m m FILE`; to print the model, `sparsecrf show m`" in done.err
    done = program("eval", "-", stdin=(program.directory / "m").read_bytes())
    assert "standard input: expected text, found a sparsecrf model" in done.err
    assert "run `sparsecrf label -m MODEL FILE`; to print the model, `sparsecrf show MODEL`" in done.err
