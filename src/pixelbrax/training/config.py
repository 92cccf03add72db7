"""All settings of a training run, and the TOML files that hold them."""

import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_type_hints

import dacite
import tomli_w

import pixelbrax
from pixelbrax.algorithms import (
    ALGORITHMS,
    Agent,
    DCPGConfig,
    OnPolicyConfig,
    PPGConfig,
    PPOConfig,
)
from pixelbrax.envs import PixelEnv, check_memory, check_networks, make
from pixelbrax.errors import ConfigError, check_count, check_number, check_seed, nearest
from pixelbrax.networks import ActorCritic, NetworkConfig
from pixelbrax.tasks import get_task
from pixelbrax.training.evaluation import MAX_EPISODES

_PRESETS = resources.files("pixelbrax") / "configs"
# The table of a run's config.toml that says where it was made; it is no setting.
PROVENANCE = "provenance"
_MOST_COUNTED = 2**31 - 1  # programs count updates and samples with int32


@dataclass(frozen=True)
class EnvConfig:
    """What `pixelbrax.make` takes."""

    env: str = "halfcheetah"
    """Task to learn; `pixelbrax list` shows them."""
    image_size: int = 64
    """Height and width of the observation, pixels."""
    frame_stack: int = 3
    """Frames in one observation."""
    action_repeat: int = 1
    """Frames that an action lasts."""
    episode_length: int = 1000
    """Frames after which an episode is truncated."""
    backend: str | None = None
    """Engine, one of those that `pixelbrax list` shows; by default the task's own."""
    physics: Literal["suite"] | None = None
    """suite: simulate dmc/* by the DeepMind Control Suite's own numbers instead of MuJoCo Playground's."""
    obs: Literal["pixels", "state"] = "pixels"
    """What the policy sees: images, or for comparison the engine's own observation vector, with nothing drawn."""
    grayscale: bool = False
    """One luminance channel a frame instead of three colors."""
    camera: str | None = None
    """Name or number of one of the model's cameras; by default the task's own view."""
    shadows: bool = False
    """Draw shadows."""
    samples: int = 1
    """Rays in each pixel: 1, 4, 9 or 16."""
    distractors: tuple[str, ...] = ()
    """What distracts, in order, such as dcs/hard; `pixelbrax list --distractors` shows them."""

    @property
    def view(self) -> str:
        """What the policy sees, for titles and tables."""
        if self.obs == "state":
            return "states"
        return f"{self.image_size}x{self.image_size} {'grey' if self.grayscale else 'RGB'}"

    def resolved(self) -> "EnvConfig":
        """The same with the task's own backend named, so that a run's file says all."""
        return replace(self, backend=self.backend or get_task(self.env).backends[0])

    def build(self) -> PixelEnv:
        """The environment."""
        settings = asdict(self)
        outputs = ("pixels",) if settings.pop("obs") == "pixels" else ()
        camera = camera_of(settings.pop("camera"))
        return make(settings.pop("env"), camera=camera, outputs=outputs, **settings)


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run."""

    environment: EnvConfig = field(default_factory=EnvConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    agent: PPOConfig | PPGConfig | DCPGConfig = field(default_factory=PPOConfig)
    num_steps: int = 1_000_000
    """Steps (actions) of all environments together; rounded up to whole log intervals."""
    seed: int = 0
    """Every random number of the run follows from it."""
    num_devices: int = 1
    """Devices over which environments are spread, or agents if there are several."""
    log_interval: int = 5
    """Updates between two lines of metrics."""
    checkpoint_interval: float = 60.0
    """Seconds between two checkpoints; 0 writes one at every log_interval."""
    loggers: tuple[Literal["tensorboard", "wandb"], ...] = ()
    """Where metrics go besides metrics.csv."""
    initial_eval: bool = True
    """Evaluate the untrained policy too."""
    eval_episodes: int = 32
    """Episodes of each evaluation."""
    eval_distractors: tuple[str, ...] = ()
    """What distracts in a second evaluation beside each, such as pixelbrax/video@test; none without."""
    eval_interval: int = 0
    """Updates between two evaluations on the way, a multiple of log_interval; 0 leaves those before and after."""

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self.agent.validate()
        self.network.validate()
        check_seed(self.seed)
        if self.network.blind and self.environment.obs == "state":
            raise ConfigError("blind makes images black, and with obs = state there are none: leave out one of them")
        for name in ("num_steps", "num_devices", "log_interval"):
            check_count(name, getattr(self, name))
        check_count("eval_episodes", self.eval_episodes, most=MAX_EPISODES)
        check_count(
            "num_steps / (num_envs x unroll_length), the number of updates,", self.num_updates, most=_MOST_COUNTED
        )
        check_number("checkpoint_interval", self.checkpoint_interval, least=0)
        if check_count("eval_interval", self.eval_interval, least=0) % self.log_interval:
            raise ConfigError(
                f"eval_interval is {self.eval_interval}: it must be 0 or a multiple of log_interval {self.log_interval}"
            )

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that `agent` configures."""
        return next(name for name, algorithm in ALGORITHMS.items() if algorithm.config is type(self.agent))

    def with_algorithm(self, name: str) -> "TrainConfig":
        """The same with another algorithm, whose settings are these as far as both have them."""
        kind = ALGORITHMS[name].config
        shared = {f.name: getattr(self.agent, f.name) for f in fields(OnPolicyConfig)}
        return self if name == self.algorithm else replace(self, agent=kind(**shared))

    @property
    def num_updates(self) -> int:
        """Updates in the run, a multiple of `log_interval`."""
        per_interval = self.agent.batch_size * self.log_interval
        return -(-self.num_steps // per_interval) * self.log_interval

    def build(self, num_agents: int = 1) -> tuple[PixelEnv, Agent]:
        """The environment and the algorithm that learns in it; so many agents are to share the memory.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self.validate()
        env = self.environment.build()
        network = ActorCritic(env.observation_spec, env.images.frame_stack, env.action_size, self.network)
        agent = ALGORITHMS[self.algorithm].agent(env, network, self.agent, self.num_updates)
        check_networks(-(-num_agents // self.num_devices), agent.learner_bytes)
        check_memory(self.agent.num_envs, -(-num_agents * agent.bytes_per_env // self.num_devices))
        check_count("num_envs x unroll_length", self.agent.batch_size, most=_MOST_COUNTED)
        return env, agent


def camera_of(text: str | None) -> str | int | None:
    """A camera of a model as `make` takes it, by its name or number as a user types it."""
    return int(text) if text is not None and text.isdecimal() else text


def preset_names() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in _PRESETS.iterdir() if file.name.endswith(".toml"))


def load_preset(name: str) -> TrainConfig:
    """The preset called `name`.

    Raises:
      ConfigError: there is none.
    """
    if name not in preset_names():
        raise ConfigError(f"unknown preset {name!r}: there are {', '.join(preset_names())}")
    return _parse((_PRESETS / f"{name}.toml").read_text(), f"preset {name}")


def load_config(file: Path) -> TrainConfig:
    """Settings from a TOML file such as a run's config.toml.

    Raises:
      ConfigError: the file cannot be read, is not TOML, or holds an unknown key or a wrong type.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {file}: {e}") from e
    return _parse(text, str(file))


def dump_config(config: TrainConfig, provenance: dict[str, str]) -> str:
    """TOML text of all settings and of where the run was made."""
    settings = _without_none(asdict(config))
    settings[config.algorithm] = settings.pop("agent")
    return tomli_w.dumps(settings | {PROVENANCE: provenance})


def _parse(text: str, source: str) -> TrainConfig:
    origin = ""
    try:
        data = tomllib.loads(text)
        origin = _origin(data.pop(PROVENANCE, None))
        rules = dacite.Config(strict=True, cast=[tuple], type_hooks={float: _as_float})
        named = [name for name in ALGORITHMS if name in data]
        if len(named) > 1:
            raise ValueError(f"there are tables of several algorithms, {', '.join(named)}: keep one")
        if "agent" in data:
            raise ValueError(f"an algorithm's settings are in a table of its name: {', '.join(ALGORITHMS)}")
        _check_table(TrainConfig, data, "the file")
        for name in named:
            _check_table(ALGORITHMS[name].config, data[name], name)
            data["agent"] = dacite.from_dict(ALGORITHMS[name].config, data.pop(name), config=rules)
        return dacite.from_dict(TrainConfig, data, config=rules)
    except RecursionError as e:
        raise ConfigError(f"{source}: its brackets are nested too deeply") from e
    except (tomllib.TOMLDecodeError, dacite.DaciteError, TypeError, ValueError, OverflowError) as e:
        raise ConfigError(f"{source}: {e}{origin}") from e


def _check_table(kind: type, table: Any, what: str) -> None:
    """Refuses what is no table, names that do not exist, and true or false for a number, which Python takes as 1 or 0.

    Raises:
      ValueError: the message names the setting.
    """
    if not isinstance(table, dict):
        raise ValueError(f"{what} is {table!r:.60}: it must be a table, [{what}]")
    hints = get_type_hints(kind)
    known = [*hints, *ALGORITHMS] if kind is TrainConfig else [*hints]
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{what} has no setting {name!r}: {nearest(name, [x for x in known if x != 'agent'])}")
        if name in ALGORITHMS and kind is TrainConfig:
            continue
        hint = hints[name]
        if is_dataclass(hint):
            _check_table(hint, value, name)  # pyright: ignore[reportArgumentType]
        elif hint is not bool and any(isinstance(x, bool) for x in (value if isinstance(value, list) else [value])):
            raise ValueError(f"{name} is {str(value).lower()}: it must be a number or text")


def _as_float(value: Any) -> Any:
    """A whole number where a float is meant; all else is left for dacite to judge."""
    return float(value) if isinstance(value, int) else value


def _origin(provenance: Any) -> str:
    """What to add to a complaint about the file of another version."""
    written = provenance.get("pixelbrax") if isinstance(provenance, dict) else None
    if not isinstance(written, str) or written == pixelbrax.__version__:
        return ""
    return f" (the file was written by pixelbrax {written}, and this is {pixelbrax.__version__})"


def _without_none(settings: dict[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is None is left out, which gives its default."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if value is not None
    }
