"""The house rules: who may import whom, and how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pixelbrax

SOURCE = Path(pixelbrax.__file__).parent
# Data flows down this list and never back up.
ROOMS = ["physics", "tasks", "render", "distractors", "envs", "networks", "algorithms"]
ROOMS += ["training", "adapters", "report", "cli", "configs"]
OPEN_TO_ALL = {"errors", "registry", "cache", "precision", "__init__", "__main__"}
FILES = sorted(SOURCE.rglob("*.py"))


def _imported_modules(file: Path) -> set[str]:
    modules = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return {module for module in modules if module.startswith("pixelbrax.")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_above_it(file):
    room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room in OPEN_TO_ALL:
        return
    for module in _imported_modules(file):
        other = module.split(".")[1]
        assert other in OPEN_TO_ALL or ROOMS.index(other) <= ROOMS.index(room), f"{file} imports {module}"


def test_files_stay_short():
    assert [str(file) for file in FILES if len(file.read_text().splitlines()) > 450] == []


def test_import_does_no_work():
    code = "import sys, pixelbrax; print([m for m in ('jax', 'brax', 'mujoco', 'flax') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
