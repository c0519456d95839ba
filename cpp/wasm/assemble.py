"""Assembles the npm package: `python assemble.py WASM FOLDER`. The script is tagger.js of the report plus exports."""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main(wasm: str, folder: str) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in ("sparsecrf.d.ts", "README.md"):
        shutil.copy(HERE / "package" / name, target)
    shutil.copy(ROOT / "LICENSE", target)
    for ending in ("", ".sources"):  # also copy the digest of the sources, which npm does not pack
        shutil.copy(f"{wasm}{ending}", target / f"sparsecrf.wasm{ending}")
    (version,) = re.findall(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(), flags=re.M)
    described = (HERE / "package" / "package.json").read_text()
    (target / "package.json").write_text(described.replace("VERSION", version))
    script = (ROOT / "src" / "sparsecrf" / "contrib" / "report" / "page" / "tagger.js").read_text(encoding="utf-8")
    (target / "sparsecrf.js").write_text(f"{script}\nexport {{ Sparsecrf, Tagger }};\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
