"""The directory of a reader of README and manual: column files with words, parts of speech and entities, a template, a
CRFsuite file, models of other tools, and made-up parts of speech where README downloads real ones."""

from sentences import dicts, sentences

TEMPLATE = "U0:%x[0,0]\nU1:%X[-1,0]\nU2:%x[0,1]\nB\n"
# As small as they can be.
WAPITI = "u:the\t#\tDET\t1.5\nu:dog\t#\tNOUN\t2.0\nb\tDET\tNOUN\t0.5\n"
CRFPP = "version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\nDET\nNOUN\n\nU0:%x[0,0]\n\n0 U0:the\n\n1.5\n-0.5\n"
MALLET = "Bill CAPITALIZED noun\nslept LOWERCASE verb\n\n" * 5


def write_files(program) -> None:
    for seed, name in enumerate(["train", "dev", "test"]):
        program.write(**{f"{name}_txt": _columns(*sentences(150, seed))})
    (program.directory / "atis").mkdir()
    for seed, name in enumerate(["train", "dev", "test"]):
        X, _ = sentences(150, seed)
        words = "\n".join("".join(f"{word} {tag}\n" for word, tag in tokens) for tokens in X)
        (program.directory / "atis" / f"{name}.txt").write_text(words.replace("NNP", "PROPN"), encoding="utf-8")
    X, y = sentences(60, seed=3)
    program.write(template_txt=TEMPLATE, old_wapiti=WAPITI, old_crfpp=CRFPP, train_crfsuite=_crfsuite(dicts(X), y))
    program.write(train_mallet=MALLET, test_mallet=MALLET, new_mallet=MALLET.replace(" noun", "").replace(" verb", ""))


def _columns(X, y) -> str:
    return "\n".join(
        "".join(f"{word} {tag} {label}\n" for (word, tag), label in zip(tokens, labels, strict=True))
        for tokens, labels in zip(X, y, strict=True)
    )


def _crfsuite(X, y) -> str:
    return "\n".join(
        "".join("\t".join([label, *map(_attribute, token.items())]) + "\n" for token, label in zip(*item, strict=True))
        for item in zip(X, y, strict=True)
    )


def _attribute(item) -> str:
    name, value = item[0].replace(":", "\\:"), item[1]
    return f"{name}={value}" if isinstance(value, str) else f"{name}:{float(value)}"
