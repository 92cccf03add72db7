"""Learning curves: axes of whole steps, legends beside the data, two kinds of policy apart."""

import numpy as np
import pytest

from pixelbrax.report import (
    Segment,
    write_curve,
    write_curves,
    write_drift,
    write_matrix,
    write_profiles,
    write_severity,
    write_stages,
)
from pixelbrax.report.axes import short

_EVALUATIONS = {
    "trained": {"steps": 50_000, "mean_return": 900.0, "standard_error": 9.0},
    "untrained": {"steps": 0, "mean_return": 200.0, "standard_error": 9.0},
}


def _row(steps, **more):
    return {"steps": float(steps), "seconds": steps / 100, "return": steps / 60} | more


def _labels(axes):
    low, high = axes.get_xlim()
    places = [place for place in axes.get_xticks() if low <= place <= high]
    return [axes.xaxis.get_major_formatter()(place) for place in places]


@pytest.mark.parametrize("last", [0, 1, 64, 1_500, 50_000, 3_000_000])
def test_steps_are_whole_and_never_negative(last, drawn, tmp_path):
    rows = [_row(last)] if last else []
    write_curve(tmp_path / "curve.png", rows, {"untrained": _EVALUATIONS["untrained"]}, "stopped early")
    if last:
        write_curves(tmp_path / "curves.png", {"one": [rows]}, "stopped early")
    for figure in drawn:
        axes = figure.axes[0]
        assert axes.get_xlim()[0] == 0
        labels = _labels(axes)
        assert labels[0] == "0"
        units = {"": 1, "k": 1e3, "M": 1e6}
        for label in labels:
            steps = float(label.rstrip("kM")) * units[label.lstrip("0123456789.")]
            assert steps == int(steps)
        if last:
            assert axes.lines[0].get_marker() == "o", "a single point is seen"


@pytest.mark.parametrize(("finished", "center"), [(2, "mean"), (5, "mean"), (9, "interquartile mean")])
def test_a_young_run_ends_the_mean_and_no_other_line(finished, center, drawn, tmp_path):
    whole, young = [_row(steps) for steps in range(1_000, 51_000, 1_000)], [_row(1_000), _row(3_000)]
    write_curves(tmp_path / "curves.png", {"a": [*[whole] * finished, young]}, "title")
    middle, *thin = drawn[0].axes[0].lines
    assert (middle.get_xdata()[0], middle.get_xdata()[-1]) == (1_000, 3_000)
    ends = sorted(line.get_xdata()[-1] for line in thin)
    assert ends == ([3_000.0] if finished == 2 else []) + [50_000.0] * finished
    for line in thin:
        np.testing.assert_allclose(line.get_ydata(), line.get_xdata() / 60)
    told = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert told == [f"a ({finished + 1} seeds, the {center} to 3k, where the shortest ends)"]
    assert drawn[0].axes[0].get_xlim()[1] > 50_000


def test_runs_that_are_nowhere_together_have_no_mean(drawn, tmp_path):
    write_curves(tmp_path / "curves.png", {"a": [[_row(1_000), _row(2_000)], [_row(5_000)]]}, "title")
    center, *thin = drawn[0].axes[0].lines
    assert len(center.get_xdata()) == 0
    assert [line.get_xdata()[-1] for line in thin] == [2_000, 5_000]
    assert "no mean" in drawn[0].legends[0].get_texts()[0].get_text()


def test_legends_cover_no_data(drawn, tmp_path):
    rows = [_row(steps) for steps in range(0, 50_000, 1_000)]
    write_curve(tmp_path / "curve.png", rows, _EVALUATIONS, "title")
    write_curves(tmp_path / "curves.png", {"a": [rows], "b": [rows]}, "title")
    write_curves(tmp_path / "long.png", {"learning_rate 0.001, " * 20: [rows], "b " * 50: [rows]}, "title")
    sweep = {f"PPO inverted_pendulum, discount 0.920{k}": [rows] for k in range(6)}  # three names in a row are too wide
    write_curves(tmp_path / "sweep.png", sweep, "title")
    write_curves(tmp_path / "wide.png", {"W" * 150: [rows]}, "title")
    for figure in drawn:
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert all(axes.get_legend() is None for axes in figure.axes)
        assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)


def test_sampled_and_deterministic_policies_are_two_curves_with_names(drawn, tmp_path):
    write_curve(tmp_path / "curve.png", [_row(10), _row(50_000)], _EVALUATIONS, "title")
    axes = drawn[0].axes[0]
    labels = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert labels == ["sampled actions: episodes of training", "deterministic policy: evaluations"]
    evaluated = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0]
    np.testing.assert_array_equal(evaluated[0].get_xdata(), [0, 50_000], "in the order of their steps")


def test_divergence_is_marked(drawn, tmp_path):
    rows = [_row(10, diverged=0.0), _row(20, diverged=2.0), _row(30, diverged=0.0)]
    write_curve(tmp_path / "curve.png", rows, _EVALUATIONS, "title")
    write_curve(tmp_path / "sound.png", rows[:1], _EVALUATIONS, "title")
    diverged, sound = ([text.get_text() for text in figure.legends[0].get_texts()] for figure in drawn)
    assert "physics diverged" in diverged
    assert "physics diverged" not in sound
    marks = next(line for line in drawn[0].axes[0].lines if line.get_label() == "physics diverged")
    np.testing.assert_array_equal(marks.get_xdata(), [20.0])


def _looks(lines):
    """Color and dashes of the lines that have a name, and the names."""
    named = [line for line in lines if not line.get_label().startswith("_")]
    return {(line.get_color(), str(line._dash_pattern)) for line in named}, [line.get_label() for line in named]


def test_each_of_many_settings_has_its_own_look(drawn, tmp_path):
    groups = {f"setting {k}": [[_row(10), _row(20)]] for k in range(25)}
    write_curves(tmp_path / "curves.png", groups, "a sweep")
    write_profiles(tmp_path / "profiles.png", {"task": {name: [np.arange(3.0)] for name in groups}})
    for figure in drawn:
        for lines in figure.axes[0].lines, figure.legends[0].get_lines():
            looks, names = _looks(lines)
            assert len(looks) == len(names) == 25


def test_a_profile_names_the_seeds_of_all_tasks(drawn, tmp_path):
    runs = {"a": [np.arange(3.0)] * 2, "b": [np.arange(3.0)]}
    write_profiles(tmp_path / "profiles.png", {"one": runs, "two": {"a": runs["a"] * 2, "b": runs["b"]}})
    named = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert named == ["a (2 to 4 seeds)", "b (1 seed)"]


@pytest.mark.parametrize("value", [0.0, -3.0, 7.0])
def test_a_profile_of_one_and_the_same_return_is_a_step(value, drawn, tmp_path):
    """As before anything is learned where rewards are sparse."""
    write_profiles(tmp_path / "profiles.png", {"task": {"a": [np.full(4, value)] * 2}})
    levels, shares = drawn[0].axes[0].lines[0].get_data()
    assert levels[0] < value <= levels[-1]
    np.testing.assert_array_equal(shares, levels < value)
    assert 0 < shares.mean() < 1


def test_methods_of_one_color_have_different_markers(drawn, tmp_path):
    rows = [{"method": f"m{k}", "track": "plain", "curves": {"hue": [(0.5, 0.4, 0.6)] * 2}} for k in range(23)]
    write_severity(tmp_path / "severity.png", rows, ("hue",), (0, 1))
    lines = drawn[0].axes[0].lines
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}) == len(rows)


def test_names_are_drawn_as_they_are_written(drawn, tmp_path):
    """What is between two dollars is a formula to Matplotlib, and a name that begins with an underscore is hidden."""
    name, file = "$x_$ of a \\$ and $5", tmp_path / "picture.png"
    rows, evaluations = [_row(10), _row(50_000)], {"trained": _EVALUATIONS["trained"] | {"distractors": name}}
    write_curve(file, rows, evaluations | {"held_out": _EVALUATIONS["trained"]}, name)
    write_curves(file, {name: [rows]}, name)
    write_profiles(file, {name: {name: [np.arange(3.0)]}})
    write_severity(file, [{"method": "_m", "track": name, "curves": {"hue": [(0.5, 0.4, 0.6)] * 2}}], ("hue",), (0, 1))
    write_matrix(file, np.zeros((1, 1)), [name], [name], np.zeros((1, 1), bool))
    write_stages(file, [Segment(name, 0, rows, [{"steps": 1, name: 2.0}], {name: [1.0]}, None)], name)
    series = {"times": [0.0, 1.0], "energy": {which: [0.0, 1e-3] for which in ("median", "low", "high")}}
    write_drift(file, [{"name": name, "series": series, "sweep": [], "timestep": 0.01}], {"energy": "energy"}, name)
    curves, severity = drawn[1], drawn[3]
    assert curves.legends[0].get_texts()[0].get_text() == f"{name} (1 seed)".replace("$", r"\$")
    assert "_m" in severity.legends[0].get_texts()[0].get_text()


def test_numbers_are_short():
    counts = [0, 999.96, 9_999.96, 50_000, 999_999, 2_048_000, 1.5e9, 3e12, 1e30]
    assert list(map(short, counts)) == ["0", "1k", "10k", "50k", "1M", "2.048M", "1.5G", "3e+12", "1e+30"]
    assert short(999_999, 6) == "999.999k"


def test_many_tasks_fit_into_a_picture(drawn, tmp_path):
    tasks = [f"a_task_of_some_length_{k}" for k in range(9)]
    rows = [_row(10), _row(50_000)]
    write_curves(tmp_path / "curves.png", {task: [rows] for task in tasks}, ", ".join(f"{x} from 64x64" for x in tasks))
    write_profiles(tmp_path / "profiles.png", {task: {"a": [np.arange(3.0)]} for task in tasks})
    title = drawn[0].texts[0].get_window_extent()
    assert 0 <= title.x0 < title.x1 <= drawn[0].bbox.width
    assert not any(title.overlaps(axes.get_window_extent()) for axes in drawn[0].axes)
    shown = [axes for axes in drawn[1].axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == tasks
    assert drawn[1].bbox.width < 2.5 * drawn[1].bbox.height


def test_names_of_stages_stand_over_the_data(drawn, tmp_path):
    rows, evaluations = [_row(10), _row(50_000)], [{"steps": 25_000, "mean_return": 5_000.0}]
    segments = [Segment(name, 50_000 * k, rows, evaluations, {}, None) for k, name in enumerate(("stand", "move"))]
    write_stages(tmp_path / "stages.png", segments, "title")
    axes = drawn[0].axes[0]
    _, top = axes.transData.transform((0.0, 5_000.0))
    assert [text.get_text() for text in axes.texts] == ["stand", "move"]
    assert all(text.get_window_extent().y0 > top for text in axes.texts)
