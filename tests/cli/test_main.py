"""How a command ends."""

import gc
import importlib
import os
import signal
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
    monkeypatch.setattr(gc, "freeze", lambda: None)
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


def test_ctrl_c_is_not_lost_in_jaxs_garbage_collection(monkeypatch):
    """In `_xla_gc_callback` Python ignores the exception, also while a command loads JAX."""
    handlers, before = [], signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job may ignore it
    note = lambda: handlers.append(signal.getsignal(signal.SIGINT))  # noqa: E731
    monkeypatch.setattr(command, "main", lambda _: note() or 0)
    load = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", lambda name: note() or load(name))
    try:
        assert main(["list"]) == 0
        assert len(handlers) == 2
        assert signal.default_int_handler not in handlers
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("code", [0, 130])
def test_a_program_ends_without_importing_or_collecting_more(monkeypatch, code):
    """The training package takes seconds to import, and all of JAX seconds to search for cycles."""
    frozen = []
    monkeypatch.setattr(command, "main", lambda _: code)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(code))
    monkeypatch.setattr(sys, "argv", ["pixelbrax", "list"])
    monkeypatch.delitem(sys.modules, "pixelbrax.training")
    assert main(["list"]) == code
    assert not frozen, "called from Python, which goes on"
    assert main() == code
    assert frozen == [code]
    assert "pixelbrax.training" not in sys.modules
