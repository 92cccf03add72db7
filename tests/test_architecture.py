"""The house rules: who may import whom, through which door, and how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pixelbrax

SOURCE = Path(pixelbrax.__file__).parent
# Data flows down this list and never back up.
ROOMS = ["rewards", "xla", "physics", "creatures", "tasks", "render", "distractors", "envs", "networks", "learning"]
ROOMS += ["algorithms", "training", "generalization", "adapters", "report", "experiments", "viewer", "cli", "configs"]
OPEN_TO_ALL = {"errors", "registry", "plugins", "cache", "signals", "__init__", "__main__"}
FILES = sorted(SOURCE.rglob("*.py"))
# Constructors that load when they are called what builds their objects.
LAZY = {("pixelbrax.render.scene", "pixelbrax.render.read")}


def _name(file: Path) -> str:
    """A module's dotted name."""
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(file) for file in FILES}


def _imports(file: Path) -> set[str]:
    """Modules of this package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            # `from package import module` is an import of the module.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module and module.split(".")[0] == "pixelbrax"}


def _room(module: str) -> str:
    """The room of a module; the package's own face is `__init__`."""
    return (module.split(".") + ["__init__"])[1]


IMPORTS = {file: _imports(file) for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_below_it_through_their_faces(file):
    room = _room(_name(file))
    for module in IMPORTS[file]:
        other = _room(module)
        if other in OPEN_TO_ALL or room in OPEN_TO_ALL:
            continue
        assert ROOMS.index(other) <= ROOMS.index(room), f"{file} imports {module}, a room above its own"
        assert other == room or module == f"pixelbrax.{other}", f"{file} imports {module}: ask pixelbrax.{other} for it"


def test_no_circles():
    """Imports form no circle, within rooms and between them, those inside functions and for types included."""
    graph: dict[str, set[str]] = {_name(file): set() for file in FILES if _name(file) != "pixelbrax"}
    for file, modules in IMPORTS.items():
        for module in modules & set(graph) - {_name(file), *(b for a, b in LAZY if a == _name(file))}:
            graph.get(_name(file), set()).add(module)
    done: set[str] = set()
    while ready := {name for name, needs in graph.items() if name not in done and needs <= done}:
        done |= ready
    assert sorted(set(graph) - done) == []


def test_files_stay_short():
    assert [str(file) for file in FILES if len(file.read_text().splitlines()) > 450] == []


def test_import_does_no_work():
    code = "import sys, pixelbrax; print([m for m in ('jax', 'brax', 'mujoco', 'flax') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
