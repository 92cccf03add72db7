"""Brax's interface, for its wrappers and trainers.

    from brax.training.agents.ppo import networks_vision, train as ppo
    from pixelbrax.adapters.brax import as_brax

    ppo.train(as_brax("halfcheetah"), vision=True, network_factory=networks_vision.make_ppo_networks_vision, ...)

Contract: that of `brax.envs.Env`, Brax 0.14, as its training wrappers and PPO read it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from brax.envs import Env
from brax.envs import State as BraxState
from jaxtyping import Array

from pixelbrax.adapters.float_env import AbsentError, CommonProperties, FloatEnv, merged
from pixelbrax.errors import ConfigError

__all__ = ["BraxPixelEnv", "as_brax"]


def as_brax(
    env: Any, *, obs_keys: str | Iterable[str] | None = None, time_limit: bool = False, **settings: Any
) -> "BraxPixelEnv":
    """An environment of Brax's, for its wrappers and trainers.

    Images are float32 in [0, 1], channels last, under "pixels/view_0", "pixels/view_1" and so on, one for each camera;
    the engine's observation vector is "state". If it alone is observed, the observation is no dict but an array.
    `pipeline_state` is our `pixelbrax.State`. Metrics are the task's own.

    Args:
      env: whatever `pixelbrax.make` takes, or a `PixelEnv`, whatever its auto-reset.
      obs_keys: what is observed of `State.obs`: "pixels" (or "pixels/<camera>"), "state", or several of them; by
        default all images, or the state if there are none.
      time_limit: whether the environment's own time limit ends episodes too, with `info["time_out"]` 1 for Brax's
        `bootstrap_on_timeout`. By default there is only that of Brax's `EpisodeWrapper`, as in Brax's environments.
      **settings: those of `pixelbrax.make`; none for a `PixelEnv`.

    Raises:
      ConfigError: a setting cannot be used.
    """
    return BraxPixelEnv(FloatEnv(as_brax, env, obs_keys, time_limit, settings))


class BraxPixelEnv(CommonProperties, Env):
    """An environment by Brax's interface; it does not reset itself."""

    def reset(self, rng: Array) -> BraxState:
        """The first state of a new episode."""
        state = self._env.reset(rng)
        fields: dict[str, Any] = {"pipeline_state": state} | self._env.fields(state)
        return BraxState(**fields)

    def step(self, state: BraxState, action: Array) -> BraxState:
        """The state after an action; `info` and `metrics` keep what wrappers have put there."""
        before: Any = state.pipeline_state
        following = self.pixel_env.step(before, action)
        return merged(state, self._env.fields(following), pipeline_state=following)

    @property
    def backend(self) -> str:
        """The physics engine's name."""
        facts = getattr(self.pixel_env.physics, "facts", {})  # human-readable: "Brax spring", "MJX (jax)"
        return facts.get("engine", type(self.pixel_env.physics).__name__).removeprefix("Brax ")

    @property
    def sys(self) -> Any:
        """Refuses: Brax's own randomization would replace it.

        Raises:
          AbsentError: always; a `ConfigError` and an `AttributeError`.
        """
        raise AbsentError(
            "there is no sys to read or to replace: give a randomization_fn to as_brax, not to Brax's trainers; in "
            "place of Brax's Gym wrappers, which read the range of actions, take pixelbrax.adapters.gymnasium"
        )

    def render(
        self, trajectory: Sequence[Any] | Any, height: int = 240, width: int = 320, camera: str | None = None
    ) -> Any:
        """An RGB image of each state, or of one state, by our renderer.

        Args:
          trajectory: states of Brax's, or their `pipeline_state`, which Brax's own `render` takes.
          height: of the image in pixels.
          width: of the image in pixels.
          camera: refused.

        Raises:
          ConfigError: a camera is given, or what is to be rendered is no state.
        """
        if camera is not None:
            raise ConfigError(f"render cannot choose camera {camera!r}: the camera is that of pixelbrax.make")
        one = not isinstance(trajectory, Sequence)
        given = [trajectory] if one else trajectory
        states = [state.pipeline_state if isinstance(state, BraxState) else state for state in given]
        images = self._env.render(states, height, width)  # pyright: ignore[reportArgumentType]
        return images[0] if one else images
