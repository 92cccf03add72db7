"""Clips that look like scenes, drawn from seeds."""
