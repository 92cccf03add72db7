"""Presets that bear a name keep the originals' laws: ranges, moments, and how far things move in a control step.

Numbers are those of the originals' code at the commits named in `distractors/catalog/`.
"""

import colorsys
import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.distractors import (
    CameraWalk,
    ColorSettings,
    Contrast,
    EveryControlStep,
    FloorVideo,
    HsvShift,
    LightColor,
    LightPosition,
    MaterialColors,
    MovingLight,
    Role,
    SceneContext,
    SceneView,
    SkyVideo,
    distractor,
)
from pixelbrax.distractors.catalog.severity import AXES, SHARES
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.envs import camera_fn, camera_places
from pixelbrax.render import Camera, look_at
from pixelbrax.tasks import get_task
from tests.distractors.frames import context as frames_context
from tests.distractors.frames import frame, seen
from tests.probe import probe_env

_KEYS = jax.random.split(jax.random.key(0), 2000)


def _context(task: str, action_repeat: int = 1) -> SceneContext:
    env = pixelbrax.make(task, image_size=16, action_repeat=action_repeat)
    model, camera = env.physics.mj_model, get_task(task).camera
    context = SceneContext.of(model, env.scene, 16, 16, action_repeat)
    place = camera_places(model, {"": camera_fn(model, camera)})[""]
    return replace(context, camera_offset=place.offset, body_offset=place.body_offset)


def _of_kind(task: str, name: str, kind: type) -> Any:
    """The member of a preset of a class, out of its wrappers."""
    pending: list[Any] = [distractor(name, task)]
    while pending:
        one = pending.pop()
        if isinstance(one, kind):
            return one
        pending += getattr(one, "distractors", ())
    raise AssertionError(f"{name} has no {kind.__name__}")


# --- Distracting Control Suite ----------------------------------------------------------------------------------------


@pytest.mark.full
def test_dcs_draws_the_camera_inside_the_range_it_may_have():
    """The suite narrows the range to what is above the ground, and draws in it: a level camera is always raised."""
    level = replace(_context("dmc/cheetah_run"), camera_offset=(0.0, -3.0, 0.0))
    walk = CameraWalk.of_intensity(0.3, dynamic=False)
    radius, azimuth, polar = jax.vmap(lambda key: walk.init(key, level))(_KEYS).place.T
    assert (polar < math.pi / 2 - 1e-3).mean() > 0.99
    assert polar.min() >= math.pi / 2 * 0.7 - 1e-5
    assert polar.max() <= math.pi / 2 + 1e-6
    np.testing.assert_allclose(polar.mean(), math.pi / 2 * 0.85, rtol=0.02)
    np.testing.assert_allclose(azimuth.std(), 0.3 * math.pi / math.sqrt(12), rtol=0.05)
    assert np.abs(azimuth.mean()) < 0.02
    np.testing.assert_allclose((radius.min(), radius.max()), (3 * 0.85, 3 * 1.45), rtol=0.01)


def test_dcs_sees_the_reacher_from_any_side_of_straight_above():
    walk = _of_kind("dmc/reacher_easy", "dcs/hard", CameraWalk)
    assert not walk.above
    assert _of_kind("dmc/walker_walk", "dcs/hard", CameraWalk).above
    context = _context("dmc/reacher_easy")
    np.testing.assert_allclose(context.camera_offset, (0.0, 0.0, 0.75))  # a fixed camera, though the arm is elsewhere
    state = jax.vmap(lambda key: walk.init(key, context))(_KEYS)
    # What the suite's code gives: places beyond the pole jump to the nearest azimuth in range.
    assert (state.place[:, 2] >= 0).all()
    assert (np.abs(state.place[:, 1]) <= 0.3 * math.pi / 2 + 1e-6).all()


def _moved(walk: CameraWalk, context: SceneContext, state: Any, camera: Camera, distance: float) -> Camera:
    env = probe_env()
    view = SceneView(env.scene, camera, jnp.float32(distance))
    return jax.jit(jax.vmap(lambda s: walk.apply_scene(s, view, context).camera))(state)


@pytest.mark.parametrize(
    ("offset", "above"), [((0.0, -4.0, 1.0), True), ((3.0, 1.0, 2.0), True), ((0.0, 0.0, 0.75), False)]
)
def test_dcs_camera_circles_its_center_and_looks_where_it_looked(offset, above):
    """In float64: the place on the sphere around the center, and a frame that looks at the point without distractor."""
    context = replace(SceneContext.of(probe_env().physics.mj_model, probe_env().scene, 16, 16), camera_offset=offset)
    center, walk = np.array([0.3, -0.2, 0.5]), CameraWalk.of_intensity(0.3, above=above)
    pos = center + offset
    seen = np.array([0.4, 0.1, 0.2]) if above else pos - [0, 0, 0.7]
    camera = look_at(jnp.asarray(pos, jnp.float32), jnp.asarray(seen, jnp.float32), 45.0)
    if not above:
        camera = replace(camera, mat=jnp.eye(3))
    state = jax.vmap(lambda key: walk.init(key, context))(_KEYS[:100])
    moved = _moved(walk, context, state, camera, float(np.linalg.norm(pos - seen)))
    radius, azimuth, polar = np.asarray(state.place, np.float64).T
    azimuth = azimuth + math.atan2(offset[1], offset[0])
    flat = radius * np.sin(polar)
    place = center + np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), radius * np.cos(polar)], 1)
    np.testing.assert_allclose(moved.pos, place, atol=1e-5)
    out = (place - seen) / np.linalg.norm(place - seen, axis=1, keepdims=True)
    mat = np.asarray(moved.mat, np.float64)
    np.testing.assert_allclose(mat[:, :, 2], out, atol=1e-5)
    np.testing.assert_allclose(np.einsum("nij,nik->njk", mat, mat), np.broadcast_to(np.eye(3), mat.shape), atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(mat), 1.0, atol=1e-5)
    # Turned back by its roll, the camera is upright, or (from straight above) turned by the shortest rotation.
    c, s = np.cos(np.asarray(state.roll, np.float64)), np.sin(np.asarray(state.roll, np.float64))
    right = c[:, None] * mat[:, :, 0] - s[:, None] * mat[:, :, 1]
    if above:
        np.testing.assert_allclose(right[:, 2], 0.0, atol=1e-5)
        assert (s[:, None] * mat[:, :, 0] + c[:, None] * mat[:, :, 1])[:, 2].min() > 0
    else:
        axis = np.cross([0.0, 0.0, 1.0], out)
        np.testing.assert_allclose(np.sum(right * axis, 1), axis[:, 0], atol=1e-5)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("height", [1.0, -1.0])
@pytest.mark.parametrize("roll", [0.7, pytest.param(0.0, marks=pytest.mark.full)])
def test_dcs_leaves_an_oblique_camera_at_strength_0(above, height, roll):
    """Or one that looks up; at full strength it turns by as much about its line of sight as an upright one."""
    offset = (1.0, -3.0, height)
    context = replace(SceneContext.of(probe_env().physics.mj_model, probe_env().scene, 16, 16), camera_offset=offset)
    walk = CameraWalk.of_intensity(0.1, above=above)
    none = walk.with_params(walk.scaled(walk.params, 0.0))
    upright = look_at(jnp.array(offset), jnp.zeros(3), 45.0)
    right, up, out = upright.mat.T
    c, s = math.cos(roll), math.sin(roll)
    oblique = replace(upright, mat=jnp.stack([c * right + s * up, c * up - s * right, out], axis=1))
    distance = float(np.linalg.norm(offset))
    left = _moved(none, context, jax.jit(jax.vmap(lambda key: none.init(key, context)))(_KEYS[:5]), oblique, distance)
    np.testing.assert_allclose(left.pos, np.broadcast_to(oblique.pos, (5, 3)), atol=1e-5)
    np.testing.assert_allclose(left.mat, np.broadcast_to(oblique.mat, (5, 3, 3)), atol=1e-5)
    state = jax.jit(jax.vmap(lambda key: walk.init(key, context)))(_KEYS[:20])
    usual, turned = (_moved(walk, context, state, camera, distance) for camera in (upright, oblique))
    along = np.einsum("nki,nkj->nij", usual.mat, turned.mat)
    np.testing.assert_allclose(along, np.broadcast_to([[c, -s, 0], [s, c, 0], [0, 0, 1]], (20, 3, 3)), atol=1e-5)


def test_dcs_moves_with_every_control_step():
    """At an action repeat of four, the camera travels as far in an observation as in four control steps."""
    once, four = _context("halfcheetah"), _context("halfcheetah", action_repeat=4)
    walk = CameraWalk.of_intensity(0.2)
    wrapped = EveryControlStep((walk,))
    start = (jax.vmap(lambda key: walk.init(key, once))(_KEYS[:200]),)

    def travel(context: SceneContext, steps: int) -> np.ndarray:
        state, way = start, []
        for t in range(steps):
            keys = jax.vmap(jax.random.fold_in, (0, None))(_KEYS[:200], t)
            state = jax.vmap(lambda s, key: wrapped.step(s, key, context))(state, keys)
            way.append(np.linalg.norm(state[0].velocity, axis=-1))
        return np.linalg.norm(np.asarray(state[0].place - start[0].place), axis=-1)

    slow, fast = travel(once, 1).mean(), travel(four, 1).mean()
    assert 2.5 < fast / slow < 4.5
    np.testing.assert_allclose(travel(once, 4).mean(), fast, rtol=0.15)
    # Speeds are the suite's: at most 0.4 times the intensity in a control step, at four meters.
    state = jax.vmap(lambda s, key: wrapped.step(s, key, once))(start, _KEYS[:200])[0]
    radius = math.hypot(*once.camera_offset)
    assert np.linalg.norm(state.velocity, axis=-1).max() <= 0.4 * 0.2 * radius / 4 * 1.001


def test_dcs_colors_each_material():
    context = _context("dmc/walker_walk")
    colors = _of_kind("dmc/walker_walk", "dcs/hard", MaterialColors)
    _, original, group = colors._groups(context)
    used = {material for material, role in zip(context.materials, context.roles, strict=True) if role in colors.roles}
    assert len(original) == len(used)
    for one in used:
        assert len({group[i] for i, name in enumerate(context.materials) if name == one}) == 1
    assert (colors.amount, colors.std) == (0.3, pytest.approx(0.009))


@pytest.mark.parametrize(
    ("name", "clips", "speed"),
    [
        ("dcs/easy", 4, 1.0),
        ("dcs/medium-static", 8, 0.0),
        ("dcs/hard", None, 1.0),
        ("dmcgb/distracting_0.025", 2, 0.5),
        ("dmcgb/distracting_0.15", 6, 0.5),
        ("dmcgb/distracting_0.3", None, 0.5),
        ("dmcvb/easy-dynamic", 4, 0.1),
        ("dmcvb/hard-static", None, 0.0),
    ],
)
def test_backgrounds_have_the_originals_clips_and_speeds(name, clips, speed):
    for task, floor in (("dmc/reacher_easy", 1.0), ("dmc/cheetah_run", 0.0), ("dmc/finger_spin", 0.7)):
        video = _of_kind(task, name, SkyVideo)
        assert (video.clips, video.speed, video.sky, video.floor) == (clips, speed, 1.0, floor)


# --- DMControl Generalization Benchmark, RL-ViGen ---------------------------------------------------------------------


@pytest.mark.parametrize(("level", "std"), [pytest.param("easy", 0.1, marks=pytest.mark.full), ("hard", 0.2)])
def test_dmcgb_colors_have_the_moments_of_its_files(level, std):
    """Of the 100 settings: N(default, std), clipped to 0..1; the floor's second color is its first plus 0.1."""
    context = _context("dmc/walker_walk")
    colors = _of_kind("dmc/walker_walk", f"dmcgb/color_{level}", ColorSettings)
    state = jax.vmap(lambda key: colors.init(key, context))(_KEYS)
    originals = ((0.1, 0.2, 0.3), (0.7, 0.5, 0.3), (0.4, 0.6, 0.8))
    for found, original in zip(state, originals, strict=True):
        law = np.clip(np.random.default_rng(0).normal(original, std, (200_000, 3)), 0, 1)
        np.testing.assert_allclose(np.mean(found, 0), law.mean(0), atol=0.015)
        np.testing.assert_allclose(np.std(found, 0), law.std(0), rtol=0.06)
    env = pixelbrax.make("dmc/walker_walk", image_size=16)
    view = SceneView(env.scene, Camera(jnp.zeros(3), jnp.eye(3), jnp.float32(45)), jnp.float32(1))
    one = jax.tree.map(lambda x: x[0], state)
    scene = colors.apply_scene(one, view, context).scene
    floor, body = context.geoms((Role.FLOOR,)), np.array([name == "self" for name in context.materials])
    np.testing.assert_allclose(scene.pattern_rgb[floor][0, 1] - scene.pattern_rgb[floor][0, 0], 0.1, atol=1e-6)
    np.testing.assert_allclose(scene.geom_rgb[body], np.broadcast_to(one.body, (body.sum(), 3)), atol=1e-6)
    np.testing.assert_array_equal(scene.geom_rgb[~body], env.scene.geom_rgb[~body])


@pytest.mark.parametrize("name", ["dmcgb/video_easy", "dmcgb/video_hard"])
def test_dmcgb_videos_begin_with_their_first_frame(name):
    context = _context("halfcheetah")
    video = _of_kind("halfcheetah", name, pixelbrax.distractors.Video).prepare(context)
    state = jax.vmap(lambda key: video.init(key, context))(_KEYS[:50])
    assert (np.asarray(state.position) == 0).all()
    length = int(video.bank.length[int(state.clip[0])])
    one, seen = jax.tree.map(lambda x: x[0], state), []
    for _ in range(length + 1):
        seen.append(int(video._number(one)) - int(video.bank.start[int(one.clip)]))
        one = video.step(one, jax.random.key(0), context)
    assert seen == [*range(length), 0]


def test_vigen_lights_and_cameras():
    context = replace(_context("halfcheetah"), scene=replace(probe_env().scene, light_pos=jnp.zeros((2, 3))))
    for name, whole in (("easy", {3, 4}), ("hard", {9, 10})):
        position = _of_kind("halfcheetah", f"vigen/light-position-{name}", LightPosition)
        drawn = jax.vmap(lambda key, position=position: position.init(key, context))(_KEYS[:200])
        assert set(np.unique(drawn)) == whole
    moving = _of_kind("halfcheetah", "vigen/moving-light-hard", MovingLight)
    state = moving.init(jax.random.key(0), context)
    for _ in range(1000):
        state = moving.step(state, jax.random.key(1), context)
    np.testing.assert_allclose(state.offset, 50.0, rtol=1e-3)
    assert _of_kind("halfcheetah", "vigen/light-color-hard", LightColor).amount == 10.0
    for name, reach in (("easy", 0.08), ("hard", 0.15)):
        shift = _of_kind("halfcheetah", f"vigen/camera-{name}", pixelbrax.distractors.CameraShift)
        offset, turn = jax.vmap(lambda key, shift=shift: shift.init(key, context))(_KEYS)
        np.testing.assert_allclose((offset.min(), offset.max()), (-reach, reach), rtol=0.01)
        np.testing.assert_array_equal(turn, 0.0)


@pytest.mark.parametrize(("level", "count"), [("easy", 10), ("hard", 12)])
def test_vigen_floors_are_one_picture_for_each_clip(level, count):
    clips = {str(k): np.full((3, 3, 32, 32), k, np.uint8) for k in range(12)}
    here, video = frames_context(), _of_kind("halfcheetah", f"vigen/texture-{level}", FloorVideo)
    video = replace(video, bank=ClipBank.of(clips)).prepare(here)
    shown = jax.vmap(lambda key: video._number(video.init(key, here)))(_KEYS)
    np.testing.assert_array_equal(np.unique(shown), 3 * np.arange(count))


def test_a_shifted_camera_keeps_its_direction():
    shift = pixelbrax.distractors.CameraShift((0.1, -0.2, 0.3), (0.1, -0.2, 0.3))
    camera = look_at(jnp.array([1.0, -2.0, 3.0]), jnp.zeros(3), 40.0)
    context = _context("halfcheetah")
    view = SceneView(context.scene, camera, jnp.float32(1.0))
    moved = shift.apply_scene(shift.init(jax.random.key(0), context), view, context).camera
    np.testing.assert_array_equal(moved.mat, camera.mat)
    np.testing.assert_allclose(moved.pos - camera.pos, [0.1, -0.2, 0.3], atol=1e-6)
    tilt = shift.init(jax.random.key(0), context)._replace(turn=jnp.array([0.1, 0.0, 0.0]))
    turned = shift.apply_scene(tilt, view, context).camera.mat
    np.testing.assert_allclose(turned[:, 0], camera.mat[:, 0], atol=1e-6)
    np.testing.assert_allclose(turned.T @ camera.mat[:, 2], [0.0, math.sin(0.1), math.cos(0.1)], atol=1e-6)
    np.testing.assert_allclose(jnp.linalg.det(turned), 1.0, atol=1e-6)


# --- DMC Remastered ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "reach", "turns"),
    [
        ("halfcheetah", (0.25, 0.2, 0.25), False),
        ("dmc/walker_walk", (0.3, 0.05, 0.1), False),
        ("humanoid", (0.5, 0.5, 0.5), False),
        ("dmc/hopper_hop", (0.15, 0.2, 0.2), True),
        ("dmc/reacher_easy", (0.05, 0.05, 0.05), False),
        ("inverted_pendulum", (0.15, 1.0, 0.2), False),
    ],
)
def test_dmcr_has_its_domains_ranges(task, reach, turns):
    shift = _of_kind(task, "dmcr/camera", pixelbrax.distractors.CameraShift)
    assert shift.high == reach
    assert any(shift.turn) == turns
    lit = pixelbrax.distractors.LightShift
    if task in ("dmc/walker_walk", "dmc/hopper_hop"):
        with pytest.raises(AssertionError, match="no LightShift"):
            _of_kind(task, "dmcr/light", lit)
    else:
        _of_kind(task, "dmcr/light", lit)


@pytest.mark.full
@pytest.mark.parametrize("task", ["halfcheetah", "ant", "dmc/cheetah_run"])
def test_dmcr_reflectance_changes_pixels(task):
    env = pixelbrax.make(task, image_size=48, frame_stack=1)
    mirrored = env.with_distractors("dmcr/reflectance")
    plain, seen = (np.asarray(e.reset(jax.random.key(1)).obs["pixels"]).astype(int) for e in (env, mirrored))
    assert (np.abs(plain - seen) > 4).any(-1).sum() > 10


# --- KAGE-Bench -------------------------------------------------------------------------------------------------------


def test_kage_keeps_the_gray_that_its_code_keeps():
    whole = np.arange(256, dtype=np.float32).reshape(1, 16, 16).repeat(3, 0)
    found = seen(_of_kind("halfcheetah", "kage/contrast", Contrast), whole / 255)
    np.testing.assert_allclose(255 * np.clip(found, 0, 1), np.clip((whole - 128) * 128 + 128, 0, 255), atol=0.01)


def test_hsv_is_that_of_the_standard_library():
    rgb = np.random.default_rng(0).uniform(0, 1, (3, 4, 5)).astype(np.float32)
    rgb[:, 0, 0], rgb[:, 1, 1] = 0.4, (0.0, 0.0, 0.0)
    context = frames_context(4, 5)
    for shift in (HsvShift(turn=math.pi), HsvShift(saturation=0.0), HsvShift(turn=1.0, saturation=0.5)):
        found = np.asarray(shift.apply_frame(jnp.zeros(()), frame(rgb), context).rgb)
        for at in np.ndindex(4, 5):
            h, s, v = colorsys.rgb_to_hsv(*rgb[(slice(None), *at)].tolist())
            law = colorsys.hsv_to_rgb((h + shift.turn / (2 * math.pi)) % 1.0, s * shift.saturation, v)
            np.testing.assert_allclose(found[(slice(None), *at)], law, atol=1e-5)


# --- Severities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axis", ["noise", *(pytest.param(axis, marks=pytest.mark.full) for axis in ("occlusion", "exposure"))]
)
def test_each_severity_is_farther_from_the_plain_image(axis):
    """The calibrated shares grow to the full strength, and so does the image distance, here of the cheapest axes."""
    assert all(list(shares) == sorted(shares) and shares[-1] == 1.0 for shares in SHARES.values())
    assert SHARES.keys() == AXES.keys()
    env = probe_env(image_size=24, frame_stack=1)
    plain = np.asarray(jax.vmap(env.reset)(_KEYS[:16]).obs["pixels"]).astype(float)
    apart = []
    for level in (1, 3, 5):
        seen = jax.vmap(env.with_distractors(f"severity/{axis}-{level}").reset)(_KEYS[:16]).obs["pixels"]
        apart.append(np.abs(np.asarray(seen).astype(float) - plain).mean())
    np.testing.assert_allclose(np.array(apart) / apart[-1], (0.2, 0.6, 1.0), atol=0.12)
