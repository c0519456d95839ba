"""Models of other tools where a model is asked for: `show`, `report`; and `Tagger`, which reads names
with the first question only."""

import pycrfsuite
import pytest
from foreign_model_files import CRFPP, WAPITI

from sparsecrf import InputError, Model
from sparsecrf.contrib.compat import Tagger
from sparsecrf.contrib.convert.foreign import READERS, open_model


@pytest.fixture
def trained(tmp_path):
    """A model with about 20,000 attributes."""
    trainer = pycrfsuite.Trainer(params={"c2": 1.0, "max_iterations": 3}, verbose=False)
    for k in range(1000):
        x = [[f"word={k}-{t}", f"shape={(k + t) % 50}", "é"] for t in range(20)]
        trainer.append(x, ["ABC"[(k + t) % 3] for t in range(20)])
    trainer.train(str(tmp_path / "model.crfsuite"))
    return tmp_path / "model.crfsuite"


@pytest.mark.slow
def test_show_and_report(trained, program):
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(trained)):
        tagger.dump(str(trained.with_suffix(".dump")))
    for path in (trained, trained.with_suffix(".dump")):
        shown = program("show", str(path), "--label", "B", "--top", "3")
        assert shown.status == 0, shown.err
        assert "Label B" in shown.out
        assert "imported_from" in program("show", str(path)).out
        done = program("report", str(path), "-o", f"{path}.html", "--max-weights", "50")
        assert done.status == 0, done.err
        assert "imported from crfsuite" in path.with_name(f"{path.name}.html").read_text(encoding="utf-8")


def test_show_of_wapiti_and_crfpp(program):
    program.write(wapiti_mdl=WAPITI, crfpp_txt=CRFPP)
    for name, tool in (("wapiti.mdl", "wapiti"), ("crfpp.txt", "crf++")):
        expected = READERS[tool](name).to_bytes()
        assert open_model(name).to_bytes() == expected
        assert program("show", name).status == 0


def test_our_own_models(tmp_path):
    model = Model.from_weights(["A"], {("x", "A"): 1.0})
    model.save(tmp_path / "model")
    assert open_model(tmp_path / "model").to_bytes() == model.to_bytes()
    (tmp_path / "bad").write_text("nothing of the kind")
    with pytest.raises(InputError, match="bad: expected"):
        open_model(tmp_path / "bad")


def test_damage_is_found_by_who_reads_it(trained, tmp_path):
    """Opening reads no name, and a sequence needs its own only: that is why it is fast (benchmarks/compat)."""
    content = bytearray(trained.read_bytes())
    content[content.index(b"word=7-7\0")] = 0xFF
    (tmp_path / "damaged").write_bytes(content)
    tagger = Tagger()
    tagger.open(tmp_path / "damaged")
    assert tagger.labels() == ["A", "B", "C"]
    assert len(tagger.tag([["é"]])) == 1
    with pytest.raises(InputError, match=r"damaged: attributes: string \d+: expected UTF-8, found byte 0xFF"):
        tagger.info()
    (tmp_path / "damaged").write_bytes(content[:-1])
    with pytest.raises(InputError, match="damaged: expected a CRFsuite model"):
        tagger.open(tmp_path / "damaged")
    tagger.close()
    with pytest.raises(InputError, match="expected an open model"):
        tagger.labels()
    with tagger.open(trained):
        assert tagger.labels() == ["A", "B", "C"]
