"""What a notebook shows of objects and of progress. IPython is a fake: what it is asked is all that counts."""

import sys
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest

from sparsecrf import CRF, Model, Template, Vocabulary, fit
from sparsecrf.path import PathWarning, cross_validate, path
from sparsecrf.progress import in_notebook, progress


@pytest.fixture
def notebook(monkeypatch):
    """The outputs of a cell: each a list of the texts that it has shown."""
    outputs = []

    def display(content, *, raw, display_id):
        assert (raw, display_id) == (True, True)
        outputs.append([content["text/plain"]])
        return SimpleNamespace(update=lambda content, raw: outputs[-1].append(content["text/plain"]))

    modules = {name: ModuleType(name) for name in ("ipykernel", "IPython", "IPython.display")}
    modules["IPython"].get_ipython = lambda: SimpleNamespace(kernel=None)
    modules["IPython.display"].display = display
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return outputs


X, Y = [["a", "b"], ["b"]] * 3, [["A", "B"], ["B"]] * 3


def test_progress_changes_one_line_and_nothing_is_red(notebook, monkeypatch, capsys):
    monkeypatch.setattr("sparsecrf.progress._Line._every_s", 0.0)
    CRF(verbose=1, rho1=0.01).fit(X, Y)
    assert len(notebook) == 1
    assert len(notebook[0]) > 2
    assert notebook[0][-1].startswith("training  iteration ")
    assert capsys.readouterr().err == ""


def test_lines_are_not_red(notebook, capsys):
    CRF(verbose=2, rho1=0.01).fit(X, Y)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith("iteration 0 ")


def test_shares_of_what_is_known(notebook):
    with progress("reading", 4.0) as advance:
        advance(1.0)
        advance(2.0)
    assert notebook[-1][-1] == "reading   75 %"


def test_elsewhere_there_is_no_notebook(monkeypatch):
    """Not without the kernel, nor in a terminal of IPython that a program of Jupyter has loaded it in."""
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    module = ModuleType("IPython")
    module.get_ipython = lambda: None
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert not in_notebook()


def texts(page):
    return [cell.text for cell in ElementTree.fromstring(page).iter("td")]


def test_a_model_in_a_notebook():
    model = CRF(rho1=0.01, template=Template("U:%x[0,0]\nB\n")).fit([[["a"], ["b"]]], [["<A>", "B"]]).model_
    cells = texts(model._repr_html_())
    assert cells[:2] == ["2 labels", "<A>, B"]
    assert cells[cells.index("weights") + 1] == str(model.n_active)
    assert cells[cells.index("lines of the template") + 1] == "2"
    assert cells[cells.index("rho1") + 1] == "0.01"
    many = Model.from_weights([f"L{k}" for k in range(50)], {("a", "L0"): 1.0})
    assert texts(many._repr_html_())[1].endswith("L19, ...")


def test_a_path_in_a_notebook():
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([*X, ["a", "a"]], [*Y, ["A", "B"]], grow=True)
    with pytest.warns(PathWarning):
        scored = path(corpus, rho1=[1.0, 0.3, 0.1], dev=corpus, max_iter=1)
    cells = texts(scored._repr_html_())
    assert cells[:2] == ["1", f"{len(scored[0].w)}"]
    assert len(cells) == 3 * 5
    assert cells[4::5].index("best") == scored.best
    assert cells[3 + 5 * scored.best] == f"{scored.scores[scored.best]:.2f}"
    assert "stopped at a limit" in scored._repr_html_()
    assert len(texts(path(corpus, rho1=[1.0, 0.3])._repr_html_())) == 2 * 3  # no scores
    with pytest.warns(PathWarning):
        folds = cross_validate(corpus, rho1=[1.0, 0.1], folds=2)
    assert "±" in texts(folds._repr_html_())[3]
    assert "one standard error" in folds._repr_html_()


def test_a_fit_in_a_notebook():
    vocabulary = Vocabulary()
    found = fit(vocabulary.encode(X, Y, grow=True), rho1=0.01)
    cells = texts(found._repr_html_())
    assert cells[cells.index("weights") + 1] == f"{len(found.w)} of {found.n_features}"
    assert "of the optimum (certified)" in cells[cells.index("training objective") + 1]
    missing = fit(vocabulary.encode(X, [["A", None], ["B"]] * 3), rho1=0.01)
    assert "no certified bound" in missing._repr_html_()
