"""The commands as a user types them: mistakes, and one small run from start to end."""

import csv
import errno
import json
import os
import shutil
import tomllib
from pathlib import Path

import jax
import numpy as np
import pytest

import pixelbrax
from pixelbrax.algorithms import PPGConfig
from pixelbrax.cli.main import main
from pixelbrax.cli.render import Args, _policy
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import file_name
from pixelbrax.generalization import SUITES, Pair, PairSuite
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, TrainingRun, runs_in
from tests.images import read_image

TINY_STATES = """
train --task probe/sides --episode-length 20 --num-envs 4 --unroll-length 4 --num-minibatches 2 --num-epochs 1
--features 8 --num-steps 96 --log-interval 2 --eval-episodes 2
""".split()  # 6 updates
TINY = [*TINY_STATES, "--image-size", "8", "--patch-features", "4", "--conv-features", "4"]
TIMES = {"seconds", "wall_seconds", "steps_per_second"}
pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """What the commands keep, such as clips, goes where the tests may write."""
    old = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("XDG_CACHE_HOME")
    if old is not None:
        os.environ["XDG_CACHE_HOME"] = old


@pytest.fixture(scope="module")
def finished(probe_tasks, tmp_path_factory):
    """A finished tiny run."""
    root = tmp_path_factory.mktemp("runs")
    assert main([*TINY, "--runs", str(root), "--name", "first"]) == 0
    return RunDir.open(root / "first")


def _rows(run):
    with run.metrics_file.open() as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def _leaves(run):
    return jax.tree.leaves(TrainingRun(run.load_config()).restore(run).params)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("fly", "unknown command 'fly'"),
        ("bench", "name a benchmark: render, env, train"),
        ("bench fly", "unknown benchmark 'fly'"),
        ("bench render --size 64,x", "size is '64,x'"),
        ("bench render --outputs rgba --task probe/sides --num-envs 1", "unknown output 'rgba'"),
        ("bench render --samples 5", "samples is 5: it must be one of 1, 4"),
        ("bench env --task probe/sides --num-envs 1000000000", "at most"),
        ("train --task probe/sides --num-envs 100000000 --num-minibatches 1", "takes at least"),
        ("train --task halfcheeta", "did you mean halfcheetah"),
        ("train --backend bullet", "no backend 'bullet'"),
        ("train --distractors dcs/hrad", "unknown distractor 'dcs/hrad': did you mean dcs/hard"),
        ("train --distractors dcs/hard@val", "there is no split 'val'"),
        ("train --distractors dcs/hard:nowhere.npz", "there are no videos 'nowhere.npz'"),
        ("train --distractors dcs/hard:nowhere.npz", "a relative path counts from the current folder, "),
        ("list --distractors nope/*", "no distractor is called 'nope/*'"),
        ("train --image-size 4", "image_size is 4: it must be at least 8"),
        ("train --num-envs 63", "num_minibatches 4 does not divide num_envs 63"),
        ("train --initial-std 0", "initial_std is 0.0: it must be positive"),
        ("train --patch-size 0", "patch_size is 0"),
        ("train --seed 99999999999999999999", "seed is 99999999999999999999"),
        ("render ant --out x.mp4 --seconds nan", "seconds is nan"),
        ("render --run r --backend mjx", "--backend"),
        ("train --algorithm dqn", "unknown algorithm 'dqn': there are ppo, ppg, dcpg"),
        ("train --algorithm ppg --auxiliary-minibatches 7", "auxiliary_minibatches 7 does not divide the 65,536 steps"),
        ("train --auxiliary-epochs 3", "--auxiliary-epochs"),
        ("train --encoder resnet", "--encoder"),
        ("train --eval-interval 7", "eval_interval is 7: it must be 0 or a multiple of log_interval 5"),
        ("train --bogus 3", "Unrecognized options: --bogus"),
        ("train --seed x", "--seed"),
        ("train --preset nope", "unknown preset 'nope': there are ant-cpu, ant-ppo-cpu, ant-state,"),
        ("train --preset dmo", "unknown preset 'dmo': did you mean demo?"),
        ("train --preset demo --teacher halfcheeta-state-cpu", "can teach: did you mean halfcheetah-state-cpu or "),
        ("train --resume nowhere", "nowhere is not a run"),
        (
            "train --preset demo --task ant",
            "the teacher halfcheetah-state-cpu has task=halfcheetah, and the student ant",
        ),
        ("bench train --preset demo", "the teacher halfcheetah-state-cpu is a preset: train it, and give its run's"),
        ("train --resume nowhere --seed 3", "continues with the run's own settings: leave out --seed"),
        ("train --resume nowhere --num_steps=1000000 --no-video --seed 0", "leave out --num_steps, --seed"),
        ("train --resume nowhere --quiet --runs runs", "leave out --runs"),
        ("curriculum nowhere --resume --num-seeds 1", "num-seeds"),
        ("curriculum nowhere --resume --no-report --stage None", "leave out --stage"),
        ("train --num-seeds 0", "num_seeds is 0: it must be at least 1"),
        ("train --obs state --blind", "blind makes images black, but with obs=state there are none"),
        ("train --obs state --distractors kage/hue", "distractors change images, but outputs is empty"),
        ("train --encoder drq --conv-features 8", "--conv-features would change nothing: encoder=drq has layers of"),
        ("train --preset ant-cpu --obs state --encoder drq", "--encoder would change nothing: obs=state has no images"),
        ("train --shift_coef=1", "--shift_coef would change nothing: random_shift is 0: leave it out"),
        ("train --obs state --random-shift 4", "--random-shift would change nothing: obs=state has no images"),
        ("train --obs state --image-size 32", "--image-size would change nothing: obs=state has no images"),
        ("train --obs state --no-grayscale", "--no-grayscale would change nothing: obs=state has no images"),
        (
            "train --distractors kage/hue --distractors=dcs/easy",
            "--distractors is given twice: give all its values",
        ),
        ("sweep --vary discount=0.9 --vary clip=0.1,0.2", "--vary is given twice"),
        ("train --conv-features 8 --conv_features 4", "--conv-features is given twice"),
        ("train --algorithm dcpg --target-tau 1", "--target-tau would change nothing: critic=shared has no slow copy"),
        ("train --algorithm apg --softness 3", "--softness would change nothing: render_gradient is none"),
        ("train --algorithm distill --lost-stds 0 --lost-steps 9", "--lost-steps would change nothing: lost_stds is 0"),
        (
            "train --algorithm sac --num-atoms 1 --no-normalize-reward --value-bound 9",
            "--value-bound would change nothing: num_atoms is 1",
        ),
        ("train --algorithm dcpg --critic separate --dynamics-coef 1", "dynamics_coef is for one network"),
        ("sweep", "--vary says what differs"),
        ("sweep --vary image_size=32,64", "'image_size' cannot vary within a program"),
        ("sweep --algorithm sac --vary reward_scale=0.1,1", "reward_scale would change nothing: normalize_reward"),
        ("sweep --vary shift_coef=0.1,1", "shift_coef would change nothing: random_shift is 0"),
        ("train --task probe/sides --critic-updates 5 --num-steps 4096", "and there are 5 updates: the policy would"),
        ("sweep --vary learning_rate 3e-4 1e-3", "--vary learning_rate has no values: write learning_rate=A,B,"),
        ("sweep --vary discount=0.9,high", "'high' is not a number"),
        ("sweep --vary discount=0.9,1.9", "discount is 1.9: it must be at most 1"),
        ("sweep --vary clip=0.1,0.1", "--vary clip=0.1,0.1: 0.1 and 0.1 are the same value"),
        ("sweep --vary learning_rate=3e-4,1e-3,0.0003", "3e-4 and 0.0003 are the same value: give it once"),
        ("sweep --vary learning_rate=1e-3,1e39", "learning_rate is 1e+39: it must be finite"),
        ("sweep --vary clip=0.1,0.2 --num-seeds 3000", "number of agents is 6000: it must be at least 1"),
        ("train --num-seeds 20000", "num_seeds is 20000: it must be at least 1 and at most 4096"),
        ("train --seed 2147483647 --num-seeds 2", "seed is 2147483648: it must be"),
        ("train --learning-rate inf", "learning_rate is inf: it must be finite"),
        ("train --final-learning-rate 1e39", "final_learning_rate is 1e+39: it must be finite"),
        ("train --entropy-coef nan", "entropy_coef is nan: it must be finite"),
        ("train --checkpoint-interval nan", "checkpoint_interval is nan: it must be finite"),
        ("train --checkpoint-interval -1", "checkpoint_interval is -1.0: it must be at least 0"),
        ("train --task probe/sides --image-size 16 --random-shift 100", "random_shift is 100: it must"),
        ("train --eval-episodes 1000000000", "eval_episodes is 1000000000: it must be at least 1 and at most 1000000"),
        ("train --features 1000000000", "features is 1000000000: it must be at least 1 and at most 1000000"),
        ("train --task probe/sides --obs state --features 900000 --state-layers 900000", "training the networks"),
        ("train --num-steps 9999999999999999", "the number of updates, is"),
        ("sweep --vary clip=0.1 clip=0.2", "--vary names a setting twice"),
        ("sweep --vary clip=0.1 --resume r", "resume a sweep with `pixelbrax train --resume FOLDER`"),
        ("plot", "name at least one run"),
        ("plot nowhere", "nowhere is not a run"),
        ("plot nowhere --out curves.pdf", "must end in .png"),
        ("eval nowhere", "nowhere is not a run"),
        ("eval", "eval"),
        ("render", "name either a task or --run"),
        ("render nope", "unknown task 'nope'"),
        ("render ant --best", "--best is a run's policy: name the run with --run"),
        ("render ant --out ant.jpg", "must end in .png, .mp4, .gif or .html"),
        ("render ant --out nowhere/ant.png", "there is no folder"),
        ("render ant --size 0", "size is 0"),
        ("bench env --json .", "is a folder: name a file"),
        ("videos build clips -o clips.mp4", "clips.mp4: --out must end in .npz"),
    ],
)
def test_mistakes_end_with_one_line_and_code_2(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv.split()) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.startswith("pixelbrax ")
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.parametrize(
    "argv",
    [
        "plot nowhere --out curves.png",
        "render ant --out ant.mp4",
        "bench env --task probe/sides --json rows.json",
        "diagnose ant --output .",
        "curriculum grazer-state-cpu",
    ],
)
def test_a_folder_that_is_read_only_is_told_before_anything_is_computed(argv, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # root may write everywhere
    assert main(argv.split()) == 2
    assert f"{tmp_path} is read-only for this user" in capsys.readouterr().err


def test_a_suites_tasks_are_no_paths():
    assert file_name("dmc/cheetah_run") == "dmc-cheetah_run"


@pytest.mark.parametrize("argv", [[], ["--help"], ["--version"], ["list"], ["list", "--distractors"]])
def test_commands_that_only_print(argv, capsys):
    assert main(argv) == (0 if argv else 2)
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", ["train", "sweep", "eval", "collect", "plot", "render", "list", "videos", "bench"])
def test_help_tells_flags_and_defaults(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert command in ("list", "videos", "bench") or "default:" in out


def test_a_run_leaves_its_files(finished, capsys):
    rows = finished.read_metrics()
    assert [row["updates"] for row in rows] == [2, 4, 6]
    assert [row["steps"] for row in rows] == [32, 64, 96]
    evaluations = json.loads(finished.evaluation_file.read_text())
    assert set(evaluations) == {"untrained", "trained"}
    assert evaluations["trained"]["episodes"] == 2
    assert read_image(finished.curve_file).shape[1] > 400
    assert finished.video_file.stat().st_size > 1_000
    assert main(["eval", str(finished.path), "--episodes", "3"]) == 0
    assert "3 episodes" in capsys.readouterr().out
    assert main(["eval", str(finished.path), "--episodes", "0"]) == 2
    assert main(["eval", str(finished.path), "--episodes", "3", "--episode-length", "7"]) == 0
    said = capsys.readouterr().out
    assert "deterministic, episodes of 7 frames: " in said
    assert "of 7 frames on average" in said
    assert main(["eval", str(finished.path), "--episode-length", "0"]) == 2
    assert "episode_length is 0" in capsys.readouterr().err


@pytest.mark.full
def test_the_same_seed_gives_the_same_metrics_and_bits(finished):
    """Also if it is evaluated under another look beside, of which there is a video then."""
    where = ["--runs", str(finished.path.parent), "--name", "second"]
    assert main([*TINY, *where, "--eval-distractors", "kage/hue@test"]) == 0
    second = RunDir.open(finished.path.parent / "second")
    assert second.held_out_video_file.stat().st_size > 1_000
    assert not finished.held_out_video_file.exists()
    assert _rows(second) == _rows(finished)
    for a, b in zip(_leaves(second), _leaves(finished), strict=True):
        np.testing.assert_array_equal(a, b)


def test_damaged_runs_are_told_in_one_line(finished, tmp_path, capsys):
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    for file in (copy / "checkpoint" / "6").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert main(["eval", str(copy)]) == 2
    assert "is damaged or of another kind of run" in capsys.readouterr().err
    shutil.rmtree(copy / "checkpoint")
    assert main(["eval", str(copy)]) == 2
    assert "holds no checkpoint" in capsys.readouterr().err
    (copy / "config.toml").write_bytes(b"\xff\xfe")
    assert main(["eval", str(copy)]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_run_that_exists_is_refused(finished, capsys):
    before = finished.config_file.read_text()
    assert main([*TINY, "--runs", str(finished.path.parent), "--name", finished.path.name, "--seed", "9"]) == 2
    assert "exists: choose another name" in capsys.readouterr().err
    assert finished.config_file.read_text() == before


def test_collect_writes_a_dataset_of_a_run(finished, tmp_path, capsys):
    out = tmp_path / "data"
    argv = ["collect", str(finished.path), "--out", str(out), "--episodes", "3", "--num-envs", "2", "--steps", "2"]
    assert main(argv) == 0
    assert "3 episodes in 2 shards" in capsys.readouterr().out
    trajectories = pixelbrax.load_dataset(out).load()
    assert trajectories.observations["pixels"].shape == (3, 3, 8, 8, 3)
    assert trajectories.actions.shape[:2] == (3, 2)
    assert main([*argv, "--seed", "1"]) == 2
    assert "holds another dataset, whose seed is 0 instead of 1" in capsys.readouterr().err


@pytest.mark.full
def test_render_writes_pictures_and_videos(finished, tmp_path, capsys):
    run = ["render", "--run", str(finished.path), "--size", "16"]
    grid = tmp_path / "grid.png"
    assert main([*run, "--out", str(grid), "--seeds", "2", "--steps", "4", "--every", "12"]) == 0
    picture = read_image(grid)
    assert picture.shape == (2 * 18 - 2, 4 * 18 - 2, 3)
    start, _, end, after = (picture[:16, 18 * k :][:, :16].astype(int) for k in range(4))  # an episode has 20 steps
    assert (start != end).any()
    np.testing.assert_array_equal(after, 255 - (255 - end) // 4)  # pale
    assert main([*run, "--out", str(grid)]) == 2
    assert "exists: choose another --out, or add --force" in capsys.readouterr().err
    assert main([*run, "--out", str(tmp_path / "best.png"), "--steps", "2", "--best"]) == 0
    video = tmp_path / "video.mp4"
    assert main([*run, "--out", str(video), "--seconds", "0.4"]) == 0
    assert video.stat().st_size > 500


def test_a_policy_is_evaluated_under_looks_it_has_not_seen(finished, monkeypatch, capsys):
    run = ["eval", str(finished.path), "--episodes", "2"]
    assert main([*run, "--distractors", "kage/hue@test"]) == 0
    assert "under kage/hue@test" in capsys.readouterr().out
    assert main([*run, "--suite", "PixelBraxGen-v1"]) == 2
    assert "no pair of probe/sides" in capsys.readouterr().err
    assert main([*run, "--suite", "PixelBraxGen-v1", "--episode-length", "7"]) == 2
    assert "leave out --distractors, --episode-length" in capsys.readouterr().err
    pair = Pair("probe/sides", (), ("kage/brightness@test",))
    monkeypatch.setitem(SUITES, "tiny", PairSuite("tiny", 16, 3, (pair,)))
    assert main([*run, "--suite", "tiny"]) == 0
    said = capsys.readouterr().out
    assert "probe/sides: plain -> kage/brightness@test" in said
    assert "compare only with those of runs with the same settings: image_size is 8, not 16" in said
    assert read_image(finished.gaps_file).shape[1] > 400
    (answer,) = json.loads(finished.gaps_file.with_suffix(".json").read_text())["pairs"]
    assert answer["tested"]["episodes"] == 2
    assert answer["gap"] == answer["trained"]["mean_return"] - answer["tested"]["mean_return"]

    def half(self, text, **settings):
        with self.open("w") as file:
            file.write(text[: len(text) // 2])
        raise OSError(errno.ENOSPC, "the disk is full")

    numbers = finished.gaps_file.with_suffix(".json")
    before = numbers.read_text()
    monkeypatch.setattr(Path, "write_text", half)
    assert main([*run, "--suite", "tiny"]) == 2
    assert numbers.read_text() == before


def test_a_run_without_checkpoints_does_not_stop_the_evaluation_of_others(finished, tmp_path, capsys):
    shutil.copytree(finished.path, tmp_path / "good")
    RunDir.create(tmp_path / "empty", finished.load_config())
    command = ["eval", str(tmp_path), "--episodes", "2"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert f"{tmp_path / 'empty'} is left out: {tmp_path / 'empty' / 'checkpoint'} holds no checkpoint" in said
    assert f"{tmp_path / 'good'}, 6 updates, deterministic: " in said
    assert main([*command, "--distractors", "kage/nothing"]) == 2
    assert "is left out" not in capsys.readouterr().out
    shutil.rmtree(tmp_path / "good")
    assert main(command) == 2
    assert "none of these runs could be evaluated" in capsys.readouterr().err
    assert main(["eval", str(tmp_path / "empty")]) == 2
    assert "holds no checkpoint" in capsys.readouterr().err


@pytest.mark.full
def test_render_shows_what_distracts(finished, tmp_path, capsys):
    grid = tmp_path / "grid.png"
    task = "render probe/sides --distractors kage/hue kage/pixelate --size 16 --seeds 1".split()
    assert main([*task, "--steps", "2", "--every", "1", "--out", str(grid)]) == 0
    image = read_image(grid)[:, :16]
    assert all(np.unique(image, axis=axis).shape[axis] <= 8 for axis in (0, 1))  # blocks of at least 2 by 2 pixels
    run = ["render", "--run", str(finished.path), "--seeds", "1", "--steps", "2", "--every", "1", "--size", "16"]
    assert main([*run, "--out", str(tmp_path / "seen.png"), "--distractors", "kage/hue@test"]) == 0
    seen = read_image(tmp_path / "seen.png")[:, :16].reshape(8, 2, 8, 2, 3)
    assert (seen == seen[:, :1, :, :1]).all()  # the 8 by 8 pixels that the run's policy sees
    assert main([*run[:3], "--out", str(tmp_path / "small.png"), "--distractors", "kage/hue", "--size", "7"]) == 2
    assert "size is 7: the policy's observations have 8 pixels" in capsys.readouterr().err


def test_render_shows_a_run_without_its_weaker_distractors(tmp_path, monkeypatch):
    environment = EnvConfig(
        task="probe/sides", image_size=8, distractors=("kage/gaussian-noise",), distractor_strength=0.5
    )
    run = RunDir.create(tmp_path / "run", TrainConfig(environment))
    monkeypatch.setattr(TrainingRun, "restore_policy", lambda *_: (((), ()), 0))
    *_, viewer, _, distracted = _policy(Args(run=run.path, distractors=(), shadows=True))
    assert (viewer.images.shadows, distracted) == (True, False)
    with pytest.raises(ConfigError, match="are what the run's policy observes: leave out --shadows"):
        _policy(Args(run=run.path, shadows=True))
    env, viewer, *_ = _policy(Args(run=run.path, shadows=True, out=Path("replay.html")))
    assert viewer.images.shadows
    assert viewer.distractors == env.distractors, "one shows the states of the other"


def test_plot_draws_seeds_as_one_curve(tmp_path, capsys, monkeypatch):
    drawn = {}
    monkeypatch.setattr("pixelbrax.experiments.plotting.write_curves", lambda path, groups, title: drawn.update(groups))
    configs = [TrainConfig(seed=seed) for seed in range(3)] + [TrainConfig(agent=PPGConfig()), TrainConfig(num_steps=7)]
    for i, config in enumerate(configs):
        run = RunDir.create(tmp_path / str(i), config)
        run.append_metrics({"updates": 1, "steps": 10, "seconds": 1.0, "return": 5.0 + i})
    empty = RunDir.create(tmp_path / "empty", TrainConfig())
    assert main(["plot", *(str(tmp_path / str(i)) for i in range(5)), "--out", str(tmp_path / "curves.png")]) == 0
    assert {name: len(runs) for name, runs in drawn.items()} == {
        "PPO halfcheetah, num_steps 1000000": 3,
        "PPG halfcheetah": 1,
        "PPO halfcheetah, num_steps 7": 1,
    }
    drawn.clear()
    assert main(["plot", str(tmp_path), "--out", str(tmp_path / "curves.png")]) == 0
    assert f"{empty.path} has no return yet, and is left out" in capsys.readouterr().out
    assert len(drawn) == 3
    assert main(["plot", str(empty.path), "--out", str(tmp_path / "curves.png")]) == 2
    assert "none of its episodes has ended" in capsys.readouterr().err


def test_list_shows_sizes_without_loading_engines(capsys):
    assert main(["list", "[fg]*"]) == 0
    fetch, grasp = (line.split() for line in capsys.readouterr().out.splitlines()[1:])
    assert (fetch[0], grasp[0]) == ("fetch", "grasp")
    assert {"10", "101", "20"} <= set(fetch)
    assert {"19", "132", "positional,"} <= set(grasp)


@pytest.mark.full
def test_a_sweep_trains_a_run_for_each_combination(tmp_path, capsys):
    """Side by side, with seeds; each is a run like any other, and they go on together."""
    argv = ["sweep", *TINY_STATES[1:], "--obs", "state", "--critic", "state", "--vary", "learning_rate=1e-3,3e-4"]
    argv += ["--no-video", "--no-report"]
    assert main([*argv, "--num-seeds", "2", "--runs", str(tmp_path), "--name", "all"]) == 0
    runs = runs_in(tmp_path / "all")
    names = [f"learning_rate={rate},seed={seed}" for rate in ("3e-4", "1e-3") for seed in (0, 1)]
    assert [run.path.name for run in runs] == names
    assert [(run.load_config().agent.learning_rate, run.load_config().seed) for run in runs] == [
        (3e-4, 0),
        (3e-4, 1),
        (1e-3, 0),
        (1e-3, 1),
    ]
    assert all(run.curve_file.exists() and "trained" in run.read_evaluations() for run in runs)
    assert all(tomllib.loads(run.config_file.read_text())["provenance"]["agents"] == "4" for run in runs)
    assert len({run.metrics_file.read_text() for run in runs}) == 4
    assert "deterministic return" in capsys.readouterr().out
    assert main(["train", "--resume", str(tmp_path / "all"), "--no-video", "--no-report"]) == 0
    assert "resuming after 6 updates, 4 of 4 agents" in capsys.readouterr().out
