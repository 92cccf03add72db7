"""The gate of success-gated difficulty, against the same law in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.learning import CurriculumConfig
from pixelbrax.learning.curriculum import DifficultyGate

pytestmark = pytest.mark.usefixtures("strict")


def _config(**settings):
    given = {"difficulty_measure": "return", "threshold_up": 0.7, "threshold_down": 0.3, "difficulty_episodes": 10}
    return CurriculumConfig(**given | settings)


class _Reference:
    """Measures are collected; once there are enough, their mean decides and they are forgotten."""

    def __init__(self, config):
        self.config, self.difficulty, self.measures = config, config.initial_difficulty, []

    def add(self, measures):
        self.measures += list(measures)
        if len(self.measures) >= self.config.difficulty_episodes:
            mean = np.mean(self.measures)
            step = self.config.difficulty_step * (int(mean >= 0.7) - int(mean <= 0.3))
            self.difficulty = min(max(self.difficulty + step, 0.0), 1.0)
            self.measures = []


@pytest.mark.parametrize("per_env", [False, True])
def test_the_law(per_env):
    rng, num_envs = np.random.default_rng(0), 3
    config = _config(difficulty_per_env=per_env, initial_difficulty=0.5, difficulty_step=0.15)
    gate = DifficultyGate.start(config, num_envs)
    references = [_Reference(config) for _ in range(num_envs if per_env else 1)]
    add, seen = jax.jit(lambda gate, count, total: gate.add(count, total, config)), set()
    for update in range(600):
        level = 0.5 + 0.5 * np.sin(update / 50)
        measures = [rng.random(rng.integers(0, 4)) * 0.4 + 0.6 * level for _ in range(num_envs)]
        gate = add(
            gate,
            jnp.array([len(x) for x in measures], jnp.int32),
            jnp.array([x.sum() for x in measures], jnp.float32),
        )
        for k, reference in enumerate(references):
            reference.add(measures[k] if per_env else np.concatenate(measures))
        np.testing.assert_allclose(np.atleast_1d(gate.difficulty), [x.difficulty for x in references], atol=1e-5)
        seen |= set(np.atleast_1d(gate.difficulty).tolist())
    assert {0.0, 1.0} <= seen, "both ends are reached, exactly"
    assert gate.of_each(num_envs).shape == (num_envs,)


def test_nothing_changes_between_the_thresholds_or_before_there_are_enough():
    config = _config(initial_difficulty=0.4)
    gate = DifficultyGate.start(config, 2)
    few = gate.add(jnp.array([4, 5]), jnp.array([4.0, 5.0]), config)
    assert float(few.difficulty) == np.float32(0.4)
    assert (int(few.count), float(few.total)) == (9, 9.0)
    middling = gate.add(jnp.array([10, 0]), jnp.array([5.0, 0.0]), config)
    assert float(middling.difficulty) == np.float32(0.4)
    assert int(middling.count) == 0, "the next decision is made on other episodes"


def test_without_a_lower_threshold_it_never_falls():
    config = _config(threshold_down=None, initial_difficulty=0.5)
    gate = DifficultyGate.start(config, 1).add(jnp.array([10]), jnp.array([-100.0]), config)
    assert float(gate.difficulty) == 0.5


def test_a_measure_that_is_no_number_decides_nothing():
    config = _config(initial_difficulty=0.5)
    gate = DifficultyGate.start(config, 1).add(jnp.array([10]), jnp.array([jnp.nan]), config)
    assert float(gate.difficulty) == 0.5
    assert float(gate.total) == 0.0
