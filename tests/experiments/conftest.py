"""One finished run, for all tests of experiments."""

from typing import Any

import pytest

import pixelbrax
from tests.experiments.small import SETTINGS
from tests.probe import probe_env


@pytest.fixture(scope="session")
def env():
    return probe_env(pays_side=True, outputs=())


@pytest.fixture(scope="session")
def finished(env, tmp_path_factory):
    """A run that was trained in an environment made in Python, with video and report."""
    settings: Any = SETTINGS | {"report": True, "video": True}
    return pixelbrax.train(env, runs=tmp_path_factory.mktemp("runs"), name="first", **settings)
