"""Downloads the files of a data set, verifies them, and writes column files."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from sparsecrf._core import InputError
from sparsecrf.contrib.datasets.readers import column_text
from sparsecrf.contrib.datasets.registry import DataSet, Source
from sparsecrf.files.atomic import write_atomically

INSTALL_POOCH = "pip install 'sparsecrf[data]'"


def carried(file: Source) -> bytes | None:
    """The verified file from an installed package that contains it, or None if there is no such package.

    The package is located but not imported.
    """
    if file.package is None:
        return None
    package, inside = file.package
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0], inside)
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise InputError(
            f"{path}: expected SHA-256 {file.sha256}, found {found}: the package {package} is a different version; "
            "pip install 'sparsecrf[demo]' installs the right one"
        )
    return data


def cache() -> Path | None:
    """The folder for downloads ($SPARSECRF_DATA_DIR or the user's cache directory); None if that needs pooch."""
    chosen = os.environ.get("SPARSECRF_DATA_DIR")
    if chosen:
        return Path(chosen)
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("sparsecrf"))


def is_here(data_set: DataSet) -> bool:
    """Whether `fetch` works offline: all files are in an installed package or already downloaded."""
    kept = cache()
    return all(
        (file.package is not None and find_spec(file.package[0]) is not None)
        or (kept is not None and (kept / data_set.name / file.name).is_file())
        for file in data_set.files
    )


def contents(data_set: DataSet) -> dict[str, bytes]:
    """The files by name, in the order of the registry, each verified by its checksum."""
    return {file.name: _content(data_set, file) for file in data_set.files}


def fetch(data_set: DataSet, directory: Path | None = None) -> list[Path]:
    """Write train.txt, dev.txt, test.txt and template.txt of a set into a directory; returns their paths.

    Without a directory, they are written next to the download.
    """
    if directory is None:
        kept = cache()
        if kept is None:
            raise InputError(
                f"{data_set.name}: give a directory to write to (-o DIR), or install pooch, which locates the cache "
                f"directory: {INSTALL_POOCH}"
            )
        directory = kept / data_set.name
    parts = data_set.reader(contents(data_set))
    texts = {f"{part}.txt": column_text(sequences) for part, sequences in parts.items()}
    return write_all(directory, {**texts, "template.txt": data_set.template})


def write_all(directory: Path, texts: dict[str, str]) -> list[Path]:
    """Write files into a directory, which is created if missing."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_atomically(directory / name, text.encode("utf-8"))
    return [directory / name for name in texts]


def _content(data_set: DataSet, file: Source) -> bytes:
    data = carried(file)
    if data is not None:
        return data
    try:
        import pooch
    except ImportError:
        raise InputError(f"{data_set.name}: downloads need the package pooch: {INSTALL_POOCH}") from None
    kept = cache() or Path(pooch.os_cache("sparsecrf"))
    pooch.get_logger().setLevel("WARNING")  # the program reports its progress itself
    from requests.exceptions import ConnectionError, Timeout

    try:
        path = pooch.retrieve(file.url, f"sha256:{file.sha256}", file.name, kept / data_set.name)
    except (ConnectionError, Timeout) as error:
        cause = getattr(error.args[0], "reason", error) if error.args else error  # the error that urllib3 wraps
        host, short = urlsplit(file.url).hostname, str(cause).rpartition(": ")[2]
        raise InputError(f"{data_set.name}: could not connect to {host}; are you online? {short}") from None
    except OSError as error:  # such as a missing file or a full disk
        raise InputError(f"{file.url}: could not download {file.size:,} bytes: {error}") from None
    except ValueError as error:  # raised by pooch for a wrong checksum
        raise InputError(f"{file.url}: expected SHA-256 {file.sha256}, found different content: {error}") from None
    return Path(path).read_bytes()
