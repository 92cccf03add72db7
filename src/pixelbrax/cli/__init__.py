"""The command line, one file a command."""

from pixelbrax.cli.main import main

__all__ = ["main"]
