"""Counts diverged episodes (action, physics or reward not finite), and warns if there are many."""

from pixelbrax.learning import EpisodeTotals
from pixelbrax.training.run_dir import RunDir

_SHARE = 0.01  # of the episodes; more than that is worth a warning


class Divergence:
    """Counts the episodes of each run since training began or was resumed."""

    def __init__(self):
        self._ended: dict[RunDir, int] = {}
        self._diverged: dict[RunDir, int] = {}
        self._warned: set[RunDir] = set()

    def warning(self, run: RunDir, episodes: EpisodeTotals) -> str:
        """Counts the episodes of an interval; returns a warning, once per run, if more than 1 % diverged so far."""
        self._ended[run] = self._ended.get(run, 0) + int(episodes.ended)
        self._diverged[run] = self._diverged.get(run, 0) + int(episodes.diverged)
        if run in self._warned or not self._is_much(run):
            return ""
        self._warned.add(run)
        return self._text(run)

    def warnings(self) -> list[str]:
        """The warnings once more at the end of training."""
        return [self._text(run) for run in self._ended if self._is_much(run)]

    def _is_much(self, run: RunDir) -> bool:
        return self._diverged[run] > _SHARE * self._ended[run]

    def _text(self, run: RunDir) -> str:
        ended, diverged = self._ended[run], self._diverged[run]
        return (
            f"WARNING: {run.path}: {diverged:,} of {ended:,} episodes ({diverged / ended:.1%}) diverged: action, "
            "physics or reward was not finite, which terminates them. In your own model set a smaller <option "
            "timestep>, with as many more physics steps in a control step (control_dt, or Brax's n_frames), more "
            "damping and armature of joints, softer springs and servos, and on Brax's spring and positional engines "
            "its <custom> numerics; or take another --backend. Look for a division by 0 or a logarithm in the reward; "
            "see `diverged` in metrics.csv"
        )
