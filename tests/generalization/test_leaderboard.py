"""A benchmark's scores and leaderboard, from numbers on paper."""

import json
import re
from dataclasses import asdict, replace

import pytest

from pixelbrax.algorithms import get_algorithm
from pixelbrax.errors import ConfigError
from pixelbrax.generalization import (
    PLAIN,
    Benchmark,
    Entry,
    Leaderboard,
    MethodResult,
    TaskRules,
    get_benchmark,
    read_results,
)
from pixelbrax.report import by_axis, ranking
from pixelbrax.training import TrainConfig
from tests.generalization.tiny import TINY

PAPER = replace(
    TINY,
    tasks=(TaskRules("a", "x", blind=10.0, reference=110.0), TaskRules("b", "x", 0.0, 1.0, without=("light",))),
    axes=("noise", "light"),
    episodes=1,
)
_PRINTS = {"rules": "paper", "model": "m", "dynamics": "d", "clips": "c", "code": "x"}


def _entry(task="a", seed=0, method="m", track="plain", plain=110.0, noise=(60.0, 10.0), light=(110.0, 110.0), **more):
    returns = {PLAIN: {"0": [plain]}, "noise": {"1": [noise[0]], "5": [noise[1]]}}
    if task == "a":
        returns["light"] = {"1": [light[0]], "5": [light[1]]}
    settings = {"agent": {"learning_rate": 1.0}, "network": {}, "seed": seed}
    facts = {"privileged": "", "settings": settings, "provenance": {}, "fingerprints": _PRINTS}
    return Entry("tiny", method=method, track=track, task=task, seed=seed, returns=returns, **facts | more)


def _with_returns(**others):
    entry = _entry(seed=1)
    return replace(entry, returns=entry.returns | others)


@pytest.fixture
def on_paper(monkeypatch):
    """The fingerprint of a benchmark whose tasks do not exist."""
    monkeypatch.setattr(Benchmark, "rules_digest", "paper")
    monkeypatch.setattr(Benchmark, "fingerprint", "paper")


def _value(center):
    assert center is not None
    return center.value


@pytest.mark.usefixtures("on_paper")
def test_scores_on_paper():
    result = MethodResult(PAPER, (_entry(),))
    assert result.plain().value == 1.0
    assert _value(result.axis("noise")) == pytest.approx((0.5 + 0.0) / 2)
    assert result.overall().value == pytest.approx((0.25 + 1.0) / 2)
    assert _value(result.kept()) == pytest.approx(0.625)
    assert [center.value for center in result.curve("noise")] == pytest.approx([1.0, 0.5, 0.0])
    both = MethodResult(PAPER, (_entry(), _entry("b", plain=0.5, noise=(0.5, 0.0))))
    assert _value(both.axis("light")) == pytest.approx(1.0)  # b does not show it
    assert both.plain().value == pytest.approx(0.75)
    assert _value(both.kept()) == pytest.approx((0.625 + 0.5) / 2)
    nothing = MethodResult(PAPER, (_entry(plain=11.0, noise=(11.0, 11.0), light=(11.0, 11.0)),))
    assert nothing.kept() is None  # what has learned nothing keeps nothing
    assert nothing.overall().value == pytest.approx(0.01)
    little = MethodResult(PAPER, tuple(_entry(seed=k, plain=x, noise=(x, x)) for k, x in enumerate((14.9, 15.1))))
    assert _value(little.kept()) == pytest.approx((0.051 + 1.0) / 2 / 0.051), "of the one with more than 0.05"


@pytest.mark.usefixtures("on_paper")
def test_the_leaderboard_ranks_complete_results_first():
    def of(method, noise):
        return [
            _entry(task, seed, method, noise=(noise * x, noise * x))
            for task, x in (("a", 100), ("b", 1))
            for seed in (0, 1)
        ]

    lone = [_entry(method="lone", noise=(110.0, 110.0))]
    board = Leaderboard.of(PAPER, [*lone, *of("worse", 0.3), *of("better", 0.8)])
    assert [result.method for result in board.results] == ["better", "worse", "lone"]
    assert [row["place"] for row in board.rows()] == [1, 2, None]
    assert board.results[2].lacking == "no run of b; fewer than 2 seeds: a has 1"
    assert "lone, plain: no run of b" in board.notes[0]
    assert json.dumps(board.rows())


@pytest.mark.usefixtures("on_paper")
def test_equal_scores_share_a_place():
    def of(method, noise):
        return [_entry(task, seed, method, noise=(noise, noise)) for task in ("a", "b") for seed in (0, 1)]

    rows = Leaderboard.of(PAPER, [*of("third", 0.1), *of("one", 0.9), *of("other", 0.9)]).rows()
    assert [(row["method"], row["place"]) for row in rows] == [("one", 1), ("other", 1), ("third", 3)]


@pytest.mark.usefixtures("on_paper")
def test_tasks_that_count_more_by_their_seeds_are_told():
    several = [_entry(task, seed) for task in ("a", "b") for seed in (0, 1)]
    assert Leaderboard.of(PAPER, several).notes == ()
    (note,) = Leaderboard.of(PAPER, [*several, _entry("b", 2)]).notes
    assert note == "tasks with more seeds count more in the scores of m, plain (a 2, b 3)"


def _settings(algorithm, without=(), **more):
    config = TrainConfig(agent=get_algorithm(algorithm).config(**more))
    settings = json.loads(json.dumps(asdict(config)))
    for table, name in without:
        del settings[table][name]
    return settings


@pytest.mark.usefixtures("on_paper")
def test_results_from_before_there_was_a_setting_are_of_one_method():
    lacking = [("agent", "state_coef"), ("network", "policy_layers"), ("environment", "samples")]
    older = [_entry(task, 0, settings=_settings("ppg", lacking)) for task in ("a", "b")]
    newer = [_entry(task, 1, settings=_settings("ppg")) for task in ("a", "b")]
    assert Leaderboard.of(PAPER, [*older, *newer]).notes == ()
    assert Leaderboard.of(PAPER, [*older[:1], *newer[1:]]).notes[1:] == ()  # the first says that seeds are missing
    for settings, named in (
        (_settings("ppg", state_coef=1.0), "agent"),
        (_settings("ppo"), "agent"),
        (_settings("ppo", lacking), "agent"),
        (_settings("ppg") | {"network": _settings("ppg")["network"] | {"policy_layers": [8]}}, "network"),
    ):
        with pytest.raises(ConfigError, match=rf"different settings \({named}\): name them apart"):
            Leaderboard.of(PAPER, [older[0], _entry("a", 1, settings=settings)])


@pytest.mark.usefixtures("on_paper")
def test_distractors_of_training_have_two_spellings():
    def of(task, seed, name):
        settings = _settings("ppo")
        settings["environment"]["distractors"] = [name]
        return _entry(task, seed, settings=settings)

    assert Leaderboard.of(PAPER, [of("a", 0, "kage/hue"), of("a", 1, "kage/hue@train")]).results
    with pytest.raises(ConfigError, match=r"different settings \(environment\): name them apart"):
        Leaderboard.of(PAPER, [of("a", 0, "kage/hue"), of("a", 1, "kage/hue@test")])


@pytest.mark.usefixtures("on_paper")
def test_no_name_of_a_method_breaks_a_table():
    rows = Leaderboard.of(PAPER, [_entry(method="mine|yours\nor not")]).rows()
    for table in ranking(rows), by_axis(rows):
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1
        assert r"mine\|yours or not" in table


@pytest.mark.usefixtures("on_paper")
def test_rows_of_a_leaderboard_stand_beside_other_results(tmp_path):
    def of(method, noise):
        return [_entry(task, seed, method, noise=(noise, noise)) for task in ("a", "b") for seed in (0, 1)]

    file = tmp_path / "theirs.json"
    file.write_text(Leaderboard.of(PAPER, [*of("good", 0.9), *of("bad", 0.1)]).as_json())
    entries, published = read_results([file], PAPER)
    assert entries == []
    board = Leaderboard.of(PAPER, of("ours", 0.5), published)
    assert [row["method"] for row in board.rows()] == ["good", "ours", "bad"]
    together = Leaderboard.of(PAPER, [*of("good", 0.9), *of("ours", 0.5), *of("bad", 0.1)])
    assert board.rows() == together.rows()
    assert "some rows are of leaderboards made before" in board.notes[-1]
    others = [replace(entry, fingerprints=entry.fingerprints | {"clips": "other"}) for entry in of("ours", 0.5)]
    with pytest.raises(ConfigError, match="another version of the clips and does not compare with the other results"):
        Leaderboard.of(PAPER, others, published)
    silent = replace(published[0], fingerprints={})
    assert "does not say of which models" in Leaderboard.of(PAPER, others, [silent]).notes[-1]
    with pytest.raises(ConfigError, match="two results of good, plain, one of them in a leaderboard"):
        Leaderboard.of(PAPER, of("good", 0.5), published).rows()
    for key, value, message in (
        ("benchmark", "PixelBraxGen-v2", "theirs.json is of PixelBraxGen-v2, not of tiny"),
        ("fingerprint", "0", "is of another version of tiny and does not compare"),
        ("rows", [{"method": "x"}], "has a row without track, "),
        ("rows", "none", "cannot read the leaderboard"),
        ("rows", [], "theirs.json is damaged: it has no rows"),
        ("rows", [together.rows()[0] | {"score": None}], "is damaged: the score of good is None"),
        ("rows", [together.rows()[0] | {"score": [1.0]}], r"is damaged: the score of good is \[1.0\]"),
        ("rows", [together.rows()[0] | {"score": [float("nan")] * 3}], r"is damaged: the score of good is \[nan"),
        ("rows", [together.rows()[0] | {"plain": None}], "is damaged: the plain of good is None"),
        ("rows", [together.rows()[0] | {"kept": "all"}], "is damaged: the kept of good is 'all'"),
        ("rows", [together.rows()[0] | {"seeds": [2]}], r"is damaged: the seeds of good is \[2\]"),
        ("rows", [together.rows()[0] | {"axes": {}}], "is damaged: the axes of good is {}"),
        ("rows", [together.rows()[0] | {"curves": {"noise": [], "light": 3}}], "is damaged: the curves of good is"),
        ("rows", [together.rows()[0] | {"method": None}], "is damaged: the method of None is None"),
    ):
        file.write_text(json.dumps(json.loads(together.as_json()) | {key: value}))
        with pytest.raises(ConfigError, match=message):
            read_results([file], PAPER)


@pytest.mark.usefixtures("on_paper")
def test_each_seed_may_have_a_teacher_of_its_own():
    def taught(seed, teacher):
        return _entry(seed=seed, settings={"agent": {"teacher": teacher, "teacher_updates": seed}, "network": {}})

    (result,) = Leaderboard.of(PAPER, [taught(0, "runs/a-teacher"), taught(1, "runs/b-teacher")]).results
    assert result.seeds == {"a": 2}


@pytest.mark.usefixtures("on_paper")
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (_entry(), "two results of m, plain, a, seed 0: name them apart by eval --method"),
        (replace(_entry(seed=1), benchmark="PixelBraxGen-v2"), "is of PixelBraxGen-v2, not of tiny"),
        (
            replace(_entry(seed=1), fingerprints={"rules": "other"}),
            "is of another version of the rules and does not compare",
        ),
        (
            _entry("b", fingerprints=_PRINTS | {"clips": "other"}),
            "the result of m, b, seed 0, is of another version of the clips and does not compare",
        ),
        (_entry(seed=1, fingerprints=_PRINTS | {"model": "other"}), "is of another version of the model of a"),
        (_entry(seed=1, fingerprints=_PRINTS | {"dynamics": "other"}), "is of another version of the dynamics of a"),
        (_entry(seed=1, track="foo"), "is of the track 'foo': there are plain"),
        (_entry(seed=1, settings={"agent": 3}), "is damaged: its settings have no agent and no network"),
        (_entry(seed=1, plain=float("nan")), "is damaged: its returns of plain have some that are not finite"),
        (_entry(seed=1, noise=(1.0, float("inf"))), "is damaged: its returns of noise have some that are not finite"),
        (replace(_entry(seed=1), returns={PLAIN: {"0": [1.0]}}), r"is incomplete, .* 1 episodes of noise, light"),
        (_with_returns(noise={"1": [1.0]}), "is incomplete, .* episodes of noise: give"),
        (_with_returns(light={"1": [1.0, 2.0], "5": [1.0]}), "is incomplete, .* episodes of light: give"),
        (
            replace(_entry(seed=1), settings={"agent": {"learning_rate": 2.0}, "network": {}}),
            r"different settings \(agent\): name them apart",
        ),
    ],
    ids=[
        "twice",
        "another benchmark",
        "other rules",
        "other clips",
        "other model",
        "other dynamics",
        "other track",
        "no settings",
        "not a number",
        "infinite",
        "incomplete",
        "without a severity",
        "other episodes",
        "other settings",
    ],
)
def test_what_does_not_compare_is_refused(other, message):
    with pytest.raises(ConfigError, match=message):
        Leaderboard.of(PAPER, [_entry(), other])


@pytest.mark.usefixtures("on_paper")
def test_every_task_has_a_model_of_its_own():
    board = Leaderboard.of(PAPER, [_entry(), _entry("b", fingerprints=_PRINTS | {"model": "other"})])
    models = {"model of a": "m", "model of b": "other"}
    assert board.fingerprints == {"clips": "c", **models, "dynamics of a": "d", "dynamics of b": "d"}


@pytest.mark.usefixtures("on_paper")
def test_results_from_before_there_were_fingerprints_of_dynamics_compare():
    before = {name: digest for name, digest in _PRINTS.items() if name != "dynamics"}
    early = [_entry(fingerprints=before), _entry(seed=1, fingerprints=before)]
    assert "dynamics of a" not in Leaderboard.of(PAPER, early).fingerprints
    assert Leaderboard.of(PAPER, [*early, _entry(seed=2)]).fingerprints["dynamics of a"] == "d"


def test_a_result_counts_once_however_often_it_is_named(tmp_path):
    (run := tmp_path / "run").mkdir()
    _entry().write(run / "tiny.json")
    entries, _ = read_results([tmp_path, run, run / "tiny.json", tmp_path / ".." / tmp_path.name], PAPER)
    assert entries == [_entry()]


def test_results_of_linked_runs_count(tmp_path):
    """As `eval FOLDER` and `plot` find them; a link that leads back is no end."""
    (run := tmp_path / "kept" / "run").mkdir(parents=True)
    _entry().write(run / "tiny.json")
    (folder := tmp_path / "runs").mkdir()
    (folder / "linked").symlink_to(run.parent)
    (folder / "back").symlink_to(folder)
    (folder / ".hidden").mkdir()
    _entry(seed=1).write(folder / ".hidden" / "tiny.json")
    assert read_results([folder], PAPER)[0] == [_entry()]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "tiny.json").write_text('{"benchmark": "tiny"}')
    with pytest.raises(ConfigError, match=r"tiny.json is no result of `pixelbrax eval --suite`: missing"):
        read_results([tmp_path], TINY)
    for other in ("[]", "3"):
        (tmp_path / "tiny.json").write_text(other)
        with pytest.raises(ConfigError, match=r"tiny.json is no result of .*: it holds no table"):
            read_results([tmp_path], TINY)
    damaged = replace(_entry(), returns={PLAIN: {"0": ["1.5"] * 1_000}})
    damaged.write(tmp_path / "tiny.json")
    with pytest.raises(ConfigError, match=r'tiny.json is no result of .*: wrong value type for field "returns"') as e:
        read_results([tmp_path], TINY)
    assert len(str(e.value)) < 300 + len(str(tmp_path)), "one line does not quote the whole file"
    (tmp_path / "tiny.json").write_text("{")
    with pytest.raises(ConfigError, match=r"cannot read .*tiny.json"):
        read_results([tmp_path], TINY)
    with pytest.raises(ConfigError, match="PixelBraxGen-v1 is a suite of pairs"):
        get_benchmark("PixelBraxGen-v1")
