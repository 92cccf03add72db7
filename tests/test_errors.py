"""Checks of settings: what they take, and that a message names the setting, the value and the rule."""

import numpy as np
import pytest

from pixelbrax.errors import ConfigError, check_choice, check_count, check_flag, check_keywords, check_number


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_counts_become_ints(value):
    assert type(check_count("n", value)) is int
    assert check_count("n", value) == 3


@pytest.mark.parametrize("value", [3.0, "3", None, True, np.bool_(True), np.float32(3), (3,), float("nan")])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(ConfigError, match=r"^n is .*: it must be a whole number"):
        check_count("n", value)


@pytest.mark.parametrize(("value", "least", "most"), [(0, 1, None), (-1, 0, 5), (6, 0, 5)])
def test_counts_have_bounds(value, least, most):
    with pytest.raises(ConfigError, match=f"n is {value}: it must be at least {least}"):
        check_count("n", value, least, most)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int32(1)])
def test_numbers_become_floats(value):
    assert type(check_number("x", value)) is float


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (1e39, "finite"),
        ("1", "a number"),
        (None, "a number"),
        (True, "a number"),
        (0.0, "positive"),
        (2.0, "at most 1"),
    ],
)
def test_what_is_no_number_in_range_is_refused(value, rule):
    with pytest.raises(ConfigError, match=f"x is .*: it must be {rule}"):
        check_number("x", value, 0, 1, above=0)


def test_flags_are_true_or_false():
    assert check_flag("f", np.bool_(True)) is True
    with pytest.raises(ConfigError, match="f is 1: it must be True or False"):
        check_flag("f", 1)


def test_choices_and_keywords_name_what_there_is():
    with pytest.raises(ConfigError, match="mode is 'c': it must be one of a, b"):
        check_choice("mode", "c", ["a", "b"])
    with pytest.raises(ConfigError, match="make has no setting 'img_size': did you mean image_size"):
        check_keywords("make", ["img_size"], ["image_size", "camera"])
