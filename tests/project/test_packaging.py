"""What a registry shows of the package, and what is promised about versions."""

import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="of Python 3.11")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Repository"]
LINK, PICTURE = r"\]\(([^)\s]+)\)", r'src="([^"]+)"'


def page_of_the_package():
    """README.md as the build rewrites it."""
    text, hook = README, PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for rule in hook["substitutions"]:
        replacement = rule["replacement"].replace("$HFPR_VERSION", PROJECT["project"]["version"])
        text = re.sub(rule["pattern"], replacement, text)
    return text


@pytest.mark.parametrize(("pattern", "home"), [(LINK, "/blob"), (PICTURE, "")])
def test_links_and_pictures_are_those_of_the_release(pattern, home):
    """Relative ones would lead nowhere on the page of a registry."""
    host = REPOSITORY if home else REPOSITORY.replace("github.com", "raw.githubusercontent.com")
    before, after = re.findall(pattern, README), re.findall(pattern, page_of_the_package())
    assert len(before) == len(after) > 0
    for link, rewritten in zip(before, after, strict=True):
        if link.startswith(("https://", "#")):
            assert rewritten == link
        else:
            assert rewritten == f"{host}{home}/v{PROJECT['project']['version']}/{link}"
            assert (ROOT / link.partition("#")[0]).exists(), link


def minor_versions(words):
    """3.10 as 10, in order."""
    return sorted(int(found.group(1)) for word in words if (found := re.search(r"(?:3\.|cp3)(\d+)(?:-\*)?$", word)))


def test_every_version_is_named_and_built():
    named = minor_versions(
        c for c in PROJECT["project"]["classifiers"] if c.startswith("Programming Language :: Python")
    )
    lowest = minor_versions([PROJECT["project"]["requires-python"]])
    assert named == list(range(lowest[0], named[-1] + 1))
    assert minor_versions(PROJECT["tool"]["cibuildwheel"]["build"]) == named


def test_one_version():
    """Nothing else repeats it: it would be forgotten."""
    version = re.escape(PROJECT["project"]["version"])
    for file in [ROOT / "CMakeLists.txt", ROOT / "docs" / "conf.py", *(ROOT / "src").rglob("*.py")]:
        assert not re.search(rf"[\"']{version}[\"']", file.read_text(encoding="utf-8")), file
