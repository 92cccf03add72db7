"""Writes the commit into what is built, so that runs of an installed package can name it."""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds commit.txt to the package in a wheel or source distribution that is built from a checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the build; editable installations need no file, as their package is the checkout."""
        package = Path(self.root) / "src" / "pixelbrax"
        spec = importlib.util.spec_from_file_location("commit", package / "training" / "commit.py")
        if version == "editable" or spec is None or spec.loader is None:
            return
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if commit := module.checked_out(package):
            with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
                file.write(commit + "\n")
            self._file = Path(file.name)
            folder = "src/pixelbrax" if self.target_name == "sdist" else "pixelbrax"
            build_data["force_include"][file.name] = f"{folder}/{module.COMMIT_FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after the build."""
        if file := getattr(self, "_file", None):
            file.unlink(missing_ok=True)
