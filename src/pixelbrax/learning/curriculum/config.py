"""Settings of automatic curricula."""

from dataclasses import dataclass
from typing import Literal

from pixelbrax.errors import ConfigError, check_choice, check_count, check_number

RETURN = "return"
"""The measure that every task has."""
SCALES = ("distractors", "randomization")
MAX_LEVELS = 2**20
_MOST = 2**31 - 1  # compiled programs count with int32
_LEAST_STEP = 1e-3  # of difficulty, whose last 1e-4 before 0 and 1 are rounded away
# What does nothing without another setting.
_SWITCHES = {
    "difficulty_measure": (
        *("difficulty_measured", "difficulty_scales", "difficulty_step", "difficulty_episodes", "difficulty_per_env"),
        *("initial_difficulty", "threshold_down"),
    ),
    "num_levels": ("level_score", "level_temperature", "staleness_coef", "replay_probability"),
}


@dataclass(frozen=True)
class CurriculumConfig:
    """Settings of automatic curricula over environment parameters; without any of them, there is none.

    Two curricula, which may be combined: `difficulty_measure` switches on success-gated difficulty, `num_levels`
    prioritized level replay.
    """

    difficulty_measure: str = ""
    """Success-gated difficulty: what is measured of episodes, return or a metric of the task such as success."""
    difficulty_measured: Literal["last", "mean"] = "last"
    """A metric's value at the end of an episode, or its mean over the steps."""
    difficulty_scales: tuple[str, ...] = ()
    """What the difficulty, 0 to 1, multiplies: distractors (their strengths), randomization (its ranges); by default
    what the environment has of these."""
    threshold_up: float | None = None
    """Mean measure at and above which the difficulty rises."""
    threshold_down: float | None = None
    """Mean measure at and below which it falls; by default it never does."""
    difficulty_step: float = 0.1
    """How much it rises or falls at once."""
    initial_difficulty: float = 0.0
    """Difficulty of the first episodes."""
    difficulty_episodes: int = 64
    """Whole episodes at a difficulty whose mean decides on the next. Short ones end first: where lengths differ much,
    several times num_envs."""
    difficulty_per_env: bool = False
    """Each environment has its own difficulty, gated by its own episodes."""
    num_levels: int = 0
    """Prioritized level replay: number of training levels. A level determines what an episode samples at its
    beginning: initial state, randomized model, levels of distractors that have them, as presets do. 0 is off."""
    level_score: Literal["value_l1", "positive_value_loss"] = "value_l1"
    """Score of a level: the mean of its last episode's absolute advantages, or of their positive parts."""
    level_temperature: float = 0.1
    """Temperature of the prioritization by rank (beta): the lower, the more it prefers high scores."""
    staleness_coef: float = 0.1
    """Share of the levels' staleness in the probability of a replay (rho)."""
    replay_probability: float = 0.0
    """Probability that an episode replays a level that was seen; 0 is the share of levels seen so far."""

    @property
    def gates(self) -> bool:
        """Whether difficulty is gated by success."""
        return bool(self.difficulty_measure)

    @property
    def replays(self) -> bool:
        """Whether levels are replayed."""
        return self.num_levels > 0

    @property
    def is_on(self) -> bool:
        """Whether there is any curriculum."""
        return self.gates or self.replays

    def validate(self) -> None:
        """Checks what can be checked without an environment.

        Raises:
          ConfigError: a setting cannot be used; the message names it.
        """
        for name in ("initial_difficulty", "staleness_coef", "replay_probability"):
            check_number(name, getattr(self, name), least=0, most=1)
        check_number("difficulty_step", self.difficulty_step, least=_LEAST_STEP, most=1)
        check_number("level_temperature", self.level_temperature, above=0)
        check_count("difficulty_episodes", self.difficulty_episodes, most=_MOST)
        check_count("num_levels", self.num_levels, least=0, most=MAX_LEVELS)
        check_choice("difficulty_measured", self.difficulty_measured, ("last", "mean"))
        check_choice("level_score", self.level_score, ("value_l1", "positive_value_loss"))
        for scaled in self.difficulty_scales:
            check_choice("difficulty_scales", scaled, SCALES)
        self._check_thresholds()
        for switch, names in _SWITCHES.items():
            given = [name for name in names if getattr(self, name) != getattr(CurriculumConfig, name)]
            if given and not getattr(self, switch):
                raise ConfigError(f"{given[0]} is set, but nothing uses it: set {switch} too")

    def _check_thresholds(self) -> None:
        for name in ("threshold_up", "threshold_down"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        if self.gates and self.threshold_up is None:
            raise ConfigError(
                f"difficulty_measure is {self.difficulty_measure}, but threshold_up is missing: set the mean "
                f"{self.difficulty_measure} from which the difficulty rises"
            )
        if self.threshold_up is not None and not self.gates:
            raise ConfigError("threshold_up is set, but nothing is measured: set difficulty_measure, such as return")
        up, down = self.threshold_up, self.threshold_down
        if up is not None and down is not None and down >= up:
            raise ConfigError(f"threshold_down is {down:g}: it must be below threshold_up {up:g}")
