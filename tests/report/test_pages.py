"""Reports: one file that loads nothing, of any run, whatever it is called and however far it came."""

import html.parser
import json
import re

import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.report import FINISHED, RunFacts, Saliency, page_of_curriculum, page_of_run, page_of_runs
from pixelbrax.report.chart import Series, chart
from pixelbrax.report.facts import settings_of
from pixelbrax.report.markup import markup, tag
from pixelbrax.report.overlay import overlays
from pixelbrax.report.spent import duration, spent
from pixelbrax.training import EnvConfig, RunDir, TrainConfig
from tests.viewer.browser import CHROMIUM, Browser

NAN = float("nan")
EVIL = '<script>alert(1)</script> & "quotes"'
_VOID = {"img", "meta", "br", "hr"}


class _Page(html.parser.HTMLParser):
    """What a page holds: its elements, its text, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.links, self.open, self.said = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], "each element is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), "no handlers in attributes"
            if name in ("src", "srcset", "poster", "data", "action") or (name == "href" and tag != "a"):
                self.loads.append(value)
            if name == "href" and tag == "a":
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self):
        return " ".join(self.said)


def _checked(text):
    """A page after the checks that all must pass."""
    page = _Page(text)
    assert all(url.startswith("data:") for url in page.loads)
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert "default-src &#x27;none&#x27;" in text
    assert "alert(1)</script>" not in text
    return page


def _evaluation(steps, returns, **more):
    mean = float(np.mean(returns))
    whole = {"steps": steps, "mean_return": mean, "standard_error": 1.0, "iqm": mean, "episodes": len(returns)}
    return whole | {"mean_length": 1000.0, "returns": returns, "lengths": [1000.0] * len(returns)} | more


def _run(folder, config=None, rows=(), evaluations=None, **provenance):
    run = RunDir.create(folder, config or TrainConfig(num_steps=20_480), provenance.get("command", ""))
    for updates, value in rows:
        run.append_metrics(
            {"updates": updates, "steps": 2048 * updates, "return": value, "episodes": 4, "diverged": 0}
            | {"kl": 0.01 * updates, "never": NAN, "seconds": 2.0 * updates, "wall_seconds": 30 + 3.0 * updates}
        )
    for name, result in (evaluations or {}).items():
        run.write_evaluation(name, result)
    return run


@pytest.fixture
def finished(tmp_path):
    held_out = {"distractors": "pixelbrax/color"} | _evaluation(0, [40.0, 50.0])
    del held_out["steps"]
    evaluations = {
        "untrained": _evaluation(0, [1.0, 3.0]),
        "trained": _evaluation(20_480, [100.0, 120.0, 140.0], held_out=held_out),
        "best": _evaluation(20_480, [90.0, 95.0]),
    }
    config = TrainConfig(num_steps=20_480, eval_distractors=("pixelbrax/color",), seed=3)
    run = _run(tmp_path / "run", config, [(5, NAN), (10, 70.0)], evaluations, command="pixelbrax train --seed 3")
    run.video_file.write_bytes(b"not a film")
    run.held_out_video_file.write_bytes(b"nor this")
    frames = np.zeros((2, 8, 8, 3), np.uint8)
    maps = np.ones((2, 8, 8), np.float32)
    Saliency(frames, maps, maps, np.array([0.0, 1.5], np.float32)).save(run.saliency_file)
    return run


def test_a_torn_saliency_file_is_none(tmp_path):
    file, noise = tmp_path / "saliency.npz", np.random.default_rng(0)
    maps = noise.random((2, 8, 8), np.float32)
    Saliency(np.zeros((2, 8, 8, 3), np.uint8), maps, maps, np.zeros(2, np.float32)).save(file)
    whole = file.read_bytes()
    assert Saliency.load(file) is not None
    for end in range(0, len(whole), 97):
        file.write_bytes(whole[:end])
        assert Saliency.load(file) is None
    file.write_bytes(whole[:200] + b"\xff" * 20 + whole[220:])
    assert Saliency.load(file) is None


def test_a_finished_run(finished):
    page = _checked(page_of_run(finished))
    for said in (
        "finished",
        "120",  # the mean return
        "45 (40 to 50)",  # under held-out looks
        "38%",  # of it is kept
        "What it looks at",
        "1.5 s",
        "pixelbrax train --seed 3",
        "eval_distractors",
        "best on the way, in fresh episodes",
        "Where its time went: 1 min 0 s",
    ):
        assert said in page.text, said
    assert page.tags.count("video") == 2
    assert page.tags.count("img") == 6
    assert "never" not in page.text, "a metric without any value has no chart"


def test_a_run_is_made_again_by_what_can_make_it(tmp_path):
    def said(name, facts=(), hooks=(), **provenance):
        run = RunDir.create(tmp_path / name, TrainConfig(EnvConfig(facts=facts)), **provenance)
        run.note_hooks(hooks)
        return " ".join(_checked(page_of_run(run)).text.split())

    alone = said("alone", command="pixelbrax train --seed 3")
    assert f"pixelbrax train --config {tmp_path / 'alone'}" in alone
    assert "bit for bit" in alone
    assert "up to rounding" not in alone
    python = said("python", facts=("physics=mine.Physics",), command="pixelbrax.train(env, seed=3)")
    assert python.count("pixelbrax.train(env, seed=3)") == 1
    assert "--config" not in python
    group = said("group", command="pixelbrax train --num-seeds 2", agents=2)
    assert group.count("pixelbrax train --num-seeds 2") == 1
    assert "2 agents in all: alone, by pixelbrax train --config" in group
    assert "the same up to rounding" in group
    hooked = said("hooked", command="pixelbrax.train(env, seed=3, hooks=[Anneal(...)])", hooks=["Anneal", "Other"])
    assert hooked.count("pixelbrax.train(env, seed=3, hooks=[Anneal(...)])") == 1
    assert "The call needs the hooks that acted on its training: Anneal, Other." in hooked
    assert "--config" not in hooked
    unknown = said("unknown", agents=2)
    assert "bit for bit" not in unknown
    assert "the same up to rounding" in unknown


def test_a_stage_is_made_again_by_its_curriculum(tmp_path):
    plan = tmp_path / "plan" / "curriculum.toml"

    def said(name, hooks=()):
        run = RunDir.create(plan.parent / name, TrainConfig(), "pixelbrax curriculum mine.toml")
        run.note_hooks(hooks)
        return " ".join(_checked(page_of_run(run)).text.split())

    moved = said("0-moved", ["gate"])
    assert "pixelbrax curriculum mine.toml" in moved
    plan.write_text("")
    for stage in (moved, said("1-free"), said("2-gated", ["gate"]), said("3-hooked", ["Anneal", "gate"])):
        assert "It is a stage of a curriculum, all of which is trained." in stage
        assert "train --config" not in stage
        assert (f"pixelbrax curriculum {plan}" in stage) == ("moved" not in stage and "Anneal" not in stage)
        assert ("hooks=[...]" in stage) == ("acted on its training: Anneal." in stage) == ("3-hooked" in stage)


def test_what_shows_an_earlier_policy_says_so(finished):
    for file in (finished.video_file, finished.saliency_file):
        finished.note_recorded(file, 10)
    assert "after 10 of 10 updates" not in page_of_run(finished), "that is the present policy"
    finished.note_recorded(finished.video_file, 5)
    page = _checked(page_of_run(finished))
    assert "as it was trained, after 5 of 10 updates" in page.text
    assert "What it looks at, after" not in page.text


def test_a_run_that_is_rolled_back_keeps_what_shows_its_policy(finished):
    finished.note_recorded(finished.video_file, 5)
    finished.note_recorded(finished.saliency_file, 6)
    finished.roll_back(5)
    assert finished.video_file.exists()
    assert not finished.saliency_file.exists()
    assert finished.held_out_video_file.exists(), "of an unknown policy"
    assert (finished.recorded_after(finished.video_file), finished.recorded_after(finished.saliency_file)) == (5, None)


def test_an_unfinished_run_of_any_kind(tmp_path):
    bare = _checked(page_of_run(_run(tmp_path / "bare")))
    assert "0% trained" in bare.text
    assert "No update has been recorded yet." in bare.text
    assert "video" not in bare.tags
    half = _checked(page_of_run(_run(tmp_path / "half", rows=[(5, NAN)])))
    assert "50% trained" in half.text
    assert "No whole episode has ended in training yet." in half.text
    early = _run(tmp_path / "early", rows=[(5, 1.0)], evaluations={"untrained": _evaluation(0, [7.0, 9.0])})
    page = _checked(page_of_run(early))
    assert "return before training" in page.text
    assert "return, deterministic policy" not in page.text, "it is of the untrained policy"
    several = _checked(page_of_runs({"x": [RunFacts.of(early)] * 2}, [], {}, [], tmp_path / "out.html"))
    entry = {"gate": "", "opened_at": None}
    state = "1 of 2 stages", "wait"
    stages = page_of_curriculum("x", state, [("stand", RunFacts.of(early), entry)], tmp_path, tmp_path / "out.html")
    for shown in (several, _checked(stages)):
        assert "8 (" not in shown.text
    broken = _run(tmp_path / "broken", rows=[(5, 1.0)])
    broken.fail("the parameter w is no longer finite")
    broken.evaluation_file.write_text("{")
    broken.saliency_file.write_bytes(b"half")
    page = _checked(page_of_run(broken))
    assert "broke down" in page.text
    assert "w is no longer finite" in page.text
    assert "is damaged" in page.text


def test_returns_that_are_not_finite_have_no_interval_and_no_warning(tmp_path):
    evaluations = {"untrained": _evaluation(0, [1.0, 3.0]), "trained": _evaluation(20_480, [float("inf"), 1.0])}
    run = _run(tmp_path / "run", rows=[(5, 1.0), (10, float("inf"))], evaluations=evaluations)
    page = _checked(page_of_run(run))
    assert "inf (nan to nan)" in page.text
    assert "2 (1 to 3)" in page.text


def test_what_an_evaluation_does_not_say_is_left_out(tmp_path):
    result = {"steps": 5, "mean_return": 2.0, "iqm": 2.0, "held_out": {"mean_return": 1.0, "iqm": 1.0}}
    run = _run(tmp_path / "run", rows=[(5, 1.0)], evaluations={"trained": result})
    page = _checked(page_of_run(run))
    assert "95 % interval 2 to 2" in page.text
    assert "the same under held-out looks" in page.text


def test_no_name_becomes_markup(tmp_path):
    config = TrainConfig(environment=EnvConfig(task=EVIL), eval_distractors=(EVIL,), num_steps=20_480)
    held_out = {"distractors": EVIL, **_evaluation(0, [1.0])}
    evaluations = {EVIL: _evaluation(5, [1.0], held_out=held_out)}
    run = _run(tmp_path / EVIL.replace("/", "-"), config, [(5, 2.0)], evaluations, command=EVIL)
    run.fail(EVIL)
    page = _checked(page_of_run(run))
    assert page.tags.count("script") == 0
    assert EVIL in page.text
    facts = RunFacts.of(run)
    several = page_of_runs({EVIL: [facts], "other": [facts]}, [], {}, [EVIL], tmp_path / "out.html")
    assert _checked(several).tags.count("script") == 0


def test_a_folder_without_a_run_is_told(tmp_path):
    with pytest.raises(ConfigError, match="is not a run: there is no such folder"):
        page_of_run(RunDir.open(tmp_path / "nothing"))


def test_several_runs_are_compared(tmp_path, finished):
    def of_seed(name, seed):
        config = TrainConfig(seed=seed, num_steps=20_480)
        return RunFacts.of(_run(tmp_path / f"{name}{seed}", config, rows=[(5, 1.0), (10, 2.0)]))

    groups = {name: [of_seed(name, seed) for seed in range(seeds)] for name, seeds in (("few", 2), ("many", 5))}
    groups["done"] = [RunFacts.of(finished)]
    rows = [{"task": "halfcheetah", "setting": "done", "runs": 1, "return": 120.0, "interval": [120.0, 120.0]}]
    rows[0] |= {"worst": 120.0, "level": 60.0, "below": 0.25, "early": 0.0}
    finished.report_file.write_text("")
    page = _checked(page_of_runs(groups, rows, {("a", "b"): (0.75, 0.5, 1.0)}, ["a note"], tmp_path / "out.html"))
    for said in ("8 runs of 3 settings", "many (5 seeds)", "25% below 60", "0.75 (0.50 to 1.00)", "a note"):
        assert said in page.text, said
    assert page.links == ["run/report.html"]
    assert page.tags.count("polygon") == 2, "only many seeds have a band: against actions and minutes"
    assert "eval_distractors" in page.text, "settings that differ"


def test_a_damaged_run_of_several_is_named_and_odd_names_are_linked(tmp_path):
    good, bad = (_run(tmp_path / name, TrainConfig(num_steps=20_480), rows=[(5, 1.0)]) for name in ("lr#1 50%", "bad"))
    bad.metrics_file.write_text(bad.metrics_file.read_text() + "broken\n\n")
    good.report_file.write_text("")
    page = _checked(page_of_runs({"x": [RunFacts.of(good), RunFacts.of(bad)]}, [], {}, [], tmp_path / "out.html"))
    assert page.links == ["lr%231%2050%25/report.html"]
    assert "is damaged" in page.text


def _numbers(text, name):
    return [float(x) for x in re.findall(rf'{name}="(-?[\d.]+)"', text)]


def test_a_chart_puts_points_where_its_axes_say():
    x, y = [0.0, 1000.0, 4000.0], [-5.0, 10.0, 30.0]
    around = [value - 1 for value in y], [value + 1 for value in y]
    drawn = chart([Series("", x, y, *around, form="points")], size="half")
    ticks = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)(k?)</text>', drawn)
    places = [float(place) for place, _, _ in ticks]
    values = [float(value) * (1000 if k else 1) for _, value, k in ticks]
    np.testing.assert_allclose(np.interp(_numbers(drawn, "cx"), places, values), x, atol=20)
    levels = re.findall(r'y="([\d.]+)" text-anchor="end">(\N{MINUS SIGN}?)([\d.]+)<', drawn)
    heights = sorted((float(place) - 4, float(value) * (-1 if minus else 1)) for place, minus, value in levels)
    at, level = np.array(heights).T
    np.testing.assert_allclose(np.interp(_numbers(drawn, "cy"), at, level), y, atol=0.2)
    assert "10 (9 to 11)" in drawn


@pytest.mark.parametrize(
    ("values", "some"),
    [
        ((0.99991, 0.99999), "0.99994"),
        ((12345.1, 12345.9), "12.3454k"),
        ((-3e-7, -1e-7), "\N{MINUS SIGN}2e-07"),
        ((-120.0, 2000.0), "1.6k"),
        ((1e6, 1e6 + 2.5), "1.0000005M"),
        ((5.0, 5.0), "5"),
    ],
)
def test_ticks_have_the_digits_that_tell_them_apart(values, some):
    for size in "half", "small":
        texts = re.findall(r">([^<]+)</text>", chart([Series("", [0.0, 1.0], values)], size=size))
        ticks = texts[: texts.index("0", 1)] if size == "half" else texts[:-2]  # those of the horizontal axis follow
        assert len(ticks) == len(set(ticks)) > 1
        assert some in ticks or size == "small"


def test_each_of_many_lines_has_its_own_look():
    drawn = chart([Series(f"setting {k}", [1.0, 2.0], [1.0, 2.0 * k], color=k) for k in range(20)], size="half")
    for element in "polyline", "line":  # in the picture, and in the legend
        found = re.findall(rf"<{element} [^>]*>", drawn)
        looks = {tuple(re.findall(r'stroke(?:-dasharray)?="[^"]*"', each)) for each in found if "var(--c" in each}
        assert len(looks) == 20, element


def test_a_chart_leaves_out_what_is_not_finite():
    assert "no data yet" in chart([Series("a", [1.0], [NAN])])
    ends = chart([Series("a", [1.0, 2.0], [1.0, 2.0], [NAN, 1.5], [3.0, float("inf")])], size="small")
    drawn = ends + chart([Series("a", [1.0, 2.0, 3.0], [1.0, NAN, float("inf")])], size="small")
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert drawn.count("<circle") >= 1, "a single point is seen"
    for value in (0.0, -3.0, 1e9):
        assert "nan" not in chart([Series("a", [0.0, 1.0], [value, value])], lines=[(value, "level")])


def test_markup_is_escaped_once():
    assert tag("p", "a<b", markup(tag("b", "&")), None, title='"') == '<p title="&quot;">a&lt;b<b>&amp;</b></p>'
    assert tag("i", class_="x", y_z=1.5, hidden=True, lang=None) == '<i class="x" y-z="1.5" hidden></i>'


def test_every_setting_is_listed_with_its_default():
    found = settings_of(TrainConfig(environment=EnvConfig(image_size=48), num_steps=5))
    assert found["environment.image_size"] == (48, 64)
    assert found["num_steps"] == (5, 1_000_000)
    differing = {name for name, (value, default) in found.items() if value != default}
    assert differing == {"environment.image_size", "num_steps"}
    assert found["ppo.clip"][0] == found["ppo.clip"][1]


def test_parts_of_the_time_add_up(finished):
    whole = {"compiling a": 5.0, "compiling b": 7.0, "training": 20.0, "total": 40.0}
    finished.timings_file.write_text(json.dumps({"1": whole, "2": {"training": 1.0, "total": 2.0}}))
    parts, total = spent(RunFacts.of(finished))
    known = {"compiling": 12.0, "training": 21.0, "starting, writing and the rest": 9.0}
    assert parts == known | {"sessions that were killed, or go on": 18.0}
    assert total == 60.0, "the last row of metrics.csv tells it"
    finished.metrics_file.unlink()
    assert spent(RunFacts.of(finished)) == (known, 42.0)
    told = ["3.2 s", "59 s", "1 min 0 s", "1 h 0 min", "2 h 1 min", "-"]
    assert [duration(seconds) for seconds in (3.21, 59.4, 60, 3599.6, 7260, NAN)] == told


def test_an_overlay_is_brightest_where_the_map_is_largest():
    maps = np.zeros((1, 8, 8), np.float32)
    maps[0, 2, 5] = 3.0
    image = overlays(np.full((1, 8, 8, 3), 100, np.uint8), maps)[0].astype(int).sum(-1)
    assert np.unravel_index(image.argmax(), image.shape) == (2, 5)
    assert len(np.unique(np.delete(image.ravel(), image.argmax()))) == 1


def test_the_state_says_how_far_a_run_came(finished):
    assert RunFacts.of(finished).state == FINISHED


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look with")
def test_no_page_is_wider_than_the_window(tmp_path):
    long, width = "x" * 120, 480
    config = TrainConfig(num_steps=20_480, start_from=f"/{long}/{long}")
    run = _run(tmp_path / long, config, [(5, 1.0), (10, 2.0)], {"trained": _evaluation(20_480, [1.0, 2.0])})
    run.fail(f"{run.path} is damaged")
    facts = RunFacts.of(run)
    names = [f"PPO halfcheetah dcs/hard, learning_rate 0.0003, discount 0.{k} and more settings" for k in range(9)]
    pages = {"run": page_of_run(run), "runs": page_of_runs({name: [facts] for name in names}, [], {}, [long], tmp_path)}
    with Browser(tmp_path / "profile") as browser:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text)
            browser.open(file.as_uri(), width, 800)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width + 4, name
