"""Spatial tendons, as MuJoCo draws them."""
