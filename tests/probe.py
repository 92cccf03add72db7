"""A tiny physics engine whose every number is known on paper, to test what is built on top of engines."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
import mujoco

from pixelbrax.envs import PixelEnv
from pixelbrax.physics import PhysicsState
from pixelbrax.tasks import CameraSpec, Task

_MODEL = mujoco.MjModel.from_xml_string(
    """
    <mujoco>
      <worldbody>
        <light directional="true" dir="0 0 -1" diffuse="0.6 0.6 0.6"/>
        <geom name="floor" type="plane" size="0 0 1" rgba="0.2 0.3 0.4 1"/>
        <body name="ball" pos="0 0 0.5"><freejoint/><geom type="sphere" size="0.3" rgba="1 0.5 0 1"/></body>
      </worldbody>
    </mujoco>
    """
)
CAMERA = CameraSpec(offset=(0.0, -3.0), height=0.5, target_height=0.5, fovy=45.0, body=None)


class ProbePhysics:
    """A ball at height 0.5 and x = 0.1 * frames + start; start is drawn uniformly from [-1, 1].

    The reward of frame n (from 1) is n times the reward weight "frame", by default 1. With `pays_side` the ball stays
    at -0.8 or 0.8, sampled anew each frame, and the reward is 1 if the action has the sign of the side seen
    before it, else 0. With `pushed` an action moves the ball by a tenth of it, and the reward is -x^2 after that. The
    episode terminates at frame `terminates_at`, if given, and its numbers are NaN from frame
    `diverges_at` on.
    """

    mj_model = _MODEL
    model = None
    action_size = 1
    dt = 0.1
    cheap_reset = True

    def __init__(
        self,
        terminates_at: int | None = None,
        pays_side: bool = False,
        diverges_at: int | None = None,
        pushed: bool = False,
    ):
        self.terminates_at = terminates_at
        self.pushed = pushed
        self.diverges_at = diverges_at
        self.pays_side = pays_side
        self.reward_weights = {"frame": 1.0}
        self._weight: Any = 1.0

    def with_model(self, model: Any) -> "ProbePhysics":
        return self

    def with_reward_weights(self, weights: Any) -> "ProbePhysics":
        assert weights.keys() <= self.reward_weights.keys()
        other = copy.copy(self)
        other._weight = weights.get("frame", self._weight)
        return other

    def reset(self, key: Any) -> PhysicsState:
        key, start_key = jax.random.split(key)
        start = jax.random.uniform(start_key, minval=-1.0, maxval=1.0)
        start = 0.8 * jnp.sign(start) if self.pays_side else start
        return self._state(key, jnp.zeros((), jnp.int32), start, jnp.zeros(()))

    def step(self, state: PhysicsState, action: Any) -> PhysicsState:
        key, frames, x = state.engine_state
        frames = frames + 1
        if self.pays_side:
            key, side_key = jax.random.split(key)
            reward = (jnp.sign(action[0]) == jnp.sign(x)).astype(jnp.float32)
            return self._state(key, frames, 0.8 * jax.random.rademacher(side_key, (), jnp.float32), reward)
        if self.pushed:
            x = x + 0.1 * action[0]
            if self.diverges_at is not None:
                x = x / jnp.where(frames >= self.diverges_at, 0.0, 1.0)  # its derivative is not finite either
            return self._state(key, frames, x, -(x**2))
        return self._state(key, frames, x + 0.1, self._weight * frames.astype(jnp.float32))

    def _state(self, key: Any, frames: Any, x: Any, reward: Any, over: Any = False) -> PhysicsState:
        over = jnp.array(over)
        if self.terminates_at is not None:
            over |= frames >= self.terminates_at
        if self.diverges_at is not None:
            x = jnp.where(frames >= self.diverges_at, jnp.nan, x)
        obs = jnp.stack([x, frames.astype(jnp.float32)])
        return PhysicsState((key, frames, x), obs, reward, over, {"x": x})

    def coordinates(self, state: PhysicsState) -> Any:
        return state.engine_state[2][None]

    def body_pose(self, state: PhysicsState) -> tuple[Any, Any]:
        ball = jnp.stack([state.engine_state[2], jnp.zeros(()), jnp.full((), 0.5)])
        return jnp.stack([jnp.zeros(3), ball]), jnp.broadcast_to(jnp.eye(3), (2, 3, 3))


class WideProbePhysics(ProbePhysics):
    """The same with two actions, of which the first counts."""

    action_size = 2


def probe_env(
    terminates_at: int | None = None,
    pays_side: bool = False,
    diverges_at: int | None = None,
    pushed: bool = False,
    **settings: Any,
) -> PixelEnv:
    settings = {"camera": CAMERA, "image_size": 16, "frame_stack": 3, "episode_length": 10} | settings
    return PixelEnv(ProbePhysics(terminates_at, pays_side, diverges_at, pushed), **settings)


def short_env(**settings: Any) -> PixelEnv:
    """Episodes of three frames with small single images, for interfaces of other libraries."""
    chosen: dict[str, Any] = {"episode_length": 3, "image_size": 8, "frame_stack": 1} | settings
    return probe_env(**chosen)


def _task(name: str, description: str, physics: type[ProbePhysics] = ProbePhysics, **settings: Any) -> Task:
    return Task(f"probe/{name}", description, ("probe",), lambda backend: physics(**settings), CAMERA)


TASKS = [
    _task("sides", "which side of the picture pays", pays_side=True),
    _task("wide_sides", "the same with two actions", WideProbePhysics, pays_side=True),
    _task("diverges", "numbers are NaN from frame 5 on", diverges_at=5),
]
"""For commands and settings, which know tasks by their names: see the fixture `probe_tasks`."""
