"""Laws of distractors: what is untouched, what never repeats, and that published ranges hold."""

import contextlib
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.distractors import (
    Composed,
    Distraction,
    SceneContext,
    Setting,
    distractor,
    get_preset,
    list_distractors,
)
from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.kinds.camera import CameraOrbit, FieldOfView
from pixelbrax.distractors.kinds.color import ColorOffset, FloorColors, MaterialColors, SkyColors
from pixelbrax.distractors.kinds.filters import (
    Blur,
    Brightness,
    Contrast,
    Gamma,
    Hue,
    Jitter,
    Pixelate,
    RadialLight,
    Saturation,
    Sharpen,
    Vignette,
)
from pixelbrax.distractors.kinds.hsv import HsvShift
from pixelbrax.distractors.kinds.light import Gloss, LightColor, LightPosition, MovingLight
from pixelbrax.distractors.kinds.noise import GaussianNoise, PoissonNoise, pixel_noise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.roles import Role
from pixelbrax.distractors.videos.sources import load_bank
from pixelbrax.envs import PixelEnv
from tests.distractors.frames import CAMERA as CAMERA_BY_HAND
from tests.distractors.frames import context as frames_context
from tests.distractors.frames import frame, keys, noise, seen
from tests.probe import CAMERA, ProbePhysics, probe_env

SIZE = 16
NOTHING = [
    ColorOffset(0.0, 0.0),
    MaterialColors(0.0),
    FloorColors(0.0),
    SkyColors(0.0),
    CameraOrbit.of_intensity(0.0),
    FieldOfView(0.0),
    LightPosition(0.0, 0.0),
    LightColor(0.0),
    MovingLight(0.0),
    Gloss(0.0),
    Video(sky=0.0),
    *(kind(0.0) for kind in (Brightness, Contrast, Saturation, Hue, Gamma, Sharpen, Blur, Vignette)),
    Pixelate(1),
    RadialLight(0.0),
    Jitter(0),
    GaussianNoise(0.0),
    PoissonNoise(math.inf),
    Occluders(0),
    MotionBlur(0.0),
    Latency(0),
    FrameDrop(0.0),
]


def _context(env: PixelEnv) -> SceneContext:
    return SceneContext.of(env.physics.mj_model, env.scene, *env.images.shape)


def _rollout(env, num_steps):
    """Compiled: observations 0 to num_steps of one environment."""

    def step(state, _):
        return env.step(state, jnp.zeros(env.action_size)), state.obs

    return jax.jit(lambda key, visual: jax.lax.scan(step, env.reset(key, visual_key=visual), None, length=num_steps)[1])


def _frames(env, key, num_steps):
    return jax.tree.map(np.asarray, _rollout(env, num_steps)(key, None))


@pytest.mark.parametrize("given", [HsvShift(np.pi), HsvShift(saturation=0.0), Jitter(2)], ids=repr)
def test_strength_0_leaves_the_image_and_1_the_distractor(given):
    rgb = noise()
    full, half, none = (seen(given.with_params(given.scaled(given.params, x)), rgb) for x in (1.0, 0.5, 0.0))
    np.testing.assert_array_equal(full, seen(given, rgb))
    np.testing.assert_allclose(none, rgb, atol=1e-6)
    assert 0.01 < np.abs(half - rgb).mean() < np.abs(full - rgb).mean()


def test_the_documents_say_which_have_no_strength():
    none = []
    for name in list_distractors():
        setting = Setting("train", "procedural", "halfcheetah")
        members = get_preset(name).members(setting)
        if not setting.has_videos and not Composed(tuple(members)).has_strength:
            none.append(name)
    # And new/body-texture, whose clips are not loaded here.
    assert set(none) == {"filter/pixelate", "kage/pixelate", "new/twin", "new/shadows", "new/latency"}


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda d: type(d).__name__)
def test_intensity_0_is_the_identity(nothing):
    assert nothing.is_identity
    assert not Distraction([nothing], _context(probe_env()))


def test_bytes_come_back_as_they_were(strict):
    class Nothing(Distractor):
        def apply_frame(self, state, frame, context):
            return frame

    distraction = Distraction([Nothing()], _context(probe_env()))
    rgb = np.arange(256, dtype=np.uint32).reshape(16, 16)
    packed = jnp.asarray(rgb | (255 - rgb) << 8 | (rgb // 2) << 16)
    camera = CAMERA_BY_HAND
    _, seen = jax.jit(distraction.apply_frame)(distraction.init(jax.random.key(0)), packed, None, camera)
    np.testing.assert_array_equal(seen, packed)


# What every kind of distractor is part of.
SAMPLE = """
pixelbrax/color pixelbrax/video dcs/hard dmcgb/color_hard dmcr/all vigen/moving-light-hard kage/hue kage/gaussian-noise
filter/jitter kage/pixelate new/occluders new/motion-blur new/storm new/everything
""".split()


# `make test` walks these, which have most kinds between them; `make test-all` walks all presets.
WALKED = {"dcs/hard", "kage/pixelate"}


def _cases():
    for name in list_distractors():
        yield pytest.param(name, marks=[] if name in WALKED else [pytest.mark.full])


@functools.cache
def _plain():
    return _frames(probe_env(image_size=SIZE, episode_length=4, frame_stack=1), jax.random.key(0), 7)


@pytest.mark.parametrize("name", list(_cases()))
def test_every_preset_steps_resets_and_repeats_itself(name, strict):
    void = name == "dmcr/target"
    with pytest.warns(UserWarning, match="no target") if void else contextlib.nullcontext():
        env = probe_env(image_size=SIZE, episode_length=4, frame_stack=1, distractors=name, outputs=("pixels", "mask"))
    seen, plain = _frames(env, jax.random.key(0), 7), _plain()
    np.testing.assert_array_equal(seen["state"], plain["state"])  # the physics does not know
    assert seen["pixels"].dtype == np.uint8
    if name not in (
        "dmcr/target",
        "new/shadows",
        "dmcr/reflectance",
        "new/frame-drop",
    ):  # not in this scene, not this time
        assert (seen["pixels"] != plain["pixels"]).any()


def test_the_same_keys_give_the_same_bits():
    env = probe_env(image_size=SIZE, episode_length=4, distractors=["new/storm", "new/motion-blur"])
    rollout = _rollout(env, 9)
    jax.tree.map(np.testing.assert_array_equal, *(rollout(jax.random.key(5), None) for _ in range(2)))


def test_looks_follow_the_visual_key_alone():
    env = probe_env(distractors=["dcs/hard", "kage/gaussian-noise"], pays_side=True, image_size=24)
    reset = jax.jit(lambda seed, visual: env.reset(jax.random.key(seed), None, jax.random.key(visual)))
    looks = [reset(seed, 9).info["distractors"] for seed in (0, 1)]
    numbers = [[np.asarray(leaf) for leaf in jax.tree.leaves(look["camera"].states)] for look in looks]
    jax.tree.map(np.testing.assert_array_equal, *numbers)
    other = reset(0, 10).info["distractors"]["camera"].states
    assert any((a != np.asarray(b)).any() for a, b in zip(numbers[0], jax.tree.leaves(other), strict=True))


def test_distractors_of_one_kind_are_drawn_apart_and_apply_in_order():
    context = _context(probe_env())
    distraction = Distraction([Brightness(0.3), Brightness(0.3)], context)
    first, second = distraction.init(jax.random.key(0)).states
    assert float(first) != float(second)
    ordered = [Distraction(d, context) for d in ([Brightness(0.3), Pixelate(4)], [Pixelate(4), Brightness(0.3)])]
    assert [type(d) for d in ordered[0].composed.distractors] == [Brightness, Pixelate]


def test_each_episode_looks_anew_and_environments_differ():
    env = probe_env(distractors="dmcgb/color_hard", episode_length=2, frame_stack=1)
    pixels = _frames(env, jax.random.key(0), 7)["pixels"]
    floors = pixels[[0, 3, 6], -1, 0]
    assert len(np.unique(floors, axis=0)) == 3
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), 8))
    assert len(np.unique(states.obs["pixels"][:, -1, 0], axis=0)) > 4


def test_episodes_look_the_same_under_every_autoreset():
    """A step that also resets draws a new look as the step after it would."""
    settings = {"distractors": "dmcgb/color_hard", "episode_length": 2, "frame_stack": 1}
    later = _frames(probe_env(**settings), jax.random.key(0), 7)["pixels"]
    same = _frames(probe_env(autoreset="same_step", **settings), jax.random.key(0), 5)["pixels"]
    np.testing.assert_array_equal(same, later[[0, 1, 3, 4, 6]])


@pytest.mark.parametrize(
    "name",
    ["dmcgb/video_hard"]
    + [pytest.param(name, marks=pytest.mark.full) for name in ("new/storm", "dmcgb/video_easy", "dcs/background-hard")],
)
def test_pixels_of_the_body_are_untouched_exactly(name):
    common = {"image_size": 32, "frame_stack": 1, "outputs": ("pixels", "mask", "segmentation")}
    seen = _frames(probe_env(distractors=name, **common), jax.random.key(3), 6)
    plain = _frames(probe_env(**common), jax.random.key(3), 6)
    mask = seen["mask"]
    assert 0 < mask.mean() < 0.5
    np.testing.assert_array_equal(mask, plain["segmentation"] == 1)
    np.testing.assert_array_equal(seen["pixels"][mask], plain["pixels"][mask])
    assert (seen["pixels"][plain["segmentation"] < 0] != plain["pixels"][plain["segmentation"] < 0]).mean() > 0.5


@pytest.mark.parametrize("name", list_distractors())
def test_train_and_test_share_no_level(name):
    train, test = (distractor(f"{name}@{split}") for split in ("train", "test"))
    levels = [range(d.first, d.first + d.count) for d in (train, test)]
    assert max(levels[0]) < min(levels[1])
    videos = [[d for d in both.distractors if isinstance(d, Video)] for both in (train, test)]
    assert all(v.split == "train" for v in videos[0])
    assert all(v.split == "test" for v in videos[1])


def test_train_and_test_share_no_clip():
    train, test = (load_bank("procedural", split, SIZE, SIZE) for split in ("train", "test"))
    assert len(train.names) == 60
    assert len(test.names) == 30
    assert not set(train.names) & set(test.names)
    assert len(np.unique(train.frames[train.start], axis=0)) == 60
    first_frames = {frame.tobytes() for frame in train.frames}
    assert not any(frame.tobytes() in first_frames for frame in test.frames)


@given(seed=st.integers(0, 2**31 - 1), amount=st.floats(0.05, 1.0))
@settings(max_examples=20, deadline=None)
def test_colors_stay_within_their_range(seed, amount):
    context = _context(probe_env())
    colors = MaterialColors(amount, std=0.5 * amount)
    original = np.unique(np.asarray(context.scene.geom_rgb), axis=0)
    state = colors.init(jax.random.key(seed), context)
    for t in range(4):
        assert (np.abs(state - original) <= amount + 1e-6).all()
        assert ((state >= 0) & (state <= 1)).all()
        state = colors.step(state, jax.random.key(seed + t), context)


def test_walks_have_the_published_means_and_steps():
    context, keys = _context(probe_env()), jax.random.split(jax.random.key(0), 4000)
    beta = 0.2
    orbit = CameraOrbit.of_intensity(beta)
    start = jax.vmap(lambda key: orbit.init(key, context))(keys)
    for angle in (start.azimuth, start.elevation, start.roll):
        reach = math.pi / 2 * beta
        assert np.abs(angle).max() <= reach
        assert abs(np.mean(angle)) < 0.05 * reach
        np.testing.assert_allclose(np.std(angle), reach / math.sqrt(3), rtol=0.05)
    assert start.zoom.min() >= 1 - 0.5 * beta
    assert start.zoom.max() <= 1 + 1.5 * beta
    state = start
    for t in range(20):
        before = state
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, t)
        state = jax.vmap(lambda s, key: orbit.step(s, key, context))(state, step_keys)
        assert np.linalg.norm(state.velocity, axis=-1).max() <= 0.4 * beta / 4 + 1e-6
        assert np.abs(state.roll_velocity).max() <= math.pi / 50 * beta + 1e-6
        assert np.abs(state.azimuth).max() <= math.pi / 2 * beta + 1e-6
        np.testing.assert_allclose(state.roll - before.roll, state.roll_velocity, atol=1e-6)
    colors = MaterialColors(beta, 0.03 * beta)
    original = jnp.asarray(colors._original(context))  # its first color is well within its range
    state = jnp.broadcast_to(original, (4000, *original.shape))
    change = jax.vmap(lambda s, key: colors.step(s, key, context))(state, keys) - state
    np.testing.assert_allclose(np.std(change[:, 0]), 0.03 * beta, rtol=0.1)
    offset = ColorOffset()
    assert np.abs(jax.vmap(lambda key: offset.init(key, context))(keys)).max() <= 0.3
    later = jax.vmap(lambda key: offset.step(jnp.zeros(3), key, context))(keys)
    np.testing.assert_allclose(np.std(later), 0.3, rtol=0.05)


def test_noise_is_normal_enough_and_independent():
    one, other = (np.asarray(pixel_noise(jnp.uint32(seed), 64, 64)) for seed in (1, 2))
    assert abs(one.mean()) < 0.03
    np.testing.assert_allclose(one.std(), 1.0, rtol=0.02)
    for a, b in ((one, other), (one[0], one[1]), (one[:, :-1], one[:, 1:]), (one[..., :-1], one[..., 1:])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.04


def test_videos_play_to_and_fro_at_their_own_length():
    context = _context(probe_env())
    video = Video().prepare(context)
    bank = video.bank
    assert bank is not None
    state = video.init(jax.random.key(0), context)._replace(
        clip=jnp.int32(7), position=jnp.float32(0.0), direction=jnp.float32(1.0)
    )
    length, shown = int(bank.length[7]), []
    for _ in range(2 * length):
        shown.append(bank.frames[int(video._number(state))])
        state = video.step(state, jax.random.key(0), context)
    clip = bank.frames[bank.start[7] : bank.start[7] + length]
    np.testing.assert_array_equal(shown, np.concatenate([clip, clip[-2:0:-1], clip[:2]]))


def test_late_frames_are_the_earlier_ones():
    plain = _frames(probe_env(frame_stack=1, episode_length=5), jax.random.key(0), 12)["pixels"]
    late = _frames(probe_env(frame_stack=1, episode_length=5, distractors=Latency(2)), jax.random.key(0), 12)["pixels"]
    for t, shown in enumerate([0, 0, 0, 1, 2, 3, 6, 6, 6, 7, 8, 9]):
        np.testing.assert_array_equal(late[t], plain[shown])
    lost = _frames(probe_env(frame_stack=1, episode_length=5, distractors=FrameDrop(1.0)), jax.random.key(0), 12)
    for t, shown in enumerate([0] * 6 + [6] * 6):
        np.testing.assert_array_equal(lost["pixels"][t], plain[shown])


def test_filters_do_what_their_names_say():
    context = _context(probe_env())
    rgb = jnp.asarray(np.random.default_rng(0).uniform(0.2, 0.8, (3, SIZE, SIZE)), jnp.float32)
    half = jnp.float32(0.5)
    np.testing.assert_allclose(Brightness().filter(half, rgb, context), rgb + 0.5, atol=1e-6)
    np.testing.assert_allclose(
        Hue().filter(jnp.float32(2 * np.pi / 3), rgb, context), rgb[jnp.array([2, 0, 1])], atol=1e-6
    )
    np.testing.assert_allclose(Gamma().filter(jnp.log(2.0), rgb, context), rgb**2, atol=1e-5)
    np.testing.assert_allclose(Saturation().filter(jnp.float32(-30.0), rgb, context).std(0), 0.0, atol=1e-6)
    np.testing.assert_allclose(Contrast().filter(jnp.float32(-30.0), rgb, context), 0.5, atol=1e-6)
    flat = jnp.full_like(rgb, 0.4)
    for kind in (Blur, Sharpen):
        np.testing.assert_allclose(kind().filter(half, flat, context), flat, atol=1e-6)
    assert Blur().filter(jnp.float32(1.5), rgb, context).std() < 0.5 * rgb.std()
    assert Sharpen().filter(jnp.float32(1.0), rgb, context).std() > rgb.std()
    blocks = Pixelate(4).apply_frame(jnp.zeros(()), frame(rgb), context)
    np.testing.assert_allclose(
        blocks.rgb[:, :4, :4], np.broadcast_to(rgb[:, :4, :4].mean((1, 2))[:, None, None], (3, 4, 4)), atol=1e-6
    )
    shifted = Jitter(2).apply_frame(jnp.array([1, -2]), frame(rgb), context).rgb
    np.testing.assert_array_equal(shifted[:, :-1, 2:], rgb[:, 1:, :-2])


@pytest.mark.parametrize(("height", "width", "block"), [(16, 16, 4), (8, 10, 3), (9, 8, 7)])
def test_blocks_are_the_means_of_their_pixels_at_the_edges_too(height, width, block):
    rgb = noise(height, width)
    found = seen(Pixelate(block), rgb)
    for y in range(0, height, block):
        for x in range(0, width, block):
            law = rgb[:, y : y + block, x : x + block].mean((1, 2), keepdims=True)
            np.testing.assert_allclose(found[:, y : y + block, x : x + block] - law, 0.0, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(8, 40), (40, 8), (16, 16)])
@pytest.mark.parametrize(
    ("kind", "places", "beyond"),
    [
        (Occluders(fastest=0.5), lambda state: state.position, 0.3),
        (RadialLight(0.5, speed=0.5), lambda state: state[:, None, 1:], 0.0),
    ],
    ids=["shapes", "light"],
)
def test_places_begin_in_the_image_and_stay_near(kind, places, beyond, height, width, strict):
    here, most = frames_context(height, width), np.array([width, height]) / max(height, width)

    def farthest(state):
        return np.abs(np.asarray(places(state)).reshape(-1, 2)).max(0)

    state = jax.vmap(lambda key: kind.init(key, here))(keys(300))
    np.testing.assert_allclose(farthest(state), most, rtol=0.03)
    for t in range(12):
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(keys(300), t)
        state = jax.vmap(lambda s, key: kind.step(s, key, here))(state, step_keys)
    assert (farthest(state) <= most + beyond + 1e-6).all()


def test_roles_of_the_probe():
    assert _context(probe_env()).roles == (Role.FLOOR, Role.BODY)


def test_several_cameras_share_a_look():
    cameras = {"a": CAMERA, "b": CAMERA}
    env = PixelEnv(
        ProbePhysics(), cameras, image_size=16, frame_stack=1, distractors=["dmcgb/color_hard", "new/latency"]
    )
    state = jax.jit(env.reset)(jax.random.key(0))
    np.testing.assert_array_equal(state.obs["pixels/a"], state.obs["pixels/b"])


@pytest.mark.parametrize("autoreset", ["same_step", "disabled"])
def test_other_autoresets(autoreset):
    env = probe_env(
        distractors=["kage/brightness", "new/latency"], autoreset=autoreset, episode_length=3, frame_stack=1
    )
    pixels = _frames(env, jax.random.key(0), 6)["pixels"]
    if autoreset == "disabled":
        np.testing.assert_array_equal(pixels[3], pixels[5])
    else:
        assert (pixels[2] != pixels[3]).any()


def test_fixed_noise_stays_and_other_noise_does_not():
    context = _context(probe_env(image_size=16))
    for kind in (GaussianNoise, PoissonNoise):
        for fixed in (True, False):
            noise = kind(fixed=fixed)
            first = noise.init(jax.random.key(0), context)
            later = noise.step(first, jax.random.key(1), context)
            assert (int(first) == int(later)) == fixed


def test_colors_of_lights_drift_within_their_range():
    context = _context(probe_env(image_size=16))
    light = LightColor(0.5, drift=0.02)
    state = light.init(jax.random.key(0), context)
    states = [state]
    for t in range(400):
        states.append(light.step(states[-1], jax.random.fold_in(jax.random.key(1), t), context))
    walk = np.array(states)
    assert (np.abs(walk) <= 0.5).all()
    inside = np.abs(walk[:-1]) < 0.4
    assert np.diff(walk, axis=0)[inside].std() == pytest.approx(0.02, rel=0.1)
    still = LightColor(0.5)
    np.testing.assert_array_equal(still.step(state, jax.random.key(1), context), state)
