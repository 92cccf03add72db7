"""Renders the golden pictures with MuJoCo's own renderer, and a sheet of them beside ours.

Needs OpenGL: on a machine without a display `apt-get install libosmesa6` and MUJOCO_GL=osmesa, or MUJOCO_GL=egl.

Usage: MUJOCO_GL=osmesa python -m tests.golden.make [--sheet FILE] [--only NAME ...]
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from PIL import Image

from pixelbrax.render import GeomPose, Scene, orbit, render, spatial_tendons
from tests.golden.models import FOGGY, HEIGHT, NAMES, REFLECTING, WIDTH, bodies, load, picture


def ours(name: str, shadows: bool) -> tuple[np.ndarray, np.ndarray]:
    """(HEIGHT, WIDTH, 3) uint8, our image of the scene, and (HEIGHT, WIDTH) bool, where its bodies are."""
    model, data, view = load(name)
    camera = orbit(jnp.array(view.lookat), view.distance, view.azimuth, view.elevation, model.vis.global_.fovy)
    scene, pose = Scene.from_mujoco(model, tendons=True), GeomPose.from_mujoco(data)
    if place := spatial_tendons(model):
        scene, pose = jax.jit(place)(scene, pose, data.site_xpos)
    effects: dict[str, Any] = {"shadows": shadows, "reflections": name in REFLECTING, "fog": name in FOGGY}
    frame = jax.jit(lambda: render(scene, pose, camera, HEIGHT, WIDTH, ("rgb", "segmentation"), **effects))()
    return np.asarray(frame.rgb), bodies(scene, np.asarray(frame.segmentation))


def mujocos(name: str, shadows: bool) -> np.ndarray:
    """(HEIGHT, WIDTH, 3) uint8, the scene in MuJoCo's own renderer."""
    model, data, view = load(name)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = view.lookat
    camera.distance, camera.azimuth, camera.elevation = view.distance, view.azimuth, view.elevation
    with mujoco.Renderer(model, HEIGHT, WIDTH) as renderer:
        renderer.update_scene(data, camera)
        flags = renderer.scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = name in REFLECTING
        flags[mujoco.mjtRndFlag.mjRND_FOG] = name in FOGGY
        return renderer.render().copy()


def main() -> None:
    """Writes the pictures, and the sheet: a row a scene; MuJoCo's, ours, difference x 4, without and with shadows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="the scenes; by default all")
    args = parser.parse_args()
    sheet, rows = args.sheet, []
    for name in args.only:
        row = []
        for shadows in (False, True):
            theirs = mujocos(name, shadows)
            Image.fromarray(theirs).save(picture(name, shadows))
            mine, body = ours(name, shadows)
            difference = np.abs(theirs.astype(int) - mine)
            mean, of_body = difference.mean(), difference[body].mean()
            print(f"{name:12} shadows={shadows!s:5} mean difference {mean:.2f}, on bodies {of_body:.2f}", flush=True)
            row += [theirs, mine, np.clip(4 * difference, 0, 255).astype(np.uint8)]
        rows.append(np.concatenate(row, axis=1))
    if sheet:
        Image.fromarray(np.concatenate(rows)).save(sheet)


if __name__ == "__main__":
    main()
