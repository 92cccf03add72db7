"""Laws of what a session shows."""

import itertools

import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.training import EnvConfig
from pixelbrax.viewer import Orbit, Simulation, ViewConfig, Workshop
from tests.viewing import SIDE, probe_config

pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.fixture(scope="module")
def workshop(probe_tasks):
    return Workshop()


@pytest.fixture(scope="module")
def programs(workshop):
    return workshop.build(probe_config(episode_length=5))


@pytest.fixture
def simulation(programs):
    return Simulation(programs, seed=3)


def _images(simulation: Simulation) -> list[np.ndarray]:
    return [get(view) for get in (simulation.agent_image, simulation.free_image) for view in _VIEWS]


_VIEWS = ("color", "segmentation", "depth")


def _history(simulation: Simulation, steps: int) -> list:
    return [(simulation.step(), simulation.episode, *(x.tobytes() for x in _images(simulation))) for _ in range(steps)]


def test_the_seed_determines_all_pixels(programs):
    first, again, other = (_history(Simulation(programs, seed), 8) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_restart_repeats_the_episode_and_looking_changes_nothing(simulation):
    first = _history(simulation, 4)
    simulation.restart(3)
    looked, camera = _history(simulation, 2), simulation.camera
    simulation.drag("orbit", 0.3, 0.1)
    simulation.zoom(4)
    simulation.free_image("color")
    simulation.camera = camera
    assert looked + _history(simulation, 2) == first


def test_a_step_advances_by_one(simulation):
    for steps in range(1, 6):
        sample = simulation.step()
        assert simulation.steps == steps
        assert sample.begins == (steps == 1)
        assert simulation.seconds == pytest.approx(0.1 * steps)
    assert simulation.ending == "truncated"


def test_an_action_of_several_frames_shows_each_and_changes_nothing(workshop):
    """The agent keeps its observation meanwhile; a step ends where it ends at once."""
    programs = workshop.build(probe_config(episode_length=12, action_repeat=3))
    simulation, whole = Simulation(programs, seed=3), Simulation(programs, seed=3)
    for frame in range(1, 10):
        agent = simulation.agent_image("color")
        sample = simulation.advance()
        assert simulation.frames == frame
        assert (sample is not None) == (frame % 3 == 0)
        if sample is None:
            np.testing.assert_array_equal(simulation.agent_image("color"), agent)
        else:
            assert sample == whole.step()
            assert simulation.facts == whole.facts
            for one, other in zip(_images(simulation), _images(whole), strict=True):
                np.testing.assert_array_equal(one, other)
    simulation.advance()
    simulation.restart(3)
    whole.restart(3)
    assert simulation.step() == whole.step()


@pytest.mark.full
def test_each_frame_is_another_picture(workshop):
    environment = EnvConfig(task="halfcheetah", backend="spring", image_size=16, frame_stack=1, action_repeat=2)
    simulation = Simulation(workshop.build(ViewConfig(environment, 64, 64)))
    seen = [simulation.free_image("color")]
    for _ in range(6):
        simulation.advance()
        seen.append(simulation.free_image("color"))
    assert all(np.any(before != after) for before, after in itertools.pairwise(seen))


def test_after_an_episodes_end_the_next_begins(simulation):
    for _ in range(5):
        simulation.step()
    ended = simulation.episode_return
    assert simulation.step().begins
    assert (simulation.episode, simulation.steps, simulation.ending) == (1, 1, "")
    assert simulation.episode_return <= 1 <= 5
    assert ended >= 0


def test_divergence_is_told(workshop):
    simulation = Simulation(workshop.build(probe_config("probe/diverges")))
    for _ in range(5):
        simulation.step()
    assert simulation.ending == "diverged"


def test_at_home_the_free_camera_sees_what_the_agent_sees(simulation):
    for _ in range(3):
        simulation.step()
        simulation.go_home()
        for view in _VIEWS:
            agent, free = simulation.agent_image(view), simulation.free_image(view)
            assert agent.shape == free.shape == (SIDE, SIDE)
            assert np.mean(agent != free) < 0.03, view
    assert len(np.unique(simulation.free_image("color"))) > 3


def test_moving_the_camera_changes_its_image_alone_and_compiles_nothing(simulation):
    agent, free, compiled = *(x.copy() for x in _images(simulation)[::3]), simulation.programs._look._cache_size()
    for move in (
        lambda: simulation.drag("orbit", 0.2, 0.1),
        lambda: simulation.drag("pan", 0.2, 0.1),
        lambda: simulation.zoom(5),
    ):
        move()
        seen = simulation.free_image("color")
        assert (seen != free).any()
        assert (simulation.agent_image("color") == agent).all()
        free = seen
    simulation.follow(False)
    assert (simulation.free_image("color") == free).mean() > 0.97
    assert simulation.programs._look._cache_size() == compiled == 1


def test_a_drag_while_it_looks_for_the_body_is_kept(simulation, monkeypatch):
    look, before = simulation._look, simulation.camera

    def dragged():
        simulation.drag("turn", 0.1, 0.0)  # as by the page, in another thread
        return look()

    monkeypatch.setattr(simulation, "_look", dragged)
    simulation.follow(True)
    assert simulation.camera.azimuth != before.azimuth


def test_a_camera_that_follows_keeps_the_body_in_place(simulation):
    simulation.camera = Orbit((0.0, 0.0, 0.5), 3.0, 90.0, -90.0, 45.0, follows=True)
    ids = set()
    for _ in range(4):
        simulation.step()
        ids.add(int(simulation.programs.look(simulation._state, simulation.camera).segmentation[SIDE // 2, SIDE // 2]))
    assert ids == {1}  # the ball, wherever it is


def test_sliders_act_and_others_are_refused(simulation):
    simulation.choose_source("sliders", (0.25,))
    assert simulation.step().action == (0.25,)
    with pytest.raises(ConfigError, match="the action has 2 numbers: it must have 1"):
        simulation.choose_source("sliders", (0.0, 0.0))
    with pytest.raises(ConfigError, match="there is no policy"):
        simulation.choose_source("policy")
    assert simulation.facts["source"] == "sliders"


def test_another_environment_keeps_what_it_can(workshop, simulation):
    simulation.choose_source("sliders", (0.5,))
    simulation.follow(False)
    other = Simulation(workshop.build(probe_config("probe/wide_sides")), before=simulation)
    assert (other.source, other.sliders, other.camera.follows) == ("sliders", (0.0, 0.0), False)


def test_distractors_show_with_their_strength(workshop):
    simulation = Simulation(workshop.build(probe_config(distractors=("dcs/color-hard",))), seed=1)
    plain = Simulation(workshop.build(probe_config()), seed=1)
    assert (simulation.agent_image("color") != plain.agent_image("color")).any()
    strong = simulation.agent_image("color").copy()
    simulation.scale_distractors(0.0)
    assert (simulation.agent_image("color") == plain.agent_image("color")).mean() > 0.9
    simulation.scale_distractors(1.0)
    assert (simulation.agent_image("color") == strong).all()
    before = simulation.step()
    simulation.scale_distractors(0.0)
    assert simulation.step().reward in (0.0, 1.0)
    assert simulation.steps == 2
    assert before.begins


def test_random_actions_differ_from_step_to_step_and_strengths_last(workshop):
    simulation = Simulation(workshop.build(probe_config(distractors=("dcs/color-hard",))), seed=1)
    actions = [simulation.step().action for _ in range(5)]
    assert len(set(actions)) == 5
    simulation.scale_distractors(0.0)
    simulation.restart(1)
    plain = simulation.agent_image("color")
    simulation.scale_distractors(1.0)
    assert (simulation.agent_image("color") != plain).any()
    simulation.scale_distractors(0.0)
    assert (simulation.agent_image("color") == plain).all()


def test_what_is_built_is_kept(workshop):
    assert workshop.build(probe_config()) is workshop.build(probe_config())
