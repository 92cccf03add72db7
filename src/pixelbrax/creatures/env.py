"""The creatures as Brax environments: one definition for all of them, on each of Brax's engines."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from brax.envs.base import PipelineEnv, State
from brax.math import quat_mul, quat_to_3x3
from jaxtyping import Array, Float

from pixelbrax import rewards
from pixelbrax.creatures.check import check_creature, creature_suspicions, starts_fallen
from pixelbrax.creatures.spec import CREATURES, DEFAULT_SENSORS, Creature, check_description
from pixelbrax.creatures.stages import BOUNDS, OF_TARGET
from pixelbrax.errors import MAX_FLOAT, ConfigError, check_choice, check_keywords, check_number, warn_caller
from pixelbrax.physics import (
    BraxPhysics,
    body_motion,
    brax_start,
    control_scale,
    ignored_by_brax,
    link_velocities,
    load_model,
    load_system,
    made_from,
    quiet_brax,
    simulated_suspicions,
    suspicions,
)
from pixelbrax.rewards import Probe, Readings

CONTROL_DT = 0.05
"""Seconds per action."""
_SLIDES = 2  # coordinates of the target, the last of the model
_OF_LINKS = ("x", "xd", "x_i", "xd_i", "j", "jd", "a_p", "a_c", "i_inv", "mass")  # in states of Brax's engines
_NOT_OF_COORDINATES = ("time", "ctrl", "act", "qacc_warmstart")  # in those of MJX
_NOISE = 0.05  # rad of initial hinges, and rad/s or m/s of all joints
_TURN = 0.1  # rad, of the initial heading
_SEEN = 4.0  # m; a target farther away seems that far: a stage that runs past it would spoil the observation's scale


class CreatureEnv(PipelineEnv):
    """A creature and its target, if it has one.

    Actions (actuators,) in [-1, 1] are scaled to the actuators' `ctrlrange`: to goals of the servos of this package's
    creatures, whose standing pose 0 holds. Episodes begin near the first keyframe, Brax's `init_qpos`, or the reference
    pose. The observation is the chosen sensors', in the order of `SENSORS`. The reward is the sum of the terms
    (`stages.TERMS`), each times its weight in `reward_weights`, per step. Metrics: each term unweighted;
    "forward_velocity" (m/s along the world's x, wherever the creature looks), "height" of the root (m), and with a
    target "target_distance" from the head (m) and "success", 1 from the first touch of the target on, else 0. A touched
    target jumps elsewhere.
    """

    def __init__(
        self,
        creature: str | Creature,
        backend: str = "spring",
        *,
        stage: str = "move",
        reward_weights: Mapping[str, float] | None = None,
        sensors: Sequence[str] | None = None,
        min_height: float | None = None,
        min_upright: float | None = None,
        target_distance: tuple[float, float] | None = None,
    ):
        """Loads the MJCF.

        Args:
          creature: a name in `CREATURES`, or one's own description.
          backend: one of Brax's.
          stage: whose weights and settings are the defaults, such as "stand", "move" or "behavior".
          reward_weights: by term; those left out are the stage's.
          sensors: some of `SENSORS`; without a target there is no sensor of it. None: the stage's, or else
            `DEFAULT_SENSORS`.
          min_height: m; an episode terminates when the root is lower. None: the stage's; -inf: never.
          min_upright: cosine of the largest tilt of the root, at most 1; None: the stage's; -1: any.
          target_distance: m, of the nearest and the farthest target; None: the stage's, or else the creature's own.

        Raises:
          ConfigError: a setting cannot be used; the message names what there is.
        """
        if isinstance(creature, str):
            creature = CREATURES[check_choice("the creature", creature, tuple(CREATURES))]
        self.creature = check_description(creature)
        stages = creature.all_stages
        chosen = stages[check_choice("stage", stage, tuple(stages))]
        self.reward_weights = _weights(creature.name, chosen.reward_weights, reward_weights)
        given = {"sensors": sensors, "min_height": min_height, "min_upright": min_upright}
        given["target_distance"] = target_distance
        settings: dict[str, Any] = _DEFAULTS | chosen.physics | {k: x for k, x in given.items() if x is not None}
        self.sensors = _checked_sensors(settings["sensors"], creature.sensors)
        self._min_height = _limit("min_height", settings["min_height"])
        self._min_upright = _limit("min_upright", settings["min_upright"], most=1.0)
        self._range = _range(creature, settings["target_distance"])
        model = load_model(creature.file)
        points = check_creature(creature, model)
        if creature.mjcf is not None:
            _warn_of(creature, model, backend)
        if fallen := starts_fallen(creature, brax_start(model), self._min_height, self._min_upright):
            warn_caller(fallen)
        self._middle, self._reach = (jnp.asarray(part) for part in control_scale(model))
        system = load_system(creature.file, backend)
        frames = round(CONTROL_DT / model.opt.timestep)
        if frames < 1 or abs(frames * model.opt.timestep - CONTROL_DT) > 1e-3 * CONTROL_DT:
            raise ConfigError(
                f"{creature.file.name} has the timestep {model.opt.timestep:g} s: an action lasts {CONTROL_DT:g} s, "
                'which must be a multiple of it; <option timestep="0.005"/> suits most'
            )
        with quiet_brax():
            super().__init__(system, backend, n_frames=frames)
        self.probe = Probe.of(system.mj_model, creature.root, points, creature.feet)
        self._start = jnp.asarray(brax_start(model), jnp.float32)
        self._ahead = jnp.asarray(_heading(np.asarray(self._start[3:7], float)))
        hinges = model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE]
        self._turns = jnp.zeros(model.nq).at[hinges].set(1.0)

    def reset(self, rng: Array) -> State:
        """The creature stands almost as in its first pose; the target is sampled in front of that."""
        rng = jax.random.wrap_key_data(rng) if rng.dtype == jnp.uint32 else rng
        key, q_key, qd_key, turn_key, target_key = jax.random.split(rng, 5)
        noise = jax.random.uniform(q_key, self._start.shape, minval=-_NOISE, maxval=_NOISE)
        half = 0.5 * jax.random.uniform(turn_key, minval=-_TURN, maxval=_TURN)
        turn = jnp.stack([jnp.cos(half), jnp.zeros(()), jnp.zeros(()), jnp.sin(half)])
        turned = quat_mul(turn, self._start[3:7])
        # Slides begin as in the first pose: centimeters may be beyond their ranges, or inside the ground.
        q = (self._start + self._turns * noise).at[3:7].set(turned)
        qd = jax.random.uniform(qd_key, (self.sys.qd_size(),), minval=-_NOISE, maxval=_NOISE)
        if self._range is not None:
            target = self._random_target(target_key, self._start[:2], self._ahead)
            q, qd = q.at[-_SLIDES:].set(target), qd.at[-_SLIDES:].set(0.0)
        pipeline_state = self.pipeline_init(q, qd)
        readings = self.readings(pipeline_state)
        zero = jnp.zeros(())
        info = {"key": jax.random.key_data(key), "action": jnp.zeros(self.action_size), "reached": zero}
        terms = self.terms(readings, info["action"], info["action"], jnp.zeros((), bool))
        metrics = {name: jnp.zeros_like(value) for name, value in self._metrics(readings, terms, zero).items()}
        return State(pipeline_state, self._observe(readings), zero, zero, metrics, info)

    def step(self, state: State, action: Array) -> State:
        """Applies the action for `CONTROL_DT` seconds."""
        action = jnp.clip(action, -1.0, 1.0)
        control = self._middle + self._reach * action
        pipeline_state: Any = self.pipeline_step(state.pipeline_state, control)
        readings = self.readings(pipeline_state)
        fallen = (readings.position[2] < self._min_height) | (readings.upright < self._min_upright)
        terms = self.terms(readings, action, state.info["action"], fallen)
        reward = sum(self.reward_weights[name] * value for name, value in terms.items())
        touched = terms.get("touch", jnp.zeros(()))
        reached = jnp.maximum(state.info["reached"], touched)
        metrics = self._metrics(readings, terms, reached)
        key, target_key = jax.random.split(jax.random.wrap_key_data(state.info["key"]))
        if self._range is not None:
            place = self._random_target(target_key, readings.position[:2], readings.forward[:2])
            pipeline_state = self._with_target(pipeline_state, place, touched > 0)
        info = state.info | {"key": jax.random.key_data(key), "action": action, "reached": reached}
        return state.replace(  # pyright: ignore[reportAttributeAccessIssue]
            pipeline_state=pipeline_state,
            obs=self._observe(self.readings(pipeline_state)) if "target" in self.sensors else self._observe(readings),
            reward=reward,
            done=fallen.astype(jnp.float32),
            metrics=metrics,
            info=info,
        )

    def readings(self, pipeline_state: Any) -> Readings:
        """What the sensors and the reward read of a state of the engine; everything is float32."""
        q, qd = pipeline_state.q, pipeline_state.qd
        if self.backend == "mjx":
            return self.probe.read(*body_motion(self.sys, pipeline_state), q, qd)
        x, velocities = pipeline_state.x, link_velocities(self.backend, pipeline_state)
        world = jnp.zeros((1, 3))  # Brax's links are MuJoCo's bodies without it
        mat = jnp.concatenate([jnp.eye(3)[None], jax.vmap(quat_to_3x3)(x.rot)])
        pos, linear, angular = (jnp.concatenate([world, part]) for part in (x.pos, *velocities))
        return self.probe.read(pos, mat, linear, angular, q, qd)

    def terms(self, readings: Readings, action: Any, previous: Any, fallen: Any) -> dict[str, Any]:
        """The reward's terms without weights, in the namespace of the readings.

        Args:
          readings: after the step.
          action: (actuators,) of this step.
          previous: (actuators,) of the step before.
          fallen: () bool, whether the step terminated the episode.
        """
        creature = self.creature
        result = {
            "alive": rewards.alive(fallen),
            "forward": rewards.forward_velocity(readings.velocity, _X, creature.speed),
            "standing": rewards.height(readings.position[2], *creature.standing),
            "upright": rewards.upright(readings.upright),
            "pose": rewards.pose(readings.joint_pos),
        }
        if creature.gait is not None:
            result["gait"] = rewards.alternation(readings.contacts, *creature.gait)
        if creature.head is not None:
            result["head"] = rewards.height(readings.points["head"][2], *creature.head)
        if creature.target is not None:
            result |= self._terms_of_target(readings)
        return result | {
            "energy": rewards.energy(action, readings.joint_vel),
            "effort": rewards.effort(action),
            "action_rate": rewards.action_rate(action, previous),
        }

    @property
    def metric_bounds(self) -> dict[str, tuple[float, float]]:
        """The least and the largest value of every metric that has one."""
        fast = dict.fromkeys(("forward", "approach"), (-np.inf, self.creature.speed))
        own = {*self.creature.terms, *(() if self.creature.target is None else OF_TARGET)}
        return {name: ends for name, ends in (BOUNDS | fast).items() if name in own}

    def _terms_of_target(self, readings: Readings) -> dict[str, Any]:
        creature = self.creature
        head, velocity, target = readings.points["head"], readings.point_velocities["head"], readings.points["target"]
        return {
            "facing": rewards.facing(readings.forward, readings.position, target),
            "approach": rewards.approach(head, velocity, target, creature.speed),
            "reach": rewards.closeness(head, target),
            "touch": rewards.touch(head, target, creature.touch_radius),
            "strike": rewards.strike(head, velocity, target, creature.touch_radius, creature.speed),
        }

    def _metrics(self, readings: Readings, terms: dict[str, Array], reached: Array) -> dict[str, Array]:
        result = terms | {"forward_velocity": readings.velocity[0], "height": readings.position[2]}
        if self.creature.target is None:
            return result
        away = readings.points["target"] - readings.points["head"]
        distance = jnp.sqrt(jnp.maximum(jnp.sum(away**2), 1e-12))
        return result | {"target_distance": distance, "success": reached}

    def _observe(self, readings: Readings) -> Float[Array, " obs_size"]:
        heading = readings.forward[:2] / jnp.sqrt(jnp.maximum(jnp.sum(readings.forward[:2] ** 2), 1e-6))
        parts = {
            "joints": (readings.joint_pos,),
            "velocities": (0.1 * readings.joint_vel, readings.velocity_body),
            "contacts": (readings.contacts,),
            "imu": (readings.gravity, 0.25 * readings.angular_velocity, heading),
            "height": (readings.position[2:], *(x[2:] for name, x in readings.points.items() if name == "head")),
        }
        if "target" in self.sensors:
            away = readings.points["target"] - readings.points["head"]
            away = away * jnp.minimum(1.0, _SEEN / jnp.sqrt(jnp.maximum(jnp.sum(away**2), 1e-6)))
            ahead = away[0] * heading[0] + away[1] * heading[1]
            aside = away[1] * heading[0] - away[0] * heading[1]
            parts["target"] = (jnp.stack([ahead, aside, away[2]]),)
        return jnp.concatenate([part for name in self.sensors for part in parts[name]])

    def _random_target(self, key: Array, around: Float[Array, "2"], heading: Float[Array, "2"]) -> Float[Array, "2"]:
        distance_key, angle_key = jax.random.split(key)
        assert self._range is not None, "without a target, nothing asks for its place"
        near, far, spread = self._range
        distance = jax.random.uniform(distance_key, minval=near, maxval=far)
        angle = jnp.arctan2(heading[1], heading[0]) + jax.random.uniform(angle_key, minval=-spread, maxval=spread)
        return around + distance * jnp.stack([jnp.cos(angle), jnp.sin(angle)])

    def _with_target(self, pipeline_state: Any, place: Float[Array, "2"], moves: Array) -> Any:
        """The state with the target elsewhere, if it moves; all else stays as it is."""
        q, qd = pipeline_state.q.at[-_SLIDES:].set(place), pipeline_state.qd.at[-_SLIDES:].set(0.0)
        moved = self.pipeline_init(q, qd)
        if self.backend == "mjx":
            moved = moved.replace(**{name: getattr(pipeline_state, name) for name in _NOT_OF_COORDINATES})
        elif self.backend != "generalized":  # links move freely: coordinates do not tell where each of them is
            link = self.probe.points["target"][0] - 1  # Brax's links are MuJoCo's bodies without the world
            parts = {name: getattr(pipeline_state, name) for name in _OF_LINKS if hasattr(pipeline_state, name)}
            parts = {
                name: jax.tree.map(lambda old, new: old.at[link].set(new[link]), part, getattr(moved, name))
                for name, part in parts.items()
            }
            moved = pipeline_state.replace(q=q, qd=qd, **parts)
        return jax.tree.map(lambda new, old: jnp.where(moves, new, old), moved, pipeline_state)


def _warn_of(creature: Creature, model: Any, backend: str) -> None:
    """Warns of what looks like a mistake in somebody's own model, as MuJoCo compiles and simulates it.

    Raises:
      ConfigError: MuJoCo's simulation diverges at rest, and the engine integrates as MuJoCo does.
    """
    start = brax_start(model)
    lines = suspicions(model, start) + ignored_by_brax(model, backend) + creature_suspicions(creature, model)
    try:
        lines += simulated_suspicions(model, CONTROL_DT, start)
    except ConfigError as e:
        if backend in ("generalized", "mjx"):
            raise
        lines.append(str(e))
    for line in lines:
        warn_caller(line)


def _heading(quaternion: np.ndarray) -> np.ndarray:
    """(2,) horizontal direction of the x axis of a body with that rotation; x itself where it points up or down."""
    w, x, y, z = quaternion
    ahead = np.array([w * w + x * x - y * y - z * z, 2 * (x * y + w * z)])
    length = np.linalg.norm(ahead)
    return (ahead / length if length > 1e-6 else np.array([1.0, 0.0])).astype(np.float32)


_DEFAULTS = {"sensors": DEFAULT_SENSORS, "min_height": -np.inf, "min_upright": -1.0, "target_distance": None}
_NOT_SETTINGS = ("creature", "backend")
_X = np.array([1.0, 0.0, 0.0], np.float32)


def _weights(creature: str, stage: Mapping[str, float], given: Any) -> dict[str, Any]:
    """The stage's weights with those that are given; raises ConfigError if one is unknown or no number."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"reward_weights is {given!r:.80}: it must be a dict of numbers, like {{'forward': 1.0}}")
    check_keywords(f"the reward of {creature}", given or {}, list(stage))
    return {**stage, **{name: check_number(f"the reward weight {name!r}", x) for name, x in (given or {}).items()}}


def _limit(name: str, value: Any, most: float = MAX_FLOAT) -> float:
    """A threshold; -inf is never reached."""
    never = isinstance(value, float | np.floating) and value == -np.inf
    return -np.inf if never else check_number(name, value, most=most)


def _range(creature: Creature, given: Any) -> tuple[float, float, float] | None:
    """The nearest and the farthest distance of a target, m, and the largest angle, rad; None without a target.

    Raises:
      ConfigError: the distances are none, or the creature has no target.
    """
    if creature.target is None:
        if given is not None:
            raise ConfigError(f"target_distance: {creature.name} has no target; leave it out")
        return None
    value = creature.target[:2] if given is None else given
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ConfigError(f"target_distance is {value!r:.80}: it must be the nearest and the farthest, like (2.0, 3.0)")
    near = check_number("target_distance[0]", value[0], above=0)
    return near, check_number("target_distance[1]", value[1], near), creature.target[2]


def _checked_sensors(sensors: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The sensors in the order of `SENSORS`; raises ConfigError if one is unknown or none is left."""
    if isinstance(sensors, str) or not isinstance(sensors, Sequence) or not sensors:
        raise ConfigError(f"sensors is {sensors!r}: it must be a tuple with some of {', '.join(known)}")
    for name in sensors:
        if name not in known:
            raise ConfigError(f"unknown sensor {name!r}: there are {', '.join(known)}")
    return tuple(name for name in known if name in sensors)


def make_creature_physics(creature: str | Creature, backend: str, /, **settings: Any) -> BraxPhysics:
    """A creature as `Physics`.

    Args:
      creature: one's own description, or one of `CREATURES`.
      backend: one of Brax's.
      **settings: see `CreatureEnv`.

    Raises:
      ConfigError: a setting is unknown or cannot be used.
    """
    known = [parameter for parameter in inspect.signature(CreatureEnv).parameters if parameter not in _NOT_SETTINGS]
    name = creature if isinstance(creature, str) else creature.name
    check_keywords(f"the physics of 'creatures/{name}'", settings, known)
    own = not isinstance(creature, str)  # whose file may have been edited since
    made = None if own else made_from(CreatureEnv, creature, backend, **settings)
    return BraxPhysics(CreatureEnv(creature, backend, **settings), made=made)
