"""An episode in three dimensions: its page has every pose, and shows what the renderer shows."""

import base64
import json
import re
import subprocess
from dataclasses import replace
from time import sleep

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from PIL import Image

from pixelbrax.distractors import Objects
from pixelbrax.envs import PixelEnv
from pixelbrax.render import GeomPose, Scene, look_at, orbit, render
from pixelbrax.report import record_replay, write_replay
from pixelbrax.report.replay import Replay, replay_data
from tests.golden.models import load
from tests.probe import CAMERA, ProbePhysics, probe_env
from tests.viewer.browser import CHROMIUM, Browser

_SOFTWARE = "--use-angle=swiftshader", "--enable-unsafe-swiftshader"


def _floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def _replay(scene, pose, camera):
    """A motion under lights that stay where they are."""
    count = len(pose.xpos)
    lights = (np.repeat(np.asarray(x)[None], count, axis=0) for x in (scene.light_pos, scene.light_dir))
    rewards = np.zeros(count, np.float32)
    return Replay(scene, pose, camera, *lights, rewards=rewards, dt=0.1, seconds=0.1 * count, ending="")


def test_a_replay_has_the_motion_of_the_episode():
    env = probe_env(terminates_at=5, action_repeat=2)
    replay = record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0))
    assert len(replay.rewards) == 5
    assert replay.ending == "terminated"
    assert (replay.dt, replay.seconds) == (0.1, pytest.approx(0.5))
    floor, ball = replay_data(replay)["geoms"]
    assert [floor["kind"], ball["kind"]] == ["plane", "sphere"]
    assert len(_floats(floor["pos"])) == 3, "what does not move is stored once"
    places = _floats(ball["pos"]).reshape(-1, 3)
    np.testing.assert_allclose(np.diff(places[:, 0]), 0.1, atol=1e-6)
    np.testing.assert_allclose(replay.rewards.sum(), 1 + 2 + 3 + 4 + 5, rtol=1e-6)
    shorter = record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0), seconds=0.4)
    assert len(shorter.rewards) == 4
    assert shorter.ending == ""


def test_the_last_state_and_its_reward_are_in_a_replay_that_skips_frames():
    env = probe_env(terminates_at=5, action_repeat=3)
    env.physics.dt = 0.01  # faster than a page shows: every other frame is left out
    replay = record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0))
    assert (replay.dt, replay.seconds) == (0.02, 0.05)
    places = np.asarray(replay.pose.xpos)[:, 1, 0]
    np.testing.assert_allclose(np.diff(places), [0.2, 0.1], atol=1e-6)  # after frames 2, 4 and 5
    np.testing.assert_allclose(replay.rewards, [4, 2 + 4.5, 4.5])  # 6 in three frames, 9 in two


def test_what_distractors_add_is_in_a_replay():
    env = probe_env(terminates_at=2, distractors=(Objects(count=3),))
    replay = record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0))
    assert len(replay_data(replay)["geoms"]) == len(replay.scene.visible) == 2 + 3


def test_lights_follow_the_body_that_they_are_told_to_follow():
    physics = ProbePhysics()
    physics.mj_model = mujoco.MjModel.from_xml_string(
        """
        <mujoco>
          <worldbody>
            <light pos="0 0 5"/>
            <geom type="plane" size="0 0 1"/>
            <body pos="0 0 0.5">
              <freejoint/><geom size="0.3"/><light mode="track" pos="0 0 2" dir="0 0 -1"/>
            </body>
          </worldbody>
        </mujoco>
        """
    )
    env = PixelEnv(physics, camera=CAMERA, image_size=8, episode_length=4)
    data = replay_data(record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0)))
    ball = _floats(data["geoms"][1]["pos"]).reshape(-1, 3)
    still, following = (_floats(light["pos"]).reshape(-1, 3) for light in data["lights"])
    np.testing.assert_allclose(still, [[0, 0, 5]])
    np.testing.assert_allclose(following - ball, np.tile([0, 0, 2], (4, 1)), atol=1e-6)
    assert np.ptp(following[:, 0]) > 0.2


def test_rotations_survive_as_quaternions_without_jumps():
    angles = np.linspace(0, 12, 50)
    quats = np.stack([np.cos(angles / 2), 0.6 * np.sin(angles / 2), 0 * angles, 0.8 * np.sin(angles / 2)], axis=-1)
    mats = np.zeros((len(quats), 9))
    for mat, quat in zip(mats, quats, strict=True):
        mujoco.mju_quat2Mat(mat, quat)
    xml = "<mujoco><worldbody><geom type='box' size='.1 .2 .3'/></worldbody></mujoco>"
    scene = Scene.from_mujoco(mujoco.MjModel.from_xml_string(xml))
    pose = GeomPose(jnp.zeros((50, 1, 3)), jnp.asarray(mats.reshape(50, 1, 3, 3), jnp.float32))
    camera = jax.tree.map(lambda x: jnp.repeat(x[None], 50, 0), look_at(jnp.ones(3), jnp.zeros(3), 45.0))
    data = replay_data(_replay(scene, pose, camera))
    found = _floats(data["geoms"][0]["quat"]).reshape(-1, 4)
    turned = np.zeros(9)
    for mat, quat in zip(mats, found, strict=True):
        mujoco.mju_quat2Mat(turned, quat.astype(float))
        np.testing.assert_allclose(turned, mat, atol=1e-5)
    assert (np.abs(np.diff(found, axis=0)) < 0.2).all(), "neighbors are on one side: between them is the short way"


def test_a_page_loads_nothing_and_no_title_becomes_markup(tmp_path):
    env = probe_env(terminates_at=2)
    replay = record_replay(env, lambda state, key: jnp.zeros(1), jax.random.key(0))
    write_replay(tmp_path / "out.html", replay, "</title><script>alert(1)</script>")
    text = (tmp_path / "out.html").read_text()
    assert "alert(1)</script>" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("<script") == 2
    found = re.search(r'id="replay">(.*?)</script>', text, re.S)
    assert found is not None
    assert json.loads(found[1])["frames"] == 2


def _browse(page, *flags):
    """What Chromium prints about the first frames of a page."""
    always = ["--headless=new", "--no-sandbox", *_SOFTWARE]
    always += ["--hide-scrollbars", "--virtual-time-budget=3000", "--window-size=640,640"]
    return subprocess.run([str(CHROMIUM), *always, *flags, page], check=True, capture_output=True, text=True).stdout


def _page_of_three_frames(folder):
    scene = Scene.from_mujoco(mujoco.MjModel.from_xml_string("<mujoco/>"))
    pose = GeomPose(jnp.zeros((3, 0, 3)), jnp.zeros((3, 0, 3, 3)))
    camera = jax.tree.map(lambda x: jnp.repeat(x[None], 3, 0), look_at(jnp.ones(3), jnp.zeros(3), 45.0))
    replay = replace(_replay(scene, pose, camera), rewards=np.ones(3), seconds=0.25, ending="terminated")
    write_replay(folder / "page.html", replay, "three")
    return f"file://{folder}/page.html"


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look with")
def test_a_browser_tells_the_whole_return_and_time(tmp_path):
    address = _page_of_three_frames(tmp_path)
    for frame, time, told in (0, "0.10", "1.0</div>"), (1, "0.20", "2.0</div>"), (2, "0.25", "3.0\nterminated</div>"):
        page = _browse(f"{address}#frame={frame}", "--dump-dom")
        assert f"{time} of 0.25 s" in page
        assert f"return so far {told}" in page


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look with")
def test_arrows_show_single_frames_also_from_the_end(tmp_path):
    told = "document.getElementById('told').textContent"
    with Browser(tmp_path / "profile", *_SOFTWARE) as browser:
        browser.open(_page_of_three_frames(tmp_path), 640, 640)
        browser.wait(f"{told}.endsWith('terminated')")
        sleep(0.3)  # the end stays for a moment
        for key, end in ((" ", "3.0\nterminated"), ("ArrowLeft", "2.0"), ("ArrowLeft", "1.0"), ("ArrowRight", "2.0")):
            browser.key(key)
            browser.wait(f"{told}.endsWith({json.dumps(end)})", 5.0)


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to look with")
@pytest.mark.parametrize("name", ["solids", "checker", "spots", "materials", "infinite", "strip", "glass"])
def test_a_browser_shows_what_the_renderer_shows(name, tmp_path):
    model, data, view = load("infinite" if name == "strip" else name)
    if name == "strip":
        model.geom_size[0, 1] = 0.5  # infinite along one axis only
    camera = orbit(jnp.array(view.lookat), view.distance, view.azimuth, view.elevation, model.vis.global_.fovy)
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    pose, camera = jax.tree.map(lambda x: jnp.asarray(x)[None], (pose, camera))
    replay = _replay(scene, pose, camera)
    write_replay(tmp_path / "page.html", replay, name)
    shot = tmp_path / "page.png"
    _browse(f"file://{tmp_path}/page.html#frame=0", f"--screenshot={shot}")
    theirs = np.asarray(Image.open(shot).convert("RGB"), float)
    first_pose, first_camera = jax.tree.map(lambda x: x[0], (pose, camera))
    ours = np.asarray(render(scene, first_pose, first_camera, 640, 640, samples=4).rgb, float)
    middle = slice(80, 540)  # without what is written on the page
    difference = np.abs(theirs - ours)[middle].mean()
    assert difference < (6 if name == "glass" else 1)  # of glass one body has a picture, which the page leaves out
