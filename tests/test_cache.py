"""Where compiled programs are kept between processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixelbrax.cache import cache_dir
from pixelbrax.errors import ConfigError

_CODE = """
import os, pixelbrax
{before}
folder = pixelbrax.enable_compilation_cache()
assert folder == pixelbrax.enable_compilation_cache(), "the second call changes nothing"
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.jit(lambda x: x + 1)(1.0)
print(folder, len(os.listdir(folder)) if folder else "nothing")
"""


def test_without_a_home_the_variable_that_names_a_folder_is_told(monkeypatch):
    """A container's user whom the container does not know; fetching videos ended with Python's own traceback."""
    for name in ("HOME", "XDG_CACHE_HOME", "PIXELBRAX_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**30)
    with pytest.raises(ConfigError, match="no home folder: name a folder for caches in PIXELBRAX_CACHE"):
        cache_dir()


@pytest.mark.parametrize(
    ("environment", "before", "folder"),
    [
        ({}, "", "own/jax"),
        ({"JAX_COMPILATION_CACHE_DIR": "jaxs"}, "", "jaxs"),
        ({"JAX_COMPILATION_CACHE_DIR": ""}, "", ""),
        ({}, "import jax; jax.config.update('jax_compilation_cache_dir', 'set')", "set"),
        ({"PIXELBRAX_CACHE": "", "XDG_CACHE_HOME": ""}, "os.environ.pop('HOME', ''); os.getuid = lambda: 2**30", ""),
    ],
)
def test_compiled_programs_are_kept_where_jax_was_told_or_else_in_our_cache(tmp_path, environment, before, folder):
    inherited = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    environment = inherited | {"PIXELBRAX_CACHE": "own"} | environment
    command = [sys.executable, "-c", _CODE.format(before=before)]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    *where, count = result.stdout.split()
    assert where == ([folder] if folder else [])
    assert count == "nothing" or int(count) > 0


def test_a_tilde_is_the_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("PIXELBRAX_CACHE", "~/own")
    assert cache_dir() == Path("/home/me/own")
