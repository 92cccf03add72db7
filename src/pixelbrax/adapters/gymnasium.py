"""Gymnasium's interface: vector environments that stay on the device, and single ones.

    import gymnasium as gym
    import pixelbrax

    gym.register_envs(pixelbrax)
    envs = gym.make_vec("PixelBrax/HalfCheetah-v0", num_envs=256, distractors="dcs/hard")

`check_vector_env` checks the laws of any vector environment. Contracts: those of `gymnasium.vector.VectorEnv`,
`SyncVectorEnv` and `gymnasium.Env`, Gymnasium 1.2 to 1.4.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from pixelbrax.adapters.arrays import Arrays, check_arrays, converted
from pixelbrax.adapters.observations import Bounds, ObsView
from pixelbrax.adapters.stepping import EnvBatch, known_settings, make_env, one_action, refuse
from pixelbrax.envs import FINAL_OBS, Autoreset, PixelEnv, State
from pixelbrax.errors import ConfigError, check_choice, check_count, check_pair, nearest

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    from pixelbrax.adapters.check_vector_env import check_vector_env
except ImportError as e:
    raise ConfigError(f"Gymnasium cannot be imported ({e}): pip install 'pixelbrax[gymnasium]'") from e

__all__ = ["Arrays", "PixelBraxEnv", "PixelBraxVectorEnv", "check_vector_env"]

RENDER_MODES = ("rgb_array",)
_AUTORESETS: dict[Autoreset, AutoresetMode] = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class UnknownSettingError(ConfigError, TypeError):
    """A keyword that is no setting: a `TypeError`, by which Gymnasium's users, such as TorchRL, see what there is."""


class PixelBraxVectorEnv(VectorEnv):
    """Environments side by side on the device, by Gymnasium's vector interface.

    An environment's random stream follows from its seed alone, whatever is beside it; environment i of `reset(seed=s)`
    has the seed s + i. In all three auto-reset modes every episode's true last observation is seen: with "next_step"
    as the observation of the step that ends it, with "same_step" as `info["final_obs"]`.

    `info` has the metrics of `pixelbrax.State` under their names, each with a mask under "_" + name. Depth is
    finite: at most that of MuJoCo's far plane, the bound of its space.
    """

    def __init__(
        self,
        env: Any = None,
        num_envs: int = 1,
        *,
        obs_keys: str | Iterable[str] | None = None,
        arrays: Arrays = "numpy",
        autoreset_mode: AutoresetMode | str | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        render_size: int | Sequence[int] = (240, 320),
        **settings: Any,
    ):
        """Makes the environments; the first `reset` and the first `step` compile.

        Args:
          env: whatever `pixelbrax.make` takes (a task's name, a model), or a `PixelEnv`.
          num_envs: how many.
          obs_keys: what is observed of `State.obs`; by default all images, or the state if there are none. A name
            alone gives arrays, several names a dict of them.
          arrays: of observations, rewards, flags and metrics. "numpy" for NumPy's own, which the caller may keep and
            change; "jax" or "torch" for arrays that stay on the device. Tensors share JAX's memory: change none in
            place. Actions may be of any of the three.
          autoreset_mode: Gymnasium's enum or its value, by default "NextStep", or a `PixelEnv`'s own.
          max_episode_steps: steps after which an episode is truncated, instead of `episode_length` in frames.
          render_mode: None or "rgb_array".
          render_size: height and width of `render`'s images in pixels.
          **settings: those of `pixelbrax.make`; none for a `PixelEnv`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        autoreset = None if autoreset_mode is None else _autoreset(autoreset_mode)
        if "autoreset" in settings:
            raise ConfigError("autoreset is called autoreset_mode here: give Gymnasium's enum or its value")
        _check_known(PixelBraxVectorEnv, settings)
        self._env = make_env(PixelBraxVectorEnv, env, autoreset, max_episode_steps, settings)
        self._batch = EnvBatch(self._env, num_envs)
        self._view = ObsView(self._env, obs_keys)
        self._arrays: Arrays = check_arrays(arrays)
        self.num_envs = self._batch.num_envs
        self.render_mode = _checked_render_mode(render_mode)
        self._render_size = _size(render_size)
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": max(1, round(1 / self._env.dt)),  # of long control steps it would be 0
            "autoreset_mode": _AUTORESETS[self._env.autoreset],
        }
        self.single_observation_space = self._view.space(_box, gymnasium.spaces.Dict)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (self._env.action_size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.autoreset_mode = self.metadata["autoreset_mode"]  # as Gymnasium's own have it: TorchRL reads it

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment of which these are copies."""
        return self._env

    @property
    def states(self) -> State | None:
        """The states of all environments, on the device; None before the first `reset`."""
        return self._batch.states

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """New episodes, in the environments of `options["reset_mask"]` or in all.

        Args:
          seed: of the first environment, or of each; None goes on with each environment's random stream.
          options: "reset_mask": (num_envs,) bool array of NumPy's, at least one of them True.

        Raises:
          ConfigError: a seed or the mask cannot be used, or there is another option.
        """
        super().reset(seed=int(seed) if isinstance(seed, int | np.integer) else None)
        mask = _reset_mask(options, self.num_envs)
        state = self._batch.reset(seed, mask)
        self.closed = False  # after a close it begins anew, and can be closed again
        obs, metrics = self._converted((self._view.of(state.obs), state.metrics))
        return obs, _info(metrics, np.ones(self.num_envs, bool) if mask is None else mask)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and info after actions of shape (num_envs, action_size)."""
        state = self._batch.step(actions)
        flags = (state.terminated, state.truncated)
        obs, reward, *flags, metrics = self._converted((self._view.of(state.obs), state.reward, *flags, state.metrics))
        info = _info(metrics, np.ones(self.num_envs, bool))
        if self._env.autoreset == "same_step" and (done := np.asarray(state.done)).any():
            info = _info(metrics, ~done)
            final_obs = self._converted(self._view.of(state.info[FINAL_OBS]))
            info[FINAL_OBS], info["_" + FINAL_OBS] = _rows(final_obs, done), done
            info["final_info"], info["_final_info"] = _info(metrics, done), done
        return obs, reward, *flags, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """An RGB image of each environment, of `render_size`; None without a render mode."""
        return None if self.render_mode is None else tuple(self._batch.render(*self._render_size))

    def close_extras(self, **kwargs: Any) -> None:
        """Gives the device's memory back."""
        if "_batch" in vars(self):  # Gymnasium 1.2 also closes what a mistake kept from being made
            self._batch.close()

    def _converted(self, tree: Any) -> Any:
        return converted(tree, self._arrays)


class PixelBraxEnv(gymnasium.Env):
    """One environment, by Gymnasium's interface. To train, take `PixelBraxVectorEnv`: one at a time is slow.

    `info` has the metrics of `pixelbrax.State` under their names.
    """

    metadata = {"render_modes": list(RENDER_MODES)}  # noqa: RUF012 (`gymnasium.make` reads that of the class)

    def __init__(
        self,
        env: Any = None,
        *,
        obs_keys: str | Iterable[str] | None = None,
        render_mode: str | None = None,
        render_size: int | Sequence[int] = (240, 320),
        **settings: Any,
    ):
        """See `PixelBraxVectorEnv`. There is no auto-reset, and observations are NumPy's.

        Raises:
          ConfigError: a setting cannot be used.
        """
        refuse(settings, ("num_envs", "arrays", "autoreset", "autoreset_mode"), "PixelBraxVectorEnv has it")
        _check_known(PixelBraxEnv, settings, "max_episode_steps")
        self._vector = PixelBraxVectorEnv(
            env,
            obs_keys=obs_keys,
            autoreset_mode=AutoresetMode.DISABLED,
            render_mode=render_mode,
            render_size=render_size,
            **settings,
        )
        self.render_mode = render_mode
        self.metadata = {name: self._vector.metadata[name] for name in ("render_modes", "render_fps")}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment."""
        return self._vector.pixel_env

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode; None goes on with the environment's random stream. There are no options."""
        super().reset(seed=seed)
        _no_options(options)
        obs, info = self._vector.reset(seed=seed)
        return jax.tree.map(_first, obs), _plain(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward, terminated, truncated and info after an action of shape (action_size,)."""
        obs, reward, terminated, truncated, info = self._vector.step(one_action(action, self.pixel_env))
        return jax.tree.map(_first, obs), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _plain(info)

    def render(self) -> Any:
        """An RGB image of `render_size`; None without a render mode."""
        images = self._vector.render()
        return None if images is None else images[0]

    def close(self) -> None:
        """Gives the device's memory back."""
        self._vector.close()


def _check_known(interface: type, settings: Iterable[str], *others: str) -> None:
    known = (*known_settings(interface), *others)
    for setting in settings:
        if setting not in known:
            unknown = f"{interface.__name__}.__init__() got an unexpected keyword argument {setting!r}"
            raise UnknownSettingError(f"{unknown}: {nearest(setting, known)}")


def _autoreset(mode: AutoresetMode | str) -> Autoreset:
    for name, known in _AUTORESETS.items():
        if mode in (known, known.value):
            return name
    values = ", ".join(known.value for known in _AUTORESETS.values())
    raise ConfigError(f"autoreset_mode is {mode!r}: it must be one of {values}")


def _box(name: str, bounds: Bounds) -> gymnasium.spaces.Box:
    """The space of one entry of `State.obs`."""
    return gymnasium.spaces.Box(*bounds)  # pyright: ignore[reportArgumentType]


def _checked_render_mode(mode: str | None) -> str | None:
    return None if mode is None else check_choice("render_mode", mode, RENDER_MODES)


def _size(size: Any) -> tuple[int, int]:
    sides = (size, size) if isinstance(size, int | np.integer) else check_pair("render_size", size, "height and width")
    height, width = sides
    return check_count("render_size", height), check_count("render_size", width)


def _reset_mask(options: dict[str, Any] | None, num_envs: int) -> np.ndarray | None:
    if not isinstance(options, Mapping | None):
        raise ConfigError(f"options is {options!r:.80}: it must be a dict, such as {{'reset_mask': mask}}")
    options = dict(options or {})
    mask = options.pop("reset_mask", None)
    _no_options(options)
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,):
        raise ConfigError(f"options['reset_mask'] is {mask!r:.80}: it must be a NumPy array of ({num_envs},) bool")
    if not mask.any():
        raise ConfigError("options['reset_mask'] is False everywhere: name at least one environment")
    return mask


def _no_options(options: dict[str, Any] | None) -> None:
    if options:
        raise ConfigError(f"unknown option {next(iter(options))!r}: reset knows 'reset_mask', of vector environments")


def _info(metrics: dict[str, Any], known: np.ndarray) -> dict[str, Any]:
    """Gymnasium's form of metrics: each beside a mask of the environments whose value is known."""
    return {
        name: known.copy() if name.startswith("_") else metrics[name] for each in metrics for name in (each, "_" + each)
    }


def _rows(obs: Any, wanted: np.ndarray) -> np.ndarray:
    """Gymnasium's form of last observations: an array of objects, None where no episode ended."""
    rows = np.full(len(wanted), None, dtype=object)
    for i in np.flatnonzero(wanted):
        rows[i] = jax.tree.map(lambda x, i=i: x[i], obs)
    return rows


def _first(x: Any) -> Any:
    return x[0]


def _plain(info: dict[str, Any]) -> dict[str, Any]:
    """A vector environment's info, for its only environment."""
    return {name: value[0].item() for name, value in info.items() if not name.startswith("_")}
