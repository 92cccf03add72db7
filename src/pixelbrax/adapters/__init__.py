"""Other libraries' interfaces: one module for each, which imports its library when it is itself imported."""

from pixelbrax.adapters.gymnasium_ids import register_gymnasium

__all__ = ["register_gymnasium"]
