"""How a command ends."""

import os
import sys
import threading

import pytest

from pixelbrax.cli import list as command
from pixelbrax.cli.main import main
from pixelbrax.training import COMPILER


@pytest.mark.parametrize("compiles", [False, True])
def test_after_ctrl_c_a_program_does_not_wait_for_the_compiler(monkeypatch, capsys, compiles):
    ended, done = [], threading.Event()

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "main", interrupted)
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "argv", ["pixelbrax", "list"])
    thread = threading.Thread(target=done.wait, name=f"{COMPILER}_0" if compiles else "other")
    thread.start()
    try:
        assert main() == 130
        assert main(["list"]) == 130  # called from Python, whose process is not this function's to end
    finally:
        done.set()
        thread.join()
    assert ended == [130] * compiles
    assert "stopped" in capsys.readouterr().err
