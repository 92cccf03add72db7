"""What tests of pictures share."""

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved, in order."""
    figures = []
    real = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, path: (real(self, path), figures.append(self)))
    return figures
