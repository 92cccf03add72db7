"""Grasp: a four-fingered hand carries an object to a target, which then jumps elsewhere.

From Brax v1 (arXiv 2106.13281, section 4, and its `grasp` environment), whose engine Brax no longer has. The bodies,
the actions, the observation and the reward are the same. Four things differ:
  - the palm: Brax v1 set its position directly, in each step 15 % of the way to the action's position and at most
    0.3 m. Here servos on three slides move it by the same law, so that it has a velocity and obstacles can stop it;
  - the start: in Brax v1 hand, object and target started in one place, and the first step was a hit. Here the object
    lies near the origin, the hand is above it, and the target is sampled;
  - touching: Brax v1's reward counted the middle links, the palm and the target by mistake; here it counts the four
    tips. Bodies within a millimeter count as touching; Brax v1 tested for a change of velocity;
  - the bodies in the observation are in the order of the MJCF file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from brax.envs.base import State
from jaxtyping import Array, Float

from pixelbrax.physics.brax_v1.pursuit import CONTROL_DT, TARGET, PursuitEnv, length_and_direction, seen_from

TARGET_RADIUS = 1.1  # meters: within it the target counts as hit
TARGET_DISTANCE = 10.0  # meters beyond the radius, at most
TARGET_HEIGHT = 8.0  # meters, at most
_HAND_START = (0.0, 0.0, 5.0)
_OBJECT_SPREAD = 2.0  # meters from the origin along x and y, at most
_PALM_REACH = 2.0  # meters: the largest distance from the palm to the servos' goal
_TIPS = ("thumb_distal", "two_distal", "three_distal", "four_distal")
REWARD_WEIGHTS = {
    "touching_object": 0.2 * CONTROL_DT,
    "moving_to_object": 0.1 * CONTROL_DT,
    "moving_object_to_target": 1.5 * CONTROL_DT,
    "close_to_object": 0.1 * CONTROL_DT,
    "hits": 5.0,
}


class Grasp(PursuitEnv):
    """The hand, the object and its target.

    Observation (132,): distance and direction of the object, then of the target, in the palm's frame; positions, then
    velocities, of all bodies, ground and target in that frame; the vector from palm to object, the hand's velocity and
    its speed toward the object; distance and direction from object to target, and the object's speed toward it; a
    contact flag for each body. The hand's velocity is that of the thumb's first link.
    """

    def __init__(self, backend: str = "positional"):
        super().__init__(Path(__file__).with_suffix(".xml"), backend, REWARD_WEIGHTS)
        self._object, self._palm, self._hand = (self.link(name) for name in ("object", "palm", "thumb_proximal"))
        self._tips = np.array([self.link(name) for name in _TIPS])
        self._low, self._high = (jnp.asarray(x, jnp.float32) for x in self.sys.actuator.ctrl_range.T)

    def reset(self, rng: Array) -> State:
        """The object lies near the origin, the open hand is above it; the target is sampled."""
        rng, target_key, object_key = jax.random.split(rng, 3)
        place = _OBJECT_SPREAD * jax.random.uniform(object_key, (2,), minval=-1.0)
        q = jnp.asarray(self.sys.init_q, jnp.float32).at[:2].set(place).at[7:10].set(jnp.array(_HAND_START))
        pipeline_state = self.pipeline_init(q, jnp.zeros(self.sys.qd_size()))
        info = {"rng": rng, TARGET: random_target(target_key)}
        obs = self._observe(pipeline_state, info[TARGET])
        metrics: dict[str, Array] = {name: jnp.zeros(()) for name in REWARD_WEIGHTS}
        return State(pipeline_state, obs, jnp.zeros(()), jnp.zeros(()), metrics, info)

    def step(self, state: State, action: Array) -> State:
        """Drives sixteen hinges and the palm to the action, scaled to their ranges, for `CONTROL_DT` seconds."""
        before: Any = state.pipeline_state
        wanted = self._low + (self._high - self._low) * (action + 1) / 2
        away = wanted[-3:] - before.x.pos[self._palm]
        (distance,), direction = length_and_direction(away)
        wanted = wanted.at[-3:].set(before.x.pos[self._palm] + jnp.minimum(distance, _PALM_REACH) * direction)
        after: Any = self.pipeline_step(before, wanted)

        target, vel = state.info[TARGET], self.velocities(after)
        metrics = grasp_reward(
            after.x.pos[self._palm],
            vel[self._hand],
            after.x.pos[self._object],
            vel[self._object],
            target,
            jnp.sum(self.touching(after)[self._tips]),
            weights=self.reward_weights,
        )
        rewarded = sum(metrics[name] for name in REWARD_WEIGHTS if name != "hits")
        reward = rewarded + self.reward_weights["hits"] * metrics["hits"]
        obs = self._observe(after, target)
        rng, target_key = jax.random.split(state.info["rng"])
        target = jnp.where(metrics["hits"] > 0, random_target(target_key), target)
        info = state.info | {"rng": rng, TARGET: target}
        return state.replace(pipeline_state=after, obs=obs, reward=reward, metrics=metrics, info=info)  # pyright: ignore

    def _observe(self, pipeline_state: Any, target: Float[Array, "3"]) -> Float[Array, "132"]:
        x, velocities = pipeline_state.x, self.velocities(pipeline_state)
        links = range(self.sys.num_links())
        pos, vel = seen_from(self._palm, links, x, velocities, target)
        to_object = x.pos[self._object] - x.pos[self._palm]
        hand_vel = velocities[self._hand]
        to_target, target_direction = length_and_direction(target - x.pos[self._object])
        return jnp.concatenate(
            [
                *length_and_direction(pos[self._object]),
                *length_and_direction(pos[-1]),
                pos.ravel(),
                vel.ravel(),
                to_object,
                hand_vel,
                jnp.dot(length_and_direction(to_object)[1], hand_vel)[None],
                to_target,
                target_direction,
                jnp.dot(target_direction, velocities[self._object])[None],
                self.touching(pipeline_state),
                jnp.zeros(1),  # nothing touches the target
            ]
        )


def grasp_reward(
    palm: Float[Array, "3"],
    hand_vel: Float[Array, "3"],
    obj: Float[Array, "3"],
    object_vel: Float[Array, "3"],
    target: Float[Array, "3"],
    touching: Float[Array, ""],
    *,
    weights: Mapping[str, Any] = REWARD_WEIGHTS,
) -> dict[str, Float[Array, ""]]:
    """The weighted terms of a step's reward, and whether the object hit the target.

    Args:
      palm: the palm's position, meters.
      hand_vel: the hand's velocity, meters per second.
      obj: the object's position, meters.
      object_vel: the object's velocity, meters per second.
      target: the target's position, meters.
      touching: number of fingertips that touch the object.
      weights: weights of the terms, per step. The result "hits" is 1 or 0, without its weight.
    """
    _, to_object = length_and_direction(obj - palm)
    (planar_distance,), _ = length_and_direction((obj - palm).at[2].set(0.0))
    (target_distance,), to_target = length_and_direction(target - obj)
    return {
        "hits": (target_distance < TARGET_RADIUS).astype(jnp.float32),
        "touching_object": weights["touching_object"] * touching,
        "moving_to_object": weights["moving_to_object"] * jnp.dot(hand_vel, to_object),
        "moving_object_to_target": weights["moving_object_to_target"] * jnp.dot(object_vel, to_target),
        "close_to_object": weights["close_to_object"] / (1 + planar_distance),
    }


def random_target(key: Array) -> Float[Array, "3"]:
    """A random position around and above the origin, (3,) meters."""
    distance_key, angle_key, height_key = jax.random.split(key, 3)
    distance = TARGET_RADIUS + TARGET_DISTANCE * jax.random.uniform(distance_key)
    angle = 2 * np.pi * jax.random.uniform(angle_key)
    height = TARGET_HEIGHT * jax.random.uniform(height_key)
    return jnp.stack([distance * jnp.cos(angle), distance * jnp.sin(angle), height])
