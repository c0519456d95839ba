"""What runs the blocks of pages notices what it should."""

import pytest
from pages import run_page

PYTHON = "```python\nx = {value}\nprint(x)  # 1\n```\n"


def page(program, text):
    program.write(page_md=text)
    return program.directory / "page.md"


def test_what_runs(program):
    text = PYTHON.format(value=1) + "\n```python\nprint(x + 1)\n```\n\n```text\n2\n```\n\n"
    text += "```sh\npip install .\nwapiti train  # not run: Wapiti\nsparsecrf --version > version.txt\n```\n"
    assert run_page(page(program, text), program) == 5
    assert (program.directory / "version.txt").read_text().startswith("sparsecrf ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PYTHON.format(value=2), "promises\n1\nand prints\n2"),
        ("```python\nprint(3)\n```\n", "and prints\n3"),
        ("```python\nprint(3)\n```\n\n```text\n4\n```\n", "promises\n4\nand prints\n3"),
        ("```sh\nsparsecrf label -m none.safetensors none.txt\n```\n", "page.md:1: sparsecrf label"),
        ("```sh\nwapiti train\n```\n", "wapiti is not run; say why"),
        ("```console\n$ sparsecrf --version\nanother\n```\n", "promises\nanother\nand prints\nsparsecrf"),
        ("```\nsparsecrf train\n```\n", "a block of '' would not be tested"),
        ("```shell\nsparsecrf train\n```\n", "a block of 'shell' would not be tested"),
    ],
)
def test_what_fails(program, text, expected):
    with pytest.raises(AssertionError) as raised:
        run_page(page(program, text), program)
    assert expected in str(raised.value)
