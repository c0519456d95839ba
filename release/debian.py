"""A Python of Debian in a folder, for machines whose own system has an older one.

    python release/debian.py 3.14

Packages of Debian's testing release are unpacked below build/release/pythons, with the C library that they need;
nothing is installed. x86-64 only; needs dpkg-deb and patchelf.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
import urllib.request
from pathlib import Path

from steps import WORK, run

MIRROR = "https://deb.debian.org/debian"
LIBRARIES = [
    *("libc6", "libgcc-s1", "libstdc++6", "libexpat1", "zlib1g", "libssl3t64", "libffi8", "libbz2-1.0", "liblzma5"),
    *("libsqlite3-0", "libuuid1", "libncursesw6", "libtinfo6", "libreadline8t64", "libzstd1", "libdb5.3t64"),
]
OF_DEBIAN = "usr/lib/x86_64-linux-gnu"


def _packages() -> dict[str, dict[str, str]]:
    """The fields Filename and SHA256 of every package, by name."""
    with urllib.request.urlopen(f"{MIRROR}/dists/testing/main/binary-amd64/Packages.xz") as answer:
        text = lzma.decompress(answer.read()).decode()
    found = {}
    for paragraph in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] != " ")
        if fields:
            found[fields["Package"]] = fields
    return found


def _unpack(package: dict[str, str], folder: Path) -> None:
    with urllib.request.urlopen(f"{MIRROR}/{package['Filename']}") as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != package["SHA256"]:
        raise SystemExit(f"{package['Filename']}: expected the checksum {package['SHA256']}, found another")
    file = folder.with_suffix(".deb")
    file.write_bytes(data)
    run("dpkg-deb", "-x", file, folder)
    file.unlink()


def python_of_debian(version: str) -> Path:
    """Unpacks a Python; returns it."""
    folder, packages = WORK / "pythons" / version, _packages()
    of_python = [
        f"python{version}",
        f"python{version}-minimal",
        f"libpython{version}-minimal",
        f"libpython{version}-stdlib",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for name in of_python + LIBRARIES:
        if name not in packages:
            raise SystemExit(f"{MIRROR}: expected the package {name} in Debian's testing release, found none")
        _unpack(packages[name], folder)
    # The program finds its libraries, and those of its modules, in this folder, whatever the system has.
    python = folder / "usr" / "bin" / f"python{version}"
    loader = folder / OF_DEBIAN / "ld-linux-x86-64.so.2"
    run("patchelf", "--force-rpath", "--set-rpath", folder / OF_DEBIAN, python)  # first: otherwise it crashes
    run("patchelf", "--set-interpreter", loader, python)
    print(run(python, "-VV").strip())
    return python


if __name__ == "__main__":
    for version in sys.argv[1:]:
        python_of_debian(version)
