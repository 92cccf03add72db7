"""Systems of Brax from MJCF, in which every link has a joint."""

import copy
import os
from typing import Any

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError, check_choice
from pixelbrax.physics.brax import brax_mjcf, quiet_brax
from pixelbrax.physics.brax_checks import ENGINES, check_for_brax
from pixelbrax.physics.mjcf import Source, load_model
from pixelbrax.physics.model_checks import check_model, name_of, thing

_TRACK, _TRACKCOM = int(mujoco.mjtCamLight.mjCAMLIGHT_TRACK), int(mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM)


def load_system(source: Source, backend: str = "spring") -> Any:
    """A `brax.base.System` of an MJCF file, for a `brax.envs.base.PipelineEnv` that `pixelbrax.wrap` takes.

    Brax has a link for each body with a joint. In a file or a specification MuJoCo fuses every other body with the one
    that carries it, or with the world (`<compiler fusestatic="true"/>`): masses, inertias, and the places of geoms,
    sites, cameras and lights stay as they are, and the name of the body is lost. MJX's contacts with it become a little
    softer or harder, as their softness depends on the body's weight. Mocap bodies, and those to which something refers
    (the target of a camera, a sensor, an `<exclude>`, ...), are not fused: "mjx" simulates them, and Brax's own engines
    refuse them. A compiled model is used as it is, and not changed.

    Args:
      source: an MJCF file, a `mujoco.MjSpec` or a `mujoco.MjModel`.
      backend: the one on which it will run; "mjx" refuses less.

    Raises:
      ConfigError: there is no such backend, MuJoCo cannot compile it, it has no actuator or no joint, Brax refuses it,
        or a camera or light follows a body that would be fused.
    """
    check_choice("backend", backend, (*ENGINES, "mjx"))
    model = load_model(source)
    check_model(model)
    with quiet_brax():
        model = _without_loose_bodies(source, model)
        if backend in ENGINES:
            check_for_brax(model)
        try:
            return brax_mjcf.load_model(model)
        except (NotImplementedError, RuntimeError, ValueError) as e:
            raise ConfigError(f"{name_of(model)}: Brax cannot load it: {str(e).strip()}") from e


def _without_loose_bodies(source: Source, model: mujoco.MjModel) -> mujoco.MjModel:
    """The model, whose source is given, for Brax to write into: with its bodies without a joint fused, if it can."""
    if isinstance(source, mujoco.MjModel):
        return copy.copy(model)
    loose = (model.body_jntnum == 0) & (model.body_mocapid < 0)
    loose[0] = False  # the world
    if not loose.any():
        return model
    _refuse_followers(model, loose)
    spec = source.copy() if isinstance(source, mujoco.MjSpec) else mujoco.MjSpec.from_file(os.fspath(source))
    spec.compiler.fusestatic = True
    if spec.compiler.settotalmass > 0:  # what is fused with the world has no mass there
        spec.compiler.settotalmass = model.body_mass[model.body_weldid > 0].sum()
    return load_model(spec)


def _refuse_followers(model: mujoco.MjModel, loose: np.ndarray) -> None:
    """Refuses a camera or a light that follows a body to be fused: it would follow another one, and see other things.

    Args:
      model: with all its bodies.
      loose: (nbody,) which of them will be fused.
    """
    followers = (("camera", model.cam_bodyid, model.cam_mode), ("light", model.light_bodyid, model.light_mode))
    for kind, bodies, modes in followers:
        moves = model.body_weldid[bodies] > 0
        for number in np.flatnonzero(loose[bodies] & (((modes == _TRACK) & moves) | (modes == _TRACKCOM))):
            body = int(bodies[number])
            carrier = int(model.body_weldid[body])
            raise ConfigError(
                f"{name_of(model)}: the {kind} {getattr(model, kind)(number).name or number!r} follows "
                f"{thing(model, 'body', body)}, which has no joint and becomes a part of another: put it into "
                f"{thing(model, 'body', carrier) if carrier else '<worldbody>'}, or take its mode out"
            )
