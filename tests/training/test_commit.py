"""Which commit a run was made by, wherever the package lies."""

import json
import subprocess
from importlib import metadata

from pixelbrax.training.commit import COMMIT_FILE, commit_of


def _git(folder, *args):
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    command = ["git", "-C", str(folder), *identity, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_checkout_names_its_commit_and_whether_it_was_changed(tmp_path):
    _git(tmp_path, "init", "-q")
    (tmp_path / "__init__.py").write_text("")
    _git(tmp_path, "add", "__init__.py")
    _git(tmp_path, "commit", "-q", "-m", "first")
    head = _git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(tmp_path) == head
    (tmp_path / "__init__.py").write_text("1")
    assert commit_of(tmp_path) == f"{head}+changes"


def test_an_installed_package_names_what_its_build_left(tmp_path):
    (tmp_path / COMMIT_FILE).write_text("abc\n")
    assert commit_of(tmp_path) == "abc"


def test_an_installation_from_git_names_what_pip_wrote(tmp_path, monkeypatch):
    class Installed:
        text: str | None = json.dumps({"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "def"}})

        def read_text(self, name):
            return self.text if name == "direct_url.json" else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert commit_of(tmp_path) == "def"
    for text in (None, "[]", "{", json.dumps({"url": "file:///x", "dir_info": {}})):
        monkeypatch.setattr(Installed, "text", text)
        assert commit_of(tmp_path) == ""
