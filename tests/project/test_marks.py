"""What others look at before they trust a project: workflows, templates, citation, recipe and paper are true."""

import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="of Python 3.11")
yaml = pytest.importorskip("yaml", reason="comes with Dask")

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path", sorted(GITHUB.rglob("*.yml")) + [ROOT / ".pre-commit-config.yaml"], ids=lambda p: p.name
)
def test_yaml_parses(path):
    assert isinstance(parsed(path), dict)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_can_only_read_unless_a_job_says_why(path):
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    written = {(name, key) for name, job in workflow["jobs"].items() for key in job.get("permissions", {})}
    needed = {("publish", "id-token"), ("publish", "attestations"), ("analyse", "security-events")}
    assert {(name, key) for name, key in written if key != "contents"} <= needed


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit(path):
    """A tag can be moved to other code; Dependabot raises the commit and the comment together."""
    used = re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8"))
    assert used
    for line in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+.*", line), line
    ecosystems = {entry["package-ecosystem"] for entry in parsed(GITHUB / "dependabot.yml")["updates"]}
    assert "github-actions" in ecosystems


def test_workflow_does_what_ci_does():
    commands = [
        step["run"]
        for job in parsed(GITHUB / "workflows" / "test.yml")["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    targets = set(re.findall(r"^make ([\w-]+)", text_of(".ci/run"), flags=re.M))
    assert targets > {"lint", "docs"}
    for target in targets - {"test"}:
        assert f"make {target}" in commands
    assert any(command.startswith("python -m pytest") for command in commands)
    assert "make coverage" in commands


def test_release_is_attested():
    steps = parsed(GITHUB / "workflows" / "wheels.yml")["jobs"]["publish"]["steps"]
    order = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    assert order[-2:] == ["actions/attest-build-provenance", "pypa/gh-action-pypi-publish"]


def test_templates():
    forms = [parsed(path) for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) >= 2
    for form in forms:
        assert form["name"]
        assert any(field.get("validations", {}).get("required") for field in form["body"])
        assert f'"{form["name"]}"' in text_of("SUPPORT.md")
    assert "CHANGELOG.md" in text_of(".github/PULL_REQUEST_TEMPLATE.md")


def test_versions_agree():
    """The package's version is in pyproject.toml; files that other programs read repeat it."""
    citation, recipe = parsed(ROOT / "CITATION.cff"), parsed(ROOT / "release" / "conda" / "recipe.yaml")
    assert citation["version"] == recipe["context"]["version"] == PROJECT["version"]
    assert citation["license"] == recipe["about"]["license"] == PROJECT["license"]
    assert citation["repository-code"] == recipe["about"]["repository"] == PROJECT["urls"]["Repository"]
    version, date = re.search(r"^## \[(\d[^\]]*)\] - (\S+)$", text_of("CHANGELOG.md"), flags=re.M).groups()
    assert (version, date) == (PROJECT["version"], str(citation["date-released"]))


def test_conda_recipe_needs_what_the_package_needs():
    recipe = parsed(ROOT / "release" / "conda" / "recipe.yaml")["requirements"]
    assert [need.replace(" ", "", 1) for need in recipe["run"][1:]] == PROJECT["dependencies"]
    assert recipe["run"][0] == f"python {PROJECT['requires-python']}"
    wanted = {need.replace(" ", "") for need in recipe["build"] + recipe["host"]}
    assert set(PYPROJECT["build-system"]["requires"]) <= wanted


def test_hooks_have_the_linters_of_make_lint():
    linters = set(PYPROJECT["dependency-groups"]["lint"])
    for hook in parsed(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]:
        for need in hook["additional_dependencies"]:
            assert need in linters or need.startswith("pre-commit-hooks")


def test_badges_are_true():
    """None asks a registry; what they say is what pyproject.toml and the Makefile say."""
    readme = text_of("README.md")
    minors = [int(c.rpartition(".")[2]) for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    assert f"badge/Python-3.{min(minors)}_to_3.{max(minors)}-" in readme
    assert f"badge/licence-{PROJECT['license'].replace('-', '--')}-" in readme
    floor = re.search(r"--cov-fail-under=(\d+)", text_of("Makefile"))[1]
    assert f"badge/coverage-at_least_{floor}_%25-" in readme
    assert f"[![test]({PROJECT['urls']['Repository']}/actions/workflows/test.yml/badge.svg)]" in readme
    assert not re.search(r"shields\.io/(pypi|conda)", readme)


def test_paper():
    paper, works = text_of("paper/paper.md"), text_of("paper/paper.bib")
    _, front, body = paper.split("---\n", 2)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(yaml.safe_load(front))
    for heading in ("Summary", "Statement of need", "State of the field", "Software design", "References"):
        assert f"\n# {heading}\n" in body
    assert set(re.findall(r"@(\w+)", body)) == set(re.findall(r"^@\w+\{(\w+),", works, flags=re.M))
    assert 750 <= len(body.split()) <= 1750
    readme = text_of("README.md").replace("**", "")
    measured = re.findall(r"[\d.]+ s, \d+ MB", body)
    assert len(measured) >= 8
    assert all(figures in readme for figures in measured)
