"""Episodes of the DeepMind Control Suite, where MuJoCo Playground's port begins, rewards or observes otherwise.

Six of Playground's models begin in other states than the suite's, and three have other observations. All compute
rewards and observations from places and velocities before an action's last time step, beside coordinates after it. The
laws here are those of dm_control 1.0.50 (its `suite` and `suite.utils.randomizers`).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.physics._mjx import mjx
from pixelbrax.physics._suite import by_name

_ATTEMPTS = 1000  # as the suite allows its finger; a quarter of the humanoid's draws overlap, the most of all
_OURS = 2**31  # a key apart from those that Playground splits from its own

Qpos = Float[Array, " nq"]
Coordinates = tuple[Qpos, Float[Array, " nv"]]
Law = Callable[[mujoco.MjModel, Array, Qpos], Coordinates]
"""First coordinates and velocities, from the model, a raw key and Playground's first coordinates."""


class SuiteEpisodes:
    """An `MjxEnv` of Playground's control suite that begins, rewards and observes as the suite does."""

    def __init__(self, env: Any, name: str):
        """Takes the environment and Playground's name of its task, such as "CheetahRun"."""
        self.env = env
        self._law, self._apart = by_name(_FIRST, name) or (None, False)
        self._corrected = by_name(_OBSERVATIONS, name) or (lambda env, data, obs: obs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "env":  # while it is copied it has no `env` yet
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, rng: Array) -> Any:
        """As `MjxEnv.reset`."""
        model, state = self.env.mjx_model, self.env.reset(rng)
        if self._law is None:
            return self._observed(state, _observable(model, state.data))
        key, draw = jax.random.fold_in(rng, _OURS), functools.partial(_drawn, self._law, self.env.mj_model, state.data)
        # A loop without a fixed end has no gradient, and needs none.
        data = _apart(draw, jax.lax.stop_gradient(model), key) if self._apart else draw(key)
        return self._observed(state, mjx.forward(model, data))

    def step(self, state: Any, action: Array) -> Any:
        """As `MjxEnv.step`."""
        state = self.env.step(state, action)
        data, metrics = _observable(self.env.mjx_model, state.data), dict(state.metrics)
        reward = self.env._get_reward(data, action, state.info, metrics)
        return self._observed(state, data).replace(reward=reward, metrics=metrics)

    def _observed(self, state: Any, data: Any) -> Any:
        return state.replace(data=data, obs=self._corrected(self.env, data, self.env._get_obs(data, state.info)))


def _observable(model: Any, data: Any) -> Any:
    """The data with places, velocities and their sensors of its coordinates; what depends on forces stays."""
    data = mjx.com_vel(model, mjx.com_pos(model, mjx.kinematics(model, data)))
    return mjx.sensor_vel(model, mjx.sensor_pos(model, data))


def _drawn(law: Law, model: mujoco.MjModel, data: Any, key: Array) -> Any:
    """The data with first coordinates and velocities, and no acceleration that the solver could start from."""
    qpos, qvel = law(model, key, data.qpos)
    drawn = {"qpos": qpos, "qvel": qvel, "qacc_warmstart": jnp.zeros_like(data.qacc_warmstart)}
    return data.replace(**{name: value.astype(getattr(data, name).dtype) for name, value in drawn.items()})


def _apart(draw: Callable[[Array], Any], model: Any, key: Array) -> Any:
    """The first data drawn in which no two geoms overlap; the last if there are none among a thousand."""

    def again(found: tuple[Any, Any]) -> tuple[Any, Any]:
        attempt, _ = found
        return attempt + 1, draw(jax.random.fold_in(key, attempt))

    def unfit(found: tuple[Any, Any]) -> Bool[Array, ""]:
        attempt, data = found
        contact = mjx.collision(model, mjx.kinematics(model, data))._impl.contact
        return jnp.any(contact.dist < contact.includemargin) & (attempt < _ATTEMPTS)

    return jax.lax.while_loop(unfit, again, (1, draw(jax.random.fold_in(key, 0))))[1]


def _joints(model: mujoco.MjModel, key: Array, qpos: Qpos) -> Coordinates:
    """Hinges and slides within their limits, other hinges over the circle, orientations of free joints.

    The suite's orientations have no negative component: its authors keep what began as a slip.
    """
    place, turn = jax.random.split(key)
    lower, upper = model.qpos0.copy(), model.qpos0.copy()
    for joint in map(model.joint, range(model.njnt)):
        if joint.limited[0]:
            lower[joint.qposadr[0]], upper[joint.qposadr[0]] = joint.range
        elif joint.type[0] == mujoco.mjtJoint.mjJNT_HINGE:
            lower[joint.qposadr[0]], upper[joint.qposadr[0]] = -np.pi, np.pi
    qpos = jax.random.uniform(place, (model.nq,), minval=jnp.asarray(lower), maxval=jnp.asarray(upper))
    for at in model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]:
        turned = jax.random.uniform(jax.random.fold_in(turn, at), (4,))
        qpos = qpos.at[at + 3 : at + 7].set(turned / jnp.linalg.norm(turned))
    return qpos, jnp.zeros(model.nv)


def _ball_in_cup(model: mujoco.MjModel, key: Array, qpos: Qpos) -> Coordinates:
    x, z = (int(model.joint(name).qposadr[0]) for name in ("ball_x", "ball_z"))
    drawn = jax.random.uniform(key, (2,), minval=jnp.array([-0.2, 0.2]), maxval=jnp.array([0.2, 0.5]))
    return qpos.at[jnp.array([x, z])].set(drawn), jnp.zeros(model.nv)


def _cartpole(model: mujoco.MjModel, key: Array, qpos: Qpos, *, hanging: bool) -> Coordinates:
    place, speed = jax.random.split(key)
    if hanging:
        qpos = jnp.array([0.0, jnp.pi]) + 0.01 * jax.random.normal(place, (2,))
    else:
        far = jnp.array([0.1, 0.034])  # m, rad
        qpos = jax.random.uniform(place, (2,), minval=-far, maxval=far)
    return qpos, 0.01 * jax.random.normal(speed, (model.nv,))


def _fish(model: mujoco.MjModel, key: Array, qpos: Qpos) -> Coordinates:
    """Playground's draw, but at the depth of the suite's: a decimeter higher."""
    return qpos.at[:3].set(jnp.asarray(model.qpos0[:3], qpos.dtype)), jnp.zeros(model.nv)


_FIRST: dict[str, tuple[Law, bool]] = {
    "Ball": (_ball_in_cup, True),
    "CartpoleBalance": (functools.partial(_cartpole, hanging=False), False),
    "CartpoleSwingup": (functools.partial(_cartpole, hanging=True), False),
    "Finger": (_joints, True),
    "Fish": (_fish, False),
    "Humanoid": (_joints, True),
    "Pendulum": (_joints, False),
}
"""The law of first states, and whether to draw until no two geoms overlap."""


def _walkers(env: Any, data: Any, obs: Float[Array, " n"]) -> Float[Array, " n"]:
    """With the torso's height in m, where Playground has how upright it is."""
    return obs.at[-env.mj_model.nv - 1].set(data.xpos[env.mj_model.body("torso").id, 2])


def _fishs(env: Any, data: Any, obs: Float[Array, " n"]) -> Float[Array, " n"]:
    """With the joints first, then how upright it is."""
    joints = len(obs) - 1 - 3 - env.mj_model.nv
    return jnp.concatenate([obs[1 : 1 + joints], obs[:1], obs[1 + joints :]])


def _pendulums(env: Any, data: Any, obs: Float[Array, " n"]) -> Float[Array, " n"]:
    """With the pole's height first, then how far it leans."""
    return obs[jnp.array([1, 0, 2])]


_OBSERVATIONS = {"Fish": _fishs, "Pendulum": _pendulums, "Walker": _walkers}
