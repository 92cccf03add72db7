"""How the end of one process is told to the others, and what of their software they compare."""

import pytest

from pixelbrax.errors import ConfigError, TrainingError
from pixelbrax.training.link import End
from pixelbrax.training.processes import _checksum, _end, _software


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (KeyboardInterrupt(), End("process 1 was stopped", 130)),
        (ConfigError("runs/x exists"), End("process 1 stopped: runs/x exists", 2)),
        (TrainingError("it broke down"), End("process 1 stopped: it broke down", 1)),
        (OSError(28, "the disk is full"), End("process 1 failed: OSError: [Errno 28] the disk is full", 2)),
        (RuntimeError("one\ntwo"), End("process 1 failed: RuntimeError: one", 1)),
        (RuntimeError(), End("process 1 failed: RuntimeError: RuntimeError", 1)),
    ],
)
def test_every_process_ends_with_the_code_of_the_first(error, end):
    assert _end("process 1", error) == end


def test_flags_that_change_no_result_may_differ(monkeypatch):
    """Their order, and where programs are written to."""
    monkeypatch.setattr("pixelbrax.training.processes._checksum", lambda folder: "same")
    found = []
    for flags in (
        "--xla_b=1 --xla_a=2",
        "--xla_a=2 --xla_dump_to=/tmp/x --xla_b=1",
        "--xla_a=2",
        "",
        "--xla_dump_to=x",
    ):
        monkeypatch.setenv("XLA_FLAGS", flags)
        found.append(_software()["XLA_FLAGS"])
    assert found == ["--xla_a=2 --xla_b=1", "--xla_a=2 --xla_b=1", "--xla_a=2", "none", "none"]


def test_files_are_compared_by_name_and_bytes_without_what_python_compiles(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "one.py").write_bytes(b"x = 1")
    found = [_checksum(tmp_path)]
    (tmp_path / "__pycache__" / "one.pyc").write_bytes(b"compiled")
    found.append(_checksum(tmp_path))
    (tmp_path / "one.py").write_bytes(b"x = 2")
    found.append(_checksum(tmp_path))
    (tmp_path / "one.py").rename(tmp_path / "two.py")
    found.append(_checksum(tmp_path))
    assert found[0] == found[1]
    assert len(set(found)) == 3
