"""What stands in the documents runs: the Python of a page, in order, in one namespace. Its commands are understood.

A comment on the line before a block says otherwise: `<!-- slow -->` leaves it to `make test-all`, and
`<!-- not run: why -->` to the reader. Budgets are made smaller than the documents', so that hours are minutes.
"""

import ast
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import tyro

from pixelbrax.algorithms import registry as algorithms
from pixelbrax.cli.main import main
from pixelbrax.distractors import presets
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import registry as tasks

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
OPTIONAL = ("gymnax", "torch", "tensordict", "stable_baselines3", "Stable-Baselines3")
"""Libraries that not every Python version here has."""
SMALLER = {r"num_steps=\d[\d_]*": "num_steps=2_048", r"episodes=\d+": "episodes=2", r"\b256\b": "8"}
FENCE = re.compile(r"(?:^<!-- (slow|not run)(?:: (.+))? -->\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page.

    Attributes:
      mark: "slow", "not run", or None.
      reason: why it is not run.
      language: of the fence.
      code: its lines.
      line: the page's line before the first of them.
    """

    mark: str | None
    reason: str | None
    language: str
    code: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    """The blocks of a page in one language."""
    text = page.read_text()
    found = [
        Block(mark=match[1], reason=match[2], language=match[3], code=match[4], line=text[: match.start(4)].count("\n"))
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if block.language == language]


def having(mark: str | None) -> list[Path]:
    """The pages that have Python with a mark."""
    return [page for page in PAGES if any(block.mark == mark for block in blocks(page, "python"))]


QUICK, SLOW = having(None), having("slow")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with the examples; what a page registers is forgotten afterwards."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for module in (tasks, presets, algorithms):
        monkeypatch.setattr(module._REGISTRY, "_known", dict(module._REGISTRY._known))
    return tmp_path


def run(page: Path, marks: tuple[str | None, ...]) -> None:
    """Runs the Python of a page whose marks are among these; of other blocks, their imports."""
    namespace = {"__name__": page.stem}
    for block in blocks(page, "python"):
        code = block.code
        for pattern, replacement in SMALLER.items():
            code = re.sub(pattern, replacement, code)
        tree = ast.parse("\n" * block.line + code)
        if block.mark not in marks:
            tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        try:
            exec(compile(tree, str(page), "exec"), namespace)
        except (ImportError, ConfigError) as e:
            if not any(name in str(e) for name in OPTIONAL):
                raise


# What Brax says where a reader makes an environment of its own by its own functions.
@pytest.mark.filterwarnings("ignore:Brax System, piplines and environments")
@pytest.mark.parametrize("page", QUICK, ids=lambda page: page.stem)
def test_a_page_runs(page, folder):
    run(page, (None,))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Brax System, piplines and environments")
@pytest.mark.parametrize("page", SLOW, ids=lambda page: page.stem)
def test_a_slow_page_runs(page, folder):
    run(page, (None, "slow"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_marks_are_understood(page):
    """A mark that is misspelled, or not before a fence, would be a block that silently runs or does not."""
    text = page.read_text()
    marks = re.findall(r"<!-- *(?:not[ _-]?run|slow)\b.*-->", text)
    assert len(marks) == sum(match[1] is not None for match in FENCE.finditer(text))
    assert all(match[2] for match in FENCE.finditer(text) if match[1] == "not run"), "say why it is not run"


class Understood(Exception):
    """A command's arguments were understood."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_understood(page, folder, monkeypatch, capsys):
    """By the command itself, up to the moment at which it would begin to work."""
    read = tyro.cli

    def stop(*args, **settings):
        raise Understood(read(*args, **settings))

    monkeypatch.setattr(tyro, "cli", stop)
    for block in blocks(page, "sh"):
        for line in block.code.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] != ["pixelbrax"]:
                continue
            if "--import" in words:  # a module of the reader's
                at = words.index("--import")
                del words[at : at + 2]
            if "--config" in words:
                (folder / words[words.index("--config") + 1]).mkdir(parents=True, exist_ok=True)
                preset = ROOT / "src" / "pixelbrax" / "configs" / "ppo-cpu.toml"
                shutil.copy(preset, folder / words[words.index("--config") + 1] / "config.toml")
            with pytest.raises(Understood):
                assert main(words[1:]) == 0, f"{line}: {capsys.readouterr().err}"
