"""Settings of the property-based tests: the same examples in every run, unless asked to explore. Shared fixtures."""

import os

import pytest
from hypothesis import HealthCheck, settings
from program import Program

_common = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", parent=_common, max_examples=60, derandomize=True)
settings.register_profile("brief", parent=_common, max_examples=20, derandomize=True)  # for `make sanitize`
settings.register_profile("explore", parent=_common, max_examples=2000)
# HYPOTHESIS_PROFILE=explore pytest ...
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def program(tmp_path, monkeypatch, capsys):
    """Runs the program in this process."""
    return Program(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def cluster():
    """Workers in threads of this process: quick to start, and all that most tests need."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster) as made:
        yield made
