"""Agents in a curriculum: one program, the same bits after a break, over devices, beside others."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPO, algorithm_of
from pixelbrax.distractors import GaussianNoise, Levels
from pixelbrax.learning import Advantages, CurriculumAgent, CurriculumConfig
from pixelbrax.learning.curriculum import TRACK
from pixelbrax.learning.curriculum.agent import _visits
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import Hook, RunDir, TrainConfig, Trainer
from pixelbrax.training.assembly import make_agent
from tests.algorithms.agents import CONFIGS
from tests.compilations import compilations
from tests.probe import probe_env

_NETWORK = NetworkConfig(conv_features=(8,), features=8, state_layers=())
_BOTH = CurriculumConfig(
    difficulty_measure="return", threshold_up=1.0, difficulty_episodes=16, difficulty_step=0.25, num_levels=10
)
_LEVELS = CurriculumConfig(num_levels=10)


def _noisy(**settings):
    """The probe with levels of noise, in images as small as they can be."""
    distractors = Levels((GaussianNoise(),), count=10)
    return probe_env(pays_side=True, distractors=distractors, image_size=8, frame_stack=1, **settings)


def _config(name="ppo", curriculum=_BOTH, updates=4, agent=None, **settings):
    agent = replace(CONFIGS[name], **(agent or {}))
    sizes = {"num_steps": updates * agent.steps_per_update, "log_interval": 1, "eval_episodes": 2}
    return TrainConfig(agent=agent, network=_NETWORK, curriculum=curriculum, **sizes | settings)


def _trained(folder, configs, env, hooks=()):
    runs = [RunDir.create(folder / f"{config.seed}", config) for config in configs]
    trainer = Trainer(configs, env=env, hooks=hooks)
    state, complete = trainer.train(runs, trainer.init())
    assert complete
    return trainer, runs, state


def _assert_same(a, b):
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        np.testing.assert_array_equal(x, y, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("name", ["ppo", pytest.param("ppg", marks=pytest.mark.full)])
def test_changing_difficulties_and_levels_compile_nothing(name):
    config = _config(name)
    agent = make_agent(config, _noisy())
    update = jax.jit(agent.update)
    state, *_ = update(jax.jit(agent.init)(jax.random.key(0)))
    state, *_ = update(state)  # the first state has other weak types
    difficulties, levels = set(), set()

    def several(state):
        for _ in range(12):
            state, metrics, _ = update(state)
            difficulties.add(float(metrics["curriculum/difficulty"]))
            levels.update(np.asarray(state.envs.params.distractors[0]["first"]).tolist())
        return state

    count, state = compilations(lambda: several(state))
    assert count == 0
    assert len(difficulties) >= 4, "it rises"
    assert len(levels) >= 4
    np.testing.assert_allclose(
        np.asarray(state.envs.params.distractors[0]["members"][0]["std"]), 0.1 * float(state.curriculum.gate.difficulty)
    )
    assert bool(state.curriculum.levels.seen.all())


def test_without_a_curriculum_nothing_is_different():
    """Neither the agent, nor its states, nor the program."""
    config = _config(curriculum=CurriculumConfig())
    env = probe_env(pays_side=True, outputs=())
    agent = make_agent(config, env)
    assert type(agent) is PPO
    plain = algorithm_of(config.agent).make(env, config.network, config.agent, config.num_updates)
    state, other = (jax.eval_shape(each.init, jax.random.key(0)) for each in (agent, plain))
    assert state.curriculum == ()
    assert TRACK not in state.envs.info
    assert jax.tree.structure(state) == jax.tree.structure(other)
    _, metrics, _ = jax.eval_shape(agent.update, state)
    assert not [name for name in metrics if name.startswith("curriculum")]
    assert str(jax.make_jaxpr(agent.update)(state)) == str(jax.make_jaxpr(plain.update)(state))


@pytest.mark.full
def test_advantages_besides_are_no_other_update():
    config = _config()
    agent = make_agent(replace(config, curriculum=CurriculumConfig()), probe_env(pays_side=True, outputs=()))
    state = jax.jit(agent.init)(jax.random.key(0))
    _assert_same(jax.jit(agent.update)(state), jax.jit(lambda state: agent.update_with_advantages(state)[:3])(state))


def test_an_episode_that_ended_with_an_update_is_not_scored_again():
    """Its level may have been scored anew since; an episode that goes on is scored with what came before."""
    zeros = jnp.zeros(2, jnp.int32)
    before: Any = SimpleNamespace(
        level=zeros, next_level=zeros + 1, score_sum=jnp.full(2, 6.0), score_steps=zeros + 3.0
    )
    valid = jnp.array([[False, True], [True, True]])  # the first environment begins with its reset
    visits, _ = _visits(before, Advantages(jnp.ones((2, 2)), valid), _LEVELS)
    np.testing.assert_array_equal(visits.steps, [[0, 5], [1, 0]])
    np.testing.assert_array_equal(visits.sums[0, 1], 8)


@pytest.mark.full
@pytest.mark.parametrize("score", ["value_l1", "positive_value_loss"])
def test_scores_are_means_of_the_episodes_advantages(score):
    """Against a loop over environments and steps; episodes reach over several updates."""
    env = probe_env(pays_side=True, outputs=(), episode_length=13)
    config = _config(curriculum=replace(_LEVELS, level_score=score), agent={"num_envs": 4})
    agent = make_agent(config, env)
    assert isinstance(agent, CurriculumAgent)
    inner, update = jax.jit(agent._agent.update_with_advantages), jax.jit(agent.update)
    state = jax.jit(agent.init)(jax.random.key(1))
    level = np.asarray(state.envs.info[TRACK].level).tolist()
    episode, found, drawn, episodes = [[] for _ in range(4)], {}, {}, 0
    for _ in range(6):
        advantages = inner(state)[3]
        value, valid = np.asarray(advantages.value, np.float64), np.asarray(advantages.valid)
        value = np.abs(value) if score == "value_l1" else np.maximum(value, 0)
        next_level = np.asarray(state.envs.info[TRACK].next_level)
        ended = []
        for k in range(4):
            for t in range(len(value)):
                if valid[t, k]:
                    episode[k].append(value[t, k])
                else:
                    ended.append((level[k], episode[k]))
                    level[k], episode[k] = int(next_level[k]), []
                    episodes += 1
                    drawn[level[k]] = None
        for which, values in [*ended, *zip(level, episode, strict=True)]:
            if values:
                found[which] = np.mean(values)
        drawn = {which: episodes if stamp is None else stamp for which, stamp in drawn.items()}
        state, *_ = update(state)
    levels = state.curriculum.levels
    np.testing.assert_allclose(levels.score, [found.get(k, 0) for k in range(10)], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(levels.seen, [k in found for k in range(10)])
    np.testing.assert_array_equal(levels.drawn, [drawn.get(k, 0) for k in range(10)])
    assert int(levels.episodes) == episodes
    np.testing.assert_array_equal(state.envs.info[TRACK].level, level)


class _Dies(Hook):
    def on_update(self, run, row):
        if row["updates"] == 5:
            raise RuntimeError("killed")


@pytest.mark.full
def test_a_run_that_is_killed_and_resumed_comes_to_the_same_bits(tmp_path):
    config = _config(updates=8, checkpoint_interval=0.0)
    trainer, runs, whole = _trained(tmp_path / "whole", [config], _noisy())
    row = runs[0].read_metrics()[-1]
    assert {name for name in row if name.startswith("curriculum/")} == {
        f"curriculum/{name}" for name in ("difficulty", "level_score", "levels_seen", "measure", "replay_probability")
    }
    assert row["curriculum/difficulty"] > 0
    killed = RunDir.create(tmp_path / "killed", config)
    trainer.hooks.append(_Dies())
    with pytest.raises(RuntimeError, match="killed"):
        trainer.train([killed], trainer.init())
    trainer.hooks.pop()
    state = trainer.restore([killed])
    assert int(state.num_updates) == 4
    killed.roll_back(4)
    resumed, _ = trainer.train([killed], state)
    _assert_same(resumed, whole)
    trainer.evaluate([killed], "trained", resumed)


@pytest.mark.full
@pytest.mark.parametrize("curriculum", [_LEVELS, _BOTH])
def test_two_devices_learn_what_one_does(curriculum, tmp_path):
    ends = []
    for count in (1, 2):
        env = _noisy() if curriculum.gates else probe_env(pays_side=True, outputs=())
        config = _config(curriculum=curriculum, num_devices=count)
        trainer, runs, state = _trained(tmp_path / f"{count}", [config], env)
        for x in jax.tree.leaves(state.envs):
            assert all(shard.data.size == x.size // count for shard in x.addressable_shards), "each has its share"
        for x in jax.tree.leaves(state.curriculum):
            assert all(shard.data.size == x.size for shard in x.addressable_shards), "each has all"
        _assert_same(trainer.restore(runs).curriculum, state.curriculum)
        ends.append(trainer.one(state, 0))
    one, two = (end.curriculum.levels for end in ends)
    np.testing.assert_array_equal(one.seen, two.seen)
    np.testing.assert_array_equal(one.drawn, two.drawn)
    np.testing.assert_allclose(one.score, two.score, atol=1e-3)
    np.testing.assert_array_equal(ends[0].envs.info[TRACK].level, ends[1].envs.info[TRACK].level)
    for a, b in zip(jax.tree.leaves(ends[0].params), jax.tree.leaves(ends[1].params), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.full
def test_agents_side_by_side_have_curricula_of_their_own(tmp_path):
    env = probe_env(pays_side=True, outputs=())
    configs = [_config(curriculum=_LEVELS, seed=seed) for seed in (0, 1)]
    trainer, _, both = _trained(tmp_path / "both", configs, env)
    _, _, alone = _trained(tmp_path / "alone", configs[1:], env)
    second = trainer.one(both, 1)
    np.testing.assert_array_equal(second.curriculum.levels.drawn, alone.curriculum.levels.drawn)
    np.testing.assert_allclose(second.curriculum.levels.score, alone.curriculum.levels.score, atol=1e-3)
    assert (trainer.one(both, 0).curriculum.levels.score != second.curriculum.levels.score).any()


@pytest.mark.full
@pytest.mark.parametrize("name", ["sac", "apg", "es", "dcpg"])
def test_difficulty_rises_with_every_algorithm(name):
    curriculum = replace(_BOTH, num_levels=0)
    env = probe_env(pushed=True, distractors=GaussianNoise(), image_size=8, frame_stack=1)
    network = {
        "apg": replace(_NETWORK, critic="state"),
        "sac": replace(_NETWORK, state_layers=NetworkConfig().state_layers),
    }.get(name, _NETWORK)
    config = replace(_config(name, replace(curriculum, threshold_up=-1e3)), network=network)
    agent = make_agent(config, env)
    state, update = jax.jit(agent.init)(jax.random.key(0)), jax.jit(agent.update)
    for _ in range(8):
        state, metrics, _ = update(state)
    assert float(metrics["curriculum/difficulty"]) > 0
    assert bool(jnp.isfinite(state.envs.reward).all())
