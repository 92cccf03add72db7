"""Patches of Brax 0.14.2, applied only while it is traced: fluids on current JAX, gradients of bodies at rest."""

import contextlib
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax.numpy as jnp
from brax import fluid, math
from brax.base import System
from brax.envs.base import PipelineEnv
from brax.generalized import integrator
from jaxtyping import Array, Float

_LOCK = threading.RLock()
_LEAST = 1e-8  # added to the angular speed, as Brax does


class _NumpyOfOldJax(ModuleType):
    """`jax.numpy` whose `clip` takes the keywords `a_min` and `a_max`, which JAX 0.10 removed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)

    @staticmethod
    def clip(x: Array, *, a_min: Any = None, a_max: Any = None) -> Array:
        return jnp.clip(x, a_min, a_max)


def _free_joint(sys: System, q: Float[Array, " 7"], qd: Float[Array, " 6"]) -> Float[Array, " 7"]:
    """Where a free joint is after a time step: Brax's own bits, and a derivative at rest, where Brax's is NaN."""
    squares = jnp.sum(qd[3:] * qd[3:])
    turns = squares > 0
    speed = jnp.where(turns, jnp.sqrt(jnp.where(turns, squares, 1.0)), 0.0) + _LEAST
    rot = math.quat_mul(q[3:], math.quat_rot_axis(qd[3:] / speed, sys.opt.timestep * speed))
    return jnp.concatenate([q[:3] + qd[:3] * sys.opt.timestep, rot / jnp.linalg.norm(rot)])


@contextlib.contextmanager
def patched(env: PipelineEnv) -> Iterator[None]:
    """Within it a step of an environment can be traced, and differentiated.

    Remove when: a Brax release calls `jnp.clip` with `min` and `max` in `brax/fluid.py`, and takes the norm of angular
    velocities in `brax/generalized/integrator.py` by `math.safe_norm`.
    """
    changes: list[tuple[ModuleType, str, Any]] = []
    if env.sys.enable_fluid:
        changes.append((fluid, "jp", _NumpyOfOldJax("jax.numpy")))
    if env.backend == "generalized" and "f" in env.sys.link_types:
        changes.append((integrator, "_integrate_q_free", _free_joint))
    if not changes:
        yield
        return
    with _LOCK:
        originals = [getattr(module, name) for module, name, _ in changes]
        for module, name, ours in changes:
            setattr(module, name, ours)
        try:
            yield
        finally:
            for (module, name, _), original in zip(changes, originals, strict=True):
                setattr(module, name, original)
