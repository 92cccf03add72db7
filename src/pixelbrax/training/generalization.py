"""How much of a policy's return is left under looks that it has never seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.distractors.suites import Pair, Suite
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActorCritic
from pixelbrax.training.config import EnvConfig
from pixelbrax.training.evaluation import Evaluation, Evaluator

_RESAMPLES = 2_000


@dataclass(frozen=True)
class PairResult:
    """The answer to a pair's question.

    Attributes:
      pair: the question.
      trained: returns under what the policy trained with.
      tested: returns under what it is tested with.
      gap: mean of the first minus mean of the second.
      gap_low, gap_high: 95 % interval of the gap, by bootstrap over episodes.
    """

    pair: Pair
    trained: Evaluation
    tested: Evaluation
    gap: float
    gap_low: float
    gap_high: float

    @classmethod
    def of(cls, pair: Pair, trained: Evaluation, tested: Evaluation) -> "PairResult":
        """The gap and its interval."""
        rng = np.random.default_rng(0)

        def means(returns: np.ndarray) -> np.ndarray:
            return rng.choice(returns, (_RESAMPLES, len(returns))).mean(1)

        low, high = np.percentile(means(trained.returns) - means(tested.returns), [2.5, 97.5])
        return cls(pair, trained, tested, trained.mean - tested.mean, float(low), float(high))

    def as_dict(self) -> dict[str, object]:
        """For files."""
        return {
            "env": self.pair.env,
            "train": list(self.pair.train),
            "test": list(self.pair.test),
            "trained": self.trained.as_dict(),
            "tested": self.tested.as_dict(),
            "gap": self.gap,
            "gap_interval": [self.gap_low, self.gap_high],
        }


def pairs_for(suite: Suite, config: EnvConfig) -> tuple[Pair, ...]:
    """The pairs whose task and train setting are a run's.

    Raises:
      ConfigError: there is none; the message says which train settings the suite has.
    """
    pairs = suite.of(config.env)
    if not pairs:
        raise ConfigError(f"{suite.name} has no pair of {config.env}: it asks of {_listed(p.env for p in suite.pairs)}")
    mine = tuple(name if "@" in name else f"{name}@train" for name in config.distractors)
    chosen = tuple(pair for pair in pairs if pair.train == mine)
    if not chosen:
        known = _listed(" + ".join(p.train).replace("@train", "") or "nothing" for p in pairs)
        raise ConfigError(
            f"{suite.name} has no pair of {config.env} trained with {' + '.join(config.distractors) or 'nothing'}: "
            f"its train settings are {known}"
        )
    return chosen


def evaluate_pairs(
    pairs: tuple[Pair, ...],
    config: EnvConfig,
    network: ActorCritic,
    params: PyTree,
    num_episodes: int,
    seed: int,
    report: Callable[[PairResult], None] | None = None,
) -> list[PairResult]:
    """Runs a policy under the train setting, which all pairs share, and each test setting.

    The episodes are the same ones, seen differently.

    Args:
      pairs: of `pairs_for`.
      config: of the run.
      network: whose parameters are evaluated.
      params: the parameters.
      num_episodes: for each setting.
      seed: of the episodes.
      report: called with each result as soon as it is there.
    """

    def returns(distractors: tuple[str, ...]) -> Evaluation:
        env = replace(config, distractors=distractors).build()
        run = jax.jit(Evaluator(env, network, num_episodes).run)
        scores, lengths = run(params, jax.random.key(seed))
        return Evaluation(np.asarray(scores), np.asarray(lengths))

    trained, results = returns(pairs[0].train), []
    for pair in pairs:
        results.append(PairResult.of(pair, trained, returns(pair.test)))
        if report:
            report(results[-1])
    return results


def _listed(names) -> str:
    return ", ".join(dict.fromkeys(names))
