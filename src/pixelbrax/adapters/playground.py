"""MuJoCo Playground's interface, for its wrappers and trainers.

    from mujoco_playground import wrapper
    from pixelbrax.adapters.playground import as_playground

    env = as_playground("dmc/cheetah_run")
    ppo.train(env, vision=True, wrap_env_fn=functools.partial(wrapper.wrap_for_brax_training, full_reset=True), ...)

Contract: that of `mujoco_playground.MjxEnv`, Playground 0.2, as its wrappers and Brax's PPO read it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.adapters.float_env import AbsentError, CommonProperties, FloatEnv, merged
from pixelbrax.errors import ConfigError

try:
    from mujoco_playground import MjxEnv
    from mujoco_playground import State as MjxState
except ImportError as e:
    raise ConfigError(f"MuJoCo Playground cannot be imported ({e}): pip install 'pixelbrax[playground]'") from e

__all__ = ["MjxPixelEnv", "as_playground"]


def as_playground(
    env: Any, *, obs_keys: str | Iterable[str] | None = None, time_limit: bool = False, **settings: Any
) -> "MjxPixelEnv":
    """An environment of Playground's (`MjxEnv`), for its wrappers (`wrap_for_brax_training`) and trainers.

    `data` is our `pixelbrax.State`, and `render` draws with our renderer. All else is as in
    `pixelbrax.adapters.brax.as_brax`. Playground's `full_reset=True` gives each episode its own start and distractors;
    without it an environment's episodes all begin alike.

    Raises:
      ConfigError: a setting cannot be used.
    """
    return MjxPixelEnv(FloatEnv(as_playground, env, obs_keys, time_limit, settings))


class MjxPixelEnv(CommonProperties, MjxEnv):
    """An environment by Playground's interface; it does not reset itself."""

    def reset(self, rng: Array) -> MjxState:
        """The first state of a new episode."""
        state = self._env.reset(rng)
        fields: dict[str, Any] = {"data": state} | self._env.fields(state)
        return MjxState(**fields)

    def step(self, state: MjxState, action: Array) -> MjxState:
        """The state after an action; `info` and `metrics` keep what wrappers have put there."""
        before: Any = state.data
        following = self.pixel_env.step(before, action)
        return merged(state, self._env.fields(following), data=following)

    @property
    def sim_dt(self) -> float:
        """The model's time step in seconds."""
        return float(self.mj_model.opt.timestep)

    @property
    def mj_model(self) -> mujoco.MjModel:
        """The model whose geoms are rendered."""
        return self.pixel_env.physics.mj_model

    @property
    def mjx_model(self) -> Any:
        """The engine's own model: MJX's, or a Brax system."""
        return self.pixel_env.physics.model

    @property
    def _mjx_model(self) -> Any:  # Playground's own randomization would replace it
        raise AbsentError(
            "there is no _mjx_model to replace: give a randomization_fn to as_playground, not to the wrapper; to read "
            "the engine's model, take mjx_model"
        )

    @property
    def xml_path(self) -> str:
        """Empty: the model may come from anywhere."""
        return ""

    def render(
        self,
        trajectory: Sequence[MjxState] | MjxState,
        height: int = 240,
        width: int = 320,
        camera: str | None = None,
        scene_option: Any = None,
        modify_scene_fns: Any = None,
    ) -> Any:
        """An RGB image of each state, or of one state, by our renderer.

        Raises:
          ConfigError: an option of MuJoCo's renderer is given.
        """
        if any(option is not None for option in (camera, scene_option, modify_scene_fns)):
            raise ConfigError("render has no options of MuJoCo's renderer: the camera is that of pixelbrax.make")
        one = isinstance(trajectory, MjxState)
        states: Any = [trajectory.data] if one else [state.data for state in trajectory]
        images: list[np.ndarray] = self._env.render(states, height, width)
        return images[0] if one else images
