"""Options that do not go together: status 2, and a message that names them as typed and says what to use instead."""

import pytest

DATA = "a B-X\nb I-X\nc O\n\na B-Y\nc O\n\n"
SOLVERS = "auto, owlqn, lbfgs, fista or sgd-l1"

#: What is typed after `train d.txt -m m`, and the message.
TRAIN = [
    ("--order 3 --solver cd", f"--order 3 is not supported by --solver cd; use {SOLVERS}, or --order 2"),
    ("--order none --solver sgd", f"--order none is not supported by --solver sgd; use {SOLVERS}, or --order 2"),
    (
        "--order 3 --rho1 0",
        "--order 3 cannot be combined with --rho1 0: then every label n-gram would have a weight; use --rho1 above 0",
    ),
    ("--label-parts bio --solver cd", f"--label-parts bio is not supported by --solver cd; use {SOLVERS}"),
    ("--penalty tree --solver cd", "--penalty tree is not supported by --solver cd; use auto or fista, or --penalty "),
    (
        "--penalty group:attribute --solver owlqn",
        "--penalty group:attribute is not supported by --solver owlqn; use auto",
    ),
    (
        "--penalty tree --rho1 0",
        "--penalty tree cannot be combined with --rho1 0: rho1 also scales the norms of the groups; use",
    ),
    (
        "--penalty tree --order 3 --order-factor 2",
        "--penalty tree cannot be combined with --order-factor 2; use --order-factor 1",
    ),
    ("--class-pairs", "--class-pairs needs --label-parts: the first part of a label determines its class"),
    ("--class-pairs --label-parts bio --order 3", "--class-pairs cannot be combined with --order 3; use --order 2"),
    (
        "--class-pairs --label-parts bio --dask local:1",
        "--class-pairs cannot be combined with --dask local:1; leave out --dask",
    ),
    (
        "--solver sgd",
        "--rho1 0.05 is not supported by --solver sgd; use auto, dual, sbcd, cd, owlqn, lbfgs, fista or sgd-l1, or",
    ),
    ("--cache F --solver sbcd", "--cache F is not supported by --solver sbcd; use auto, owlqn, lbfgs or fista"),
    ("--dask local:1 --solver cd", "--dask local:1 is not supported by --solver cd; use auto, owlqn, lbfgs or fista"),
    (
        "--cache F --dask local:1",
        "--cache F cannot be combined with --dask local:1: its workers keep the data; leave out --dask",
    ),
    (
        "--min-count 2 --cache F",
        "--min-count 2 cannot be combined with --cache F: attributes are counted in memory; leave out",
    ),
    (
        "--min-count 2 --dask local:1",
        "--min-count 2 cannot be combined with --dask local:1: attributes are counted in memory",
    ),
    ("--vectors v.txt --dask local:1", "--vectors v.txt cannot be combined with --dask local:1"),
    ("--shard-tokens 5", "--shard-tokens 5 needs --cache"),
    ("--cache-memory 5", "--cache-memory 5 needs --cache"),
    ("--vectors d.txt --cache F", "--vectors d.txt cannot be combined with --cache F; leave out --cache"),
    ("--vectors d.txt --solver cd", "--vectors d.txt is not supported by --solver cd; use auto, owlqn, lbfgs or fista"),
    (
        "--vectors d.txt --label-parts bio",
        "--label-parts bio cannot be combined with --vectors d.txt: these condition whole",
    ),
    ("--resume", "--resume needs --checkpoint"),
    ("--patience 3", "--patience 3 needs --dev"),
    ("--order-factor 2", "--order-factor 2 needs --order above 2"),
    ("--group-weight 2", "--group-weight 2 needs --penalty group:attribute, group:line, group:label or tree"),
    ("--checkpoint m", "--checkpoint m is also the file of --model; give each output its own file"),
    ("--log m", "--log m is also the file of --model; give each output its own file"),
    ("--checkpoint c --log ./c", "--log ./c is also the file of --checkpoint; give each output its own file"),
    ("--solver nosuch", "--solver: expected one of auto, proximal, dual, sbcd, cd"),
    ("--penalty lasso", "--penalty: expected one of elastic-net, group:attribute"),
    ("--label-parts a", "--label-parts: expected a separator such as '|'"),
    ("--rho1 nan", "expected a number of at least 0, small or auto,"),
    ("--recipe bytes=yes", "--recipe bytes: expected true or false, found 'yes'"),
    ("--recipe vectors_window=1.5", "--recipe vectors_window: expected an integer from 0 to 10, found '1.5'"),
    ("--recipe vectors_window=11", "--recipe vectors_window: expected an integer from 0 to 10, found '11'"),
]
#: After `path d.txt -o p`.
PATH = [
    ("--order 3 --solver sbcd", f"--order 3 is not supported by --solver sbcd; use {SOLVERS}, or --order 2"),
    ("--penalty tree --solver lbfgs", "--penalty tree is not supported by --solver lbfgs; use auto or fista"),
    ("--class-pairs", "--class-pairs needs --label-parts"),
    ("--group-weight 2", "--group-weight 2 needs --penalty"),
    ("--patience 3", "--patience 3 needs --dev"),
    ("--rho2 search", "--rho2 search needs --dev: pairs of penalties are compared by their scores"),
    (
        "--rho2 search --dev d.txt --n-rho 3",
        "--rho2 search cannot be combined with --n-rho 3: the search also chooses rho1",
    ),
]


@pytest.fixture
def files(program):
    program.write(d_txt=DATA)
    return program


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "message"), TRAIN)
def test_train(files, typed, message):
    done = files("train", "d.txt", "-m", "m", *typed.split())
    assert message in done.err
    assert (done.status, done.out) == (2, "")
    assert files.files() == ["d.txt"]


@pytest.mark.parametrize(("typed", "message"), PATH)
def test_path(files, typed, message):
    done = files("path", "d.txt", "-o", "p", *typed.split())
    assert message in done.err
    assert (done.status, done.out) == (2, "")
    assert files.files() == ["d.txt"]


@pytest.mark.parametrize("typed", ["--order-factor 0.5", "--order 1", "--group-weight -1", "--max-iter 0"])
def test_out_of_range(files, typed):
    done = files("train", "d.txt", "-m", "m", *typed.split())
    assert f"Invalid value for '{typed.split()[0]}'" in done.err
    assert done.status == 2


def test_what_goes_together_is_accepted(files):
    assert files("train", "d.txt", "-m", "m", "--order", "3", "--order-factor", "2", "--solver", "fista").status == 0
    assert files("train", "d.txt", "-m", "m", "--penalty", "tree", "--group-weight", "2").status == 0
    assert files("train", "d.txt", "-m", "m", "--log", "/dev/null", "--checkpoint", "c").status == 0


#: What is typed, and the message.
REWORDED = [
    ("train d.txt --rho2 -1", "'--rho2': expected a number of at least 0, found '-1'"),
    ("train d.txt --rho2 search", "expected a number of at least 0, found 'search'; search is for `sparsecrf path`"),
    ("train d.txt --tol abc", "'--tol': expected a number of at least 0, found 'abc'"),
    ("train d.txt --max-iter 0", "'--max-iter': expected an integer of at least 1, found '0'"),
    ("path d.txt -o p --rho-min-ratio 2", "'--rho-min-ratio': expected a number from 0 to 1, found '2'"),
    ("label d.txt -m m --nbest 0", "'--nbest': expected an integer from 1 to 10000, found '0'"),
    ("show m --format xml", "'--format': expected one of text, tsv, json, found 'xml'"),
    ("eval d.txt --scheme bio", "grobid, runs, none, found 'bio'; here, BIO is called iob2, and BILOU"),
    (
        "label d.txt -m m --scheme bilou",
        "found 'bilou'; here, BIO is called iob2, and BILOU and BIOES are called iobes",
    ),
    ("predict d.txt -m m", "No such command 'predict'. Did you mean 'label'?"),
    ("tag", "No such command 'tag'. Did you mean 'label'?"),
    ("test", "No such command 'test'. Did you mean 'eval'?"),
    ("evaluate", "No such command 'evaluate'. Did you mean 'eval'?"),
    ("score", "No such command 'score'. Did you mean 'eval'?"),
    ("fit", "No such command 'fit'. Did you mean 'train'?"),
    ("trian", "No such command 'trian'. Did you mean 'train'?"),
    ("data test", "No such command 'test'. \u2502"),
    (
        "convert d.txt x --from csv --to columns",
        "--from: expected columns, crfsuite, conllu, jsonl, tokens, documents, simpletagger, text, wapiti, crf++, "
        "sparsecrf, found 'csv' \u2502",
    ),
    ("convert d.txt x --from wapiti --to crfpp", "crfsuite-binary, wapiti, crf++, found 'crfpp' \u2502"),
    (
        "convert d.txt x --from columns --to sparsecrf",
        "expected two different formats of data, or, for models, crfsuite to sparsecrf, wapiti to sparsecrf,",
    ),
    ("label d.txt -m m --features words", "--features; the model contains its features; omit --features \u2502"),
    ("eval d.txt -m m -t d.txt", "No such option: -t; the model contains its features; omit -t"),
    ("train d.txt --fetures words", "No such option: --fetures (Possible options: --features"),
    ("label m d.txt", "The model goes after -m, as in `sparsecrf label -m MODEL FILE`."),
    ("eval m d.txt", "(d.txt); the model goes after -m"),
    ("report m d.txt -o p.html", "(d.txt); the data go after --data"),
    ("eval d.txt d.txt -m m", "argument(s) (d.txt) \u2502"),
]


@pytest.mark.parametrize(("typed", "message"), REWORDED)
def test_what_to_type_instead(files, typed, message):
    done = files(*typed.split())
    assert message in " ".join(done.err.replace("\u2502\n\u2502", "").split())
    assert (done.status, done.out) == (2, "")
    assert files.files() == ["d.txt"]
