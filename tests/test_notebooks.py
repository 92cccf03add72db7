"""The notebooks run from top to bottom, with small budgets; what Jupyter opens is what is tested."""

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "notebooks").glob("*.py"))


@pytest.mark.full
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_runs(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIXELBRAX_SMALL", "1")
    try:
        runpy.run_path(str(script))
    finally:
        plt.close("all")


def test_notebooks_are_in_step_with_their_scripts():
    pytest.importorskip("jupytext")
    subprocess.run([sys.executable, "-m", "tools.notebooks", "--check"], cwd=ROOT, check=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_installs_what_it_needs_first(script):
    """Its first code installs PixelBrax where it is missing, and imports nothing that would be missing there."""
    first = script.read_text().split("# %%\n")[1].split("# %%")[0]
    assert "pip" in first
    assert "import pixelbrax" not in first
    assert "import jax" not in first
