"""The public data sets that `sparsecrf data fetch` downloads.

Each address names a commit or a release, so that the content is fixed, and each checksum was computed from the file of
that commit. Sets whose files could not be downloaded completely (such as the larger treebanks) are not listed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparsecrf.compatibility import OptionError
from sparsecrf.contrib.datasets import cmudict
from sparsecrf.contrib.datasets.readers import Reader, conllu, token_and_label

_GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Source:
    """One file, as its authors publish it."""

    url: str
    sha256: str
    size: int  #: bytes
    package: tuple[str, str] | None = None  #: a package on PyPI that contains the same file, and its path there

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[1]


@dataclass(frozen=True)
class DataSet:
    """A public data set: description, licence, source, and conversion to column files."""

    name: str
    what: str
    columns: str  #: columns of the converted files, label last
    licence: str
    home: str
    files: tuple[Source, ...]
    reader: Reader
    template: str  #: a suitable template

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(file.size for file in self.files)


def _files(base: str, *files: tuple[str, int, str]) -> tuple[Source, ...]:
    """Files (name, bytes, SHA-256) of one address."""
    return tuple(Source(f"{base}/{name}", sha256, size) for name, size, sha256 in files)


#: The letters around the labelled letter, singly and as n-grams.
_LETTERS = """\
# letters at most four positions away, letter n-grams and plain transitions
U:l-4=%x[-4,0]
U:l-3=%x[-3,0]
U:l-2=%x[-2,0]
U:l-1=%x[-1,0]
*:l+0=%x[0,0]
U:l+1=%x[1,0]
U:l+2=%x[2,0]
U:l+3=%x[3,0]
U:l+4=%x[4,0]
U:l-1+0=%x[-1,0]/%x[0,0]
U:l+0+1=%x[0,0]/%x[1,0]
U:l-2+0=%x[-2,0]/%x[-1,0]/%x[0,0]
U:l-1+1=%x[-1,0]/%x[0,0]/%x[1,0]
U:l+0+2=%x[0,0]/%x[1,0]/%x[2,0]
U:l-3+0=%x[-3,0]/%x[-2,0]/%x[-1,0]/%x[0,0]
U:l-2+1=%x[-2,0]/%x[-1,0]/%x[0,0]/%x[1,0]
U:l-1+2=%x[-1,0]/%x[0,0]/%x[1,0]/%x[2,0]
U:l+0+3=%x[0,0]/%x[1,0]/%x[2,0]/%x[3,0]
B
"""

#: The words around the labelled one, and its own shape.
_WORDS = """\
# words at most two positions away, prefixes, suffixes, kinds of characters and plain transitions
U:w-2=%X[-2,0]
U:w-1=%X[-1,0]
U:w+0=%X[0,0]
U:w+1=%X[1,0]
U:w+2=%X[2,0]
U:w-1+0=%X[-1,0]/%X[0,0]
U:w+0+1=%X[0,0]/%X[1,0]
U:pre1=%m[0,0,"^.?"]
U:pre2=%m[0,0,"^.?.?"]
U:pre3=%m[0,0,"^.?.?.?"]
U:suf1=%m[0,0,".?$"]
U:suf2=%m[0,0,".?.?$"]
U:suf3=%m[0,0,".?.?.?$"]
U:upper=%t[0,0,"^\\u"]
U:digit=%t[0,0,"\\d"]
U:punct=%t[0,0,"^\\p"]
B
"""

REGISTRY = (
    DataSet(
        name="cmudict",
        what="English words letter by letter, labelled with phonemes by EM alignment",
        columns="letter phoneme",
        licence="BSD-2-Clause",
        home="https://github.com/cmusphinx/cmudict",
        files=(
            Source(
                f"{_GITHUB}/cmusphinx/cmudict/0f8072f814306c5ee4fbf992ed853601b12c01f9/cmudict.dict",
                "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22",
                3_618_488,
                package=("cmudict", "data/cmudict.dict"),
            ),
        ),
        reader=cmudict.columns,
        template=_LETTERS,
    ),
    DataSet(
        name="wnut17",
        what="new or rare named entities in English comments, posts and tweets",
        columns="token entity",
        licence="CC-BY-4.0",
        home="https://github.com/leondz/emerging_entities_17",
        files=_files(
            f"{_GITHUB}/leondz/emerging_entities_17/e52a2d2a71ac1a051ca2d532eef28653c5c02603",
            ("wnut17train.conll", 493_781, "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5"),
            ("emerging.dev.conll", 114_749, "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8"),
            ("emerging.test.annotated", 192_425, "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0"),
        ),
        reader=token_and_label(),
        template=_WORDS,
    ),
    DataSet(
        name="ud-english-atis",
        what="English questions about flights, labelled with parts of speech (UD 2.17)",
        columns="form upos",
        licence="CC-BY-SA-4.0",
        home="https://github.com/UniversalDependencies/UD_English-Atis",
        files=_files(
            f"{_GITHUB}/UniversalDependencies/UD_English-Atis/r2.17",
            ("en_atis-ud-train.conllu", 2_719_527, "bf34cac75bf90593720fb7e06fcecb4f3fbaf325e7a2ceefbcca10771f56ac72"),
            ("en_atis-ud-dev.conllu", 365_475, "ba9ed59a6cf862c695043b64053194277023270ac46ad7b5182b90baee7cfee0"),
            ("en_atis-ud-test.conllu", 367_554, "5d076b73ee57d30170f8e43434e14012f472d3af323b4f04d49a57d44c38b59a"),
        ),
        reader=conllu("form", "upos"),
        template=_WORDS,
    ),
    DataSet(
        name="ud-afrikaans-afribooms",
        what="Afrikaans government documents, labelled with fine-grained parts of speech (UD 2.18)",
        columns="form upos xpos",
        licence="CC-BY-SA-4.0",
        home="https://github.com/UniversalDependencies/UD_Afrikaans-AfriBooms",
        files=_files(
            f"{_GITHUB}/UniversalDependencies/UD_Afrikaans-AfriBooms/r2.18",
            (
                "af_afribooms-ud-train.conllu",
                2_125_618,
                "5dfd07a87750b4b535eca5a4b4254352d2d40fbdd3fc1a9d332e62cec0f0c05f",
            ),
            ("af_afribooms-ud-dev.conllu", 329_125, "9be338cd501863631e03c123be2399e32b3d845d91347e5d6aa10c76254fbb49"),
            (
                "af_afribooms-ud-test.conllu",
                633_159,
                "e41f9111795ea733f91a93787e76a3191a088c213375c50f8ec6a9597a94e967",
            ),
        ),
        reader=conllu("form", "upos", "xpos"),
        template=_WORDS,
    ),
)


def find(name: str) -> DataSet:
    """The data set with this name."""
    for entry in REGISTRY:
        if entry.name == name:
            return entry
    raise OptionError(f"data set: expected one of {', '.join(entry.name for entry in REGISTRY)}, found {name!r}")
