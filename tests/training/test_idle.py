"""A process that waits for ever says so; one that computes does not; and progress in a notebook."""

import threading
import time

from pixelbrax.training.idle import idle_watch
from pixelbrax.training.progress import Progress, plain_console


def _said(work) -> list[str]:
    said, told = [], threading.Event()

    def say(text):
        said.append(text)
        told.set()

    with idle_watch("compiling", say, seconds=0.3, tick=0.02):
        work(told)
    return said


def test_an_idle_process_is_noticed_once():
    (line,) = _said(lambda told: (told.wait(30), time.sleep(0.5)))
    assert line.startswith("compiling: no progress, the processor has been idle for")


def test_a_busy_process_is_not():
    def compute(told):
        del told
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass

    assert _said(compute) == []


def test_a_notebook_gets_plain_lines(monkeypatch, capsys):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    progress = Progress(plain_console())
    with progress.busy("compiling"):
        pass
    first, last = capsys.readouterr().out.splitlines()
    assert first == "compiling ..."
    assert last.startswith("compiling: ")
