"""Reads labelled data for the training commands, according to a recipe, into memory, a folder or a cluster."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.cli.files import total_bytes
from sparsecrf.cli.options import Inputs
from sparsecrf.cli.train import RunOptions
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.recipe_file import SETTINGS, TABLES, read_setting
from sparsecrf.encoding.unknown_labels import UNCERTAIN
from sparsecrf.files.text import name_of
from sparsecrf.model import Model
from sparsecrf.model.format import FORMAT
from sparsecrf.progress import progress, say
from sparsecrf.shards.dataset import Dataset
from sparsecrf.shards.encode_folder import SHARD_TOKENS, encode_shards

#: The settings of a recipe, and --init, as the user types them.
_TYPED = {
    name: "--" + name.replace("_", "-") if hasattr(Inputs, name) or name == "init" else f"--recipe {name}"
    for name in (*SETTINGS, "init")
}


def asked_recipe(inputs: Inputs) -> Recipe:
    """The recipe that the options describe: --recipe, overridden by other options."""
    given: dict[str, Any] = {}
    for name in SETTINGS:
        value = getattr(inputs, name, None)
        if name in TABLES and value:
            value = dict(_named_file(text, name) for text in value)
        if value is not None and (value is not False or name == "start"):
            given[name] = pathlib.Path(value) if name == "template" else value
    recipe = Recipe()
    for text in inputs.recipe or ():
        setting = read_setting(text)
        recipe = recipe.with_file(text) if setting is None else recipe.updated(dict([setting]), _TYPED)
    return recipe.updated(given, _TYPED)


def recipe_files(inputs: Inputs) -> list[str]:
    """The values of --recipe that are files."""
    return [text for text in inputs.recipe or () if read_setting(text) is None]


def given_options(inputs: Inputs) -> dict[str, Any]:
    """The options with the settings of --recipe filled in, for compatibility checks."""
    others = {name: value for name, value in vars(inputs).items() if name not in SETTINGS}
    return others | asked_recipe(inputs).given()


def _named_file(text: str, table: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise OptionError(f"--{table}: expected NAME=FILE, found {text!r:.80}")
    return name, file


def recipe_for(inputs: Inputs, init: Model | None = None) -> Recipe:
    """The complete recipe for the data; settings that are not given come from the --init model."""

    asked = asked_recipe(inputs)
    recipe = asked.resolved(inputs.data[0], None if init is None else recipe_of(init))
    if inputs.save_recipe is not None:
        asked.save(inputs.save_recipe)
    return recipe


@contextmanager
def read(inputs: Inputs, run: RunOptions, init: Model | None = None, *, threads: int, quiet: bool) -> Iterator[Dataset]:
    """Yield the data in memory, in a folder, or on a cluster; they exist only within this context."""
    recipe = recipe_for(inputs, init)
    for option, given in (("--cache", run.cache), ("--dask", run.dask)):
        if given is not None and recipe.vectors is not None:
            raise OptionError(f"{option} does not support word vectors (--vectors, or vectors of the --init model)")
    if run.dask is not None:
        with read_on_dask(inputs, recipe, run.dask, threads=threads, quiet=quiet) as data:
            yield _told(data, inputs)
    elif run.cache is not None:
        yield _told(_cached(inputs, recipe, run, threads, quiet), inputs)
    else:
        from sparsecrf.shards.dataset import read_files

        with progress("reading", _size(inputs), quiet=quiet) as advance:
            tell = partial(say, quiet=quiet)
            data = read_files(inputs.data, recipe, inputs.dev, threads=threads, progress=advance, tell=tell)
        yield _told(data, inputs)


def _cached(inputs: Inputs, recipe: Recipe, run: RunOptions, threads: int, quiet: bool) -> Dataset:
    """The data in a folder of encoded shards, which is created if missing."""
    assert run.cache is not None
    memory = None if run.cache_memory is None else run.cache_memory << 20
    with progress("reading", _size(inputs), quiet=quiet) as advance:
        options: dict[str, Any] = {"threads": threads, "progress": advance}
        folder = encode_shards(run.cache, inputs.data, recipe, run.shard_tokens or SHARD_TOKENS, **options)
        data = folder.dataset(recipe, threads, memory)
        return data if inputs.dev is None else replace(data, dev=data.read_other(inputs.dev, **options))


def _size(inputs: Inputs) -> int | None:
    return total_bytes([*inputs.data, *([] if inputs.dev is None else [inputs.dev])])


def _told(data: Dataset, inputs: Inputs) -> Dataset:
    """Return the data; warn of labels that occur only in --dev."""
    if inputs.dev is not None and (remark := data.remark(name_of(inputs.dev))) is not None:
        say(f"sparsecrf: warning: {remark}")
    return data


def recipe_of(model: Model) -> Recipe:
    """The recipe for the data of a new model that starts from this model."""
    scale = None
    if model.vectors is not None and model.dense is not None:
        # The column that marks words without a vector is not standardised.
        scale = model.dense.scale[model.vectors.width]
    marks: dict[str, Any] = {name: str(model.training.get(name, "")) for name in UNCERTAIN}
    return Recipe(
        format=str(model.training[FORMAT]) if FORMAT in model.training else None,
        vectors=model.vectors,
        vectors_scale=scale,
        start=model.vocabulary.start,
        encoding=model.training.get("encoding"),
        **marks,
        labels=tuple(model.labels),
        lines=model.template,
    )


_LOCAL = "local:"


@contextmanager
def read_on_dask(inputs: Inputs, recipe: Recipe, address: str, *, threads: int, quiet: bool) -> Iterator[Dataset]:
    """Read files on the workers of a cluster; the shards exist only within this context."""
    try:
        from sparsecrf.contrib.dask.cluster import Cluster
        from sparsecrf.contrib.dask.encoding import encode
    except ImportError as error:
        raise InputError(
            f"--dask: expected the packages dask and distributed (pip install 'sparsecrf[dask]'): {error}"
        ) from None

    with _client(address) as client:
        cluster = Cluster(client)
        say(f"reading on {cluster}", quiet=quiet)
        data = encode(cluster, list(inputs.data), None, None, recipe, threads or 1)
        try:
            yield data if inputs.dev is None else replace(data, dev=data.read_other(inputs.dev))
        finally:
            data.release()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A Dask client for a scheduler, or for N workers started on this machine (local:N)."""
    from distributed import Client, LocalCluster

    from sparsecrf.contrib.dask.cluster import TIMED_OUT, ClusterError

    if not address.startswith(_LOCAL):
        try:
            client = Client(address)
        except (OSError, *TIMED_OUT, ValueError) as error:
            raise ClusterError(f"--dask: expected a Dask scheduler at {address}: {error}") from None
        with client:
            yield client
        return
    n = address[len(_LOCAL) :]
    if not (n.isdecimal() and int(n) > 0):
        raise OptionError(f"--dask: expected a number of workers after {_LOCAL}, found {n!r}")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "preload": "sparsecrf.contrib.dask.local_worker"}
    with LocalCluster(n_workers=int(n), **options) as made, Client(made) as client:
        yield client
