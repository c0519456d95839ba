"""The component of spaCy: trained from docs, spans with confidence, saved with the pipeline, batches."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

spacy = pytest.importorskip("spacy", reason="the component needs the extra `spacy`")

from spacy.tokens import Doc, Span  # noqa: E402
from spacy.training import Example  # noqa: E402

import sparsecrf.contrib.spacy  # noqa: E402
from sparsecrf import CRF, InputError, Model  # noqa: E402

SENTENCES = [
    "Ada went to Oslo",
    "the cat saw Grace in Lima",
    "Alan said hello",
    "a cat in New Kyoto",
    "Emmy saw the cat",
]
LABELS = ["B-PER O O B-LOC", "O O O B-PER O B-LOC", "B-PER O O", "O O O B-LOC I-LOC", "B-PER O O O"]
CONFIG = {"rho1": 0.05}


def gold_doc(nlp, sentence, labels):
    words = sentence.split()
    return Doc(nlp.vocab, words=words, ents=labels.split())


def gold_docs(nlp):
    return [gold_doc(nlp, *item) for item in zip(SENTENCES, LABELS, strict=True)]


@pytest.fixture(scope="module")
def trained():
    nlp = spacy.blank("en")
    nlp.add_pipe("sparsecrf", config=CONFIG).fit(gold_docs(nlp))
    return nlp


def entities(doc):
    return [(entity.text, entity.label_) for entity in doc.ents]


def test_the_model_is_that_of_the_estimator(trained):
    expected = CRF(features="words", **CONFIG).fit([s.split() for s in SENTENCES], [y.split() for y in LABELS])
    model = trained.get_pipe("sparsecrf").model
    assert model.w.tolist() == expected.model_.w.tolist()
    assert trained.get_pipe("sparsecrf").labels == ("LOC", "PER")


def test_entities_with_confidence(trained):
    doc = trained("Kurt went to Accra")
    assert entities(doc) == [("Kurt", "PER"), ("Accra", "LOC")]
    group = doc.spans["sparsecrf"]
    assert [span.text for span in group] == ["Kurt", "Accra"]
    spans = trained.get_pipe("sparsecrf").model.spans(["Kurt", "went", "to", "Accra"])
    assert group.attrs["scores"].tolist() == np.array([s.probability for s in spans], dtype=np.float32).tolist()
    assert [token.ent_iob_ for token in doc] == ["B", "O", "O", "B"]
    assert entities(trained("")) == []


def test_batches_give_the_same(trained):
    texts = [*SENTENCES, "", "Kurt went to Accra"] * 5
    one_by_one = [entities(trained(text)) for text in texts]
    assert [entities(doc) for doc in trained.pipe(texts, batch_size=4)] == one_by_one


def test_other_mentions_in_a_doc():
    """Only another sentence of the doc says what a name is."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    component = nlp.add_pipe("sparsecrf", config={"features": "documents", "rho1": 0.1, "rho2": 0.1})
    docs = []
    for kind, before in (("PER", "Mr"), ("LOC", "near")) * 8:
        name = f"{'BDFGHKLM'[len(docs) // 2]}{('al', 'en')[len(docs) % 2]}"
        words = f"{before} {name} rose . then {name} fell .".split()
        labels = ["O", f"B-{kind}", "O", "O", "O", f"B-{kind}", "O", "O"]
        docs.append(Doc(nlp.vocab, words=words, ents=labels, sent_starts=[True, *[False] * 3] * 2))
    component.fit(docs)
    assert entities(nlp("then Rum fell . Mr Rum rose .")) == [("Rum", "PER"), ("Rum", "PER")]
    assert entities(nlp("then Rum fell . near Rum rose .")) == [("Rum", "LOC"), ("Rum", "LOC")]
    again = spacy.blank("en")
    again.add_pipe("sentencizer")
    again.add_pipe("sparsecrf", config={"features": "documents"}).from_bytes(component.to_bytes())
    assert entities(again("then Rum fell . Mr Rum rose .")) == [("Rum", "PER"), ("Rum", "PER")]


def test_sentences_are_sequences(trained):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    component = nlp.add_pipe("sparsecrf", config=CONFIG)
    component.model = trained.get_pipe("sparsecrf").model
    doc = nlp("Kurt went to Accra . Rosa saw Lima .")
    (first, second) = doc.sents
    apart = [trained(sentence.text) for sentence in (first, second)]
    assert entities(doc) == [pair for part in apart for pair in entities(part)]
    scores = np.concatenate([part.spans["sparsecrf"].attrs["scores"] for part in apart])
    assert np.allclose(doc.spans["sparsecrf"].attrs["scores"], scores, rtol=0, atol=1e-7)


def test_saved_with_the_pipeline(trained, tmp_path):
    text = "Kurt went to Accra"
    trained.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert entities(again(text)) == entities(trained(text))
    assert again.get_pipe("sparsecrf").training["rho1"] == CONFIG["rho1"]
    assert Model.load(tmp_path / "pipeline" / "sparsecrf" / "model.safetensors").label(text.split())[0] == "B-PER"
    copied = spacy.blank("en")
    copied.add_pipe("sparsecrf")
    copied.from_bytes(trained.to_bytes())
    assert entities(copied(text)) == entities(trained(text))
    empty = spacy.blank("en")
    empty.add_pipe("sparsecrf")
    empty.to_disk(tmp_path / "empty")
    with pytest.raises(ValueError, match="sparsecrf: expected a trained component"):
        spacy.load(tmp_path / "empty")(text)


def test_trained_by_initialize(trained):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("sparsecrf", config=CONFIG)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in gold_docs(nlp)]
    nlp.initialize(lambda: examples)
    assert component.model.w.tolist() == trained.get_pipe("sparsecrf").model.w.tolist()
    assert nlp.evaluate(examples)["ents_f"] == 1.0
    bare = spacy.blank("en")
    bare.add_pipe("sparsecrf")
    bare.initialize()  # spaCy's own example, without labels
    assert bare.get_pipe("sparsecrf").model is None


def test_tags():
    nlp = spacy.blank("en")
    component = nlp.add_pipe("sparsecrf", config={**CONFIG, "target": "tag", "features": "tagging"})
    sentences = [("the cat sleeps", "DT NN VBZ"), ("a dog barks", "DT NN VBZ"), ("dogs bark", "NNS VBP")]
    docs = [Doc(nlp.vocab, words=words.split(), tags=tags.split()) for words, tags in sentences]
    component.fit(docs)
    assert component.labels == ("DT", "NN", "NNS", "VBP", "VBZ")
    assert [token.tag_ for token in nlp("the dog sleeps")] == ["DT", "NN", "VBZ"]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    assert nlp.evaluate(examples)["tag_acc"] == 1.0


def test_columns_of_tokens():
    nlp = spacy.blank("en")
    config = {**CONFIG, "columns": ["text", "shape_"], "features": None, "template": "U0:%x[0,0]\nU1:%x[0,1]\nB\n"}
    component = nlp.add_pipe("sparsecrf", config=config)
    component.fit(gold_docs(nlp))
    assert component.model.vocabulary.attributes.find("U1:Xxx") is not None
    assert entities(nlp("Kurt went to Rome"))[0] == ("Kurt", "PER")


def test_entities_that_are_there(trained):
    component = trained.get_pipe("sparsecrf")
    doc = trained.make_doc("Kurt went to New Accra")
    doc.set_ents([Span(doc, 3, 5, label="GPE")])
    kept = doc.copy()
    component(doc)
    assert ("New Accra", "GPE") not in entities(doc)
    component.overwrite = False
    try:
        component(kept)
    finally:
        component.overwrite = True
    assert entities(kept) == [("Kurt", "PER"), ("New Accra", "GPE")]


def test_tokens_without_annotation():
    nlp = spacy.blank("en")
    docs = gold_docs(nlp)
    partly = Doc(nlp.vocab, words=["Ada", "saw"])
    partly.set_ents([Span(partly, 0, 1, label="PER")], default="missing")
    component = nlp.add_pipe("sparsecrf", config=CONFIG)
    component.fit([*docs, partly, Doc(nlp.vocab, words=["nothing"])])
    X, y = [s.split() for s in SENTENCES] + [["Ada", "saw"]], [s.split() for s in LABELS] + [["B-PER", None]]
    expected = CRF(features="words", **CONFIG).fit(X, y)
    assert component.model.w.tolist() == expected.model_.w.tolist()
    with pytest.raises(InputError, match="docs: expected docs with entities, found none"):
        component.fit([Doc(nlp.vocab, words=["nothing"])])


def test_spacy_finds_the_component():
    """Without an import of sparsecrf.contrib.spacy: by the entry point of the package."""
    tomllib = pytest.importorskip("tomllib", reason="of Python 3.11 and later")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["entry-points"]["spacy_factories"]["sparsecrf"].partition(":")
    assert getattr(import_module(module), name) is sparsecrf.contrib.spacy.make_component
    program = "import spacy; spacy.blank('en').add_pipe('sparsecrf')"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_wrong_target():
    with pytest.raises(InputError, match="target: expected one of ents, tag, pos, found 'dep'"):
        spacy.blank("en").add_pipe("sparsecrf", config={"target": "dep"})


def test_fields_come_out_whole():
    """A model whose labels do not encode chunks: runs of equal labels are entities, O is none."""
    nlp = spacy.blank("en")
    component = nlp.add_pipe("sparsecrf")
    sentences = [["to", "100", "Martin", "King"], ["100", "Luther", "King", "to"]] * 5
    labels = [["O", "number", "street", "street"], ["number", "street", "street", "O"]] * 5
    component.model = CRF(features="words", rho1=0.05).fit(sentences, labels).model_
    assert component.labels == ("number", "street")
    assert entities(nlp("100 Martin King to")) == [("100", "number"), ("Martin King", "street")]


def test_a_model_of_label_sets(tmp_path):
    """Annotation of spaCy has no sets; a model that was trained on some labels docs as it labels lists of words."""
    y = [line.split() for line in LABELS]
    y[0][0], y[1][3] = {"B-PER", "B-LOC"}, {"B-PER", "O"}
    crf = CRF(features="words", **CONFIG).fit([s.split() for s in SENTENCES], y)
    nlp = spacy.blank("en")
    component = nlp.add_pipe("sparsecrf")
    component.from_bytes(crf.model_.to_bytes())
    for sentence in SENTENCES:
        labels = crf.predict([sentence.split()])[0]
        assert entities(nlp(sentence)) == entities(gold_doc(nlp, sentence, " ".join(labels)))
