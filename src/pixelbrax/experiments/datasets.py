"""Trajectories on disk: a folder of npz shards with a README of its fields."""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, overload

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.distractors import videos_of_files
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_count, check_flag, check_path, check_seed
from pixelbrax.experiments.acting import RANDOM, PolicyLike, actor
from pixelbrax.experiments.environments import config_of, differences
from pixelbrax.experiments.policies import Policy
from pixelbrax.experiments.trajectories import Trajectories, check_rollout, joined_trajectories, shards
from pixelbrax.physics import qualified_name
from pixelbrax.training import (
    EnvConfig,
    Progress,
    clips_of,
    episodes_of,
    is_temporary,
    locked,
    provenance,
    replace_text,
    writing,
)
from pixelbrax.xla import in_float32

_FORMAT = 1
_FACTS, _README, _SHARD, _SHARDS = "dataset.json", "README.md", "shard-{:05d}.npz", "shard-*.npz"
_OBSERVATION = "observations/"
_CALLS_HOST = ", which calls the host"


@overload
def rollout(
    policy: PolicyLike,
    env: PixelEnv,
    episodes: int = ...,
    seed: int = ...,
    *,
    steps: int | None = ...,
    num_envs: int | None = ...,
    deterministic: bool = ...,
    path: None = ...,
    progress: Progress | None = ...,
) -> Trajectories: ...
@overload
def rollout(
    policy: PolicyLike,
    env: PixelEnv,
    episodes: int = ...,
    seed: int = ...,
    *,
    steps: int | None = ...,
    num_envs: int | None = ...,
    deterministic: bool = ...,
    path: str | os.PathLike[str],
    progress: Progress | None = ...,
) -> "Dataset": ...
@in_float32
def rollout(
    policy: PolicyLike,
    env: PixelEnv,
    episodes: int = 16,
    seed: int = 0,
    *,
    steps: int | None = None,
    num_envs: int | None = None,
    deterministic: bool = True,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> "Trajectories | Dataset":
    """Trajectories of a policy, as arrays or as a dataset on disk.

    The episodes are those of `pixelbrax.evaluate` with the same seed.

    Args:
      policy: see `PolicyLike`.
      env: the environment.
      episodes: number of episodes.
      seed: random seed of the episodes and of sampled actions.
      steps: maximum number of actions in an episode; by default it runs to its end.
      num_envs: episodes side by side, and per shard; by default 32. It does not change the episodes.
      deterministic: take a policy's mode; otherwise sample.
      path: folder of a dataset, which is written shard by shard; the same call resumes an interrupted one.
      progress: prints a line per shard of a dataset.

    Returns:
      The trajectories; with `path` a `Dataset` that reads them back.

    Raises:
      ConfigError: the policy does not fit the environment, a number is out of range, or the folder holds other files,
        or a dataset of another policy, or of a function that calls the host, which cannot be compared.
    """
    folder = None if path is None else check_dataset_folder(path)
    acts, variables = actor(policy, env)
    episodes, limit, side_by_side = check_rollout(env, episodes, steps, num_envs)
    seed, deterministic = check_seed(seed), check_flag("deterministic", deterministic)
    parts = shards(acts, env, variables, episodes, seed, limit, side_by_side, deterministic)
    if folder is None:
        return joined_trajectories([part.collect() for part in parts])
    facts = {
        "format": _FORMAT,
        "episodes": episodes,
        "episodes_per_shard": side_by_side,
        "seed": seed,
        "steps": limit,
        "deterministic": deterministic and policy != RANDOM,
        "policy": _described(policy, acts, variables),
        "distractors": " + ".join(env.distractor_names) or "none",
        "clips": clips_of(videos_of_files(env.distractors)),
        "environment": json.loads(json.dumps(asdict(config_of(env)))),
        "frame_stack": env.images.frame_stack,
        "channels_first": env.images.channels_first,
        "seconds_per_action": env.dt,
    }
    say = (progress or Progress(quiet=True)).say
    folder.mkdir(parents=True, exist_ok=True)
    with locked([folder], say, "written"):
        dataset = _opened(folder, facts)
        for index, part in enumerate(parts):
            file = dataset.path / _SHARD.format(index)
            if not file.exists():
                found = part.collect()
                _write(file, found)
                done = min((index + 1) * side_by_side, episodes)
                say(f"{done:,} of {episodes:,} episodes, mean return {found.returns.mean():,.1f}{found.warning}")
            if not (dataset.path / _README).exists():
                replace_text(dataset.path / _README, _readme(facts, _read(file)))
    return dataset


class Dataset:
    """Trajectories in a folder; iterating reads one shard after the other."""

    def __init__(self, path: str | os.PathLike[str]):
        """Opens a dataset.

        Raises:
          ConfigError: there is none, or it is of another version.
        """
        self.path = check_path("path", path)
        file = self.path / _FACTS
        try:
            self.facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise ConfigError(f"{self.path} is not a dataset: {file} cannot be read ({e})") from e
        if not isinstance(self.facts, dict):
            raise ConfigError(f"{self.path} is not a dataset: {file} holds no table of facts")
        if self.facts.get("format") != _FORMAT:
            raise ConfigError(f"{self.path} has format {self.facts.get('format')}: this version reads {_FORMAT}")
        for name in ("episodes", "episodes_per_shard"):
            check_count(f"{file}: {name}", self.facts.get(name))

    @property
    def shards(self) -> list[Path]:
        """The shards written so far, in order; files of other names or numbers are none of the dataset's."""
        names = {file.name for file in self.path.glob(_SHARDS)}
        return [self.path / name for name in map(_SHARD.format, range(self._num_shards)) if name in names]

    @property
    def complete(self) -> bool:
        """Whether all shards are written."""
        return len(self.shards) == self._num_shards

    @property
    def _num_shards(self) -> int:
        return -(-self.facts["episodes"] // self.facts["episodes_per_shard"])

    def __iter__(self) -> Iterator[Trajectories]:
        return map(_read, self.shards)

    def load(self) -> Trajectories:
        """All episodes, in memory.

        Raises:
          ConfigError: shards are missing.
        """
        if not self.complete:
            raise ConfigError(f"{self.path} is not complete: repeat the call that wrote it to resume")
        return joined_trajectories(list(self))

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return f"Dataset({str(self.path)!r}: {episodes_of(self.facts['episodes'])} in {len(self.shards)} shards{state})"


def load_dataset(path: str | os.PathLike[str]) -> Dataset:
    """A dataset that `pixelbrax.rollout` or `pixelbrax collect` wrote: `.load()` gives its trajectories.

    Raises:
      ConfigError: there is none, or it is of another version.
    """
    return Dataset(path)


def check_dataset_folder(path: str | os.PathLike[str]) -> Path:
    """The folder of a dataset that is new or was interrupted.

    Raises:
      ConfigError: there are other files in it, or it is none.
    """
    folder = check_path("path", path)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} exists and is not a folder: choose another path")
    if _has_files(folder) and not (folder / _FACTS).is_file():
        raise ConfigError(f"{folder} is not a dataset, but holds other files: choose another path")
    return folder


def _has_files(folder: Path) -> bool:
    """Whether a folder holds more than an attempt to begin a dataset leaves."""
    if not folder.is_dir():
        return False
    return not all(file.name == ".lock" or is_temporary(file, _FACTS) for file in folder.iterdir())


def _opened(path: Path, facts: Mapping[str, Any]) -> Dataset:
    """The dataset with these facts: a new one, or one that was interrupted."""
    if _has_files(path):
        dataset = Dataset(path)
        for name, value in facts.items():
            if name == "environment":
                _check_environment(path, dataset.facts.get(name), value)
            elif name == "clips" and name not in dataset.facts:
                continue  # older versions told nothing of them
            elif name == "clips" and dataset.facts[name] != value:
                raise ConfigError(
                    f"{path} was begun with other videos of {facts['distractors']}, whose files have changed since: "
                    "choose another path"
                )
            elif not _is_same(dataset.facts.get(name), value):
                raise ConfigError(
                    f"{path} holds another dataset, whose {name} is {dataset.facts.get(name)!r:.160} instead of "
                    f"{value!r:.160}: choose another path"
                )
        if facts["policy"].endswith(_CALLS_HOST):
            raise ConfigError(
                f"{path} holds a dataset, and nobody can tell whether what its policy calls on the host has changed "
                "since: read it with pixelbrax.load_dataset, or choose another path"
            )
        return dataset
    replace_text(path / _FACTS, json.dumps({**facts, "provenance": provenance()}, indent=2) + "\n")
    return Dataset(path)


def _check_environment(path: Path, kept: Any, given: Mapping[str, Any]) -> None:
    """Refuses a dataset of another environment.

    Raises:
      ConfigError: they differ; the message names the differences.
    """
    ours, theirs = (_config(x if isinstance(x, Mapping) else {}) for x in (given, kept))
    if found := differences(ours, theirs):
        raise ConfigError(f"{path} holds a dataset of another environment: {'; '.join(found)}: choose another path")


def _config(settings: Mapping[str, Any]) -> EnvConfig:
    """Settings as they are in a file; what is missing, of an older version, has its default."""
    known = {field.name for field in fields(EnvConfig)} & settings.keys()
    chosen: dict[str, Any] = {name: settings[name] for name in known}
    chosen |= {name: tuple(x) for name, x in chosen.items() if isinstance(x, list)}
    return EnvConfig(**chosen)


def _is_same(kept: Any, given: Any) -> bool:
    """Whether a dataset's fact is that of another; of a function, older versions kept no more than its name."""
    return _identity(kept) == _identity(given) or (
        isinstance(given, str) and kept == given.partition(", sha256 ")[0].removesuffix(_CALLS_HOST)
    )


def _identity(fact: Any) -> Any:
    """What two datasets must share of a fact: of a policy the updates and the checksum, not where its run was found."""
    if isinstance(fact, str) and ", sha256 " in fact:
        return fact.rsplit(", ", 2)[1:]
    return fact


def _write(file: Path, trajectories: Trajectories) -> None:
    """Writes a shard atomically."""
    arrays = {name: getattr(trajectories, name) for name in _fields()}
    arrays |= {_OBSERVATION + name: x for name, x in trajectories.observations.items()}
    part = file.with_name(f".{file.name}.part")
    with writing(file):
        try:
            with part.open("wb") as out:
                np.savez_compressed(out, allow_pickle=False, **arrays)
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)


def _read(file: Path) -> Trajectories:
    try:
        with np.load(file) as arrays:
            observations = {n.removeprefix(_OBSERVATION): arrays[n] for n in arrays if n.startswith(_OBSERVATION)}
            return Trajectories(observations=observations, **{name: arrays[name] for name in _fields()})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as e:
        raise ConfigError(f"{file} is damaged ({e}): remove it, and repeat the call that wrote the dataset") from e


def _fields() -> list[str]:
    return [name for name in Trajectories.__dataclass_fields__ if name != "observations"]


def _described(policy: PolicyLike, acts: Any, variables: PyTree) -> str:
    """What acted, for people, with a checksum of its variables, or of a function; see `actor`."""
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, Policy):
        return qualified_name(policy) + (f", sha256 {acts.checksum[:12]}" if acts.checksum else _CALLS_HOST)
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(jax.device_get(variables)):
        total.update(np.ascontiguousarray(leaf).tobytes())
    return f"{policy.source or 'a policy'}, {policy.updates:,} updates, sha256 {total.hexdigest()[:12]}"


def _readme(facts: Mapping[str, Any], shard: Trajectories) -> str:
    meanings = {
        "coordinates": "generalized positions and velocities of the physics engine",
        "actions": "action t leads from observation t to observation t + 1; in [-1, 1], NaN if the policy gave none",
        "rewards": "reward of action t",
        "terminated": "the task ended with action t, or the simulation diverged: no reward would have followed",
        "truncated": "the time limit was reached with action t: reward would have followed",
        "diverged": "the episode ended because action, simulation or reward was not finite",
        "lengths": "number of actions in the episode; later entries of the other arrays are zero",
        "numbers": "number of the episode; with the seed it determines the episode",
        "levels": "level that each distractor sampled for the episode",
    }
    images = {
        "pixels": "frame of time t, only the newest of the stack; an episode's first frame fills the policy's stack",
        "depth": "distance in meters",
        "segmentation": "geom ids",
        "mask": "pixels that show the body",
        "state": "observation vector of the physics engine",
    }
    rows = [(_OBSERVATION + name, x, images.get(name.split("/")[0], "")) for name, x in shard.observations.items()]
    rows += [(name, getattr(shard, name), text) for name, text in meanings.items()]
    table = [f"| `{n}` | {x.dtype} | {_shape(n, x)} | {text} |" for n, x, text in rows]
    env = facts["environment"]
    observed = f" The policy observed {facts['frame_stack']} frames." if env["obs"] == "pixels" else ""
    is_whole = facts["steps"] * env["action_repeat"] >= env["episode_length"]
    cut = f"beginnings of episodes, of at most {facts['steps']:,} actions: most end with neither flag"
    kind = "whole episodes" if is_whole else cut
    return "\n".join(
        [
            f"# {env['task']}: {episodes_of(facts['episodes'])}",
            "",
            f"Policy: {facts['policy']}, {'deterministic' if facts['deterministic'] else 'sampled'} actions. "
            f"Distractors: {facts['distractors']}. Seed {facts['seed']}. An action lasts "
            f"{facts['seconds_per_action']:g} s.{observed} All settings: `{_FACTS}`.",
            "",
            f"Each `{_SHARDS}` holds up to {facts['episodes_per_shard']} {kind}, side by side along the first axis:",
            "",
            "| array | dtype | shape | meaning |",
            "|---|---|---|---|",
            *table,
            "",
            "```python",
            "import numpy as np",
            "shard = np.load('shard-00000.npz')",
            "frames, actions = shard['observations/pixels'], shard['actions']"
            if "pixels" in shard.observations
            else "states, actions = shard['observations/state'], shard['actions']",
            "```",
            "",
            "`pixelbrax.load_dataset(path)` iterates over the shards and stacks frames. In Minari's terms: "
            "`terminated` is `terminations`, `truncated` is `truncations`. In RLDS's terms: `is_first` is t = 0, "
            "`is_last` is t = length, `is_terminal` is `terminated` of the action before, `discount` is 0 there and 1 "
            "elsewhere.",
            "",
        ]
    )


def _shape(name: str, values: np.ndarray) -> str:
    axes = ["episode"]
    if values.ndim > 1 and name != "levels":
        axes.append("time + 1" if name.startswith(_OBSERVATION) or name == "coordinates" else "time")
    return ", ".join([*axes, *map(str, values.shape[len(axes) :])])
