"""One environment with everything compiled that a viewer runs: reset, step, the agent's images, the free camera's."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from pixelbrax.distractors import main_body, resolve
from pixelbrax.envs import MAX_IMAGE_SIZE, MIN_IMAGE_SIZE, PixelEnv, State, make, rendered_effects
from pixelbrax.errors import check_choice, check_count
from pixelbrax.render import Camera, orbit, render
from pixelbrax.tasks import get_task
from pixelbrax.training import EnvConfig
from pixelbrax.viewer.messages import View
from pixelbrax.viewer.orbit import Orbit
from pixelbrax.viewer.run_policy import RunPolicy
from pixelbrax.xla import in_float32

_OUTPUTS = ("pixels", "depth", "segmentation")
_KEPT = 3  # environments that stay compiled while others are looked at


@dataclass(frozen=True)
class ViewConfig:
    """What is compiled.

    Attributes:
      environment: the settings of the environment.
      height, width: of the free camera's images, pixels.
    """

    environment: EnvConfig
    height: int = 320
    width: int = 480

    def check(self) -> None:
        """Checks what can be checked without an engine.

        Raises:
          ConfigError: there is no such task, engine or distractor, or a size is out of range.
        """
        environment = self.environment
        task = get_task(environment.task)
        if environment.backend is not None:
            check_choice("engine", environment.backend, task.backends)
        check_count("resolution", environment.image_size, MIN_IMAGE_SIZE, MAX_IMAGE_SIZE)
        resolve(environment.distractors, environment.task)
        for name in ("height", "width"):
            check_count(name, getattr(self, name), MIN_IMAGE_SIZE, MAX_IMAGE_SIZE)

    def build(self) -> PixelEnv:
        """The environment, which observes depth and segmentation too, and stays at an episode's end.

        Raises:
          ConfigError: a setting cannot be used, or the environment was made in Python.
        """
        if self.environment.facts:
            return self.environment.build()  # raises, and says why
        settings = self.environment.make_settings() | {"outputs": _OUTPUTS, "autoreset": "disabled"}
        return make(settings.pop("task"), **settings)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Look:
    """What the free camera sees, and where things are.

    Attributes:
      packed, depth, segmentation: (height, width), as in `pixelbrax.render.Frame`.
      camera: the agent's camera.
      body: (3,) meters, position of the main body.
    """

    packed: UInt32[Array, "height width"]
    depth: Float[Array, "height width"]
    segmentation: Int32[Array, "height width"]
    camera: Camera
    body: Float[Array, "3"]


class Programs:
    """An environment and its compiled programs: pure functions, which several sessions share.

    Attributes:
      config: what they were made from.
      env: the environment.
      policy: the run's policy if it fits, else None.
      misfit: why a run's policy does not fit; empty if it does or there is none.
    """

    @in_float32
    def __init__(self, config: ViewConfig, policy: RunPolicy | None = None):
        """Makes the environment and compiles everything, which takes seconds to minutes.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self.config = config
        self.env = config.build()
        self.misfit = policy.misfit(self.env) if policy else ""
        self.policy = None if self.misfit else policy
        self._look = jax.jit(_look_of(self.env, config.height, config.width))
        self._substeps = jax.jit(self.env.substeps)
        first, action = self.reset(jax.random.key(0)), np.zeros(self.env.action_size, np.float32)
        self.between(first, action)
        state = self.step(first, action)
        jax.block_until_ready(self.look(state, Orbit()))
        if self.policy:
            self.policy.act(state.obs)

    @property
    def facts(self) -> dict[str, Any]:
        """What the pickers of a page show, for `json.dumps`."""
        chosen, env = self.config.environment, self.env
        return {
            "task": chosen.task,
            "engine": chosen.backend or get_task(chosen.task).backends[0],
            "distractors": chosen.distractors,
            "camera": "" if chosen.camera is None else chosen.camera,
            "cameras": self.camera_names,
            "resolution": chosen.image_size,
            "grayscale": chosen.grayscale,
            "actions": self.action_names,
            "dt": env.dt,
            "policy": self.policy.name if self.policy else "",
            "misfit": self.misfit,
            "has_value": self.policy is not None and self.policy.value is not None,
        }

    @property
    def action_names(self) -> tuple[str, ...]:
        """A name for each entry of an action: that of the model's actuator, if it has as many."""
        model, size = self.env.physics.mj_model, self.env.action_size
        names = [model.actuator(i).name for i in range(model.nu)] if model.nu == size else [""] * size
        return tuple(name or f"action {i}" for i, name in enumerate(names))

    @property
    def camera_names(self) -> tuple[str, ...]:
        """Names of the model's cameras, or their numbers."""
        model = self.env.physics.mj_model
        return tuple(model.camera(i).name or str(i) for i in range(model.ncam))

    @in_float32
    def reset(self, key: Array, strength: float = 1.0) -> State:
        """The first state of an episode.

        Args:
          key: of the episode.
          strength: factor on the strengths of the distractors.
        """
        params = self.env.default_params if strength == 1 else self.env.scaled_params(strength)
        return self.env.reset(key, jax.tree.map(jnp.asarray, params))

    @in_float32
    def step(self, state: State, action: Float[np.ndarray, " action_size"]) -> State:
        """The state after an action."""
        return self.env.step(state, jnp.asarray(action, jnp.float32))

    @in_float32
    def between(self, state: State, action: Float[np.ndarray, " action_size"]) -> list[State]:
        """For the eye: the state with the physics after each of an action's frames but the last."""
        if self.env.action_repeat == 1:
            return []
        frames = self._substeps(state, jnp.asarray(action, jnp.float32))
        moments = [jax.tree.map(lambda x: x[k], frames) for k in range(self.env.action_repeat - 1)]  # noqa: B023
        return [replace(state, physics=moment) for moment in moments]

    @in_float32
    def look(self, state: State, camera: Orbit) -> Look:
        """What the free camera sees."""
        numbers = [camera.distance, camera.azimuth, camera.elevation, camera.fovy, float(camera.follows)]
        return self._look(state, np.array([*camera.lookat, *numbers], np.float32))


def _look_of(env: PixelEnv, height: int, width: int) -> Callable[[State, Any], Look]:
    """The free camera's function of a state and the numbers of an `Orbit`."""
    body = main_body(env.physics.mj_model)
    effects = rendered_effects(env.images, env.distractors)

    def look(state: State, numbers: Float[Array, "8"]) -> Look:
        scene, pose, camera = env.render_inputs(state)
        xpos, _ = env.engine(state).body_pose(state.physics)
        lookat = numbers[:3] + numbers[7] * xpos[body] * jnp.array([1.0, 1.0, 0.0])
        seen_from = orbit(lookat, numbers[3], numbers[4], numbers[5], numbers[6])
        frame = render(scene, pose, seen_from, height, width, ("packed", "depth", "segmentation"), **effects)
        return Look(frame.packed, frame.depth, frame.segmentation, camera, xpos[body])

    return look


class Workshop:
    """Builds programs one at a time, and keeps the last few."""

    def __init__(self, load: Callable[[], RunPolicy] | None = None):
        """Loads the run's policy, if there is one, when it first builds."""
        self._load = load
        self._policy: RunPolicy | None = None
        self._kept: OrderedDict[ViewConfig, Programs] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def own(self) -> EnvConfig | None:
        """The settings of the run's environment, once it is loaded."""
        return self._policy and self._policy.environment

    def build(self, config: ViewConfig) -> Programs:
        """The programs of a configuration, compiled.

        Raises:
          ConfigError: a setting or the run cannot be used.
        """
        with self._lock:
            if self._load is not None and self._policy is None:
                self._policy = self._load()
            if config not in self._kept:
                self._kept[config] = Programs(config, self._policy)
            self._kept.move_to_end(config)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return self._kept[config]


def chosen(config: ViewConfig, own: EnvConfig | None, **changes: Any) -> ViewConfig:
    """The configuration with other settings of the environment.

    Args:
      config: the present one.
      own: the settings of a run, which its task returns to.
      **changes: fields of `EnvConfig`. Another task keeps only what fits any task.
    """
    old = config.environment
    task = changes.get("task", old.task)
    if task != old.task:
        if own is not None and task == own.task:
            old = own
        else:
            shared = {name: getattr(old, name) for name in ("image_size", "grayscale", "distractors")}
            old = EnvConfig(task=task, frame_stack=1, **shared)
    return replace(config, environment=replace(old, **changes))


def agent_view(state: State, view: View, channels: int) -> np.ndarray:
    """The newest image of an observation: (height, width, channels) uint8, or (height, width) depth or ids."""
    if view == "color":
        return np.asarray(state.obs["pixels"][..., -channels:])
    return np.asarray(state.obs[view])
