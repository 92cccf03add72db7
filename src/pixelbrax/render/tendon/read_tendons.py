"""Reads the spatial tendons of a MuJoCo model: their paths, and which of them are strings.

Source: MuJoCo's documentation of `tendon/spatial`, and what `mjv_updateScene` draws.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

_SITE, _PULLEY = int(mujoco.mjtWrap.mjWRAP_SITE), int(mujoco.mjtWrap.mjWRAP_PULLEY)
_SPHERE, _CYLINDER = int(mujoco.mjtWrap.mjWRAP_SPHERE), int(mujoco.mjtWrap.mjWRAP_CYLINDER)
_SPATIAL = (_SITE, _PULLEY, _SPHERE, _CYLINDER)
# MuJoCo draws a string with `numslices` segments, by default 28, and an arc with one for every `numslices`-th of half a
# circle: more than small images show.
_MOST_OF_STRING = 12
ARC_SEGMENTS = 6


@dataclass(frozen=True)
class Around:
    """A geom that a tendon may touch on its way from one site to the next.

    Attributes:
      geom: its id.
      sphere: whether it is a sphere, else a cylinder.
      side: the site on whose side of the geom the tendon passes, or -1.
      inside: whether that site is inside the geom, so that the tendon passes through it.
    """

    geom: int
    sphere: bool
    side: int
    inside: bool


@dataclass(frozen=True)
class Leg:
    """A part of a tendon, from one site to the next.

    Attributes:
      start, end: the sites.
      divisor: what its length counts divided by, because of pulleys.
      around: the geom between, or None.
    """

    start: int
    end: int
    divisor: float
    around: Around | None


@dataclass(frozen=True)
class Tendon:
    """A spatial tendon.

    Attributes:
      number: its id.
      legs: its parts.
      string: its length if it hangs when it is slack; None of others.
      segments: how many capsules it is drawn with.
    """

    number: int
    legs: tuple[Leg, ...]
    string: float | None
    segments: int


def read_tendons(model: mujoco.MjModel) -> tuple[Tendon, ...]:
    """The spatial tendons of a model."""
    return tuple(_read(model, i) for i in range(model.ntendon) if model.wrap_type[model.tendon_adr[i]] in _SPATIAL)


def tendon_segments(model: mujoco.MjModel) -> tuple[int, ...]:
    """The id of the tendon of each segment, in the order of a scene that was read with `tendons=True`."""
    return tuple(tendon.number for tendon in read_tendons(model) for _ in range(tendon.segments))


def _read(model: mujoco.MjModel, number: int) -> Tendon:
    legs = _legs(model, number)
    string = _string(model, number)
    if string is not None:
        return Tendon(number, legs, string, min(model.vis.quality.numslices, _MOST_OF_STRING))
    return Tendon(number, legs, None, sum(1 if leg.around is None else ARC_SEGMENTS + 2 for leg in legs))


def _legs(model: mujoco.MjModel, number: int) -> tuple[Leg, ...]:
    start, count = model.tendon_adr[number], model.tendon_num[number]
    path = zip(*(a[start:][:count].tolist() for a in (model.wrap_type, model.wrap_objid, model.wrap_prm)), strict=True)
    legs: list[Leg] = []
    divisor, last, around = 1.0, -1, None
    for kind, thing, parameter in path:
        if kind == _PULLEY:
            divisor, last = parameter, -1
        elif kind == _SITE:
            if last >= 0:
                legs.append(Leg(last, thing, divisor, around))
            last, around = thing, None
        else:
            side = round(parameter)
            around = Around(thing, kind == _SPHERE, side, side >= 0 and _is_inside(model, thing, side))
    return tuple(legs)


def _is_inside(model: mujoco.MjModel, geom: int, site: int) -> bool:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return bool(np.linalg.norm(data.site_xpos[site] - data.geom_xpos[geom]) < model.geom_size[geom, 0])


def _string(model: mujoco.MjModel, number: int) -> float | None:
    """The length of a tendon that is a string: limited, or held by a spring that only pulls (mjv_isCatenary)."""

    def has(force: str) -> bool:
        return any(np.any(getattr(model, f"tendon_{force}{kind}")[number]) for kind in ("", "poly"))

    driven = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON) & (model.actuator_trnid[:, 0] == number)
    weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY or not np.any(model.opt.gravity)
    if weightless or model.tendon_num[number] != 2 or has("damping") or driven.any():
        return None
    if model.tendon_frictionloss[number]:
        return None
    springy = has("stiffness")
    lower, upper = (model.tendon_lengthspring if springy else model.tendon_range)[number].tolist()
    return upper if lower == 0 and upper > 0 and (springy or model.tendon_limited[number]) else None
