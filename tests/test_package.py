"""What a user gets from `pip install`: the wheel, outside the source tree."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

_USE = """
import pathlib, pixelbrax
assert "site-packages" in pixelbrax.__file__, pixelbrax.__file__
assert (pathlib.Path(pixelbrax.__file__).parent / "py.typed").exists()
from pixelbrax.training.config import load_preset, preset_names
assert [load_preset(name) for name in preset_names()]
env = pixelbrax.make("inverted_pendulum", backend="spring")
assert env.observation_spec["pixels"].shape == (64, 64, 9)
print(pixelbrax.__version__, *pixelbrax.list_tasks())
"""


def _run(*command: str, cwd: Path) -> str:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which may name this tree
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=own)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_wheel_has_all_files(tmp_path):
    command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    _run(*command, cwd=tmp_path)
    (wheel,) = tmp_path.glob("pixelbrax-*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pixelbrax/")}
    tracked = _run("git", "ls-files", "src/pixelbrax", cwd=ROOT).split()
    assert packed >= {name.removeprefix("src/") for name in tracked} | {"pixelbrax/py.typed"}
    commit = zipfile.ZipFile(wheel).read("pixelbrax/commit.txt").decode().strip()
    assert commit.removesuffix("+changes") == _run("git", "rev-parse", "HEAD", cwd=ROOT).strip()


def test_the_source_distribution_has_what_it_names(tmp_path):
    """And not `benchmarks/README.md`, which has a name that it names."""
    command = (sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    _run(*command, cwd=tmp_path)
    (archive,) = tmp_path.glob("pixelbrax-*.tar.gz")
    with tarfile.open(archive) as file:
        packed = {name.partition("/")[2] for name in file.getnames()}
    tracked = _run("git", "ls-files", "src", cwd=ROOT).split()
    assert packed >= {*tracked, "src/pixelbrax/commit.txt"}
    own = {"CHANGELOG.md", "LICENSE", "README.md", "hatch_build.py", "pyproject.toml"}
    assert {name.split("/")[0] for name in packed} == own | {"src", ".gitignore", "PKG-INFO"}


@pytest.mark.full
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT), cwd=tmp_path)
    (wheel,) = tmp_path.glob("pixelbrax-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), cwd=tmp_path)
    assert "halfcheetah" in _run(python, "-c", _USE, cwd=tmp_path)
    command = str(tmp_path / "venv" / "bin" / "pixelbrax")
    assert "humanoid" in _run(command, "list", cwd=tmp_path)
