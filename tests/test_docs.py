"""The documents: their links lead somewhere, and their snippets use what there is. tests/test_docs_run.py runs them."""

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import pixelbrax
from pixelbrax.errors import ConfigError

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OPTIONAL = ("gymnax", "torch", "tensordict", "Stable-Baselines3")
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def _blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def _anchors(document: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _module(name: str) -> ModuleType:
    """The module; skips the test if it wants a library that not every Python version here has."""
    try:
        return importlib.import_module(name)
    except (ImportError, ConfigError) as e:
        if any(optional in str(e) for optional in OPTIONAL):
            pytest.skip(str(e))
        raise


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith("https://"):
            name, _, anchor = link.partition("#")
            target = document.parent / name if name else document
            assert target.exists(), link
            assert not anchor or anchor in _anchors(target), link


@pytest.mark.parametrize("document", [*DOCUMENTS, *EXAMPLES], ids=lambda path: path.name)
def test_snippets_and_examples_use_what_there_is(document, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    for code in [document.read_text()] if document in EXAMPLES else _blocks(document, "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = _module(node.module)
                for name in node.names:  # a submodule is an attribute once something has imported it
                    missing = not hasattr(module, name.name)
                    assert not missing or importlib.import_module(f"{node.module}.{name.name}"), ast.unparse(node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pixelbrax":
                assert hasattr(pixelbrax, node.attr), ast.unparse(node)
