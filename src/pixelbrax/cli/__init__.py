"""The command line, one file per command."""

from pixelbrax.cli.main import main

__all__ = ["main"]
