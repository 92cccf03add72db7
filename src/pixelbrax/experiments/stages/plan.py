"""Curricula as data: stages in a TOML file, each a run's settings with a budget and a gate."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from pixelbrax.algorithms import algorithm_names
from pixelbrax.errors import (
    MAX_SEED,
    ConfigError,
    check_choice,
    check_count,
    check_keywords,
    check_path,
    check_seed,
    nearest,
)
from pixelbrax.experiments.stages.gate import Gate
from pixelbrax.plugins import imported_modules
from pixelbrax.training import (
    IMPORTS,
    TrainConfig,
    config_from,
    preset_names,
    preset_table,
    read_toml,
    read_toml_file,
    without_none,
)

_SHIPPED = resources.files("pixelbrax") / "configs" / "curricula"
CARRY = ("learner", "policy", "encoder", "nothing")
AT_BUDGET = ("stop", "continue", "repeat")
_OWN = ("name", "carry", "at_budget", "repeats", "gate")  # what a stage has besides settings of a run
_BEGIN = ("start_from", "start_part", "start_updates")  # of the first stage; what others begin with is in `carry`
_LONGEST = 100  # letters of a stage's name: its run is a folder
PROVENANCE = "provenance"  # in the folder's copy of a file


@dataclass(frozen=True)
class Stage:
    """One stage of a curriculum.

    Attributes:
      name: of the stage and of its run's folder.
      config: all settings of its run, whose num_steps is the budget; the seed is that of the curriculum.
      gate: when it has been learned; None if training lasts for the whole budget.
      carry: what it takes over from the stage before: the whole "learner" (networks, statistics, optimizers), the
        "policy", the "encoder" of images, or "nothing".
      at_budget: what happens when the budget ends and the gate is closed: "stop", "continue" as if it were open, or
        "repeat" the stage with what was learned.
      repeats: how often it may be repeated; the curriculum stops after that.
    """

    name: str
    config: TrainConfig
    gate: Gate | None = None
    carry: str = "learner"
    at_budget: str = "stop"
    repeats: int = 1


@dataclass(frozen=True)
class Curriculum:
    """Stages in order, and the tables that they were read from, in which a preset is resolved."""

    stages: tuple[Stage, ...]
    tables: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """Seed of every random number."""
        return self.stages[0].config.seed

    def with_seed(self, seed: int) -> "Curriculum":
        """The same curriculum with another seed."""
        return read_curriculum(dict(self.tables) | {"seed": check_seed(seed)}, "the curriculum")

    def beginning(self, stage: int | str, start_from: str | None) -> "Curriculum":
        """The curriculum from one of its stages on.

        Args:
          stage: number, from 1, or name.
          start_from: folder of the run with which it begins, as its `carry` says; None begins with nothing.

        Raises:
          ConfigError: there is no such stage, or it takes over nothing.
        """
        index = self.index(stage)
        tables, first = dict(self.tables), self.stages[index]
        tables["stage"] = [dict(tables["stage"][index]), *tables["stage"][index + 1 :]]
        tables["stage"][0].pop("carry", None)
        if index or start_from is not None:  # what the file begins with is another stage's
            tables = {name: value for name, value in tables.items() if name not in _BEGIN}
        if start_from is not None:
            if first.carry == "nothing":
                raise ConfigError(f'stage {first.name} has carry = "nothing": it cannot start from a run')
            tables |= {"start_from": start_from, "start_part": first.carry}
        return read_curriculum(tables, "the curriculum")

    def index(self, stage: int | str) -> int:
        """The index of a stage, from its number, from 1, or its name.

        Raises:
          ConfigError: there is none.
        """
        names = [each.name for each in self.stages]
        if isinstance(stage, str) and stage in names:
            return names.index(stage)
        text = str(stage)
        if text.isdecimal() and 1 <= int(text) <= len(names):
            return int(text) - 1
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(names, start=1))
        raise ConfigError(f"there is no stage {stage!r}: there are {known}")

    def dumps(self, provenance: Mapping[str, str]) -> str:
        """TOML text of the tables, of the plugins that were loaded by name, and of where they were used."""
        imports = {IMPORTS: list(imported_modules())} if imported_modules() else {}
        return tomli_w.dumps(dict(self.tables) | imports | {PROVENANCE: dict(provenance)})


def seed_of(seed: int, stage: int, attempt: int) -> int:
    """Seed of a stage's run: the curriculum's own for the first, others derived from it.

    Args:
      seed: of the curriculum.
      stage: index.
      attempt: 0, or how often the stage was repeated.
    """
    if stage == attempt == 0:
        return seed
    return int(np.random.SeedSequence((seed, stage, attempt)).generate_state(1)[0]) & MAX_SEED


def curriculum_names() -> list[str]:
    """Names of the curricula that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in _SHIPPED.iterdir() if file.name.endswith(".toml"))


def load_curriculum(source: str | Path | Mapping[str, Any]) -> Curriculum:
    """A curriculum from a file, from the name of one that comes with the package, or from tables.

    Raises:
      ConfigError: there is none, or it holds what cannot be used.
    """
    if isinstance(source, Mapping):
        return read_curriculum(source, "the curriculum")
    path = check_path("the curriculum", source)
    if str(source) in curriculum_names() and not path.is_file():  # a folder of that name is its run
        return read_curriculum(
            read_toml((_SHIPPED / f"{source}.toml").read_text(), str(source)), f"curriculum {source}"
        )
    if not path.is_file():
        guess = nearest(str(source), curriculum_names())
        raise ConfigError(f"{source} is neither a file nor a curriculum of the package: {guess}")
    return read_curriculum(read_toml_file(path), str(path))


def read_curriculum(tables: Mapping[str, Any], source: str) -> Curriculum:
    """A curriculum from a file's tables.

    Settings at the top are shared by all stages; a stage's own tables are merged into them, name by name. With `preset`
    the file's settings are merged into a preset's.

    Args:
      tables: as in a file.
      source: where they are from, for messages.

    Raises:
      ConfigError: a name is unknown, or a value cannot be used; the message names the stage.
    """
    tables = copy.deepcopy(dict(tables))
    tables.pop(PROVENANCE, None)
    stages = tables.pop("stage", None)
    if not isinstance(stages, list) or not stages or not all(isinstance(each, dict) for each in stages):
        raise ConfigError(f"{source}: there are no stages: write one [[stage]] table or more")
    if (preset := tables.pop("preset", None)) is not None:
        if preset not in preset_names():
            raise ConfigError(f"{source}: preset is {preset!r}: it must be one of {', '.join(preset_names())}")
        tables = _merged(preset_table(preset), tables)
    shared = config_from(tables, source)  # a mistake in shared settings is named once, and not as a stage's
    names: list[str] = []
    found: list[Stage] = []
    for number, table in enumerate(stages, start=1):
        with in_stage(number, table.get("name"), source):
            stage = _stage(tables, table, number == 1)
            if stage.name in names:
                raise ConfigError(f"there are two stages of the name {stage.name!r}: names must differ")
        names.append(stage.name)
        found.append(stage)
    seeded = [replace(stage, config=replace(stage.config, seed=shared.seed)) for stage in found]
    return Curriculum(tuple(_recording(stage, seeded) for stage in seeded), without_none(tables | {"stage": stages}))


def _stage(shared: Mapping[str, Any], table: Mapping[str, Any], first: bool) -> Stage:
    """One stage from the shared settings and its own table."""
    own = {name: table[name] for name in _OWN if name in table}
    settings = {name: value for name, value in table.items() if name not in _OWN}
    name = own.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*", name) or len(name) > _LONGEST:
        raise ConfigError(
            f"name is {name!r:.110}: every stage needs a name of letters, digits, - and _, of at most {_LONGEST}"
        )
    for setting in ("seed", "preset", IMPORTS, *_BEGIN):
        if setting in settings:
            raise ConfigError(f"{setting} is a setting of the whole curriculum: write it above the stages")
    known = [field.name for field in fields(TrainConfig) if field.name not in ("agent", "seed", *_BEGIN)]
    check_keywords("it", settings, [*_OWN, *known, *algorithm_names()])
    tables = _merged(shared, settings)
    config = config_from(tables if first else {k: v for k, v in tables.items() if k not in _BEGIN}, "settings")
    gate = Gate.read(own["gate"]) if "gate" in own else None
    if gate is None and ("at_budget" in own or "repeats" in own):
        raise ConfigError("without a gate, training lasts for the budget: leave out at_budget and repeats, or set gate")
    if "carry" in own and first:
        raise ConfigError("carry says what is taken over from the stage before, but this is the first: leave it out")
    stage = Stage(
        name,
        config,
        gate,
        check_choice("carry", own.get("carry", "learner"), CARRY),
        check_choice("at_budget", own.get("at_budget", "stop" if gate else "continue"), AT_BUDGET),
        check_count("repeats", own.get("repeats", 1)),
    )
    if "repeats" in own and stage.at_budget != "repeat":
        raise ConfigError('repeats limits at_budget = "repeat": set that too, or leave it out')
    config.validate()
    if gate is not None:
        _check_gate(gate, config)
    return stage


def _check_gate(gate: Gate, config: TrainConfig) -> None:
    """Refuses a gate that the budget's evaluations cannot open.

    Raises:
      ConfigError: there are too few evaluations, or a threshold is out of reach.
    """
    if not config.eval_interval:
        raise ConfigError("the gate is judged by evaluations during training: set eval_interval, in updates")
    # One every eval_interval, and one at the end.
    evaluations = -(-config.num_updates // config.eval_interval)
    if gate.consecutive > evaluations:
        raise ConfigError(
            f"the gate can never open: it needs {gate.consecutive} evaluations in a row, and num_steps "
            f"{config.num_steps:,} with eval_interval {config.eval_interval} has {evaluations}"
        )
    longest = config.environment.episode_length
    if gate.at_least.get("mean_length", 0) > longest:
        raise ConfigError(
            f"the gate can never open: mean_length would be at least {gate.at_least['mean_length']:g}, and an episode "
            f"has at most episode_length {longest} frames"
        )


def _recording(stage: Stage, stages: Sequence[Stage]) -> Stage:
    """The stage, whose evaluations record the metrics of all gates of its task: what a later stage forgets is seen."""
    config = stage.config
    gates = [each.gate for each in stages if each.gate and each.config.environment.task == config.environment.task]
    metrics = dict.fromkeys([*config.eval_metrics, *(name for gate in gates for name in gate.metrics)])
    return replace(stage, config=replace(config, eval_metrics=tuple(metrics)))


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables in which those above win, name by name.

    Raises:
      ConfigError: one above is None, which no file can say, and would hide a value.
    """
    merged = copy.deepcopy(dict(below))
    for name, value in above.items():
        if value is None and merged.get(name) is not None:
            raise ConfigError(
                f"{name} is None, which a file cannot say: above the stages or in the preset it is "
                f"{merged[name]!r:.60}, so give a value"
            )
        if isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = _merged(merged[name], value)
        else:
            merged[name] = copy.deepcopy(value)
    return merged


@contextmanager
def in_stage(number: int, name: Any, source: str = "") -> Iterator[None]:
    """Adds the stage, and the file that has it, to a ConfigError."""
    called = f" ({name})" if isinstance(name, str) else ""
    try:
        yield
    except ConfigError as e:
        raise ConfigError(f"{source}{': ' * bool(source)}stage {number}{called}: {e}") from e
