"""A checker for Gymnasium's vector environments, which has one for single environments only.

The laws are those of `gymnasium.vector.VectorEnv` and of `SyncVectorEnv`, Gymnasium 1.2 to 1.4.
"""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate


def check_vector_env(envs: VectorEnv, max_steps: int = 1000, seed: int = 0) -> None:
    """Checks spaces, seeds, shapes and dtypes, masks of info, partial resets, and the auto-reset that metadata names.

    Args:
      envs: of any make; it is stepped with random actions and closed.
      max_steps: how long to wait for an episode's end, without which its laws cannot be checked.
      seed: of the environments and the actions.

    Raises:
      AssertionError: a law does not hold; the message says which.
    """
    mode = envs.metadata.get("autoreset_mode")
    assert isinstance(mode, AutoresetMode), f"metadata['autoreset_mode'] is {mode!r}: it must be an AutoresetMode"
    for name in ("observation", "action"):
        single, batched = (getattr(envs, f"{kind}{name}_space") for kind in ("single_", ""))
        assert batched == batch_space(single, envs.num_envs), f"{name}_space is not that of num_envs of the single one"
    first, again = (_record(envs, seed, 3) for _ in range(2))
    for t, (one, other) in enumerate(zip(first, again, strict=True)):
        _assert_same(one, other, f"step {t} after the same seed and actions differs")
    obs = _checked_reset(envs, seed)
    done = np.zeros(envs.num_envs, bool)
    for _ in range(max_steps):
        obs, done = _checked_step(envs)
        if done.any():
            break
    assert done.any(), f"no episode ended within {max_steps} steps: give a larger max_steps, or shorter episodes"
    if mode is AutoresetMode.NEXT_STEP:
        _, reward, *flags, _ = envs.step(envs.action_space.sample())
        assert not np.asarray(reward)[done].any(), "the step after an episode's end has a reward"
        assert not any(np.asarray(flag)[done].any() for flag in flags), "the step after an episode's end ends another"
    if mode is AutoresetMode.DISABLED:
        _check_mask(envs, obs, done)
    _check_mask(envs, _checked_reset(envs, seed), np.arange(envs.num_envs) == 0)
    envs.close()
    assert envs.closed, "closed is False after close()"
    envs.close()


def _record(envs: VectorEnv, seed: int, steps: int) -> list[tuple]:
    envs.action_space.seed(seed)
    obs, _ = envs.reset(seed=seed)
    recorded: list[tuple] = [(_copies(envs, obs),)]
    for _ in range(steps):
        obs, *rest, _ = envs.step(envs.action_space.sample())
        recorded.append((_copies(envs, obs), *(np.array(x) for x in rest)))
        if any(flag.any() for flag in recorded[-1][2:]):  # without auto-reset there is no step after it
            break
    return recorded


def _checked_reset(envs: VectorEnv, seed: int) -> Any:
    obs, info = envs.reset(seed=seed)
    assert envs.observation_space.contains(obs), "reset's observation is not in observation_space"
    _check_masks(info, envs.num_envs)
    return _copies(envs, obs)


def _checked_step(envs: VectorEnv) -> tuple[Any, np.ndarray]:
    """One step with random actions: copies of the observations, and which episodes have ended."""
    obs, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(obs), "step's observation is not in observation_space"
    for name, value, kinds in (("rewards", reward, "fiu"), ("terminations", terminated, "b")):
        _check_vector(name, value, kinds, envs.num_envs)
    _check_vector("truncations", truncated, "b", envs.num_envs)
    _check_masks(info, envs.num_envs)
    done = np.asarray(terminated) | np.asarray(truncated)
    mode = envs.metadata["autoreset_mode"]
    if mode is AutoresetMode.SAME_STEP and done.any():
        for name in ("final_obs", "final_info"):
            assert name in info, f"an episode ended, and info has no {name!r}"
            assert (info[f"_{name}"] == done).all(), f"info['_{name}'] is not where episodes ended"
        for i, (last, ended) in enumerate(zip(info["final_obs"], done, strict=True)):
            if ended:
                assert envs.single_observation_space.contains(last), f"final_obs[{i}] is not in its space"
    else:
        assert "final_obs" not in info, "info has 'final_obs', where the observation is the final one"
    return _copies(envs, obs), done


def _check_vector(name: str, value: Any, kinds: str, num_envs: int) -> None:
    value = np.asarray(value)
    assert value.shape == (num_envs,), f"{name} have shape {value.shape}: it must be {(num_envs,)}"
    assert value.dtype.kind in kinds, f"{name} are {value.dtype}"


def _check_masks(info: dict[str, Any], num_envs: int) -> None:
    assert isinstance(info, dict), f"info is {type(info)}: it must be a dict"
    for name, value in info.items():
        if name.startswith("_"):
            continue
        assert f"_{name}" in info, f"info has {name!r} without its mask '_{name}'"
        _check_vector(f"info['_{name}']", info[f"_{name}"], "b", num_envs)
        if isinstance(value, dict):
            _check_masks(value, num_envs)
        else:
            assert len(value) == num_envs, f"info[{name!r}] has {len(value)} rows for {num_envs} environments"


def _check_mask(envs: VectorEnv, before: Any, mask: np.ndarray) -> None:
    """A partial reset leaves the others as they are, and afterwards all can be stepped."""
    obs, info = envs.reset(options={"reset_mask": mask.copy()})
    assert envs.observation_space.contains(obs), "a partial reset's observation is not in observation_space"
    _check_masks(info, envs.num_envs)
    for i, (one, other) in enumerate(zip(_copies(envs, obs), before, strict=True)):
        if not mask[i]:
            _assert_same(one, other, f"a partial reset changed environment {i}, which it was not to reset")
    _checked_step(envs)


def _copies(envs: VectorEnv, obs: Any) -> list[Any]:
    """The observation of each environment, which a later step does not change."""
    return [_copied(each) for each in iterate(envs.observation_space, obs)]


def _copied(obs: Any) -> Any:
    if isinstance(obs, dict):
        return {name: _copied(each) for name, each in obs.items()}
    return tuple(map(_copied, obs)) if isinstance(obs, tuple) else np.array(obs)


def _assert_same(one: Any, other: Any, message: str) -> None:
    if isinstance(one, dict):
        one, other = list(one.values()), list(other.values())
    if isinstance(one, list | tuple):
        for a, b in zip(one, other, strict=True):
            _assert_same(a, b, message)
        return
    assert np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f"), message
