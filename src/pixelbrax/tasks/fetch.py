"""Fetch: a boxy dog runs to a target, which then jumps elsewhere.

From Brax v1 (arXiv 2106.13281, section 4, and its `fetch` environment), where it ran on an engine that is no more. The
body, the actions, the observation and the reward are that environment's. What differs:
  - contacts: the dog's lower legs and the ground, as there, but by the present engines' rules; what is
    within a millimetre touches, while Brax v1 looked for a change of speed;
  - the order of the parts in the observation is that of the MJCF file.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from brax.envs.base import State
from brax.math import rotate
from jaxtyping import Array, Float

from pixelbrax.tasks.pursuit import TARGET, PursuitEnv, length_and_direction, seen_from

TARGET_RADIUS = 2.0  # metres: so near is a hit
TARGET_DISTANCE = 15.0  # metres beyond the radius
TARGET_HEIGHT = 1.0
_METRICS = ("hits", "weighted_hits", "moving_to_target", "torso_is_up", "torso_height")


class Fetch(PursuitEnv):
    """The dog and its target.

    Observation (101,): the torso's forward and up axes; distance and direction of the target; positions, then
    velocities, of all parts, ground and target in the torso's frame; which of these touch something.
    """

    def __init__(self, backend: str = "positional"):
        super().__init__(Path(__file__).with_suffix(".xml"), backend)
        self._torso = self.link("torso")
        self._start = jnp.asarray(self.sys.init_q, jnp.float32)

    def reset(self, rng: Array) -> State:
        """The dog stands at the origin; the target is drawn."""
        rng, target_key = jax.random.split(rng)
        pipeline_state = self.pipeline_init(self._start, jnp.zeros(self.sys.qd_size()))
        info = {"rng": rng, TARGET: random_target(target_key)}
        obs = self._observe(pipeline_state, info[TARGET])
        metrics: dict[str, Array] = {name: jnp.zeros(()) for name in _METRICS}
        return State(pipeline_state, obs, jnp.zeros(()), jnp.zeros(()), metrics, info)

    def step(self, state: State, action: Array) -> State:
        """Torques of up to 300 N m on ten hinges for 0.02 s."""
        before: Any = state.pipeline_state
        after: Any = self.pipeline_step(before, action)
        target = state.info[TARGET]
        metrics = fetch_reward(before.x.pos[self._torso], after.x.pos[self._torso], after.x.rot[self._torso], target)
        reward = sum(metrics[name] for name in _METRICS if name != "hits")
        obs = self._observe(after, target)
        rng, target_key = jax.random.split(state.info["rng"])
        target = jnp.where(metrics["hits"] > 0, random_target(target_key), target)
        info = state.info | {"rng": rng, TARGET: target}
        return state.replace(pipeline_state=after, obs=obs, reward=reward, metrics=metrics, info=info)  # pyright: ignore

    def _observe(self, pipeline_state: Any, target: Float[Array, "3"]) -> Float[Array, "101"]:
        torso = pipeline_state.x.rot[self._torso]
        links = range(self.sys.num_links())
        pos, vel = seen_from(self._torso, links, pipeline_state, target)
        distance, direction = length_and_direction(pos[-1])
        axes = [rotate(jnp.array(axis), torso) for axis in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
        touching = jnp.append(self.touching(pipeline_state), 0.0)  # nothing touches the target
        return jnp.concatenate([*axes, distance, direction, pos.ravel(), vel.ravel(), touching])


def fetch_reward(
    before: Float[Array, "3"], after: Float[Array, "3"], rot: Float[Array, "4"], target: Float[Array, "3"]
) -> dict[str, Float[Array, ""]]:
    """The parts of a step's reward, and whether the target was hit.

    Args:
      before: the torso's position before the step, metres.
      after: and after it.
      rot: its orientation after the step, a quaternion.
      target: metres.
    """
    dt = 0.02
    (distance,), direction = length_and_direction(target - after)
    forward, up = rotate(jnp.array([1.0, 0.0, 0.0]), rot), rotate(jnp.array([0.0, 0.0, 1.0]), rot)
    hit = (distance < TARGET_RADIUS).astype(jnp.float32)
    return {
        "hits": hit,
        "weighted_hits": hit * jnp.dot(direction, forward),
        "moving_to_target": 0.1 * jnp.dot(after - before, direction),
        "torso_is_up": 0.1 * dt * up[2],
        "torso_height": 0.1 * dt * after[2],
    }


def random_target(key: Array) -> Float[Array, "3"]:
    """A place around the origin, metres."""
    distance_key, angle_key = jax.random.split(key)
    distance = TARGET_RADIUS + TARGET_DISTANCE * jax.random.uniform(distance_key)
    angle = 2 * np.pi * jax.random.uniform(angle_key)
    return jnp.stack([distance * jnp.cos(angle), distance * jnp.sin(angle), jnp.float32(TARGET_HEIGHT)])
