"""Numbers of distractors that make no sense are refused when they are given, not seen as odd pictures."""
# Wrong kinds are given on purpose.
# pyright: reportArgumentType=false, reportCallIssue=false

import dataclasses
import math

import numpy as np
import pytest

from pixelbrax.distractors import Distractor, Preset, SceneContext
from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.composed import Composed
from pixelbrax.distractors.kinds.camera import CameraOrbit, FieldOfView
from pixelbrax.distractors.kinds.color import ColorOffset, FloorColors, MaterialColors, SkyColors
from pixelbrax.distractors.kinds.filters import Blur, Brightness, Contrast, Hue, Jitter, Pixelate, RadialLight, Vignette
from pixelbrax.distractors.kinds.light import Ambience, Gloss, LightColor, LightPosition, MovingLight, Shadows
from pixelbrax.distractors.kinds.noise import GaussianNoise, PoissonNoise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.levels import Levels
from pixelbrax.distractors.presets import FIRST_TEST_LEVEL
from pixelbrax.distractors.roles import Role
from pixelbrax.errors import ConfigError
from tests.probe import probe_env

NEEDED = {kind: {"amount": 0.1} for kind in (MaterialColors, FloorColors, SkyColors)}


def _kinds(kind=Distractor):
    for each in kind.__subclasses__():
        if each.__module__.startswith("pixelbrax.") and not each.__name__.startswith("_"):
            yield each
        yield from _kinds(each)


def _numbers():
    """Every number of every distractor that this package has."""
    for kind in dict.fromkeys(_kinds()):
        for field in dataclasses.fields(kind):
            if field.type in ("float", "int", float, int, int | None):
                yield kind, field.name


def test_the_table_knows_the_kinds():
    assert len({kind for kind, _ in _numbers()}) > 25
    assert {(Video, "clips"), (Hue, "amount"), (Jitter, "pixels"), (Levels, "count")} <= set(_numbers())


@pytest.mark.parametrize(("kind", "name"), list(_numbers()), ids=lambda x: getattr(x, "__name__", x))
def test_no_number_is_odd(kind, name):
    odd = [math.nan, -math.inf, -1e9, 1e39, "0.3", True, [0.1], np.array([0.1, 0.2])]
    for value in odd if kind is PoissonNoise else [*odd, math.inf]:
        with pytest.raises(ConfigError, match=name):
            kind(**(NEEDED.get(kind, {}) | {name: value}))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Hue(-0.1), "Hue: amount is -0.1: it must be at least 0"),
        (lambda: Contrast(1000.0), "Contrast: amount is 1000.0: it must be at most 50"),
        (lambda: Blur(0.1, -1), "Blur: std is -1: it must be at least 0"),
        (lambda: Vignette(51.0), "Vignette: amount is 51.0: it must be at most 50"),
        (lambda: MaterialColors(1.1), "MaterialColors: amount is 1.1: it must be at most 1"),
        (
            lambda: MaterialColors(0.1, roles=()),
            "MaterialColors: roles is (): it must be a tuple of some of Role.FLOOR",
        ),
        (lambda: MaterialColors(0.1, roles=(7,)), "roles is (7,)"),  # pyright: ignore
        (lambda: Gloss(0.5, Role.BODY), "Gloss: roles is"),  # pyright: ignore
        (lambda: ColorOffset(std=-0.1), "ColorOffset: std is -0.1"),
        (lambda: CameraOrbit(zoom_in=1.0), "CameraOrbit: zoom_in is 1.0: it must be at most 0.99"),
        (lambda: CameraOrbit(angle=4.0), "CameraOrbit: angle is 4.0: it must be at most 3.14159"),
        (lambda: CameraOrbit(above=1), "CameraOrbit: above is 1: it must be True or False"),  # pyright: ignore
        (lambda: CameraOrbit.of_intensity(1.5), "intensity is 1.5: it must be at most 1"),
        (lambda: CameraOrbit.of_intensity(math.nan), "intensity is nan"),
        (lambda: FieldOfView(5.0), "FieldOfView: amount is 5.0: it must be at most 3"),
        (lambda: LightPosition(5.0, 3.0), "LightPosition: nearest is 5.0: it must be at most 3"),
        (lambda: LightColor(-1.0), "LightColor: amount is -1.0"),
        (lambda: MovingLight(start=-1.0), "MovingLight: start is -1.0"),
        (lambda: Ambience(ambient=(0.8, 0.1, 0.0)), "Ambience: ambient's least is 0.8: it must be at most 0.1"),
        (lambda: Ambience(diffuse=0.5), "Ambience: diffuse is 0.5: it must be (least, most, tint)"),  # pyright: ignore
        (lambda: Ambience(specular=(0.0, 0.1, math.nan)), "Ambience: specular's tint is nan"),
        (lambda: RadialLight(width=0.0), "RadialLight: width is 0.0: it must be at least 0.001"),
        (lambda: Pixelate(0), "Pixelate: block is 0: it must be at least 1"),
        (lambda: Pixelate(2.5), "Pixelate: block is 2.5: it must be a whole number"),  # pyright: ignore
        (lambda: Jitter(-1), "Jitter: pixels is -1"),
        (lambda: GaussianNoise(-0.1), "GaussianNoise: std is -0.1"),
        (lambda: PoissonNoise(0.0), "PoissonNoise: photons is 0.0"),
        (lambda: Occluders(10**9), "Occluders: count is 1000000000: it must be at least 0 and at most 100"),
        (lambda: Occluders(smallest=0.5), "Occluders: smallest is 0.5: it must be at most 0.3"),
        (lambda: Occluders(smallest=0.0), "Occluders: smallest is 0.0: it must be positive"),
        (lambda: MotionBlur(1.0), "MotionBlur: share is 1.0: it must be at most 0.9"),
        (lambda: Latency(17), "Latency: frames is 17"),
        (lambda: FrameDrop(1.1), "FrameDrop: probability is 1.1: it must be at most 1"),
        (lambda: Video(sky=1.1), "Video: sky is 1.1: it must be at most 1"),
        (lambda: Video(speed=-1.0), "Video: speed is -1.0"),
        (lambda: Video(split="val"), "Video: split is 'val': it must be one of train, test"),  # pyright: ignore
        (lambda: Video(clips=0), "Video: clips is 0: it must be at least 1"),
        (lambda: Video(source=""), "Video: source is ''"),
        (lambda: Video(bank="my.npz"), "Video: bank is a str: it must be a ClipBank"),  # pyright: ignore
        (lambda: Levels((), 0, 0), "Levels: count is 0"),
        (lambda: Levels((), 2**31 - 2, 2), "Levels: count is 2: it must be at least 1 and at most 1"),
        (lambda: Composed(("kage/hue",)), "Composed: distractors[0] is 'kage/hue': it must be a Distractor"),  # pyright: ignore
        (lambda: Composed((Hue,)), "distractors[0] is the class Hue: give an instance, such as Hue()"),  # pyright: ignore
        (lambda: Composed([Hue()]), "Composed: distractors is"),  # pyright: ignore
        (lambda: BackgroundOnly("kage/hue"), "BackgroundOnly: distractor is 'kage/hue'"),  # pyright: ignore
        (lambda: BackgroundOnly(MaterialColors(0.1)), "BackgroundOnly: MaterialColors changes the scene"),
        (lambda: BackgroundOnly(Shadows()), "BackgroundOnly: Shadows changes the scene"),
        (lambda: BackgroundOnly(Levels((Hue(), LightColor()))), "BackgroundOnly: Levels changes the scene"),
        (lambda: Preset("my/a", "", lambda s: [], train_levels=0), "my/a: train_levels is 0"),
        (lambda: Preset("my/a", "", lambda s: [], train_levels=FIRST_TEST_LEVEL + 1), "my/a: train_levels"),
        (lambda: Preset("my/a", "", [Hue()]), "my/a: members is"),  # pyright: ignore
        (lambda: Preset("my/a:b", "", lambda s: []), "a preset cannot be called 'my/a:b'"),
        (lambda: Preset("my/a b", "", lambda s: []), "a preset cannot be called 'my/a b'"),
    ],
)
def test_what_is_wrong_is_told(make, told):
    with pytest.raises(ConfigError) as caught:
        make()
    assert told in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    assert Hue(np.float32(0.5)).amount == 0.5
    assert Occluders(np.int64(3)).count == 3
    assert PoissonNoise(math.inf).is_identity
    assert LightPosition(-3.0, 3.0).nearest == -3.0


@pytest.mark.parametrize(("kind", "fits"), [(Pixelate, 12), (Jitter, 11)])
def test_nothing_is_larger_than_the_image(kind, fits):
    env = probe_env()
    context = SceneContext.of(env.physics.mj_model, env.scene, 12, 40)
    kind(fits).prepare(context)
    with pytest.raises(ConfigError, match=rf"{kind.__name__}: \w+ is {fits + 1}: .* image of 12x40"):
        kind(fits + 1).prepare(context)


def test_a_brightness_of_one_is_no_flag():
    assert Brightness(1).amount == 1
