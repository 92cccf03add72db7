"""Progress in a notebook: a bar that moves in its place."""

import html
from typing import Any


class NotebookBar:
    """A bar with a line under it; each `show` replaces the last one."""

    def __init__(self):
        """Raises ImportError outside of notebooks, where there is no IPython."""
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        self._html, self._display = HTML, display
        self._handle: Any = None

    def show(self, share: float, line: str) -> None:
        """Shows how much is done.

        Args:
          share: 0 to 1.
          line: text under the bar.
        """
        shown = self._html(
            f'<progress value="{share:.4f}" max="1" style="width: 100%; max-width: 40em"></progress>'
            f"<pre>{html.escape(line)}</pre>"
        )
        if self._handle is None:
            self._handle = self._display(shown, display_id=True)
        else:
            self._handle.update(shown)
