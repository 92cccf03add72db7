"""Colors of a task's model, chosen so that agents can distinguish body, floor and sky."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError, check_color, check_number, check_pair

Rgb = tuple[float, float, float]

_PLANE, _CYLINDER = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_CYLINDER)
_DISC_HEIGHT = 0.002  # meters


@dataclass(frozen=True)
class Palette:
    """Colors and headlight, each from 0 to 1, that replace those of a model.

    Brax's own floor is black and nearly white: dark limbs vanish on every other cell, and the floor's pattern dominates
    the image. Here, as in the DeepMind Control Suite, a muted floor and a bright sky leave the strongest color to the
    body.

    Attributes:
      body: color of all geoms except planes.
      floor: colors of the two cells of a plane's checker.
      sky_up, sky_down: ends of the sky's gradient; the horizon is in the middle. A sky cannot be added to a compiled
        model, so `PixelEnv` renders it where the model has none.
      accents: (body, color) for bodies that must be distinguishable from the others, such as targets.
      discs: (body, radius in meters) for bodies rendered as flat discs on the ground (z = 0), so that bodies standing
        there do not hide them. Physics and rewards stay the same.
      headlight_ambient, headlight_diffuse: light from the camera. Brax's tasks are lit from above, which leaves upright
        bodies dark.
    """

    body: Rgb = (0.95, 0.60, 0.28)
    floor: tuple[Rgb, Rgb] = ((0.14, 0.22, 0.30), (0.22, 0.32, 0.42))
    sky_up: Rgb = (0.35, 0.55, 0.85)
    sky_down: Rgb = (0.85, 0.93, 1.0)
    accents: tuple[tuple[str, Rgb], ...] = ()
    discs: tuple[tuple[str, float], ...] = ()
    headlight_ambient: float = 0.2
    headlight_diffuse: float = 0.6

    def __post_init__(self):
        """Checks the colors.

        Raises:
          ConfigError: a color is not red, green and blue from 0 to 1, or a field has the wrong form.
        """
        for name in ("body", "sky_up", "sky_down"):
            check_color(f"the palette's {name}", getattr(self, name))
        for color in check_pair("the palette's floor", self.floor, "two colors"):
            check_color("a color of the palette's floor", color)
        for accent in self.accents:
            body, color = check_pair("an accent of the palette", accent, "the name of a body and its color")
            check_color(f"the palette's accent of {body!r}", color)
        for disc in self.discs:
            body, radius = check_pair("a disc of the palette", disc, "the name of a body and a radius")
            if not check_number(f"the palette's disc of {body!r}", radius, 0):
                raise ConfigError(f"the palette's disc of {body!r} has radius {radius}: it must be greater than 0")
        for name in ("headlight_ambient", "headlight_diffuse"):
            check_number(f"the palette's {name}", getattr(self, name), 0)

    def apply(self, model: mujoco.MjModel) -> None:
        """Recolors a compiled model in place: its geoms, its checkers and its gradient sky, where it has them."""
        # Looked up first: a model that a look does not suit stays as it is.
        accents = [(_body(model, name), color) for name, color in self.accents]
        discs = [(_body(model, name), radius) for name, radius in self.discs]
        model.vis.headlight.ambient[:] = self.headlight_ambient
        model.vis.headlight.diffuse[:] = self.headlight_diffuse
        planes = model.geom_type == _PLANE
        model.geom_rgba[~planes, :3] = self.body
        model.geom_rgba[planes, :3] = 1.0
        for plane in np.flatnonzero(planes):
            material = model.geom_matid[plane]
            if material < 0 or model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB] < 0:
                model.geom_rgba[plane, :3] = np.mean(self.floor, axis=0)
        for body, color in accents:
            model.geom_rgba[model.geom_bodyid == body, :3] = color
        for body, radius in discs:
            _flatten(model, body, radius)
        for texture in range(model.ntex):
            kind = model.tex_type[texture]
            if kind == mujoco.mjtTexture.mjTEXTURE_2D:
                _regrade(model, texture, *self.floor)
            elif kind == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
                _regrade(model, texture, self.sky_down, self.sky_up)


def _flatten(model: mujoco.MjModel, body: int, radius: float) -> None:
    """Replaces a body's geoms with a disc on the ground; the body must not rotate or rise."""
    geoms = model.geom_bodyid == body
    model.geom_type[geoms] = _CYLINDER
    model.geom_size[geoms] = (radius, _DISC_HEIGHT / 2, 0.0)
    model.geom_pos[geoms] = (0.0, 0.0, _DISC_HEIGHT / 2 - model.body_pos[body, 2])
    model.geom_quat[geoms] = (1.0, 0.0, 0.0, 0.0)


def _body(model: mujoco.MjModel, name: str) -> int:
    """Id of a body; raises ConfigError if there is none with that name."""
    names = [model.body(i).name for i in range(model.nbody)]
    if name not in names:
        raise ConfigError(f"the model has no body {name!r} for the palette to color: it has {', '.join(names[1:])}")
    return names.index(name)


def _regrade(model: mujoco.MjModel, texture: int, darkest: Rgb, brightest: Rgb) -> None:
    """Recolors a texture linearly: its darkest texel to one color, its brightest to another."""
    size = int(model.tex_height[texture] * model.tex_width[texture] * model.tex_nchannel[texture])
    start = model.tex_adr[texture]
    texels = model.tex_data[start : start + size].reshape(-1, model.tex_nchannel[texture])
    brightness = texels[:, :3].astype(np.float64).mean(1)
    spread = max(np.ptp(brightness), 1.0)
    share = ((brightness - brightness.min()) / spread)[:, None]
    color = np.array(darkest) + share * (np.array(brightest) - np.array(darkest))
    if texels.shape[1] < 3:
        texels, color = texels[:, :1], color.mean(1, keepdims=True)
    texels[:, :3] = np.round(255 * color).astype(np.uint8)
