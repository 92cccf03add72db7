"""Messages of a page: whatever arrives is a message or a ConfigError."""

import json
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixelbrax.errors import ConfigError
from pixelbrax.viewer import messages, parse_message
from pixelbrax.viewer.messages import MAX_BYTES

GOOD = [
    messages.Choose(task="ant"),
    messages.Choose(engine="mjx", distractors=("dcs/hard",), camera="", resolution=84, grayscale=True),
    messages.Pause(True),
    messages.Step(),
    messages.Restart(),
    messages.Restart(7),
    messages.Act("sliders", (0.5, -1.0)),
    messages.Act("random"),
    messages.Show("depth"),
    messages.Drag("pan", 0.1, -0.2),
    messages.Zoom(-2.0),
    messages.Home(),
    messages.Follow(False),
    messages.Speed(0.25),
    messages.Strength(1.5),
    messages.Record(True),
]
names = st.sampled_from([*messages._KINDS, "", "Pause", "__init__"])
fields = st.sampled_from(
    "task engine distractors camera resolution grayscale paused seed source action view how right down notches "
    "follows factor recording __class__ self".split()
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["pan", "color"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


slowly = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _answer(data: bytes) -> messages.Message | str:
    try:
        return parse_message(data)
    except ConfigError as e:
        return str(e)


def _is_answered(data: bytes) -> None:
    answer = _answer(data)
    assert isinstance(answer, messages.Message) or (len(answer) < 700 and "\n" not in answer)


@pytest.mark.parametrize("message", GOOD, ids=repr)
def test_every_message_arrives_as_it_was_sent(message):
    sent = {"type": type(message).__name__.lower()} | asdict(message)
    assert parse_message(json.dumps(sent).encode()) == message


def test_all_kinds_are_tried():
    assert {type(message) for message in GOOD} == set(messages._KINDS.values())


@slowly
@given(st.binary(max_size=200))
def test_bytes_are_answered(data):
    _is_answered(data)


@slowly
@given(names, st.dictionaries(fields, values, max_size=4))
def test_objects_are_answered(name, given_fields):
    _is_answered(json.dumps({"type": name, **given_fields}).encode())


@slowly
@given(values)
def test_other_json_is_answered(value):
    _is_answered(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("[" * 10_000, "no JSON"),
        ("[1]", "must be a JSON object"),
        ("{}", "type is None"),
        ('{"type": ["pause"]}', "type is"),
        ('{"type": "pause"}', "has no 'paused'"),
        ('{"type": "pause", "paused": 1}', "paused is 1: it must be True or False"),
        ('{"type": "pause", "paused": true, "now": 1}', "has no setting 'now'"),
        ('{"type": "zoom", "notches": NaN}', "notches is nan"),
        ('{"type": "zoom", "notches": 1e999}', "notches is inf"),
        ('{"type": "zoom", "notches": ' + "9" * 5000 + "}", "a number of 5000 digits"),
        ('{"type": "restart", "seed": -1}', "seed is -1"),
        ('{"type": "act", "source": "sliders", "action": [2]}', "action[0] is 2"),
        ('{"type": "act", "source": "sliders", "action": "11"}', "must be a list of numbers"),
        ('{"type": "choose", "distractors": "dcs/hard"}', "must be a list"),
        ('{"type": "choose", "task": "' + "x" * 300 + '"}', "text of at most 200"),
        ('{"type": "' + "x" * MAX_BYTES + '"}', "at most 16384"),
    ],
)
def test_what_is_wrong_is_named(text, reason):
    with pytest.raises(ConfigError) as refused:
        parse_message(text.encode())
    assert reason in str(refused.value)
