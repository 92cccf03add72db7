"""Meshes and height fields: triangles, rays that meet them, and their surfaces."""
