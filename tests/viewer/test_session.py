"""Sessions: what they do in their own time, and what they refuse."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.viewer import Session, Update, Workshop, messages
from tests.viewing import probe_config

pytestmark = pytest.mark.usefixtures("probe_tasks")
PATIENCE = 300.0  # seconds until a thing that must happen is said not to


@pytest.fixture(scope="module")
def workshop(probe_tasks):
    return Workshop()


@pytest.fixture
def session(workshop, tmp_path):
    session = Session(workshop, probe_config(), folder=tmp_path)
    yield session
    session.close()


def _until(session: Session, holds: Callable[[Update], object], samples: list | None = None) -> Update:
    """The first update of which it holds; the samples of all until then are appended."""
    end = time.monotonic() + PATIENCE
    version = -1
    while time.monotonic() < end:
        update = session.update(version)
        version = update.facts["version"]
        found = update.facts.get("samples", {"reward": []})
        if samples is not None:
            samples += zip(*found.values(), strict=True)
        if holds(update):
            return update
    raise AssertionError(f"never happened; the last update was {update.facts}")


def _ready(session: Session) -> None:
    _until(session, lambda update: update.images)


def _paused(session: Session) -> int:
    """Steps of the episode, once it is paused and its images were shown."""
    _ready(session)
    session.obey(messages.Pause(True))
    return _until(session, lambda update: update.facts["paused"] and not update.images).facts["steps"]


def test_before_it_is_compiled_it_says_so(workshop):
    session = Session(workshop, probe_config(action_repeat=3))
    update = session.update(version=-1, timeout=5)
    assert update.facts["building"]["what"] == "probe/sides"
    with pytest.raises(ConfigError, match="not ready yet"):
        session.obey(messages.Step())
    session.close()


def test_a_choice_that_cannot_be_built_leaves_the_first_environment(workshop, tmp_path):
    """Also if it is made while that is being built."""
    with workshop._lock:
        session = Session(workshop, probe_config(), folder=tmp_path)
        session.obey(messages.Choose(camera="nose"))
    told = []
    _until(session, lambda update: told.extend(update.facts["notices"]) or update.images)
    session.close()
    assert ["the model has no camera 'nose'" in each["text"] for each in told] == [True]


def test_it_runs_by_itself_and_shows_both_images(session):
    samples = []
    for _ in range(4):
        assert set(_until(session, lambda update: update.images, samples).images) == {"agent", "free"}
    session.obey(messages.Pause(True))
    facts = _until(session, lambda update: update.facts["paused"] and not update.images, samples).facts
    assert len(samples) == facts["steps"] >= 3
    assert [begins for *_, begins in samples] == [True] + [False] * (len(samples) - 1)
    known = session.update(version=-1).facts["environment"]
    assert (known["task"], known["actions"], known["dt"]) == ("probe/sides", ("action 0",), 0.1)


def test_while_paused_nothing_happens_but_single_steps(session):
    steps = _paused(session)
    for _ in range(3):
        update = session.update(timeout=0.2)
        assert (update.facts["steps"], update.images) == (steps, {})
    for i in (1, 2):
        samples = []
        session.obey(messages.Step())
        assert _until(session, lambda update: update.images, samples).facts["steps"] == steps + i
        assert len(samples) == 1
    assert session.update(timeout=0.2).facts["steps"] == steps + 2


def test_when_nobody_asks_it_stops_and_goes_on_when_somebody_does(session, monkeypatch):
    monkeypatch.setattr("pixelbrax.viewer.session._AWAY", 0.2)
    _ready(session)
    time.sleep(1.0)
    simulation = session._simulation
    at = simulation.episode, simulation.steps
    time.sleep(0.5)
    assert (simulation.episode, simulation.steps) == at
    _until(session, lambda update: update.facts["samples"]["reward"])


def test_a_restart_takes_the_seed(session):
    _paused(session)
    session.obey(messages.Restart(11))
    facts = _until(session, lambda update: update.images).facts
    assert (facts["seed"], facts["episode"], facts["steps"], facts["episode_return"]) == (11, 0, 0, 0.0)


def test_the_camera_and_the_view_change_images_also_while_paused(session):
    _paused(session)
    before = None
    for message in (
        messages.Show("segmentation"),
        messages.Show("depth"),
        messages.Drag("orbit", 0.2, 0.1),
        messages.Drag("pan", 0.1, 0.1),
        messages.Zoom(3),
        messages.Home(),
        messages.Show("color"),
    ):
        session.obey(message)
        image = _until(session, lambda update: update.images).images["free"]
        assert before is None or (image != before).any(), message
        before = image


def test_another_task_takes_the_place_of_the_old_one_and_a_bad_one_does_not(session):
    _ready(session)
    version = session.update().facts["version"]
    for choice, reason in (
        (messages.Choose(task="probe/side"), "did you mean probe/sides"),
        (messages.Choose(engine="mjx"), "engine is 'mjx'"),
        (messages.Choose(distractors=("dcs/hart",)), "did you mean dcs/hard"),
        (messages.Choose(resolution=7), "resolution is 7"),
    ):
        with pytest.raises(ConfigError, match=reason):
            session.obey(choice)
    session.obey(messages.Choose(camera="nose"))  # which only the model knows
    refused = _until(session, lambda update: update.facts["notices"])
    assert "the model has no camera 'nose'" in refused.facts["notices"][0]["text"]
    assert refused.facts["version"] == version
    session.obey(messages.Choose(task="probe/wide_sides"))
    facts = _until(session, lambda update: update.facts["version"] == version + 1).facts
    assert session.update(version=-1).facts["environment"]["actions"] == ("action 0", "action 1")
    assert facts["building"] is None


def test_actions_for_another_body_are_refused(session):
    _ready(session)
    with pytest.raises(ConfigError, match="it must have 1"):
        session.obey(messages.Act("sliders", (0.0, 0.0)))
    session.obey(messages.Act("sliders", (0.75,)))
    acted = _until(session, lambda update: (0.75,) in update.facts["samples"]["action"])
    assert acted.facts["source"] == "sliders"


def test_a_strength_beyond_a_distractors_range_is_told_and_stops_nothing(session):
    _ready(session)
    session.obey(messages.Strength(4.0))  # there are no distractors yet
    _until(session, lambda update: update.facts["strength"] == 4.0)
    session.obey(messages.Choose(distractors=("kage/vignette",)))
    update = _until(session, lambda update: update.facts["version"] == 2)
    assert update.facts["strength"] == 4.0
    session.obey(messages.Strength(6.0))  # amount 60, of at most 50
    update = _until(session, lambda update: update.facts["notices"])
    assert "the strength stays 4: params.distractors: Vignette" in update.facts["notices"][0]["text"]
    session.obey(messages.Choose(distractors=("kage/hue",)))  # four turns, of at most two
    update = _until(session, lambda update: update.facts["version"] == 3)
    assert "the strength is 1 again: params.distractors: HsvShift" in update.facts["notices"][0]["text"]
    assert (update.facts["strength"], update.facts["paused"]) == (1.0, False)
    session.obey(messages.Restart(3))
    _until(session, lambda update: update.facts["seed"] == 3 and update.facts["steps"])


def test_a_recording_is_written_and_named(session, tmp_path):
    _paused(session)
    session.obey(messages.Record(True))
    session.obey(messages.Record(True))
    for _ in range(3):
        session.obey(messages.Step())
    session.obey(messages.Record(False))
    notice = _until(session, lambda update: update.facts["notices"]).facts["notices"][0]
    assert notice["kind"] == "notice"
    assert Path(notice["text"].split()[1]) == tmp_path / "probe-sides-1.mp4"
    assert (tmp_path / "probe-sides-1.mp4").stat().st_size > 0


def test_a_recording_survives_the_end(workshop, tmp_path):
    session = Session(workshop, probe_config(), folder=tmp_path)
    _ready(session)
    session.obey(messages.Record(True))
    _until(session, lambda update: update.facts["recording"] and update.images)
    _until(session, lambda update: update.images)
    session.close()
    assert [path.name for path in tmp_path.iterdir()] == ["probe-sides-1.mp4"]


def test_messages_are_obeyed_in_their_order_and_not_without_end(session):
    _paused(session)
    for message in (messages.Step(), messages.Step(), messages.Restart(4), messages.Step()):
        session.obey(message)
    facts = _until(session, lambda update: update.facts["seed"] == 4 and update.facts["steps"] == 1).facts
    assert facts["seconds"] == pytest.approx(0.1)
    with session._changed:  # meanwhile nothing is done
        for _ in range(100):
            session.obey(messages.Step())
        with pytest.raises(ConfigError, match="100 messages wait already"):
            session.obey(messages.Step())


def test_two_sessions_do_not_disturb_each_other(session, workshop):
    other = Session(workshop, probe_config(), seed=5)
    _paused(session)
    _ready(other)
    other.obey(messages.Restart(9))
    _until(other, lambda update: update.facts["seed"] == 9)
    assert session.update(timeout=0.1).facts["seed"] == 0
    assert other._simulation
    assert session._simulation
    assert other._simulation.programs is session._simulation.programs
    other.close()
