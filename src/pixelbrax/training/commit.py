"""The commit that a package was made from. Only the standard library: the build of the wheel loads this file too."""

import json
import subprocess
from importlib import metadata
from pathlib import Path

COMMIT_FILE = "commit.txt"
"""File in the wheel's package folder, written if the wheel was built from a checkout."""


def commit_of(package: Path) -> str:
    """The commit of a package folder, marked "+changes" if it was changed since; empty if unknown.

    The source is git for a checkout, the file that the build wrote for an installed wheel, and pip's record for
    `pip install git+...`.
    """
    if commit := checked_out(package):
        return commit
    if (file := package / COMMIT_FILE).is_file():
        return file.read_text(encoding="utf-8").strip()
    return _from_pip()


def checked_out(package: Path) -> str:
    """The commit of the checkout that a package folder belongs to; empty if it belongs to none."""

    def git(*args: str) -> str:
        command = ["git", "-C", str(package), *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # the package may lie in somebody else's repository
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _from_pip() -> str:
    """PEP 610: the commit of an installation from a version control system."""
    try:
        source = json.loads(metadata.distribution("pixelbrax").read_text("direct_url.json") or "{}")
        return str(source.get("vcs_info", {}).get("commit_id", ""))
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return ""
