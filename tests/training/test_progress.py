"""What people see while training goes on: a curve on a terminal, a bar in a notebook, plain lines elsewhere."""

import io
import os
import sys
import time
import types

import pytest
from rich.console import Console

from pixelbrax.training.progress import Progress, plain_console
from pixelbrax.training.sparkline import sparkline
from pixelbrax.training.stopwatch import TOTAL, Stopwatch, read_timings, write_timings

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "width", "curve"),
    [
        ([], 8, ""),
        ([NAN], 8, ""),
        ([1.0], 0, ""),
        ([3.0], 8, "▁"),
        ([5.0, 5.0], 8, "▁▁"),
        ([0.0, NAN, 7.0, 3.0], 8, "▁█▄"),
        ([float(k) for k in range(8)], 8, "▁▂▃▄▅▆▇█"),
        ([0.0, 0.0, -7.0, -7.0], 2, "█▁"),
        ([float(k) for k in range(1000)], 8, "▁▂▃▄▅▆▇█"),
    ],
)
def test_a_sparkline_goes_from_the_lowest_to_the_highest(values, width, curve):
    assert sparkline(values, width) == curve


def _shown(**settings):
    out = io.StringIO()
    progress = Progress(Console(file=out, width=60, highlight=False, **settings))
    for k, value in enumerate([NAN, 1.0, 8.0]):
        progress.training(f"line {k}", k == 2, k / 2, value)
    return out.getvalue()


def test_a_terminal_shows_the_curve_of_returns(monkeypatch):
    shown = _shown(force_terminal=True)
    assert shown.rstrip().endswith("line 2  ▁█")
    assert all(len(line) <= 60 for line in shown.replace("\n", "\r").split("\r"))
    monkeypatch.setattr(Console, "encoding", "ascii")
    assert "▁" not in _shown(force_terminal=True)


def test_files_get_plain_lines():
    assert _shown(force_terminal=False).splitlines() == ["line 0", "line 2"]


def test_a_text_is_printed_as_it_is(capsys):
    text = "pixelbrax train --resume runs/lr:100:x[bold]"
    Progress().say(text)
    assert capsys.readouterr().out == f"{text}\n"
    out = io.StringIO()
    progress = Progress(Console(file=out, width=60, force_terminal=True, color_system=None))
    progress.training(text, last=True)
    with progress.busy(text):
        pass
    assert out.getvalue().count("lr:100:x[bold]") >= 3
    assert "\N{HUNDRED POINTS SYMBOL}" not in out.getvalue()


def test_a_closed_pipe_is_an_error_and_does_not_end_the_program(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", os.fdopen(writer, "w", buffering=1))
    with pytest.raises(BrokenPipeError):
        Progress(plain_console()).say("first line")


def test_a_notebook_gets_one_bar_that_moves(monkeypatch, capsys):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        assert display_id is True
        shown.append(html)
        return Handle()

    fake = types.SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    progress = Progress()
    progress.training("<i> 50%", False, 0.5, 1.0)
    progress.training("<i> 100%", True, 1.0, 2.0)
    first, last = shown
    assert 'value="0.5000"' in first
    assert 'value="1.0000"' in last
    assert "&lt;i&gt; 100%  ▁█" in last
    assert capsys.readouterr().out == ""


def test_a_stopwatch_counts_each_second_once_and_for_the_innermost(tmp_path):
    began, watch, file = time.perf_counter(), Stopwatch(), tmp_path / "timings.json"
    with watch.of("training"):
        time.sleep(0.05)
        with watch.of("compiling"):
            time.sleep(0.1)
    total = time.perf_counter() - began
    assert watch.seconds["compiling"] >= 0.1
    assert watch.seconds["training"] >= 0.05
    assert sum(watch.seconds.values()) <= total
    write_timings(file, watch, began)
    write_timings(file, watch, began)  # the same session again
    assert read_timings(file)["compiling"] == pytest.approx(watch.seconds["compiling"], abs=1e-3)
    write_timings(file, Stopwatch(), time.perf_counter() - 5.0)  # resumed later
    assert read_timings(file)[TOTAL] == pytest.approx(total + 5.0, abs=1.0)
    for damaged in ("", "[]", '{"1": 2}', '{"1": {"a": "b"}}'):
        file.write_text(damaged)
        assert read_timings(file) == {}
    assert read_timings(tmp_path / "none.json") == {}
