"""The scene of an environment, and what varies of it."""

from dataclasses import replace

import jax.numpy as jnp
import mujoco
import numpy as np

from pixelbrax.envs.checks import checked_sky
from pixelbrax.envs.observe import ImageSettings
from pixelbrax.errors import check_flag, warn_caller
from pixelbrax.physics import Physics, RandomizationFn, Randomizer
from pixelbrax.render import READ_ONCE, Scene
from pixelbrax.tasks import Rgb


def read_scene(
    model: mujoco.MjModel, infinite_planes: bool, skip_unsupported: bool, tendons: bool, sky: tuple[Rgb, Rgb] | None
) -> Scene:
    """The scene of an environment; see `PixelEnv` for the settings."""
    scene = Scene.from_mujoco(
        model, skip_unsupported=check_flag("skip_unsupported", skip_unsupported), sites=True, tendons=tendons
    )
    if check_flag("infinite_planes", infinite_planes):
        scene = scene.with_infinite_planes()
    if sky is not None:
        sky = checked_sky(sky)
        if not has_skybox(model):
            scene = replace(scene, sky_rgb=jnp.array(sky, jnp.float32))
    return scene


def has_skybox(model: mujoco.MjModel) -> bool:
    """Whether a model has a sky of its own, which is rendered whatever colors are given."""
    return bool(np.any(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX))


# What the path and the color of a string follow from.
_OF_STRINGS = ("tendon_range", "tendon_lengthspring", "tendon_margin", "tendon_solimp_lim")


def read_randomizer(physics: Physics, function: RandomizationFn | None, images: ImageSettings) -> Randomizer:
    """The randomizer of an environment; warns of sampled parameters that its images do not show."""
    randomizer = Randomizer(physics, function)
    read_once = (*READ_ONCE, *(_OF_STRINGS if images.tendons else ()))
    if images.outputs and (ignored := [name for name in randomizer.names if name in read_once]):
        warn_caller(f"randomization_fn samples {', '.join(ignored)}, of which images show the model's own")
    return randomizer
