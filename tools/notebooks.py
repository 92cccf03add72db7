"""Writes the .ipynb beside each notebooks/*.py, without outputs; with --check fails if one is out of step.

Usage: python -m tools.notebooks [--check]

The .py files (Jupytext's percent format) are what is written, tested and reviewed. Notebooks are for Jupyter and Colab.
"""

import argparse
from pathlib import Path

import jupytext
import nbformat

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def notebook_of(script: Path) -> str:
    """The notebook of a script, as the text of its file: the same for the same script."""
    notebook = jupytext.read(script, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # random otherwise
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4) + "\n"


def main() -> None:
    """Writes the notebooks, or compares them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="writes nothing, and fails if a notebook is out of step")
    check = parser.parse_args().check
    for script in sorted(NOTEBOOKS.glob("*.py")):
        file, text = script.with_suffix(".ipynb"), notebook_of(script)
        if check and (not file.exists() or file.read_text() != text):
            raise SystemExit(f"{file} is not that of {script}: run `python -m tools.notebooks`")
        if not check:
            file.write_text(text)


if __name__ == "__main__":
    main()
