"""Fetch: a boxy dog runs to a target, which then jumps elsewhere.

From Brax v1 (arXiv 2106.13281, section 4, and its `fetch` environment), whose engine Brax no longer has. The body, the
actions, the observation and the reward are the same. Two things differ:
  - contacts, between the dog's lower legs and the ground as in Brax v1, follow the rules of the current engines. Parts
    within a millimeter count as touching; Brax v1 tested for a change of velocity;
  - the parts in the observation are in the order of the MJCF file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from brax.envs.base import State
from brax.math import rotate
from jaxtyping import Array, Float

from pixelbrax.physics.brax_v1.pursuit import CONTROL_DT, TARGET, PursuitEnv, length_and_direction, seen_from

TARGET_RADIUS = 2.0  # meters: within it the target counts as hit
TARGET_DISTANCE = 15.0  # meters beyond the radius, at most
TARGET_HEIGHT = 1.0  # meters
REWARD_WEIGHTS = {
    "weighted_hits": 1.0,
    "moving_to_target": 0.1,
    "torso_is_up": 0.1 * CONTROL_DT,
    "torso_height": 0.1 * CONTROL_DT,
}


class Fetch(PursuitEnv):
    """The dog and its target.

    Observation (101,): the torso's forward and up axes; distance and direction of the target; positions, then
    velocities, of all parts, ground and target in the torso's frame; a contact flag for each of these.
    """

    def __init__(self, backend: str = "positional"):
        super().__init__(Path(__file__).with_suffix(".xml"), backend, REWARD_WEIGHTS)
        self._torso = self.link("torso")
        self._start = jnp.asarray(self.sys.init_q, jnp.float32)

    def reset(self, rng: Array) -> State:
        """The dog stands at the origin; the target is sampled."""
        rng, target_key = jax.random.split(rng)
        pipeline_state = self.pipeline_init(self._start, jnp.zeros(self.sys.qd_size()))
        info = {"rng": rng, TARGET: random_target(target_key)}
        obs = self._observe(pipeline_state, info[TARGET])
        metrics: dict[str, Array] = {name: jnp.zeros(()) for name in ("hits", *REWARD_WEIGHTS)}
        return State(pipeline_state, obs, jnp.zeros(()), jnp.zeros(()), metrics, info)

    def step(self, state: State, action: Array) -> State:
        """Applies torques of up to 300 N m to ten hinges for `CONTROL_DT` seconds."""
        before: Any = state.pipeline_state
        after: Any = self.pipeline_step(before, action)
        target = state.info[TARGET]
        torso = before.x.pos[self._torso], after.x.pos[self._torso], after.x.rot[self._torso]
        metrics = fetch_reward(*torso, target, weights=self.reward_weights)
        reward = sum(metrics[name] for name in REWARD_WEIGHTS)
        obs = self._observe(after, target)
        rng, target_key = jax.random.split(state.info["rng"])
        target = jnp.where(metrics["hits"] > 0, random_target(target_key), target)
        info = state.info | {"rng": rng, TARGET: target}
        return state.replace(pipeline_state=after, obs=obs, reward=reward, metrics=metrics, info=info)  # pyright: ignore

    def _observe(self, pipeline_state: Any, target: Float[Array, "3"]) -> Float[Array, "101"]:
        torso = pipeline_state.x.rot[self._torso]
        links = range(self.sys.num_links())
        pos, vel = seen_from(self._torso, links, pipeline_state.x, self.velocities(pipeline_state), target)
        distance, direction = length_and_direction(pos[-1])
        axes = [rotate(jnp.array(axis), torso) for axis in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
        touching = jnp.append(self.touching(pipeline_state), 0.0)  # nothing touches the target
        return jnp.concatenate([*axes, distance, direction, pos.ravel(), vel.ravel(), touching])


def fetch_reward(
    before: Float[Array, "3"],
    after: Float[Array, "3"],
    rot: Float[Array, "4"],
    target: Float[Array, "3"],
    *,
    weights: Mapping[str, Any] = REWARD_WEIGHTS,
) -> dict[str, Float[Array, ""]]:
    """The weighted terms of a step's reward, and whether the target was hit.

    Args:
      before: the torso's position before the step, meters.
      after: its position after the step, meters.
      rot: its orientation after the step, a quaternion.
      target: the target's position, meters.
      weights: weights of the terms, per step.
    """
    (distance,), direction = length_and_direction(target - after)
    forward, up = rotate(jnp.array([1.0, 0.0, 0.0]), rot), rotate(jnp.array([0.0, 0.0, 1.0]), rot)
    hit = (distance < TARGET_RADIUS).astype(jnp.float32)
    return {
        "hits": hit,
        "weighted_hits": weights["weighted_hits"] * hit * jnp.dot(direction, forward),
        "moving_to_target": weights["moving_to_target"] * jnp.dot(after - before, direction),
        "torso_is_up": weights["torso_is_up"] * up[2],
        "torso_height": weights["torso_height"] * after[2],
    }


def random_target(key: Array) -> Float[Array, "3"]:
    """A random position around the origin, (3,) meters."""
    distance_key, angle_key = jax.random.split(key)
    distance = TARGET_RADIUS + TARGET_DISTANCE * jax.random.uniform(distance_key)
    angle = 2 * np.pi * jax.random.uniform(angle_key)
    return jnp.stack([distance * jnp.cos(angle), distance * jnp.sin(angle), jnp.float32(TARGET_HEIGHT)])
