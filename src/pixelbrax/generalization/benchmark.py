"""A benchmark of generalization: locked tests of many severities, and a protocol that every run obeys."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from pixelbrax.distractors import SCENES, distractor
from pixelbrax.errors import ConfigError, nearest
from pixelbrax.generalization.method_settings import without_split
from pixelbrax.generalization.settings import digest, settings_of
from pixelbrax.training import EnvConfig, TrainConfig

_WITH_CLIPS = ("texture", "background", "combined")


@dataclass(frozen=True)
class TaskRules:
    """How the benchmark poses a task.

    Attributes:
      task: its name.
      backend: the physics engine.
      blind: what needs no image, and scores 0: the mean return of random actions or of none, whichever is greater.
      reference: the return that scores 1.
      action_repeat: frames that each action lasts.
      episode_length: frames.
      physics: "suite" for the DeepMind Control Suite's own.
      without: axes that change next to nothing in its images, and are left out.
    """

    task: str
    backend: str
    blind: float
    reference: float
    action_repeat: int = 1
    episode_length: int = 1000
    physics: str | None = None
    without: tuple[str, ...] = ()

    def score(self, mean_return: float) -> float:
        """A mean return between 0, that of acting blindly, and 1, the reference."""
        return (mean_return - self.blind) / (self.reference - self.blind)


@dataclass(frozen=True)
class Benchmark:
    """Tests along several axes, each at several severities, of policies that were trained by the same rules.

    Attributes:
      name: with its version.
      tasks: the rules of each.
      tracks: distractors of training, by the track's name.
      axes: names of the axes; `test` says what each is.
      severities: levels of each axis, rising.
      image_size: height and width of the observation, pixels.
      frame_stack: frames in one observation.
      num_steps: most actions that training may take.
      num_seeds: runs that a result needs on each task.
      episodes: of each test, the same in all of them.
      seed: of the episodes.
    """

    name: str
    tasks: tuple[TaskRules, ...]
    tracks: Mapping[str, tuple[str, ...]]
    axes: tuple[str, ...]
    severities: tuple[int, ...]
    image_size: int
    num_steps: int
    num_seeds: int
    episodes: int
    frame_stack: int = 3
    seed: int = 1_000

    def rules(self, task: str) -> TaskRules:
        """The rules of a task.

        Raises:
          ConfigError: the benchmark does not have it.
        """
        for rules in self.tasks:
            if rules.task == task:
                return rules
        raise ConfigError(f"{self.name} does not have the task {task!r}: its tasks are {', '.join(self.task_names)}")

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(rules.task for rules in self.tasks)

    def axes_of(self, task: str) -> tuple[str, ...]:
        """The axes of a task's tests."""
        return tuple(axis for axis in self.axes if axis not in self.rules(task).without)

    def test(self, axis: str, severity: int) -> tuple[str, ...]:
        """The held-out distractors of one test.

        Raises:
          ConfigError: there is no such axis or severity.
        """
        if axis not in self.axes:
            raise ConfigError(f"{self.name} has no axis {axis!r}: {nearest(axis, list(self.axes))}")
        if severity not in self.severities:
            raise ConfigError(f"{self.name} has the severities {self.severities}, not {severity}")
        return (f"{_preset(axis, severity)}@test",)

    def environment(self, task: str, track: str) -> EnvConfig:
        """The environment that a run of a track trains in."""
        rules = self.rules(task)
        return EnvConfig(
            task=task,
            image_size=self.image_size,
            frame_stack=self.frame_stack,
            action_repeat=rules.action_repeat,
            episode_length=rules.episode_length,
            backend=rules.backend,
            physics=rules.physics,  # pyright: ignore[reportArgumentType]
            distractors=self.tracks[track],
        )

    def check(self, config: TrainConfig) -> str:
        """Checks that a run obeys the rules.

        Returns:
          Its track.

        Raises:
          ConfigError: it does not; the message says in what, and what the rule is.
        """
        environment = config.environment.resolved()
        self.rules(environment.task)
        trained = without_split(environment.distractors)
        track = next((name for name, distractors in self.tracks.items() if distractors == trained), None)
        if track is None:
            known = "; ".join(f"{name}: {' + '.join(given) or 'none'}" for name, given in self.tracks.items())
            raise ConfigError(
                f"{self.name} has no track of runs trained with {' + '.join(trained) or 'no distractors'}: its tracks "
                f"are {known}"
            )
        wrong = differences(environment, replace(self.environment(environment.task, track), distractors=()))
        actions = config.num_updates * config.agent.steps_per_update
        if actions > self.num_steps:
            interval = config.agent.steps_per_update * config.log_interval
            most = self.num_steps // interval * interval
            wrong.append(
                f"it trains for {actions:,} actions, more than {self.num_steps:,}: num_steps {most} is the most in "
                f"whole log intervals of {interval:,}"
            )
        if config.start_from:
            wrong.append("it starts from another run, whose actions are not counted")
        if config.curriculum.gates:
            wrong.append(
                f"difficulty_measure is {config.curriculum.difficulty_measure!r}, so that its distractors may never "
                "have been at full strength"
            )
        if wrong:
            raise ConfigError(
                f"the run departs from the protocol of {self.name}: {'; '.join(wrong)}. For other settings: "
                "pixelbrax eval --distractors"
            )
        return track

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the rules and of what scores 0 and 1."""
        return digest([self.rules_digest, [[rules.blind, rules.reference] for rules in self.tasks]])

    @property
    def rules_digest(self) -> str:
        """SHA-256 of the rules, and of every constant of every distractor of every track and test; not of scores."""
        rules = {f.name: repr(getattr(self, f.name)) for f in fields(self) if f.name not in ("name", "tasks")}
        tasks = [repr(replace(rules, blind=0.0, reference=1.0)) for rules in self.tasks]
        tests = [self.test(axis, severity) for axis in self.axes for severity in self.severities]
        looks = [
            [[settings_of(distractor(name, task)) for name in names] for names in (*self.tracks.values(), *tests)]
            for task in self.task_names
        ]
        return digest({"rules": rules, "tasks": tasks, "looks": looks})


def _preset(axis: str, severity: int) -> str:
    """The preset of an axis, with clips whose families differ between training and testing."""
    source = f":{SCENES}" if axis.removeprefix("moving-") in _WITH_CLIPS else ""
    return f"severity/{axis}-{severity}{source}"


def differences(given: EnvConfig, expected: EnvConfig) -> list[str]:
    """All settings but the distractors that two environments do not share, in words."""
    names = [f.name for f in fields(EnvConfig) if f.name != "distractors"]
    pairs = {name: (getattr(given, name), getattr(expected, name)) for name in names}
    return [f"{name} is {mine!r}, not {rule!r}" for name, (mine, rule) in pairs.items() if mine != rule]
