"""Trajectories are the episodes of an evaluation, in memory and on disk."""

import dataclasses
import json
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.cli.main import main
from pixelbrax.distractors import ClipBank, LevelState, save_banks, videos_of_files
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Run, datasets
from pixelbrax.experiments import trajectories as trajectories_room
from pixelbrax.experiments.acting import actor
from pixelbrax.training import Progress, locked
from tests.probe import probe_env


@pytest.fixture(scope="module")
def pixels():
    return probe_env(terminates_at=6, image_size=8)


@pytest.fixture(scope="module")
def trajectories(pixels):
    return pixelbrax.rollout("random", pixels, 5, num_envs=2, seed=3)


def _assert_equal(a, b):
    for field in dataclasses.fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        jax.tree.map(np.testing.assert_array_equal, one, other)


def test_they_are_the_episodes_of_an_evaluation(pixels, trajectories):
    result = pixelbrax.evaluate("random", pixels, 5, seed=3)
    np.testing.assert_allclose(trajectories.returns, result.returns)
    np.testing.assert_array_equal(trajectories.lengths, result.lengths)


def test_the_last_observation_is_the_episodes_own_whatever_the_autoreset(pixels, trajectories):
    env = probe_env(terminates_at=6, image_size=8, autoreset="same_step")
    _assert_equal(pixelbrax.rollout("random", env, 5, num_envs=2, seed=3), trajectories)


@pytest.mark.full
def test_a_trained_policys_rollout_is_its_evaluation(finished, env):
    policy = finished.policy()
    for deterministic in (True, False):
        result = pixelbrax.evaluate(policy, env, 4, seed=1, deterministic=deterministic)
        found = pixelbrax.rollout(policy, env, 4, seed=1, deterministic=deterministic)
        np.testing.assert_allclose(found.returns, result.returns)


def test_replaying_the_actions_gives_the_observations(pixels, trajectories):
    """From the keys that episode 3 of seed 3 has."""
    reset_key, _ = (jax.random.split(part, 5)[3] for part in jax.random.split(jax.random.key(3)))
    state = pixels.reset(reset_key)
    stacked = trajectories.stacked(3)
    assert trajectories.lengths[3] == 6
    for t in range(7):
        np.testing.assert_array_equal(stacked[3, t], state.obs["pixels"])
        np.testing.assert_allclose(trajectories.observations["state"][3, t], state.obs["state"], rtol=1e-6)
        np.testing.assert_allclose(trajectories.coordinates[3, t], pixels.physics.coordinates(state.physics), rtol=1e-6)
        if t < 6:
            state = pixels.step(state, jnp.asarray(trajectories.actions[3, t]))
            assert trajectories.rewards[3, t] == state.reward
            assert bool(trajectories.terminated[3, t]) == bool(state.terminated) == (t == 5)


def test_what_cannot_be_stacked_is_told(trajectories):
    with pytest.raises(ConfigError, match="key is 'depth': it must be one of pixels, state"):
        trajectories.stacked(3, "depth")
    with pytest.raises(ConfigError, match="frame_stack is 0: it must be at least 1"):
        trajectories.stacked(0)


def test_images_are_stacked_along_channels_only(trajectories):
    first = dataclasses.replace(
        trajectories,
        observations={
            "pixels": np.moveaxis(trajectories.observations["pixels"], -1, 2),
            "depth": np.zeros((5, 7, 8, 9)),
        },
    )
    np.testing.assert_array_equal(np.moveaxis(first.stacked(3, axis=-3), 2, -1), trajectories.stacked(3))
    np.testing.assert_array_equal(first.stacked(3, axis=2), first.stacked(3, axis=-3))
    with pytest.raises(ConfigError, match=r"axis is -1: the channels of pixels, \(5, .*, 3, 8, 8\), are axis -3"):
        first.stacked(3)
    with pytest.raises(ConfigError, match="axis is 9: the channels of pixels"):
        trajectories.stacked(3, axis=9)
    with pytest.raises(ConfigError, match="depth has no channels to stack along: its frames are 8x9"):
        first.stacked(3, "depth")


def test_what_follows_an_episode_is_zero():
    env = probe_env(outputs=(), diverges_at=3, episode_length=8)
    found = pixelbrax.rollout(lambda obs: jnp.sign(obs["state"][:1]), env, 3)
    assert found.diverged.all()
    assert found.terminated.sum() == 3
    assert not found.truncated.any()
    assert found.valid.sum() == found.lengths.sum()
    assert np.isfinite(found.observations["state"]).all()
    short = pixelbrax.rollout("random", env, 3, steps=1)
    assert short.rewards.shape == (3, 1)
    assert not (short.terminated | short.truncated).any()


def test_the_time_limit_is_told_from_an_end():
    found = pixelbrax.rollout("random", probe_env(outputs=(), episode_length=3), 2)
    assert found.truncated.tolist() == [[False, False, True]] * 2
    assert not found.terminated.any()
    assert found.lengths.tolist() == [3, 3]


def test_episodes_do_not_depend_on_the_segments_in_which_they_run(trajectories, monkeypatch):
    """Nor do actions that are sampled begin anew with each."""
    monkeypatch.setattr(trajectories_room, "_MAX_SEGMENT", 2)
    env = probe_env(terminates_at=6, image_size=8)  # what is compiled for another has longer ones
    _assert_equal(pixelbrax.rollout("random", env, 5, num_envs=2, seed=3), trajectories)


def test_actions_that_are_none_are_told(tmp_path, capsys):
    env = probe_env(outputs=(), episode_length=3)
    nothing = lambda obs: jnp.nan * obs["state"][:1]  # noqa: E731
    data = pixelbrax.rollout(nothing, env, 1, path=tmp_path / "data", progress=Progress())
    found = data.load()
    assert found.lengths.tolist() == [1]
    assert np.isnan(found.actions).all()
    assert "1 of 1 episodes, mean return 0.0, WARNING: 1 episode diverged\n" in capsys.readouterr().out
    assert "(1 episode, 1 steps, mean return 0, WARNING: 1 episode diverged; state" in repr(found)
    assert "1 episode in 1 shard" in repr(data)


def test_a_function_may_read_what_changes():
    """Bound methods of one object are equal, so nothing may be kept by the function itself."""

    class Agent:
        action, weights = 0.0, jnp.zeros(1)

        def act(self, obs):
            return self.action + self.weights * jnp.ones_like(obs["state"][:1])

    env, agent = probe_env(outputs=(), episode_length=3), Agent()
    programs = [actor(agent.act, env)[0]]
    for agent.action, agent.weights in ((0.0, jnp.zeros(1)), (0.0, jnp.full(1, 0.25)), (0.5, jnp.zeros(1))):
        programs.append(actor(agent.act, env)[0])
        if not agent.action:
            np.testing.assert_array_equal(pixelbrax.rollout(agent.act, env, 2).actions, agent.weights[0])
    assert programs[0] == programs[1]
    assert len({*programs}) == 3


def test_constants_that_jax_leaves_out_of_a_programs_text_count(monkeypatch):
    monkeypatch.setattr(jax.stages.Lowered, "as_text", lambda self: "a program")
    env = probe_env(outputs=(), episode_length=3)

    def weighted(weight):
        inner = jax.jit(lambda x: x * jnp.full(1, weight))
        return lambda obs: jax.lax.cond(obs["state"][0] > 0, inner, jnp.negative, obs["state"][:1])

    one, again, other = (actor(weighted(weight), env)[0] for weight in (1.0, 1.0, 2.0))
    assert one == again != other


def test_a_callback_is_called_anew():
    def acts_by(host):
        return lambda obs: jax.pure_callback(host, jax.ShapeDtypeStruct((1,), jnp.float32), obs["state"][:1])

    env = probe_env(outputs=(), episode_length=3)
    functions = [actor(acts_by(lambda x, k=k: np.full_like(x, k)), env)[0] for k in (0, 0)]
    assert functions[0] != functions[1], "their programs look alike"
    assert functions[0].checksum is None


def test_episodes_do_not_depend_on_how_many_run_side_by_side(pixels, trajectories):
    _assert_equal(pixelbrax.rollout("random", pixels, 5, num_envs=5, seed=3), trajectories)


def test_a_dataset_is_the_trajectories(pixels, trajectories, tmp_path):
    where: dict[str, Any] = {"num_envs": 2, "seed": 3, "path": tmp_path / "data"}
    dataset = pixelbrax.rollout("random", pixels, 5, **where)
    assert [len(shard) for shard in dataset] == [2, 2, 1]
    _assert_equal(pixelbrax.load_dataset(tmp_path / "data").load(), trajectories)
    text = (tmp_path / "data" / "README.md").read_text()
    assert "| `observations/pixels` | uint8 | episode, time + 1, 8, 8, 3 |" in text
    assert all(f"| `{name}` |" in text for name in np.load(dataset.shards[0]).files)
    assert "holds up to 2 whole episodes, side by side" in text
    pixelbrax.rollout("random", pixels, 2, steps=3, **where | {"path": tmp_path / "short"})
    text = (tmp_path / "short" / "README.md").read_text()
    assert "holds up to 2 beginnings of episodes, of at most 3 actions" in text
    with pytest.raises(ConfigError, match="holds another dataset, whose seed is 3 instead of 4"):
        pixelbrax.rollout("random", pixels, 5, **{**where, "seed": 4})


def test_numbers_may_be_numpys(tmp_path):
    env, path = probe_env(outputs=(), episode_length=3), tmp_path / "data"
    numbers: dict[str, Any] = {"episodes": np.int64(2), "seed": np.int32(1), "steps": np.int64(2)}
    numbers |= {"num_envs": np.int64(1), "deterministic": np.True_}
    dataset = pixelbrax.rollout("random", env, **numbers, path=path)
    _assert_equal(dataset.load(), pixelbrax.rollout("random", env, 2, 1, steps=2))
    assert pixelbrax.load_dataset(path).complete


def test_a_dataset_of_another_environment_is_refused_by_what_differs(tmp_path):
    collect = lambda env: pixelbrax.rollout("random", env, 1, steps=1, path=tmp_path / "data")  # noqa: E731
    kept = collect(probe_env(image_size=8))
    with pytest.raises(ConfigError, match="dataset of another environment: image_size is 12 instead of 8; observation"):
        collect(probe_env(image_size=12))
    with pytest.raises(ConfigError, match="another environment: sky is 0 0 0 to 0 0 1 instead of 0 0 0 to 0 0 0"):
        collect(probe_env(image_size=8, sky=((0, 0, 0), (0, 0, 1))))
    older = kept.facts["environment"]
    older["facts"] = [fact for fact in older["facts"] if not fact.startswith(("sky: ", "planes: "))]
    older.pop("physics_settings")
    (kept.path / "dataset.json").write_text(json.dumps(kept.facts))
    assert collect(probe_env(image_size=8)).complete, "older versions told less"


def test_a_policy_is_known_by_its_checksum_wherever_its_run_was_found():
    facts = [f"{place}, 1,024 updates, sha256 0a1b" for place in ("runs/x", "/data/a, b/runs/x")]
    assert datasets._identity(facts[0]) == datasets._identity(facts[1]) != datasets._identity(facts[0] + "2")
    assert datasets._identity("random") == "random"


def test_a_dataset_knows_what_its_function_computes(tmp_path):
    """Whatever the function is named; of what it calls on the host, nobody knows."""
    env = probe_env(outputs=(), episode_length=3)

    def constant(value):
        return lambda obs: value * jnp.ones_like(obs["state"][:1])

    def collected(policy):
        return pixelbrax.rollout(policy, env, 1, path=tmp_path / "data")

    assert collected(constant(0.25)).path == collected(constant(0.25)).path
    with pytest.raises(ConfigError, match=r"another dataset, whose policy is .*, sha256 .* instead of .*, sha256 "):
        collected(constant(0.5))
    with pytest.raises(ConfigError, match="another dataset, whose deterministic is True instead of False"):
        pixelbrax.rollout(constant(0.25), env, 1, path=tmp_path / "data", deterministic=False)
    name = datasets.qualified_name(constant(0.5))
    assert datasets._is_same(name, f"{name}, sha256 0a1b"), "of older versions"
    assert not datasets._is_same(f"{name}, sha256 2c3d", f"{name}, sha256 0a1b")
    host = {"policy": f"{name}{datasets._CALLS_HOST}", "format": 1, "episodes": 1, "episodes_per_shard": 1}
    (tmp_path / "host").mkdir()
    datasets._opened(tmp_path / "host", host)
    (tmp_path / "host" / "README.md").touch()
    with pytest.raises(ConfigError, match="nobody can tell whether what its policy calls on the host has changed"):
        datasets._opened(tmp_path / "host", host)


def test_shards_are_in_the_order_of_their_numbers(tmp_path):
    facts = {"format": 1, "policy": "random", "episodes": 100_001, "episodes_per_shard": 1}
    datasets._opened(tmp_path, facts)
    for number in (100_000, 99_999, 20_000):
        (tmp_path / f"shard-{number:05d}.npz").touch()
    numbers = [int(file.stem.partition("-")[2]) for file in pixelbrax.load_dataset(tmp_path).shards]
    assert numbers == [20_000, 99_999, 100_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is not a dataset: .*holds no table of facts"),
        ("null", "is not a dataset: .*holds no table of facts"),
        ('{"format": 1}', "dataset.json: episodes is None: it must be a whole number"),
        ('{"format": 1, "episodes": 2, "episodes_per_shard": 0}', "episodes_per_shard is 0: it must be at least 1"),
    ],
)
def test_damaged_facts_of_a_dataset_are_named(text, message, tmp_path):
    (tmp_path / "dataset.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        pixelbrax.load_dataset(tmp_path)


def test_a_shard_of_another_number_does_not_stand_for_a_missing_one(tmp_path):
    datasets._opened(tmp_path, {"format": 1, "policy": "random", "episodes": 4, "episodes_per_shard": 2})
    for number in (0, 7):
        (tmp_path / f"shard-{number:05d}.npz").touch()
    dataset = pixelbrax.load_dataset(tmp_path)
    assert [file.name for file in dataset.shards] == ["shard-00000.npz"]
    assert not dataset.complete


def test_a_dataset_is_not_resumed_with_other_videos(tmp_path):
    file, path = tmp_path / "my.npz", tmp_path / "data"

    def collected(value):
        bank = ClipBank.of({"clip": np.full((2, 3, 8, 8), value, np.uint8)})
        save_banks(file, {"train": bank, "test": bank})
        env = probe_env(image_size=8, distractors=f"kage/background:{file}")
        clips = datasets.clips_of(videos_of_files(env.distractors))
        return {"format": 1, "policy": "random", "distractors": "x", "clips": clips}

    first = collected(10) | {"episodes": 1, "episodes_per_shard": 1}
    path.mkdir()
    datasets._opened(path, first)
    assert datasets._opened(path, first | collected(10)).path == path
    with pytest.raises(ConfigError, match="was begun with other videos of x, whose files have changed since"):
        datasets._opened(path, first | collected(20))
    (path / "dataset.json").write_text(json.dumps({name: x for name, x in first.items() if name != "clips"}))
    assert datasets._opened(path, first | collected(20)).path == path, "older versions told nothing of them"


def test_an_interrupted_dataset_is_completed(pixels, trajectories, tmp_path):
    where: dict[str, Any] = {"num_envs": 2, "seed": 3, "path": tmp_path}
    dataset = pixelbrax.rollout("random", pixels, 5, **where)
    kept = dataset.shards[0].stat().st_mtime_ns
    for damaged in (b"", dataset.shards[1].read_bytes()[:100]):
        dataset.shards[1].write_bytes(damaged)
        with pytest.raises(ConfigError, match=r"shard-00001\.npz is damaged"):
            dataset.load()
    dataset.shards[1].unlink()
    (tmp_path / "README.md").unlink()
    with pytest.raises(ConfigError, match="is not complete"):
        dataset.load()
    _assert_equal(pixelbrax.rollout("random", pixels, 5, **where).load(), trajectories)
    assert dataset.shards[0].stat().st_mtime_ns == kept
    assert (tmp_path / "README.md").exists()


def test_other_folders_are_left_alone(pixels, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not a dataset"):
        pixelbrax.rollout("random", pixels, 2, path=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_in_which_another_begins_is_left_to_it(pixels, tmp_path):
    with locked([tmp_path]), ThreadPoolExecutor(1) as pool, pytest.raises(ConfigError, match="by another thread"):
        pool.submit(pixelbrax.rollout, "random", pixels, 2, path=tmp_path).result()
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


@pytest.mark.full
def test_levels_of_distractors_are_kept():
    env = probe_env(image_size=8, episode_length=2, distractors="kage/hue@test")
    found = pixelbrax.rollout("random", env, 3)
    assert found.levels.shape == (3, 1)
    assert (found.levels >= 1_000_000_000).all(), "of those held out"


def test_levels_are_those_of_presets_whatever_else_is_called_so():
    """A distractor of one's own may call a part of its state so."""
    loudness = namedtuple("Loudness", "level")(jnp.zeros((3, 2)))
    within = LevelState(jnp.arange(3), (LevelState(jnp.arange(3) + 7, ()), loudness))
    state: Any = SimpleNamespace(reward=jnp.zeros(3), info={"distractors": {"camera": (loudness, within)}})
    np.testing.assert_array_equal(trajectories_room._levels(state, "camera"), [[0, 7], [1, 8], [2, 9]])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("rnadom", "the policy is 'rnadom': load one with pixelbrax.load_policy"),
        (3, "the policy is 3: it must be a Policy"),
        (lambda obs: (obs["state"], 1), "the policy returns .*: it must return one array of actions"),
        (lambda obs: obs["speed"], "policy fails .*test_rollout.py:.*KeyError: 'speed'; it is called as policy"),
        (lambda obs, key: obs["state"][:1], "policy takes .obs, key., and is called with 1 arguments"),
        (lambda obs: obs["state"][:1] if obs["state"][0] > 0 else None, "policy fails .*: use jnp.where for `if`"),
    ],
)
def test_what_is_no_policy_is_refused(policy, message, pixels):
    for use in (pixelbrax.rollout, pixelbrax.evaluate):
        with pytest.raises(ConfigError, match=message):
            use(policy, pixels, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env": "halfcheetah"}, "the environment is 'halfcheetah': it must come from pixelbrax.make"),
        ({"episodes": 2.0}, "episodes is 2.0: it must be a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"deterministic": "no"}, "deterministic is 'no': it must be True or False"),
    ],
)
def test_arguments_are_checked_before_anything_is_compiled(settings, message, finished, pixels):
    for policy in ("random", finished.policy()):
        for use in (pixelbrax.rollout, pixelbrax.evaluate):
            with pytest.raises(ConfigError, match=message):
                use(policy, **{"env": finished.env, "episodes": 2, **settings})
    with pytest.raises(ConfigError, match="path is 3: it must be a path"):
        pixelbrax.rollout("random", pixels, path=3)  # pyright: ignore


def test_a_policy_for_another_environment_is_refused(finished):
    with pytest.raises(ConfigError, match="the policy gives 1 actions, and the environment takes"):
        pixelbrax.evaluate(finished.policy(), _TwoActions())


class _TwoActions(pixelbrax.PixelEnv):
    def __init__(self):
        vars(self).update(vars(probe_env(outputs=())))

    @property
    def action_size(self):
        return 2


def test_collect_says_what_is_wrong(finished, tmp_path, capsys, monkeypatch):
    out = str(tmp_path / "data")
    for argv, message in (
        (["nowhere", "--out", out], "nowhere is not a run"),
        ([str(finished.path)], "out"),
        ([str(finished.path), "--out", out, "--steps", "0"], "steps is 0: it must be at least 1"),
        ([str(finished.path), "--out", out, "--random", "--best"], "--random acts without a policy"),
        ([str(finished.path), "--out", out], "was made in Python"),
    ):
        assert main(["collect", *argv]) == 2
        assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Run, "policy", lambda run, best: pytest.fail("the folder is looked at first"))
    for folder in (finished.path, finished.path.parent):
        assert main(["collect", str(finished.path), "--out", str(folder)]) == 2
        assert f"{folder} is not a dataset, but holds other files: choose another path" in capsys.readouterr().err
