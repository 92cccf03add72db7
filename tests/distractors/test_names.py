"""What names of distractors mean, and what is said of those that mean nothing."""

import pytest

import pixelbrax
from pixelbrax.distractors import Composed, Preset, distractor, register_preset, resolve
from pixelbrax.distractors.kinds.filters import Hue
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.presets import list_distractors
from pixelbrax.errors import ConfigError


def _videos(several: Composed) -> list[Video]:
    inner = [d for one in several.distractors for d in (_videos(one) if isinstance(one, Composed) else [one])]
    return [one for one in inner if isinstance(one, Video)]


def _video(name):
    (video,) = _videos(distractor(name))
    return video.source, video.split


@pytest.mark.parametrize(
    ("rest", "source", "split"),
    [
        ("", "procedural", "train"),
        ("@train", "procedural", "train"),
        ("@test", "procedural", "test"),
        (":davis-2017@test", "davis-2017", "test"),
        (":/data/bank.npz", "/data/bank.npz", "train"),
        (":/data/a@b/bank.npz", "/data/a@b/bank.npz", "train"),
        (":/data/a@b/bank.npz@test", "/data/a@b/bank.npz", "test"),
        (":/data/a@test/bank.npz", "/data/a@test/bank.npz", "train"),
        (":/data/bank@v2", "/data/bank@v2", "train"),
        (":/data/bank@test@train", "/data/bank@test", "train"),
        (r":C:\data\bank.npz@test", r"C:\data\bank.npz", "test"),
        (":a:b@c:d@test", "a:b@c:d", "test"),
    ],
)
def test_paths_may_have_the_signs_of_names(rest, source, split):
    assert _video(f"pixelbrax/video{rest}") == (source, split)


def test_a_file_that_is_called_like_a_split_needs_one_behind(tmp_path):
    path = tmp_path / "bank@test"
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"bank@test: append its split, .*bank@test@train or .*bank@test@test"):
        distractor(f"pixelbrax/video:{path}")
    assert _video(f"pixelbrax/video:{path}@test") == (str(path), "test")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (3, "distractors is 3: it must be a preset name, a Distractor, or a list of them"),
        (None, "distractors is None: it must be"),
        ({"dcs/hard": 0.5}, "distractors is {'dcs/hard': 0.5}: it must be"),
        ({"dcs/hard"}, "distractors is {'dcs/hard'}: it must be"),
        (Hue, "distractors is the class Hue: give an instance, such as Hue()"),
        ([Hue], "distractors[0] is the class Hue: give an instance"),
        (["kage/hue", ["dcs/hard"]], "distractors[1] is ['dcs/hard']: it must be a preset name or a Distractor"),
        ([None], "distractors[0] is None: it must be"),
        ("", "a distractor is called ''"),
        ([""], "a distractor is called ''"),
        ("@test", "a distractor is called '@test'"),
        ("kage/hu", "unknown distractor 'kage/hu': did you mean kage/hue or"),
        (" dcs/hard", "unknown distractor ' dcs/hard': did you mean dcs/hard"),
        (
            "dcs/hard kage/hue",
            "'dcs/hard kage/hue' is several names: give each separately, as in ('dcs/hard', 'kage/hue')",
        ),
        (("dcs/hard kage/hue@test",), "is several names"),
        ("kage/hue@tset", "'kage/hue@tset': there is no split 'tset': did you mean test?"),
        ("kage/hue@", "'kage/hue@': there is no split ''"),
        ("kage/hue@test@test", "there is no split 'test@test'"),
        ("pixelbrax/video:", "name a source after the ':', or leave that out"),
        ("pixelbrax/video:@test", "name a source after the ':', or leave that out"),
        ("kage/hue:davis-2017", "kage/hue has no videos: leave out ':davis-2017'"),
        ("kage/hue:procedural@test", "kage/hue has no videos: leave out ':procedural'"),
    ],
)
def test_what_is_no_distractor_is_told(wrong, told):
    with pytest.raises(ConfigError) as caught:
        resolve(wrong)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_preset_has_videos_or_none_of_a_source():
    for name in list_distractors():
        if _videos(distractor(name)):
            assert {video.source for video in _videos(distractor(f"{name}:davis-2017"))} == {"davis-2017"}
        else:
            with pytest.raises(ConfigError, match=f"{name} has no videos"):
                distractor(f"{name}:davis-2017")


def test_only_presets_are_registered():
    with pytest.raises(ConfigError, match="register_preset takes a Preset, not 'mine/flicker'"):
        register_preset("mine/flicker")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="mine/flicker: description is None: it must be text"):
        Preset("mine/flicker", None, lambda setting: [])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("members", [Hue(), None, "kage/hue", (Hue,), [3]])
def test_members_of_a_preset_are_distractors(members):
    with pytest.raises(ConfigError, match=r"members returns|distractors\[0\] is"):
        Preset("my/own", "", lambda setting: members).build("train")


# One of each catalog whose presets read what the task is.
@pytest.mark.parametrize("name", ["dcs/hard@test", "dmcr/camera", "dmcvb/hard-dynamic", "gen-v1/dcs-hard", "kage/hue"])
@pytest.mark.parametrize("task", [pytest.param("inverted_pendulum", marks=pytest.mark.full), "reacher"])
def test_another_distractor_is_what_make_would_have_given(task, name):
    bare = pixelbrax.make(task, image_size=16)
    assert bare.with_distractors(name).distractors == pixelbrax.make(task, image_size=16, distractors=name).distractors
    assert bare.with_distractors([name, Hue(0.5)]).distractor_names == (name, "Hue")
