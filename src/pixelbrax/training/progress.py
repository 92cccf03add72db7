"""Progress messages for people."""

import contextlib
import errno
import math
import os
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from pixelbrax.training.idle import idle_watch, ticking
from pixelbrax.training.notebook import NotebookBar
from pixelbrax.training.sparkline import sparkline
from pixelbrax.training.stopwatch import Stopwatch

_LINE_SECONDS = 10.0  # between two lines where the output is not a terminal
_CURVE = 24  # characters of the curve behind a line


class _Output(Console):
    """A console whose closed pipe is an error as any other; Rich's own ends the program."""

    def on_broken_pipe(self) -> None:
        """Called when nobody reads the output any more."""
        self.quiet = True
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def plain_console(quiet: bool = False) -> Console:
    """Standard output; in a notebook plain lines, where rich would make a separate output of each."""
    console = _Output(highlight=False, quiet=quiet)
    if console.is_jupyter:
        return _Output(highlight=False, quiet=quiet, force_jupyter=False, force_terminal=False)
    return console


class Progress:
    """One live line on a terminal, a bar in a notebook; a line every few seconds elsewhere (files, CI)."""

    def __init__(self, console: Console | None = None, quiet: bool = False):
        """Writes to `console`, by default standard output; if quiet, only the lines with `always`."""
        self.console = console or plain_console()
        self.quiet = quiet
        self.stopwatch = Stopwatch()
        self._last_line = 0.0
        self._returns: list[float] = []
        self._bar = _notebook_bar()

    def say(self, text: str, always: bool = False) -> None:
        """Prints a line that stays.

        Args:
          text: the line.
          always: print it even if quiet, as for results and errors.
        """
        if always or not self.quiet:
            self.console.print(text, markup=False, emoji=False, soft_wrap=True)

    @contextlib.contextmanager
    def busy(self, what: str, part: str = "") -> Iterator[None]:
        """Shows `what` and the seconds it takes, such as "compiling the update".

        Args:
          what: is under way.
          part: for which the stopwatch counts the seconds; by default `what`.
        """
        start = time.perf_counter()
        watching, counting = idle_watch(what, lambda text: self.say(text, always=True)), self.stopwatch.of(part or what)
        if self.quiet:
            with watching, counting:
                yield
            return
        with watching, counting, self._ticking(lambda: f"{what} ... {time.perf_counter() - start:.0f} s"):
            if not self.console.is_terminal:
                self.say(f"{what} ...")
            yield
        self.say(f"{what}: {time.perf_counter() - start:.1f} s")

    def training(self, line: str, last: bool, share: float = 0.0, mean_return: float = math.nan) -> None:
        """Shows the progress of training; the last line stays.

        Args:
          line: the text.
          last: whether it is the last line.
          share: how much is done, 0 to 1.
          mean_return: of the episodes since the last line; a terminal and a notebook show the curve of all of them.
        """
        if self.quiet:
            return
        self._returns.append(mean_return)
        if self._bar is not None:
            self._bar.show(share, f"{line}  {sparkline(self._returns, _CURVE)}")
        elif self.console.is_terminal:
            padded = self._with_curve(line).ljust(self.console.width - 1)  # covers what a longer line left behind
            end = "\n" if last else "\r"
            self.console.print(padded, end=end, markup=False, emoji=False, overflow="crop", no_wrap=True)
        elif last or time.perf_counter() - self._last_line >= _LINE_SECONDS:
            self._last_line = time.perf_counter()
            self.say(line)

    def _with_curve(self, line: str) -> str:
        """The line with the curve of returns, if there is room and the terminal has its characters."""
        room = self.console.width - 3 - len(line)
        if not self.console.encoding.startswith("utf"):
            return line
        return f"{line}  {sparkline(self._returns, min(room, _CURVE))}"

    @contextlib.contextmanager
    def _ticking(self, text: Callable[[], str]) -> Iterator[None]:
        """Refreshes a status line from a separate thread: the main thread is inside the compiler."""
        if not self.console.is_terminal:
            yield
            return
        with self.console.status(Text(text())) as status:

            def tick() -> bool:
                status.update(Text(text()))
                return True

            with ticking(0.5, tick):
                yield


def _notebook_bar() -> NotebookBar | None:
    """A bar, in a notebook."""
    if not Console().is_jupyter:
        return None
    try:
        return NotebookBar()
    except ImportError:
        return None


def episodes_of(count: int) -> str:
    """A number of episodes as text: "1 episode", "1,000 episodes"."""
    return f"{count:,} episode{'s' * (count != 1)}"


def amount(value: float) -> str:
    """A return for people: whole from 100 on, and to three digits below, where some tasks have all of theirs."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def progress_line(row: dict[str, float], total_steps: int, seconds_left: float) -> str:
    """One line of steps, speed, return and time left from a row of metrics.csv."""
    done = row["steps"] / total_steps
    mean_return = row["return"]
    shown = "  (no whole episode ended)" if mean_return != mean_return else f"{mean_return:9,.1f}"
    diverged = f"  {episodes_of(int(row['diverged']))} diverged" if row.get("diverged") else ""
    minutes, seconds = divmod(int(seconds_left), 60)
    return (
        f"{done:4.0%}  {int(row['steps']):,} of {total_steps:,} steps  {row['steps_per_second']:,.0f} steps/s  "
        f"return {shown}{diverged}  {minutes}:{seconds:02d} left"
    )
