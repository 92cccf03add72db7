"""Hooks that act: a curriculum that resumes to the bit, agents side by side, and what they may not do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPOConfig
from pixelbrax.envs import EnvParams
from pixelbrax.errors import ConfigError
from pixelbrax.learning import AgentState
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import ActingHook, Hook, Interval, RunDir, TrainConfig, Trainer
from pixelbrax.training.acting_hooks import ActingHooks
from tests.probe import probe_env

_AGENT = PPOConfig(num_envs=4, unroll_length=8, num_minibatches=1, num_epochs=1)


def _config(updates, **settings):
    sizes = {"num_steps": updates * 32, "log_interval": 1, "eval_episodes": 2, "checkpoint_interval": 0.0}
    return TrainConfig(agent=_AGENT, network=NetworkConfig(features=8, state_layers=()), **sizes | settings)


def _trainer(configs, hooks):
    return Trainer(configs, hooks=hooks, env=probe_env(pays_side=True, outputs=()))


class _Curriculum(ActingHook):
    """Longer episodes and other noise after every interval that pays more than 1 an episode; stops at level 6."""

    def __init__(self):
        self.levels = {}

    def act(self, interval):
        level = self.levels.get(interval.run, 0) + int(interval.row["return"] > 1)
        self.levels[interval.run] = level
        noise = 0.01 * jax.random.normal(interval.key)
        params = interval.state.params | {"log_std": jnp.full(1, -0.1 * level) + noise}
        envs = interval.env.with_params(interval.state.envs, EnvParams(episode_length=4 + level))
        interval.state = replace(interval.state, params=params, envs=envs)
        if level == 6:
            interval.stop("level 6 is reached")

    def state_of(self, run):
        return {"level": self.levels.get(run, 0)}

    def set_state_of(self, run, state):
        self.levels[run] = state["level"]


class _Dies(Hook):
    def on_update(self, run, row):
        if row["updates"] == 4:
            raise RuntimeError("killed")


@pytest.mark.full
def test_a_curriculum_that_is_killed_and_resumed_comes_to_the_same_bits(tmp_path):
    config = _config(30)
    runs = [RunDir.create(tmp_path / name, config) for name in ("whole", "killed")]
    trainer = _trainer([config], [_Curriculum()])
    whole, complete = trainer.train(runs[:1], trainer.init())
    assert complete
    assert 4 < int(whole.num_updates) < 30, "the hook stopped it"

    trainer.hooks.append(_Dies())
    trainer._acting._hooks["_Curriculum"].levels.clear()
    with pytest.raises(RuntimeError, match="killed"):
        trainer.train(runs[1:], trainer.init())
    trainer.hooks.pop()
    with pytest.raises(
        ConfigError, match=r"trained with the hook _Curriculum: resume it with hooks=\[_Curriculum\(\)\]"
    ):
        _trainer([config], []).restore(runs[1:])
    trainer._acting._hooks["_Curriculum"].levels.clear()
    resumed = trainer.restore(runs[1:])
    assert int(resumed.num_updates) == 3
    runs[1].roll_back(3)
    resumed, complete = trainer.train(runs[1:], resumed)
    assert complete
    assert int(resumed.num_updates) == int(whole.num_updates)
    np.testing.assert_array_equal(resumed.envs.params.episode_length, 4 + 6)
    lengths = [row["episode_length"] for row in runs[1].read_metrics()[2:]]
    assert np.nanmax(lengths) < 10, "shorter than the environment's own"
    for a, b in zip(jax.tree.leaves(resumed.params), jax.tree.leaves(whole.params), strict=True):
        np.testing.assert_array_equal(a, b)

    trainer._stopped.clear()
    own = RunDir(tmp_path / "own")  # as a second process has it
    again, complete = trainer.train(runs[1:], trainer.restore(runs[1:]))
    assert complete
    assert int(again.num_updates) == int(whole.num_updates), "stopped is stopped"
    trainer.restore(runs[1:], [own])
    assert trainer._acting.states(own) == {"_Curriculum": {"level": 6}}
    assert list(trainer._stopped) == [*runs[1:], own]


@pytest.mark.full
def test_agents_side_by_side_are_changed_one_by_one_and_stop_together(tmp_path):
    """Over two devices, each of which has an agent."""

    class Marks(ActingHook):
        def act(self, interval):
            second = interval.run.path.name == "1"
            if second and interval.updates == 2:
                params = jax.tree.map(jnp.zeros_like, interval.state.params)
                interval.state = replace(interval.state, params=params)
            if interval.updates >= (3 if second else 2):
                interval.stop("enough")

    configs = [_config(5, seed=seed, num_devices=2) for seed in (0, 1)]
    runs = [RunDir.create(tmp_path / str(seed), config) for seed, config in enumerate(configs)]
    ends = []
    for hooks in ([], [Marks()]):
        trainer = _trainer(configs, hooks)
        trainer.config = replace(trainer.config, checkpoint_interval=1e9)
        state, complete = trainer.train(runs, trainer.init())
        ends.append((int(state.num_updates), *(np.asarray(trainer.one(state, k).params["log_std"]) for k in (0, 1))))
        assert complete
        assert len(state.envs.reward.sharding.device_set) == 2
    assert [end[0] for end in ends] == [5, 3]
    assert abs(ends[1][2]).max() < 0.01 < abs(ends[1][1]).max(), "one update after it was zero"


def _state(**fields):
    empty = {"statistics": (), "opt_state": (), "envs": (), "key": jax.random.key(0), "num_updates": jnp.int32(7)}
    return AgentState(**{"params": {"w": jnp.zeros(3)}} | empty | fields)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            _state(params={"w": jnp.zeros(4)}),
            r"changed params/w from float32\[3\] to float32\[4\]: it may change",
        ),
        (_state(params={"v": jnp.zeros(3)}), "a hook changed the structure of the agent's state"),
        (_state(num_updates=jnp.int32(8)), "a hook changed num_updates to 8: only training may change it"),
        (_state(key=jnp.zeros((), jnp.uint32)), "a hook changed key from key"),
        (_state(params={"w": jnp.array([0, np.inf, 0])}), "a hook set params/w to values that are not finite"),
        ({"w": 1}, "a hook changed the structure"),
    ],
)
def test_a_hook_may_change_values_only(changed, message, tmp_path):
    interval = Interval(RunDir(tmp_path), probe_env(outputs=()), {"updates": 7}, jax.random.key(0), _state)
    with pytest.raises(ConfigError, match=message):
        interval.state = changed
    interval.state = _state(params={"w": np.arange(3)})  # NumPy's, of another dtype
    assert interval.state.params["w"].dtype == jnp.float32
    assert interval.is_changed


def test_what_a_hook_sets_is_not_taken_from_it(tmp_path):
    """Training gives the state's memory to the next update: the hook may set the same array again, or at two places."""
    before = _state(params={"w": jnp.zeros(3), "v": jnp.zeros(3)})
    interval = Interval(RunDir(tmp_path), probe_env(outputs=()), {"updates": 7}, jax.random.key(0), lambda: before)
    mine = jnp.ones(3)
    interval.state = replace(interval.state, params={"w": mine, "v": mine})
    jax.jit(lambda state: jax.tree.map(jnp.copy, state), donate_argnums=0)(interval.state)
    np.testing.assert_array_equal(mine, 1.0)


def test_hooks_are_told_once_and_those_that_come_later_too(tmp_path):
    run = RunDir.create(tmp_path / "run", TrainConfig(), command="pixelbrax train")
    run.note_hooks(["first"])
    before = run.config_file.read_text()
    run.note_hooks(["first"])
    assert run.config_file.read_text() == before
    run.note_hooks(["first", "second"])
    assert run.read_provenance()["hooks"] == "first, second"
    assert run.read_provenance()["command"] == "pixelbrax train"
    assert run.load_config() == TrainConfig()


class _Keeps(_Curriculum):
    def __init__(self, state):
        self.state = state

    def state_of(self, run):
        return self.state


def test_a_hooks_state_comes_back_as_it_was(tmp_path):
    run = RunDir(tmp_path)
    kept = {"a": [1, 2.5, {"b": None}], "c": "d", "e": True}
    assert ActingHooks([_Keeps(kept)]).states(run) == {"_Keeps": kept}
    scalars = [np.float32(0.5), np.int64(3), np.bool_(True), jnp.int32(7)]
    found = ActingHooks([_Keeps(scalars)]).states(run)["_Keeps"]
    assert [type(each) for each in found] == [float, int, bool, int]
    assert found == scalars


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (np.zeros(2), r"the hook _Keeps: state_of\(run\) is of type ndarray"),
        ({"a": [0, {1}]}, r"state_of\(run\)\['a'\]\[1\] is of type set"),
        ((1, 2), "is of type tuple"),
        ({1: 0.5}, "is a dict whose keys are not all text"),
    ],
)
def test_a_state_that_json_would_change_is_refused(state, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        ActingHooks([_Keeps(state)]).states(RunDir(tmp_path))


class _Enough(ActingHook):
    """Stops after the second evaluation during training."""

    def act(self, interval):
        pass

    def reason_to_stop(self, run):
        return "two evaluations" * (len(run.read_evaluations()) >= 2)


def test_a_hook_stops_after_an_evaluation_and_at_once_when_resumed(tmp_path):
    config = _config(6, eval_interval=1)
    run = RunDir.create(tmp_path / "run", config)
    trainer = _trainer([config], [_Enough()])
    state, complete = trainer.train([run], trainer.init())
    assert (int(state.num_updates), complete) == (2, True)
    again = _trainer([config], [_Enough()])
    state, complete = again.train([run], again.restore([run]))
    assert (int(state.num_updates), complete) == (2, True)


def test_agents_side_by_side_stop_once_there_is_a_reason_for_each(tmp_path):
    """Those that broke down aside: one whose gate is open waits for the others."""

    class Some(ActingHook):
        stopped = ""

        def act(self, interval):
            pass

        def reason_to_stop(self, run):
            return "enough" * (run.path.name in self.stopped)

    hook, configs = Some(), [_config(4, seed=seed) for seed in (0, 1)]
    trainer = _trainer(configs, [hook])
    runs = [RunDir.create(tmp_path / name, config) for name, config in zip("ab", configs, strict=True)]
    for hook.stopped in ("", "a", "b", "ab"):
        trainer._stopped = {run: "enough" for run in runs if run.path.name in hook.stopped}
        assert trainer._enough(runs) == trainer._were_stopped(runs) == (hook.stopped == "ab")
    runs[0].fail("NaN")
    for hook.stopped in ("a", "b"):
        trainer._stopped = {run: "enough" for run in runs if run.path.name in hook.stopped}
        assert trainer._enough(runs) == trainer._were_stopped(runs) == (hook.stopped == "b")


def test_every_interval_of_every_seed_has_a_key_of_its_own(tmp_path):
    keys = []

    class Keys(ActingHook):
        def act(self, interval):
            keys.append(tuple(jax.random.key_data(interval.key).tolist()))

    hooks, run, env = ActingHooks([Keys()]), RunDir(tmp_path), probe_env(outputs=())
    for seed, updates in ((0, 1), (0, 2), (1, 1), (1, 2), (0, 1)):
        hooks.act(run, env, seed, {"updates": updates}, _state)
    assert keys[4] == keys[0], "a resumed run has it again"
    assert len(set(keys)) == 4


def test_hooks_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two hooks are named _Curriculum: give each its own name"):
        _trainer([_config(1)], [_Curriculum(), _Curriculum()])
