"""Distractors of one's own: what their methods give is checked before anything compiles, and NaN has a law."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import Distraction, Distractor, SceneContext, SceneView, data_field, list_distractors
from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.kinds.temporal import MotionBlur
from pixelbrax.distractors.levels import Levels
from pixelbrax.errors import ConfigError
from pixelbrax.render import unpack
from tests.distractors.frames import CAMERA as CAMERA_BY_HAND
from tests.distractors.test_laws import SAMPLE
from tests.probe import CAMERA, probe_env


def _context(size=16):
    env = probe_env()
    return SceneContext.of(env.physics.mj_model, env.scene, size, size)


class _Counting(Distractor):
    """Right: its state is a number."""

    def init(self, key, context):
        return {"n": jnp.zeros((), jnp.int32)}

    def step(self, state, key, context):
        return {"n": state["n"] + 1}


def _with(method, function, base=_Counting):
    return type("Mine", (base,), {method: lambda self, *args: function(*args)})()


WRONG = [
    ("prepare", lambda context: None, "Mine.prepare returns a NoneType: it must return a Distractor"),
    ("init", lambda key, context: "no", "Mine.init returns something that is no pytree of arrays"),
    (
        "step",
        lambda state, key, context: {"n": jnp.zeros(2, jnp.int32)},
        "whose ['n'] is (2,) int32: it must be () int32",
    ),
    (
        "step",
        lambda state, key, context: {"n": state["n"] + 0.5},
        "Mine.step returns a state whose ['n'] is () float32",
    ),
    (
        "step",
        lambda state, key, context: state | {"m": 1},
        "Mine.step returns a state with ['m'], which init does not have",
    ),
    ("step", lambda state, key, context: None, "Mine.step returns a state without ['n'], which init has"),
    ("step", lambda state, key, context: [state["n"]], "Mine.step returns a state with [0], which init does not have"),
    ("remember", lambda state, seen, context: {}, "Mine.remember returns a state without ['n']"),
    (
        "apply_frame",
        lambda state, seen, context: None,
        "Mine.apply_frame returns a NoneType: it must return a RenderedFrame",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen.rgb,
        "Mine.apply_frame returns an array: it must return a RenderedFrame",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen._replace(rgb=seen.rgb[:, 1:]),
        "rgb is (3, 15, 16) float32: it must be (3, 16, 16) float32",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen._replace(rgb=jnp.moveaxis(seen.rgb, 0, -1)),
        "rgb is (16, 16, 3) float32: it must be (3, 16, 16) float32",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen._replace(rgb=(255 * seen.rgb).astype(jnp.uint8)),
        "rgb is (3, 16, 16) uint8: it must be (3, 16, 16) float32",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen if seen.rgb.mean() > 0 else None,
        "Mine.apply_frame needs the values of an array",
    ),
    (
        "apply_frame",
        lambda state, seen, context: seen._replace(rgb=np.asarray(seen.rgb)),  # pyright: ignore
        "Mine.apply_frame needs",
    ),  # pyright: ignore
    (
        "apply_scene",
        lambda state, view, context: view.scene,
        "Mine.apply_scene returns a Scene: it must return a SceneView",
    ),
    (
        "apply_scene",
        lambda state, view, context: view._replace(camera=view.camera.pos),
        "Mine.apply_scene returns an array: it must return a Camera as camera",
    ),
    (
        "apply_scene",
        lambda state, view, context: view._replace(scene=replace(view.scene, geom_rgb=view.scene.geom_rgb[:1])),
        "a view whose scene.geom_rgb is (1, 3) float32: it must be (2, 3) float32",
    ),
    (
        "apply_scene",
        lambda state, view, context: view._replace(distance=jnp.ones(3)),
        "a view whose distance is (3,) float32: it must be () float32",
    ),
]


WRONG.append(("observe_scene", lambda state, view, context: view.scene, "Mine.observe_scene returns a Scene: it must"))


@pytest.mark.parametrize(("method", "function", "told"), WRONG)
def test_what_a_method_must_give(method, function, told):
    with pytest.raises(ConfigError) as caught:
        Distraction([_with(method, function)], _context())
    assert told in str(caught.value)


class _Listing(Distractor):
    """Right: its state is a list."""

    def init(self, key, context):
        return [jnp.zeros(())]


@pytest.mark.parametrize(
    ("method", "function", "base"),
    [
        ("step", lambda state, key, context: None, Distractor),  # forgets to return the empty state
        ("step", lambda state, key, context: tuple(state), _Listing),
        ("remember", lambda state, seen, context: tuple(state), _Listing),
    ],
)
def test_a_state_keeps_its_structure(method, function, base):
    with pytest.raises(ConfigError, match=rf"Mine\.{method} returns a state that is .*: it must be .*, as in init"):
        Distraction([_with(method, function, base)], _context())


def test_the_wrong_one_is_found_within_others():
    wrong = _with("apply_frame", lambda state, seen, context: None)
    for around in ([_Counting(), wrong], [BackgroundOnly(wrong)], [Levels((wrong,))]):
        with pytest.raises(ConfigError, match=r"Mine\.apply_frame returns a NoneType"):
            Distraction(around, _context())
    with pytest.raises(ConfigError, match=r"Mine\.apply_frame"):
        probe_env(distractors=wrong)


@pytest.mark.parametrize("method", ["prepare", "init", "apply_frame", "params"])
def test_errors_of_ones_own_say_where_they_arose(method):
    def fails(*args):
        return 1 // 0

    mine = _with(method, fails) if method != "params" else type("Mine", (_Counting,), {method: property(fails)})()
    with pytest.raises(ZeroDivisionError) as caught:
        Distraction([mine], _context())
    assert any(f"Mine.{method}" in note for note in caught.value.__notes__)


def test_who_reads_a_segmentation_that_is_not_there_is_told_how_to_ask_for_it():
    mine = _with("apply_frame", lambda state, seen, context: seen._replace(rgb=seen.rgb * (seen.segmentation < 0)))
    with pytest.raises(TypeError) as caught:
        Distraction([mine], _context())
    assert any("only where the property needs_segmentation is True" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("name", ["is_identity", "needs_segmentation", "params"])
def test_a_method_in_place_of_a_property_is_refused(name):
    """A method is true: `is_identity` would leave the distractor out, and nobody would know."""
    with pytest.raises(ConfigError, match=rf"Mine\.{name} is a method: put @property before it"):
        type("Mine", (_Counting,), {name: lambda self: False})
    assert type("Mine", (_Counting,), {name: False})  # a plain value is as good


def test_what_is_static_in_a_scene_may_change():
    Distraction([_with("apply_scene", lambda s, v, t: v._replace(scene=replace(v.scene, sky_texture=-1)))], _context())


class _Odd(Distractor):
    """Colors that are no colors, one in each column."""

    def __init__(self, values):
        self.values = jnp.array(values, jnp.float32)

    def apply_frame(self, state, frame, context):
        return frame._replace(rgb=jnp.broadcast_to(self.values, frame.rgb.shape))


@pytest.mark.parametrize(("behind", "infinity"), [((), np.inf), ((MotionBlur(0.5),), 3.0)], ids=["alone", "remembered"])
def test_nan_is_black_and_what_is_beyond_is_cut_off(behind, infinity):
    values = (np.nan, infinity, -infinity, 2.0, -1.0, 0.5, 1e38, -np.nan)
    shown = (0, 255, 0, 255, 0, 128, 255, 0)
    distraction = Distraction([_Odd(values), *behind], _context(8))
    frame = jax.jit(distraction.apply_frame)
    look = distraction.init(jax.random.key(0))
    for _ in range(2):
        look, packed = frame(look, jnp.zeros((8, 8), jnp.uint32), None, CAMERA_BY_HAND)
        seen = np.asarray(unpack(packed))
        np.testing.assert_array_equal(seen, np.broadcast_to(np.array(shown)[:, None], (8, 8, 3)))


ODD_SETTINGS = {
    "image_size": (9, 31),
    "frame_stack": 1,
    "grayscale": True,
    "channels_first": True,
    "camera": {"a": CAMERA, "b": CAMERA},
    "outputs": ("pixels", "depth", "segmentation", "mask"),
}


@pytest.mark.filterwarnings("ignore:dmcr/target changes nothing:UserWarning")  # the probe has no target
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in SAMPLE else [pytest.mark.full]) for n in list_distractors()]
)
def test_presets_work_under_odd_settings(name):
    env = probe_env(distractors=name, **ODD_SETTINGS)

    def both(key):
        state = env.reset(key)
        return state, env.step(state, jnp.zeros(env.action_size))

    before, after = jax.eval_shape(both, jax.random.key(0))
    assert before.obs["pixels/b"].shape == (1, 9, 31)
    shapes = [jax.tree.map(lambda x: (x.shape, x.dtype), state) for state in (before, after)]
    assert shapes[0] == shapes[1]


@dataclass(frozen=True)
class _Dimmed(Distractor):
    """As docs/extending.md writes one with a strength."""

    amount: float = data_field(0.5, most=1.0, strength=True)

    def apply_frame(self, state, frame, context):
        return frame._replace(rgb=frame.rgb * (1 - self.amount))


def test_ones_own_may_have_a_strength():
    env = probe_env(distractors=_Dimmed(), frame_stack=1)
    plain = probe_env(frame_stack=1).reset(jax.random.key(0)).obs["pixels"]
    for strength, share in ((0.0, 1.0), (1.0, 0.5), (2.0, 0.0)):
        seen = env.reset(jax.random.key(0), env.scaled_params(strength)).obs["pixels"]
        np.testing.assert_allclose(seen, share * np.asarray(plain, float), atol=1)
    with pytest.raises(ConfigError, match=r"_Dimmed: amount is 2\.0: it must be at most 1"):
        _Dimmed(2.0)


def test_the_contract_is_that_of_the_base_class():
    Distraction([_Counting(), _with("apply_scene", lambda state, view, context: SceneView(*view))], _context())
