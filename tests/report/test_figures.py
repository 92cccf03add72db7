"""What figures show: the numbers of their lines, bars and marks."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.generalization import Pair, PairResult
from pixelbrax.report import (
    Segment,
    record_episode,
    record_observations,
    write_curve,
    write_drift,
    write_gaps,
    write_matrix,
    write_severity,
    write_stages,
)
from pixelbrax.report.chart import Series, chart
from pixelbrax.report.facts import interval_of
from pixelbrax.report.overlay import overlays
from pixelbrax.training import Evaluation
from tests.probe import probe_env


def _evaluation(*returns):
    returns = np.array(returns, np.float32)
    return Evaluation(returns, np.full(len(returns), 10.0, np.float32))


def test_gaps_are_bars_under_test_looks_and_a_line_at_those_of_training(drawn, tmp_path):
    trained, tested = _evaluation(10.0, 12.0), (_evaluation(4.0, 8.0), _evaluation(1.0, 2.0))
    pairs = [Pair(f"p{k}", ("dcs/easy",), (f"dcs/{name}",)) for k, name in enumerate(("hard", "medium"))]
    results = [PairResult.of(pair, trained, each) for pair, each in zip(pairs, tested, strict=True)]
    write_gaps(tmp_path / "gaps.png", results, "title")
    axes = drawn[0].axes[0]
    assert [bar.get_width() for bar in axes.containers[1].patches] == [6.0, 1.5]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["dcs/hard", "dcs/medium"]
    errors = [np.ptp(bar[:, 0]) / 2 for bar in axes.containers[0].lines[2][0].get_segments()]
    np.testing.assert_allclose(errors, [each.standard_error for each in tested], rtol=1e-6)
    (line,) = (line for line in axes.lines if line.get_label().startswith("trained"))
    np.testing.assert_array_equal(line.get_xdata(), [11.0, 11.0])


def test_a_matrix_is_shaded_by_column_and_marks_what_meets_a_gate(drawn, tmp_path):
    values, marked = np.array([[1.0, 500.0], [3.0, 300.0], [2.0, np.nan]]), np.zeros((3, 2), bool)
    marked[1, 0] = True
    write_matrix(tmp_path / "matrix.png", values, list("abc"), list("xy"), marked)
    axes = drawn[0].axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0, 1], [1, 0], [0.5, 0]])
    assert [text.get_text() for text in axes.texts] == ["1", "500", "3 *", "300", "2", "-"]


def test_severities_have_their_scores_and_intervals(drawn, tmp_path):
    curves = {"hue": [(0.5, 0.4, 0.8), (0.3, 0.1, 0.35)], "noise": [(0.9, 0.7, 1.0), (0.6, 0.5, 0.9)]}
    write_severity(tmp_path / "s.png", [{"method": "m", "track": "t", "curves": curves}], ("hue", "noise"), (0, 3))
    for axes, rows in zip(drawn[0].axes, curves.values(), strict=True):
        value, low, high = np.transpose(rows)
        np.testing.assert_allclose(axes.lines[0].get_xydata(), np.transpose([(0, 3), value]))
        corners = axes.collections[0].get_paths()[0].vertices
        for at, ends in ((0, (low[0], high[0])), (3, (low[1], high[1]))):
            there = corners[corners[:, 0] == at, 1]
            np.testing.assert_allclose((there.min(), there.max()), ends)


def test_drifts_are_in_milliseconds_with_a_star_at_the_engines_own_step(drawn, tmp_path):
    rows = [
        {"timestep": t, "energy": {"median": e, "low": e / 2, "high": 2 * e}} for t, e in ((0.002, 1e-4), (0.01, 0.1))
    ]
    series = {"times": [0.0, 1.0, 2.0], "energy": {name: [0.0, 1e-3, 3e-3] for name in ("median", "low", "high")}}
    system = {"name": "spring", "series": series, "sweep": rows, "timestep": 0.01}
    write_drift(tmp_path / "drift.png", [system], {"energy": "energy"}, "title")
    over_time, by_step = drawn[0].axes
    np.testing.assert_allclose(over_time.lines[0].get_xydata(), [(1.0, 1e-3), (2.0, 3e-3)])
    np.testing.assert_allclose(by_step.lines[0].get_xydata(), [(2.0, 1e-4), (10.0, 0.1)])
    np.testing.assert_allclose(by_step.lines[1].get_xydata(), [(10.0, 0.1)])


def test_a_curve_has_what_evaluations_say_of_held_out_looks_teachers_and_divergence(drawn, tmp_path):
    def evaluation(steps, value, **more):
        return {"steps": steps, "mean_return": value, "standard_error": 1.0} | more

    evaluations = {
        "trained": evaluation(50, 9.0, held_out=evaluation(0, 4.0), teacher={"mean_return": 12.0}, diverged=1),
        "update 5": evaluation(25, 5.0, held_out=evaluation(0, 3.0), teacher={"mean_return": 11.0}, diverged=0),
        "best": evaluation(30, 99.0),
    }
    del evaluations["trained"]["held_out"]["steps"], evaluations["update 5"]["held_out"]["steps"]
    write_curve(tmp_path / "curve.png", [{"steps": 10.0, "return": 2.0, "diverged": 0.0}], evaluations, "title")
    axes = drawn[0].axes[0]
    points = [np.asarray(bars.lines[0].get_xydata()).tolist() for bars in axes.containers]
    assert points == [[[25, 5], [50, 9]], [[25, 3], [50, 4]]]
    by_label = {str(line.get_label()): line for line in axes.lines}
    np.testing.assert_array_equal(by_label["its teacher, deterministic"].get_ydata(), [12.0, 12.0])
    np.testing.assert_array_equal(by_label["physics diverged"].get_xdata(), [50.0])


def test_stages_follow_each_other_with_their_gates(drawn, tmp_path):
    def stage(name, before, opened_at):
        rows = [{"steps": 10.0, "return": 1.0}, {"steps": 100.0, "return": 2.0}]
        evaluations = [{"steps": 50.0, "mean_return": 1.5, "speed": 0.25}]
        return Segment(name, before, rows, evaluations, {"speed": [0.5], "mean_return": [1.75]}, opened_at)

    write_stages(tmp_path / "stages.png", [stage("stand", 0, 100), stage("move", 100, None)], "title")
    returns, speed = drawn[0].axes
    curves = [line.get_xdata() for line in returns.lines if list(line.get_ydata()) == [1.0, 2.0]]
    np.testing.assert_array_equal(curves, [[10, 100], [110, 200]])
    for axes, value, threshold in ((returns, 1.5, 1.75), (speed, 0.25, 0.5)):
        points = [line.get_xydata().tolist() for line in axes.lines if len(line.get_xdata()) == 1]
        assert points == [[[50.0, value]], [[150.0, value]]]
        gates = [path.get_segments()[0].tolist() for path in axes.collections]
        assert gates == [[[a, threshold], [a + 100.0, threshold]] for a in (0.0, 100.0)]
        opened = [line for line in axes.lines if list(line.get_xdata()) == [100, 100]]
        assert len(opened) == 1
        spans = [patch.get_extents().transformed(axes.transData.inverted()).intervalx for patch in axes.patches]
        np.testing.assert_allclose(spans, [[0, 100], [100, 200]])


def test_overlays_of_several_frames_have_one_scale():
    maps = np.zeros((2, 8, 8), np.float32)
    maps[0, :4], maps[1, :4] = 4.0, 1.0
    strong, weak = overlays(np.zeros((2, 8, 8, 3), np.uint8), maps).astype(int).sum(-1)[:, 0, 0]
    assert strong > 1.5 * weak


def test_a_long_line_goes_to_its_end_and_a_level_is_where_its_value_is():
    x = np.arange(2_001.0).tolist()
    drawn = chart([Series("", x, x)], lines=[(2_000.0, "top")], size="half")
    points = re.findall(r'<polyline points="([^"]*)"', drawn)[0].split()
    assert len(points) <= 400
    last = [float(number) for number in points[-1].split(",")]
    levels = re.findall(r'<line [^>]*y1="([\d.]+)"[^>]*stroke="var\(--soft\)"', drawn)
    assert float(levels[0]) == pytest.approx(last[1], abs=0.1)
    right = max(float(x2) for x2 in re.findall(r'x2="([\d.]+)" y1="[\d.]+" y2="[\d.]+" class="axis"', drawn))
    assert last[0] == pytest.approx(right, abs=0.1)


def test_an_interval_without_returns_is_twice_the_standard_error():
    assert interval_of({"mean_return": 5.0, "standard_error": 1.5}) == (2.0, 8.0)
    assert interval_of({"mean_return": 5.0}) == (5.0, 5.0)


def _still(state, key):
    return jnp.zeros(1)


def test_a_video_of_a_fast_engine_leaves_frames_out_and_plays_in_its_time():
    env = probe_env(image_size=8)
    env.physics.dt = 0.01  # pyright: ignore[reportAttributeAccessIssue]
    video = record_episode(env, _still, jax.random.key(0), size=8)
    assert (len(video.frames), video.fps, video.seconds) == (5, 50.0, pytest.approx(0.1))
    assert len(video.frames) / video.fps == pytest.approx(video.seconds)


def test_times_of_observations_count_the_frames_that_action_repeat_skips():
    env = probe_env(image_size=8, action_repeat=2)
    video = record_observations(env, _still, jax.random.key(0), seconds=0.6)
    assert (len(video.frames), video.fps, video.seconds) == (4, 5.0, pytest.approx(0.6))
    np.testing.assert_allclose(video.moments, [0.0, 0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(np.diff(video.observations["state"][:, 0]), 0.2, rtol=1e-5)
