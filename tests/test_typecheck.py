"""Annotations of arrays are enforced: else an update of jaxtyping could end that without a word."""

import jax.numpy as jnp
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Array, Float

from pixelbrax.render.shot import is_sky
from pixelbrax.xla import take_rows
from tests.typecheck import check_arrays

ONES = jnp.ones(3)


def test_the_package_refuses_arrays_of_other_dtypes_and_shapes():
    assert is_sky(jnp.array([-1, 0])).tolist() == [True, False]
    with pytest.raises(BeartypeCallHintViolation, match="geom_index"):
        is_sky(ONES)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BeartypeCallHintViolation, match="leaf"):
        take_rows(jnp.arange(3), [0])


def test_an_axis_has_one_length_in_a_call_and_may_have_another_in_the_next():
    @check_arrays
    def add(x: Float[Array, " n"], y: Float[Array, " n"]) -> Float[Array, " n"]:
        return x + y[:1]

    assert [add(ONES[:n], ONES[:n]).shape for n in (3, 2)] == [(3,), (2,)]
    with pytest.raises(BeartypeCallHintViolation, match="y"):
        add(ONES, ONES[:2])
