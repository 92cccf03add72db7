"""Settings of a run's environment."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

import tyro

from pixelbrax.envs import PixelEnv, make
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import get_task


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
    samples: int = 1
    """Rays per pixel: 1, 4, 9 or 16."""
    distractors: tuple[str, ...] = ()
    """Visual distractors, in order, such as dcs/hard; `pixelbrax list --distractors` shows them."""
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
        settings = asdict(self)
        settings.pop("facts")
        outputs = ("pixels",) if settings.pop("obs") == "pixels" else ()
        camera = camera_of(settings.pop("camera"))
        return make(settings.pop("task"), camera=camera, outputs=outputs, **settings)


def camera_of(text: str | None) -> str | int | None:
    """A camera for `make`, from its name or number as a user types it."""
    return int(text) if text is not None and text.isdecimal() else text
