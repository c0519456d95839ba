"""Lexicons, clusters and word classes: look-ups of templates against the plain twin, models, the program, mistakes."""

import pickle
import random
import string

import pytest
from sklearn.base import clone

from reference import resources as twin
from sparsecrf import CRF, CRFCV, InputError, Model, Resource, Template
from sparsecrf.contrib.convert import wapiti
from sparsecrf.encoding.template_lines import lines_of

PLACES = [("New York", "LOC"), ("New York Times", "ORG"), ("York", "LOC"), ("Paris", "LOC"), ("Paris", "PER")]
PATHS = "0010\tOslo\t7\n0011\tRome\t4\n110100\tsings\t3\n1\tthe\t9\n"


def values(lines, words, *resources):
    """By line of a template: what it makes of every word."""
    made = Template("".join(f"U:{line}\n" for line in lines), resources=resources).attributes(words)
    return [[here[k][2:] for here in made] for k in range(len(lines))]


def test_longest_match_of_every_class():
    lexicon = Resource.lexicon("places", PLACES)
    words = ["The", "New", "York", "Times", "in", "York", "Paris", "new", "york"]
    exact, folded, places = values(["%d[0,0,places]", "%D[0,0,places]", "%d[0,0,places:LOC]"], words, lexicon)
    # "New York" is a place within the newspaper; it ends before "Times".
    assert exact[:4] == ["O", "B-LOC|B-ORG", "E-LOC|I-ORG", "E-ORG"]
    assert exact[4:] == ["O", "S-LOC", "S-LOC|S-PER", "O", "O"]
    assert folded[7:] == ["B-LOC", "E-LOC"]
    assert places == ["O", "B", "E", "O", "O", "S", "S", "O", "O"]


def test_a_lexicon_without_classes():
    words = ["in", "New", "York", "York"]
    assert values(["%d[0,0,x]", "%d[1,0,x]"], words, Resource.lexicon("x", ["New York", "York"])) == [
        ["O", "B", "E", "S"],
        ["B", "E", "S", "_B+1"],
    ]


def test_clusters():
    clusters = Resource.clusters("brown", {"Oslo": "0010", "sings": "110100", "ÉTÉ": "01", "été": "11"})
    lines = ["%d[0,0,brown]", "%d[0,0,brown,3]", "%D[0,0,brown,2]"]
    assert values(lines, ["Oslo", "oslo", "sings", "été"], clusters) == [
        ["0010", "-", "110100", "11"],
        ["001", "-", "110", "11"],
        ["00", "00", "11", "01"],
    ]


@pytest.mark.parametrize("fold", [False, True])
def test_twin(fold):
    """Few words, so that entries overlap in every way."""
    rng = random.Random(3)
    vocabulary = ["a", "A", "b", "B", "ä", "Ä", "Σ", "ς", "c1", "\u0130x"]
    d = "D" if fold else "d"
    for _ in range(300):
        entries = [
            (" ".join(rng.choices(vocabulary, k=rng.randint(1, 4))), rng.choice(["x", "y", "z"])) for _ in range(12)
        ]
        words = rng.choices(vocabulary, k=rng.randint(1, 12))
        names = sorted({name for _, name in entries})
        lines = [f"%{d}[0,0,lex]", *(f"%{d}[0,0,lex:{name}]" for name in names)]
        found = values(lines, words, Resource.lexicon("lex", entries))
        assert found[0] == twin.of_lexicon(entries, words, fold)
        assert found[1:] == [twin.of_lexicon(entries, words, fold, name) for name in names]

        table = {word: "".join(rng.choices("01é", k=rng.randint(1, 6))) for word in rng.sample(vocabulary, 6)}
        found = values([f"%{d}[0,0,t]", f"%{d}[0,0,t,2]"], words, Resource.classes_of_words("t", table))
        assert found == [[twin.of_table(table, word, fold, n) for word in words] for n in (None, 2)]


def test_files(tmp_path):
    """Tabs or blanks, Brown's columns, a byte order mark, ends of lines, blank lines."""
    for text, lines in [
        (PATHS, ["0010", "0011"]),
        ("Oslo 5\nRome 6\n", ["5", "6"]),
        ("\ufeffOslo\t5\r\n\r\nRome\t6", ["5", "6"]),
    ]:
        (tmp_path / "f").write_bytes(text.encode())
        made = Resource.clusters("c", tmp_path / "f")
        assert values(["%d[0,0,c]"], ["Oslo", "Rome"], made) == [lines]
    (tmp_path / "f").write_text("New York\nOslo\n")
    assert len(Resource.lexicon("l", str(tmp_path / "f"))) == 2


X = [["Ann", "lives", "in", "Oslo"], ["Bob", "likes", "Rome"], ["in", "Paris", "Eve", "sings"], ["Tom", "saw", "Kyiv"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["O", "B-LOC", "B-PER", "O"], ["B-PER", "O", "B-LOC"]]
CITIES = Resource.lexicon("cities", ["Oslo", "Rome", "Paris", "Kyiv", "Lima"])
UNSEEN = ["Ida", "saw", "Lima"]


@pytest.mark.parametrize("name", ["words", "tagging", "letters", "columns"])
def test_presets_use_them(name):
    resources = [
        CITIES,
        Resource.lexicon("both", PLACES),
        Resource.clusters("brown", {"in": "01"}),
        Resource.classes_of_words("tags", {"in": "P"}),
    ]
    template = Template.preset(name, resources=resources)
    made = template.attributes(X[0])[0]
    assert len(set(made)) == len(made) == len(template)
    assert {"U:cities+0=O", "U:brown4+2=01", "U:tags+2=P", "U:both:PER=O"} <= set(made)
    assert template.text.startswith(Template.preset(name).text.rpartition("\n")[0].rpartition("\n")[0])


def test_models_keep_them():
    crf = CRF(rho1=0.02, template="U:%d[0,0,cities]\nU:%h[0,0,1]\nB\n", resources=[CITIES]).fit(X, Y)
    assert crf.predict([UNSEEN])[0][2] == "B-LOC"
    again = Model.from_bytes(crf.model_.to_bytes())
    assert again.template.resources == [CITIES]
    assert again.label(UNSEEN) == crf.predict([UNSEEN])[0]
    assert again.to_bytes() == crf.model_.to_bytes()
    assert pickle.loads(pickle.dumps(crf)).predict([UNSEEN])[0] == again.label(UNSEEN)
    assert repr(CITIES) == "<lexicon cities: 5 entries, 1 classes>"


@pytest.mark.filterwarnings("ignore:the best rho1")
def test_other_estimators():
    crf = clone(CRFCV(rho1s=[0.5, 0.02], features="words", cv=2, resources=[CITIES])).fit(X, Y)
    assert "%d[0,0,cities]" in crf.model_.template.text


def test_by_reference(tmp_path, monkeypatch):
    """The file may move with the model, but not change or go."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (first / "cities.txt").write_text("Oslo\nRome\nParis\nKyiv\n")
    monkeypatch.chdir(first)
    cities = Resource.lexicon("cities", "cities.txt", store=False)
    crf = CRF(rho1=0.02, template="U:%d[0,0,cities]\nB\n", resources=[cities]).fit(X, Y)
    crf.model_.save(second / "m")
    assert b"content" not in (second / "m").read_bytes()
    monkeypatch.chdir(tmp_path)
    assert Model.load(second / "m").label(X[1]) == crf.predict(X)[1]
    assert Model.from_bytes(pickle.loads(pickle.dumps(crf)).model_.to_bytes()).template.resources == [cities]

    (first / "cities.txt").rename(second / "cities.txt")
    assert Model.load(second / "m").label(X[1]) == crf.predict(X)[1]
    (second / "cities.txt").write_text("Oslo\nRome\nParis\n")
    with pytest.raises(InputError, match=r"cities.txt: expected.*file.*model was.*found"):
        Model.load(second / "m")
    (second / "cities.txt").unlink()
    with pytest.raises(InputError, match=r"lexicon cities: expected the file .*cities.txt, found none: No such file"):
        Model.load(second / "m")


def test_damaged_records():
    """What a digest cannot know: a file may be whole and still make no sense."""
    record = CITIES.to_json()
    for wrong in (
        {**record, "bytes": 3},
        {**record, "content": "&"},
        {**record, "content": "AAAA"},
        {**record, "bytes": "3"},
        {**record, "bytes": -1},
        {**record, "bytes": 2**70},
        {**record, "sha256": "0"},
        {**record, "kind": "lexikon"},
        {"name": "x"},
        None,
    ):
        with pytest.raises(InputError):
            Resource.from_json(wrong, "m")
    assert Resource.from_json(record, "m") == CITIES


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("lexicon", "a\tX\tY\n", r"f, line 1: expected a line of a lexicon \(ENTRY, or ENTRY tab CLASS\)"),
        ("lexicon", "a\tX\nb\n", r"f, line 2: expected 2 columns.*lines before.*found 1: 'b'"),
        ("lexicon", "a\t\n", "f, line 1: expected text in every column, found an empty one"),
        ("lexicon", "\n", "f: expected a line of a lexicon .*, found none"),
        ("classes", "a b c\n", r"f, line 1: expected a line of word classes \(WORD CLASS\), found 'a b c'"),
        ("clusters", "a\n", r"f, line 1: expected a line of clusters \(PATH WORD COUNT, or WORD CLASS\)"),
        ("clusters", "0 a 1\n1 b x\n", r"f, line 2: expected.*count.*third column.*found '1 b x'"),
        ("classes", "a b\nc \xff\n", "f, line 2, byte 3: expected text in UTF-8, found byte 0xFF"),
    ],
)
def test_mistakes_in_files(tmp_path, monkeypatch, kind, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_bytes(text.encode("latin-1"))
    make = {"lexicon": Resource.lexicon, "clusters": Resource.clusters, "classes": Resource.classes_of_words}[kind]
    with pytest.raises(InputError, match=message):
        make("x", "f")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("U:%d[0,0]", "line 1, column 9: expected ',' and the name of a resource, found ']'"),
        (
            "U:%d[0,0,citties]",
            r"column 10: expected the name of a given resource: .*found 'citties]'",
        ),
        ("U:%d[0,0,cities,4]", "expected ']' or ':' and a class, for a lexicon"),
        ("U:%d[0,0,cities:LOC]", r"expected.*class.*lexicon cities.*found 'LOC]'"),
        ("U:%d[0,0,brown,0]", r"expected a number of characters \(an integer from 1\)"),
        ("U:%d[0,0,brown]", r"resource cities: expected a line with %d\[0,0,cities\] in the template"),
    ],
)
def test_mistakes_in_templates(line, message):
    with pytest.raises(InputError, match=message):
        Template(line, resources=[CITIES, Resource.clusters("brown", {"a": "1"})])


def test_mistakes():
    with pytest.raises(InputError, match=r"a lookup in a given resource .*; none was given"):
        Template("U:%d[0,0,x]")
    with pytest.raises(InputError, match="expected different names, found two resources called cities"):
        Template("U:%d[0,0,cities]", resources=[CITIES, CITIES])
    with pytest.raises(InputError, match="expected a name of ASCII letters"):
        Resource.lexicon("my cities", ["Oslo"])
    with pytest.raises(InputError, match=r"expected the file nowhere\.txt, found none"):
        Resource.lexicon("x", "nowhere.txt")
    with pytest.raises(InputError, match="expected text without tabs and line breaks"):
        Resource.lexicon("x", ["a\tb"])
    with pytest.raises(InputError, match="expected a file for store=False, found list"):
        Resource.lexicon("x", ["a"], store=False)
    with pytest.raises(InputError, match=r"expected.*file.*list.*mapping.*found int"):
        Resource.lexicon("x", 3)
    with pytest.raises(InputError, match=r"resources: expected Resource\.lexicon"):
        CRF(features="words", resources=["cities.txt"]).fit(X, Y)
    with pytest.raises(InputError, match="resources needs features or template"):
        CRF(resources=[CITIES]).fit(X, Y)
    with pytest.raises(InputError, match="resources: pass them to the Template"):
        CRF(template=Template("U:%x[0,0]"), resources=[CITIES]).fit(X, Y)


def test_other_tools_do_not_have_them():
    text = "U:%d[0,0,cities]/%D[ -1 , 0 , cities ]\n"
    template = Template(text, resources=[CITIES])
    assert lines_of(template)[0].text == "U:%d[0,0,cities]/%D[-1,0,cities]"
    crf = CRF(rho1=0.02, template=template, start=False).fit(X, Y)
    with pytest.raises(InputError, match="does not support functions of words"):
        wapiti.to_model(crf.model_)


WORDS = "\n".join("".join(f"{w} {y}\n" for w, y in zip(*pair, strict=True)) for pair in zip(X, Y, strict=True))


@pytest.mark.slow
def test_program(program):
    program.write(a_txt=WORDS, b_txt="Ida\nsaw\nLima\n", c_txt="Oslo\nRome\nLima\n", d_txt=PATHS)
    given = ["--lexicon", "cities=c.txt", "--clusters", "brown=d.txt", "--classes", "more=d2.txt"]
    program.write(d2_txt="saw verb\n")
    assert program("train", "a.txt", "--features", "words", "-m", "m", "--rho1", "0.01", *given).status == 0
    model = Model.load("m")
    assert [resource.name for resource in model.template.resources] == ["cities", "brown", "more"]
    done = program("label", "-m", "m", "b.txt")
    assert done.out.split()[1::2] == model.label(UNSEEN)

    program.write(t_txt="U:%x[0,0]\nU:%d[0,0,cities]\nB\n")
    arguments = [
        "train",
        "a.txt",
        "-t",
        "t.txt",
        "-m",
        "m2",
        "--rho1",
        "0.01",
        "--lexicon",
        "cities=c.txt",
        "--recipe",
        "refer=true",
    ]
    assert program(*arguments).status == 0
    assert Model.load("m2").template.resources[0].path.endswith("c.txt")
    program.write(c_txt="Oslo\n")
    done = program("label", "-m", "m2", "b.txt")
    assert (done.status, "expected the file that the model was trained with" in done.err) == (1, True)


@pytest.mark.parametrize("command", ["train", "path"])
def test_program_does_not_write_over_them(program, command):
    program.write(a_txt=WORDS, c_svg="Oslo\nRome\n")
    given = ["--features", "words", "--lexicon", "cities=c.svg", "--plot", "c.svg"]
    done = program(command, "a.txt", *given, *{"train": ["-m", "m"], "path": ["--dev", "a.txt", "-o", "p"]}[command])
    assert "c.svg: this file is also an input; write to another file" in done.err
    assert (program.directory / "c.svg").read_text() == "Oslo\nRome\n"


def test_program_caches_them(program):
    """A folder of encoded shards belongs to the resources that it was made with."""
    program.write(a_txt=WORDS, c_txt="Oslo\nRome\n", t_txt="U:%x[0,0]\nU:%d[0,0,cities]\nB\n")
    arguments = ["train", "a.txt", "-t", "t.txt", "--lexicon", "cities=c.txt", "-m", "m", "--cache", "shards"]
    assert program(*arguments).status == 0
    assert Model.load("m").template.resources[0].classes == [""]
    program.write(c_txt="Oslo\nParis\n")
    assert program(*arguments).status == 0
    assert b"Paris" in Model.load("m").template.resources[0].content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--features", "words", "--lexicon", "c.txt"], "--lexicon: expected NAME=FILE, found 'c.txt'"),
        (["--features", "words", "--lexicon", "c=no.txt"], "lexicon c: expected the file no.txt, found none"),
        (["--lexicon", "c=a.txt"], "--lexicon needs --features or --template"),
        (
            ["--features", "words", "--recipe", "refer=true"],
            "--recipe refer needs --lexicon, --clusters, --classes or --vectors",
        ),
    ],
)
def test_mistakes_of_the_program(program, arguments, message):
    program.write(a_txt=WORDS)
    done = program("train", "a.txt", "-m", "m", *arguments)
    assert (done.status, message in done.err) == (2 if message.startswith("--") else 1, True)
    assert "m" not in program.files()


def test_many_entries_and_threads():
    """Look-ups only read the index, which is made with the template."""
    from concurrent.futures import ThreadPoolExecutor

    rng = random.Random(1)
    entries = ["".join(rng.choices(string.ascii_letters, k=6)) + " x" for _ in range(20_000)]
    template = Template("U:%d[0,0,l]\nU:%D[0,0,l]\n", resources=[Resource.lexicon("l", entries)])
    words = entries[777].split()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: template.attributes(words), range(8)))
    assert found == [[["U:B", "U:B"], ["U:E", "U:E"]]] * 8
