"""All settings of a training run, and the TOML files that hold them."""

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import dacite
import tomli_w

import pixelbrax
from pixelbrax.algorithms import PPOConfig, algorithm_names, algorithm_of, get_algorithm
from pixelbrax.errors import ConfigError, check_count, check_number, check_seed, nearest
from pixelbrax.learning import AgentConfig, CurriculumConfig
from pixelbrax.networks import NetworkConfig
from pixelbrax.plugins import imported_modules, load_plugins
from pixelbrax.training.env_config import IMAGE_SETTINGS, TABLES, EnvConfig
from pixelbrax.training.evaluation import MAX_EPISODES
from pixelbrax.training.named_values import words_of

_PRESETS = resources.files("pixelbrax") / "configs"
# The table of a run's config.toml that says where the run was made; it is not a setting.
PROVENANCE = "provenance"
IMPORTS = "imports"  # modules of plugins that were loaded by name
MOST_COUNTED = 2**31 - 1  # programs count updates and samples with int32


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run."""

    environment: EnvConfig = field(default_factory=EnvConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    agent: AgentConfig = field(default_factory=PPOConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    num_steps: int = 1_000_000
    """Steps (actions) of all environments together; rounded up to whole log intervals."""
    seed: int = 0
    """Seed of every random number of the run."""
    start_from: str = ""
    """Folder of a run with which training begins: start_part says with what of it."""
    start_part: Literal["policy", "encoder", "learner"] = "policy"
    """What training takes from start_from: the policy, of ppo, distill, apg or es, or only the policy's encoder of
    images, of any algorithm and task, with a fresh critic; or the whole learner of the same algorithm: networks,
    statistics and optimizers."""
    start_updates: int = 0
    """Number of updates of that run's checkpoint; 0 is its last one when this run starts."""
    num_devices: int = 1
    """Devices over which environments are sharded, or agents if there are several."""
    log_interval: int = 5
    """Updates between two rows of metrics."""
    checkpoint_interval: float = 60.0
    """Seconds between two checkpoints; 0 writes one after every log interval."""
    loggers: tuple[str, ...] = ()
    """Loggers of metrics, in addition to metrics.csv."""
    initial_eval: bool = True
    """Evaluate the untrained policy too."""
    eval_episodes: int = 32
    """Episodes of each evaluation."""
    eval_distractors: tuple[str, ...] = ()
    """Held-out distractors, such as pixelbrax/video@test: every evaluation is repeated under them."""
    eval_metrics: tuple[str, ...] = ()
    """Metrics of the task, such as forward_velocity, whose means over the steps of evaluation episodes are recorded."""
    eval_interval: int = 0
    """Updates between two evaluations, a multiple of log_interval; 0 evaluates before and after training only."""

    NEUTRAL: ClassVar[tuple[str, ...]] = (
        *("seed", "num_devices", "checkpoint_interval", "loggers", "initial_eval"),
        *("eval_episodes", "eval_distractors", "eval_metrics", "eval_interval"),
    )
    """Settings that do not change what is learned: runs that differ in these alone are of one kind."""

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self.agent.validate()
        self.network.validate()
        self.curriculum.validate()
        check_seed(self.seed)
        if twice := [name for name in self.loggers if self.loggers.count(name) > 1]:
            raise ConfigError(f"loggers has {twice[0]} twice: leave out one of them")
        if self.network.blind and self.environment.obs == "state":
            raise ConfigError("blind makes images black, but with obs=state there are none: use only one of them")
        if self.network.freeze_encoder and self.environment.obs == "state":
            raise ConfigError(
                "freeze_encoder freezes an encoder of images, but with obs=state there is none: leave it out"
            )
        for name in ("num_steps", "num_devices", "log_interval"):
            check_count(name, getattr(self, name))
        check_count("eval_episodes", self.eval_episodes, most=MAX_EPISODES)
        check_count(
            "num_steps / (num_envs x unroll_length), the number of updates,", self.num_updates, most=MOST_COUNTED
        )
        if check_count("start_updates", self.start_updates, least=0) and not self.start_from:
            raise ConfigError("start_updates names a checkpoint of the run start_from, which is not given")
        if self.start_part != "policy" and not self.start_from:
            raise ConfigError(f"start_part is {self.start_part}, but no run is given whose it is: set start_from")
        if self.start_part == "encoder" and self.environment.obs == "state":
            raise ConfigError("start_part=encoder carries over an encoder of images, but with obs=state there are none")
        check_number("checkpoint_interval", self.checkpoint_interval, least=0)
        if check_count("eval_interval", self.eval_interval, least=0) % self.log_interval:
            raise ConfigError(
                f"eval_interval is {self.eval_interval}: it must be 0 or a multiple of log_interval {self.log_interval}"
            )

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that `agent` configures."""
        return algorithm_of(self.agent).name

    @property
    def idle(self) -> dict[str, str]:
        """Settings that change nothing beside the others, and why."""
        sees = self.environment.obs != "state"
        blind = () if sees else (*IMAGE_SETTINGS, "random_shift", "shift_coef")
        networks = self.network.idle(sees, self.agent.READS_STATES)
        return networks | self.agent.idle(self.network) | dict.fromkeys(blind, "obs=state has no images")

    def with_algorithm(self, name: str) -> "TrainConfig":
        """The same with another algorithm, which keeps the values of shared settings.

        Shared settings are those that both classes inherit from a common base; settings that only share a name, such
        as `value_coef`, may mean something else. One that has its algorithm's default gets the other's.

        Raises:
          ConfigError: there is no such algorithm, or its settings have names that are taken.
        """
        kind = _settings_of(name)
        if kind is type(self.agent):
            return self
        common = [base for base in kind.__mro__ if base in type(self.agent).__mro__ and is_dataclass(base)]
        defaults = {field.name: field.default for field in fields(self.agent)}
        shared = {field.name: getattr(self.agent, field.name) for base in common for field in fields(base)}
        return replace(self, agent=kind(**{name: x for name, x in shared.items() if x != defaults[name]}))

    def with_last_of(self, named: Collection[str]) -> "TrainConfig":
        """The same with the last checkpoints of runs that were just named, unless their numbers were too.

        Args:
          named: settings that were just given: another run's number in the others says nothing of a new one.
        """
        config = self
        if "start_from" in named and "start_updates" not in named:
            config = replace(config, start_updates=0)
        if "teacher" in named and "teacher_updates" not in named:
            agent: Any = config.agent
            config = replace(config, agent=replace(agent, teacher_updates=0))
        return config

    def flat(self) -> dict[str, Any]:
        """All settings side by side, with the algorithm's name; names are unique over all tables."""
        flat: dict[str, Any] = {"algorithm": self.algorithm}
        for name, value in asdict(self).items():
            flat |= value if isinstance(value, dict) else {name: value}
        return flat

    @property
    def num_updates(self) -> int:
        """Updates in the run, a multiple of `log_interval`."""
        per_interval = self.agent.steps_per_update * self.log_interval
        return -(-self.num_steps // per_interval) * self.log_interval


def preset_names() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in _PRESETS.iterdir() if file.name.endswith(".toml"))


def load_preset(name: str) -> TrainConfig:
    """The preset called `name`.

    Raises:
      ConfigError: there is none.
    """
    return config_from(preset_table(name), f"preset {name}")


def is_of_any_task(preset: str) -> bool:
    """Whether a preset leaves the task to whoever uses it."""
    return "task" not in preset_table(preset).get("environment", {})


def load_config(file: Path) -> TrainConfig:
    """Settings from a TOML file such as a run's config.toml.

    Raises:
      ConfigError: the file cannot be read, is not TOML, or holds an unknown key or a wrong type.
    """
    return config_from(read_toml_file(file), str(file))


def dump_config(config: TrainConfig, provenance: dict[str, str]) -> str:
    """TOML text of all settings and of where the run was made."""
    settings = without_none(asdict(config))
    settings[config.algorithm] = settings.pop("agent")
    imports = {IMPORTS: list(imported_modules())} if imported_modules() else {}
    return tomli_w.dumps(imports | settings | {PROVENANCE: provenance})


def read_toml(text: str, source: str) -> dict[str, Any]:
    """A file's tables.

    Raises:
      ConfigError: it is not TOML; the message names the source and the place.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as e:
        raise ConfigError(f"{source}: its brackets are nested too deeply") from e
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{source}: {e}") from e


def read_toml_file(file: Path) -> dict[str, Any]:
    """A file's tables.

    Raises:
      ConfigError: it cannot be read, or is not TOML.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")  # editors on Windows write a byte-order mark
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {file}: {e}") from e
    return read_toml(text, str(file))


def preset_table(name: str) -> dict[str, Any]:
    """A preset's tables, as in its file.

    Raises:
      ConfigError: there is none.
    """
    if name not in (names := preset_names()):  # only --help lists them
        raise ConfigError(f"unknown preset {name!r}: {nearest(name, names, most=len(names))}")
    return tomllib.loads((_PRESETS / f"{name}.toml").read_text())


def config_from(tables: Mapping[str, Any], source: str) -> TrainConfig:
    """Settings from a file's tables.

    Args:
      tables: as `read_toml` gives them.
      source: where they are from, for messages.

    Raises:
      ConfigError: they hold an unknown key or a wrong type.
    """
    data, origin = dict(tables), ""
    try:
        origin = _origin(data.pop(PROVENANCE, None))
        imports = data.pop(IMPORTS, [])
        if not isinstance(imports, list):
            raise ValueError(f'{IMPORTS} is {imports!r:.60}: it must be a list of modules, ["my_package.tasks"]')
        if imports:
            load_plugins(*imports)  # they may register what the other settings name
        if isinstance(environment := data.get("environment"), dict):
            data["environment"] = {
                name: words_of(value) if name in TABLES and isinstance(value, dict) else value
                for name, value in environment.items()
            }
        rules = dacite.Config(strict=True, cast=[tuple], type_hooks={float: _as_float})
        named = [name for name in algorithm_names() if name in data]
        if len(named) > 1:
            raise ValueError(f"there are tables of several algorithms, {', '.join(named)}: keep one")
        if "agent" in data:
            raise ValueError(f"an algorithm's settings belong in a table of its name: {', '.join(algorithm_names())}")
        _check_table(TrainConfig, data, "the file")
        for name in named:
            kind = _settings_of(name)
            _check_table(kind, data[name], name)
            data["agent"] = dacite.from_dict(kind, data.pop(name), config=rules)
        return dacite.from_dict(TrainConfig, data, config=rules)
    except (dacite.DaciteError, TypeError, ValueError, OverflowError) as e:
        raise ConfigError(f"{source}: {_reason(e)}{origin}") from e


def _settings_of(algorithm: str) -> type[AgentConfig]:
    """The class of an algorithm's settings.

    Raises:
      ConfigError: there is no such algorithm, or a setting has another's name: flags and keywords are of all tables.
    """
    kind = get_algorithm(algorithm).config
    others = {"the environment": EnvConfig, "the network": NetworkConfig, "a curriculum": CurriculumConfig}
    for what, other in (others | {"training": TrainConfig}).items():
        if twice := {field.name for field in fields(kind)} & {field.name for field in fields(other)}:
            raise ConfigError(f"{algorithm} has a setting {min(twice)!r}, and so has {what}: give it another name")
    return kind


def _check_table(kind: type, table: Any, what: str) -> None:
    """Refuses anything but a table, unknown names, and true or false for a number, which Python takes as 1 or 0.

    Raises:
      ValueError: the message names the setting.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{what} is {table!r:.60}: it must be a table, [{what}]")
    hints, names = get_type_hints(kind), [field.name for field in fields(kind)]
    known = [*names, *algorithm_names()] if kind is TrainConfig else names
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{what} has no setting {name!r}: {nearest(name, [x for x in known if x != 'agent'])}")
        if name in algorithm_names() and kind is TrainConfig:
            continue
        hint = hints[name]
        if is_dataclass(hint):
            _check_table(hint, value, name)  # pyright: ignore[reportArgumentType]
        elif value is not None and (choices := _choices(hint)) and value not in choices:
            raise ValueError(f"{name} is {value!r:.60}: it must be one of {', '.join(map(str, choices))}")
        elif isinstance(value, str) and get_origin(hint) is tuple:  # its characters would be the values
            raise ValueError(f"{name} is {value!r:.60}: it must be a list, [{json.dumps(value):.60}]")
        elif hint is not bool and any(isinstance(x, bool) for x in (value if isinstance(value, list) else [value])):
            raise ValueError(f"{name} is {str(value).lower()}: it must be a number or text")


def _choices(hint: Any) -> list[Any]:
    """The values of a Literal, which may be optional; none of other types."""
    parts = get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)
    known = [part for part in parts if part is not type(None)]
    if any(get_origin(part) is not Literal for part in known):
        return []
    return [value for part in known for value in get_args(part)]


def check_types(config: TrainConfig) -> None:
    """Refuses settings from Python that have a wrong type, by the same rules as for a file.

    Raises:
      ConfigError: the message names the setting.
    """
    nested = ("environment", "network", "agent", "curriculum")
    for table in (*(getattr(config, name) for name in nested), config):
        values = {f.name: getattr(table, f.name) for f in fields(table) if f.name not in nested}
        try:
            _check_table(type(table), values, "the call")
            dacite.from_dict(type(table), values, config=dacite.Config(strict=True, type_hooks={float: _as_float}))
        except (dacite.DaciteError, ValueError) as e:
            raise ConfigError(_reason(e)) from e


def _reason(error: Exception) -> str:
    """What is wrong with a file or call; of a tuple's wrong items dacite tells that a tuple should be a tuple."""
    if not isinstance(error, dacite.WrongTypeError):
        return str(error)
    name = (error.field_path or "").rpartition(".")[2]
    return f"{name} is {error.value!r:.60}: it must be {_in_words(error.field_type)}"


def _in_words(hint: Any) -> str:
    """The type of a setting, for people."""
    if choices := _choices(hint):
        return f"one of {', '.join(map(str, choices))}"
    if get_origin(hint) is tuple:
        each = _in_words(get_args(hint)[0])
        return f"a list of {each.removeprefix('a ')}{'s' if each.startswith('a ') else ''}"
    kind = next((part for part in get_args(hint) if part is not type(None)), hint)
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(kind, f"a {kind}")


def _as_float(value: Any) -> Any:
    """Turns an integer into a float; dacite judges everything else."""
    return float(value) if isinstance(value, int) else value


def _origin(provenance: Any) -> str:
    """What to add to an error about a file that another version wrote."""
    written = provenance.get("pixelbrax") if isinstance(provenance, dict) else None
    if not isinstance(written, str) or written == pixelbrax.__version__:
        return ""
    return f" (the file was written by pixelbrax {written}, and this is {pixelbrax.__version__})"


def without_none(settings: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is None is left out, which gives its default."""

    def inner(value: Any) -> Any:
        if isinstance(value, dict):
            return without_none(value)
        return [inner(each) for each in value] if isinstance(value, list) else value

    return {name: inner(value) for name, value in settings.items() if value is not None}
