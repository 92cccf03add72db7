"""Stable-Baselines3's interface: a `VecEnv` whose environments are stepped together on the device.

    from stable_baselines3 import PPO
    from pixelbrax.adapters.stable_baselines3 import PixelBraxVecEnv

    PPO("CnnPolicy", PixelBraxVecEnv("halfcheetah", 64)).learn(1_000_000)

Contract: that of `VecEnv` and `DummyVecEnv`, Stable-Baselines3 2.7 to 2.9.
"""

import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from pixelbrax.errors import MAX_SEED, ConfigError, check_count, check_keywords

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as e:
    raise ConfigError(f"Stable-Baselines3 cannot be imported ({e}): pip install 'pixelbrax[sb3]'") from e

from pixelbrax.adapters.gymnasium import PixelBraxVectorEnv
from pixelbrax.adapters.stepping import known_settings, refuse
from pixelbrax.envs import PixelEnv, State
from pixelbrax.physics import shares_arrays

__all__ = ["PixelBraxVecEnv"]


class PixelBraxVecEnv(VecEnv):
    """Environments side by side on the device, by Stable-Baselines3's interface.

    `info` of each environment has the metrics of `pixelbrax.State` under their names, "TimeLimit.truncated", and where
    an episode ended "terminal_observation", its true last observation, and "episode": its return "r", its length "l" in
    steps and the seconds "t" since the start, as `Monitor` gives them. There is no need for a `VecMonitor`.
    """

    def __init__(self, env: Any, num_envs: int = 1, **settings: Any):
        """Makes the environments; the first `reset` and the first `step` compile.

        Args:
          env: whatever `pixelbrax.make` takes, or a `PixelEnv`, whatever its auto-reset.
          num_envs: how many.
          **settings: `obs_keys`, `max_episode_steps`, `render_mode` and `render_size` of
            `pixelbrax.adapters.gymnasium.PixelBraxVectorEnv`, and those of `pixelbrax.make`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        refuse(settings, ("autoreset", "autoreset_mode", "arrays"), "Stable-Baselines3 has but one")
        check_keywords(type(self).__name__, settings, known_settings(PixelBraxVectorEnv))
        self._envs = PixelBraxVectorEnv(env, num_envs, autoreset_mode="Disabled", **settings)
        self._actions: Any = None
        self._begun = time.time()
        super().__init__(self._envs.num_envs, self._envs.single_observation_space, self._envs.single_action_space)
        self.metadata["render_fps"] = self._envs.metadata["render_fps"]
        self._lengths = np.zeros(self.num_envs, int)

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment of which these are copies."""
        return self._envs.pixel_env

    @property
    def states(self) -> State | None:
        """The states of all environments, on the device; None before the first `reset`."""
        return self._envs.states

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Sets the seeds of the next `reset`: of environment i the seed + i; None draws one from NumPy's generator."""
        if seed is None:
            seed = int(np.random.randint(MAX_SEED - self.num_envs))  # noqa: NPY002 (that which set_random_seed seeds)
        return super().seed(check_count("seed", seed, least=0, most=MAX_SEED - self.num_envs + 1))

    def reset(self) -> Any:
        """First observations of new episodes in all environments.

        Raises:
          ConfigError: options were set, or the engine cannot reset one of many environments, as training will ask.
        """
        if any(self._options):
            raise ConfigError("set_options: these environments have no options for their reset")
        obs, info = self._envs.reset(seed=self._seeds)
        if self.states is not None and shares_arrays(self.states.physics):
            raise ConfigError("each environment is reset by itself, which MJX's warp cannot: take another backend")
        self.reset_infos = self._infos(info)
        self._lengths[:] = 0
        self._reset_seeds()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Takes the actions of the next `step_wait`, of shape (num_envs, action_size)."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Observations, rewards, whether episodes ended, and an info of each environment."""
        obs, reward, terminated, truncated, info = self._envs.step(self._actions)
        done, last = terminated | truncated, obs
        infos = self._infos(info)
        self._lengths += 1
        if done.any():  # rarer than a step: auto-reset would render each environment twice in every step
            obs, begun = self._envs.reset(options={"reset_mask": done})
            begun = self._infos(begun)
            for i in np.flatnonzero(done):
                self.reset_infos[i] = begun[i]
        for each, cut in zip(infos, truncated.tolist(), strict=True):
            each["TimeLimit.truncated"] = cut
        for i in np.flatnonzero(done):
            seconds = round(time.time() - self._begun, 6)
            infos[i]["episode"] = {"r": infos[i]["episode_return"], "l": int(self._lengths[i]), "t": seconds}
            infos[i]["terminal_observation"] = jax.tree.map(lambda x, i=i: x[i], last)
        self._lengths[done] = 0
        return obs, reward, done, infos

    def get_images(self) -> Sequence[np.ndarray | None]:
        """An RGB image of each environment, of `render_size`; None without a render mode."""
        return self._envs.render() or [None] * self.num_envs

    def close(self) -> None:
        """Gives the device's memory back."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """What Gymnasium's environments have, or an attribute of their `PixelEnv`, once for each index."""
        owners = {"render_mode": self._envs} | dict.fromkeys(("metadata", "observation_space", "action_space"), self)
        return [getattr(owners.get(attr_name, self.pixel_env), attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuses: compiled environments are made anew with other settings.

        Raises:
          AttributeError: always.
        """
        raise AttributeError(f"cannot set {attr_name!r}: make the environments with other settings")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """The result of "render" for each index; there are no other methods of single environments.

        Raises:
          AttributeError: it is another method.
        """
        if method_name != "render":
            raise AttributeError(f"no method {method_name!r} of single environments: all are one, pixel_env")
        images = self.get_images()
        return [images[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Whether there is a wrapper: only `Monitor`'s work is done, the record of episodes."""
        return [issubclass(wrapper_class, Monitor)] * len(list(self._get_indices(indices)))

    def _infos(self, info: dict[str, Any]) -> list[dict[str, Any]]:
        """The metrics of each environment."""
        names = [name for name in info if not name.startswith("_")]
        rows = zip(*(info[name].tolist() for name in names), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]
