"""Settings of a run's environment."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import tyro

from pixelbrax.envs import PixelEnv, make, with_default_params
from pixelbrax.errors import ConfigError, check_number
from pixelbrax.physics import random_factors
from pixelbrax.tasks import get_task
from pixelbrax.training.named_values import numbers_of, values_of

TABLES = ("reward_weights", "randomization", "physics_settings")
"""Settings that are a table in a file, or a list of name=value as on the command line."""
IMAGE_SETTINGS = ("image_size", "frame_stack", "grayscale")
"""Settings of the images that a policy observes, and of nothing else."""


@dataclass(frozen=True)
class EnvConfig:
    """Settings of `pixelbrax.make`."""

    task: Annotated[str, tyro.conf.arg(aliases=["--env"])] = "halfcheetah"
    """Task to learn; `pixelbrax list` shows them."""
    image_size: int = 64
    """Height and width of the observation, pixels."""
    frame_stack: int = 3
    """Frames in one observation."""
    action_repeat: int = 1
    """Frames that each action lasts."""
    episode_length: int = 1000
    """Frames after which an episode is truncated."""
    backend: str | None = None
    """Physics engine, one of those that `pixelbrax list` shows; by default the task's own."""
    physics: Literal["suite"] | None = None
    """suite: simulate dmc/* with the DeepMind Control Suite's own physics instead of MuJoCo Playground's."""
    obs: Literal["pixels", "state"] = "pixels"
    """What the policy observes: images, or, for comparison, the engine's own observation vector, without rendering."""
    grayscale: bool = False
    """One luminance channel per frame instead of three colors."""
    camera: str | None = None
    """Name or number of one of the model's cameras; by default the task's own view."""
    shadows: bool = False
    """Render shadows."""
    reflections: bool = False
    """Render the reflections in a floor whose material reflects."""
    tendons: bool = False
    """Render the model's spatial tendons."""
    samples: int = 1
    """Rays per pixel: 1, 4, 9 or 16."""
    distractors: tuple[str, ...] = ()
    """Visual distractors, in order, such as dcs/hard; `pixelbrax list --distractors` shows them."""
    distractor_strength: float = 1.0
    """Factor on the strengths of the distractors, of which some have none; held-out ones keep theirs."""
    reward_weights: tuple[str, ...] = ()
    """Weights of the reward's terms, such as forward=1.5; in a file also a table."""
    randomization: tuple[str, ...] = ()
    """Random factors of every episode within 1 +- this, such as mass=0.2: mass, friction, damping, strength of
    actuators, gravity; in a file also a table."""
    physics_settings: tuple[str, ...] = ()
    """Settings of the engine's environment, as in make(physics={...}), such as healthy_z_range=[0.8,2]; in a file also
    a table."""
    facts: Annotated[tuple[str, ...], tyro.conf.Suppress] = ()
    """Facts that identify an environment made in Python ("name: value"); empty if these settings make it."""

    @property
    def view(self) -> str:
        """What the policy observes, for titles and tables."""
        for fact in self.facts:
            if fact.startswith("observation: "):
                return fact.removeprefix("observation: ")
        if self.obs == "state":
            return "states"
        return f"{self.image_size}x{self.image_size} {'gray' if self.grayscale else 'RGB'}"

    @property
    def title(self) -> str:
        """The task, with its backend if that is not the default."""
        usual = self.facts or self.backend in (None, get_task(self.task).backends[0])
        return self.task if usual else f"{self.task} on {self.backend}"

    def resolved(self) -> "EnvConfig":
        """The same with the task's default backend filled in, so that a run's file is complete."""
        if self.facts:
            return self
        return replace(self, backend=self.backend or get_task(self.task).backends[0])

    def build(self) -> PixelEnv:
        """The environment.

        Raises:
          ConfigError: a setting cannot be used, or the environment was made in Python.
        """
        if self.facts:
            raise ConfigError(
                f"the environment {self.task!r} was made in Python, and settings cannot make it: make it again and "
                "pass it to pixelbrax.train(env, resume=RUN) or pixelbrax.load_policy(RUN, env=env)"
            )
        settings = self.make_settings()
        return self.scaled(make(settings.pop("task"), **settings))

    def scaled(self, env: PixelEnv) -> PixelEnv:
        """The environment with `distractor_strength`.

        Raises:
          ConfigError: the strength is negative, or there are no distractors that it changes.
        """
        strength = check_number("distractor_strength", self.distractor_strength, least=0)
        if strength == 1:
            return env
        if not env.distractors.distractors:
            raise ConfigError("distractor_strength changes distractors, but there are none: set distractors too")
        if not env.distractors.has_strength:
            raise ConfigError(
                f"distractor_strength is {strength:g}, but {' + '.join(self.distractors)} has no strength that could "
                "be changed: leave it at 1, or set other distractors"
            )
        return with_default_params(env, env.scaled_params(strength))

    def make_settings(self) -> dict[str, Any]:
        """The same as settings of `make`, which are all but distractor_strength.

        Raises:
          ConfigError: a setting of the form name=value has another form, or value.
        """
        settings = asdict(self)
        settings.pop("facts")
        settings["outputs"] = ("pixels",) if settings.pop("obs") == "pixels" else ()
        settings["camera"] = camera_of(settings["camera"])
        settings["reward_weights"] = numbers_of("reward_weights", self.reward_weights) or None
        settings.pop("distractor_strength")
        ranges = numbers_of("randomization", settings.pop("randomization"))
        if ranges:
            settings["randomization_fn"] = random_factors(ranges)
        if own := values_of("physics_settings", settings.pop("physics_settings")):
            settings["physics"] = own | ({self.physics: True} if self.physics else {})
        return {name: value for name, value in settings.items() if value is not None}


def camera_of(text: str | None) -> str | int | None:
    """A camera for `make`, from its name or number as a user types it."""
    return int(text) if text is not None and text.isdecimal() else text
