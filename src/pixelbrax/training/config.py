"""All settings of a training run, and the TOML files that hold them."""

import tomllib
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import dacite
import tomli_w

from pixelbrax.algorithms import (
    ALGORITHMS,
    Agent,
    DCPGConfig,
    OnPolicyConfig,
    PPGConfig,
    PPOConfig,
)
from pixelbrax.envs import PixelEnv, check_memory, make
from pixelbrax.errors import ConfigError, check_seed
from pixelbrax.networks import ActorCritic, NetworkConfig
from pixelbrax.tasks import get_task

_PRESETS = resources.files("pixelbrax") / "configs"
# The table of a run's config.toml that says where it was made; it is no setting.
PROVENANCE = "provenance"


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
    obs: Literal["pixels", "state"] = "pixels"
    """What the policy sees: images, or for comparison the engine's own observation vector, with nothing drawn."""
    grayscale: bool = False
    """One luminance channel a frame instead of three colors."""
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
        return make(settings.pop("env"), outputs=outputs, **settings)


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
    """Seconds between two checkpoints."""
    loggers: tuple[Literal["tensorboard", "wandb"], ...] = ()
    """Where metrics go besides metrics.csv."""
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
        for name in ("num_steps", "num_devices", "log_interval", "eval_episodes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}: it must be at least 1")
        if self.eval_interval < 0 or self.eval_interval % self.log_interval:
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
        check_memory(self.agent.num_envs, -(-num_agents * agent.bytes_per_env // self.num_devices))
        return env, agent


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
    try:
        data = tomllib.loads(text)
        data.pop(PROVENANCE, None)
        rules = dacite.Config(strict=True, cast=[tuple], type_hooks={float: float})
        named = [name for name in ALGORITHMS if name in data]
        if len(named) > 1:
            raise ValueError(f"there are tables of several algorithms, {', '.join(named)}: keep one")
        if "agent" in data:
            raise ValueError(f"an algorithm's settings are in a table of its name: {', '.join(ALGORITHMS)}")
        for name in named:
            data["agent"] = dacite.from_dict(ALGORITHMS[name].config, data.pop(name), config=rules)
        return dacite.from_dict(TrainConfig, data, config=rules)
    except (tomllib.TOMLDecodeError, dacite.DaciteError, TypeError, ValueError) as e:
        raise ConfigError(f"{source}: {e}") from e


def _without_none(settings: dict[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is None is left out, which gives its default."""
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in settings.items()
        if value is not None
    }
