"""Programs rewritten component by component, against the programs themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brax import math as brax_math
from hypothesis import given, settings
from hypothesis import strategies as st

import pixelbrax
from pixelbrax.physics.brax import BraxPhysics
from pixelbrax.xla._parts import Parts, moved, numbered
from pixelbrax.xla.componentwise import by_component

PARENTS = np.array([-1, 0, 1, 1, 0, 4, 5])
PAIRS = np.array([[0, 3], [2, 2], [6, 1], [0, 5], [1, 1]])
LENGTHS = st.sampled_from([1, 2, 3, 4, 5, 7])


def _numbers(*shape, seed=0):
    return jax.random.normal(jax.random.key(seed), shape)


def _same(function, *args, tolerance=1e-6):
    expected, result = jax.jit(function)(*args), jax.jit(by_component(function))(*args)
    assert jax.tree.structure(result) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


LINKS, TURNS, MATRICES, COORDINATES = _numbers(7, 3), _numbers(7, 4), _numbers(7, 3, 3), _numbers(9)
PROGRAMS = {
    "cross products": lambda: (jnp.cross, LINKS, LINKS[::-1]),
    "of quaternions": lambda: (jax.vmap(brax_math.quat_mul), TURNS, TURNS[::-1]),
    "rotations": lambda: (jax.vmap(brax_math.rotate), LINKS, TURNS / 2),
    "matrices by vectors": lambda: (lambda m, v: jnp.einsum("lij,lj->li", m, v), MATRICES, LINKS),
    "matrices by matrices": lambda: (lambda m: jnp.einsum("lij,mjk->mlki", m, m), MATRICES),
    "all by all": lambda: (lambda x: x @ x.T, LINKS),
    "along a long axis": lambda: (lambda x: x.T @ x, LINKS),
    "norms": lambda: (lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), LINKS),
    "sums": lambda: (
        lambda m: (m.sum(), m.sum(0), m.max((0, 2)), m.min(1), (m > 0).any(2), (m > 0).all((0, 1))),
        MATRICES,
    ),
    "what is in front": lambda: (lambda x: jnp.concatenate([jnp.zeros((1, 3)), x])[PARENTS + 1], LINKS),
    "pairs": lambda: (lambda x: x[PAIRS], LINKS),
    "counted from the end": lambda: (lambda x: x[np.array([-1, 0, -3])], COORDINATES),
    "beyond the end": lambda: (lambda x: jnp.take(x, np.array([0, 9, 12]), fill_value=5.0), COORDINATES),
    "a diagonal": lambda: (lambda m: jnp.diagonal(m, axis1=1, axis2=2), MATRICES),
    "sums by parents": lambda: (lambda x: jax.ops.segment_sum(x, PARENTS, 7), LINKS),  # -1 counts for nothing
    "sums over pairs": lambda: (lambda x: jnp.zeros(9).at[PAIRS].add(x), _numbers(5, 2)),
    "sums at the end": lambda: (lambda x: x.at[np.array([2, 9, 12])].add(1.0, mode="clip"), COORDINATES),
    "set": lambda: (lambda x: x.at[np.array([1, 3, 3])].set(jnp.arange(3.0)), COORDINATES),
    "rows set": lambda: (lambda m: m.at[:, 0].set(1.0).at[2, 1:].add(2.0), MATRICES),
    "indices that come of data": lambda: (lambda x, i: x[i] + x[jnp.argmax(x[:, 0])], LINKS, jnp.array(3)),
    "shapes": lambda: (lambda m: m.transpose(2, 0, 1).reshape(21, 3)[::-2].ravel(), MATRICES),
    "tiles and stripes": lambda: (lambda x: (jnp.tile(x, (2, 1)), jnp.repeat(x, 2, 0), jnp.flip(x, 1)), LINKS),
    "side by side": lambda: (lambda x: jnp.stack([x, x[::-1], x * 2], 1), LINKS),
    "padding": lambda: (lambda x: jnp.pad(x, ((1, 2), (0, 1))), LINKS),
    "choices": lambda: (lambda x: (jnp.where(x > 0, x, 0), jnp.clip(x, -0.1, 0.1), jnp.sign(x)), LINKS),
    "whole numbers": lambda: (lambda i: (i[::-1] * 3 // 2, i % 4, i & 6), jnp.arange(7)),
    "random numbers": lambda: (lambda k: jax.random.normal(jax.random.split(k)[1], (7, 3)), jax.random.key(0)),
    "nothing": lambda: (lambda x: (x[:0], x[:0].sum(0), x[:, :0] @ x[:0], jnp.zeros((0, 3))), LINKS),
    "a solution": lambda: (lambda m, v: jnp.linalg.solve(m + 3 * jnp.eye(3), v[..., None]), MATRICES, LINKS),
    "a condition": lambda: (lambda x: jax.lax.cond(x[0, 0] > 0, lambda y: y * 2, jnp.sin, x), LINKS),
    "many in many": lambda: (jax.vmap(jax.vmap(jnp.dot)), MATRICES, MATRICES[::-1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same(name):
    _same(*PROGRAMS[name](), tolerance=1e-5)


def test_loops_keep_their_carry_in_parts():
    def function(x, turns, slices):
        def turn(carry, s):
            link, count = carry
            link = jax.vmap(brax_math.rotate)(link, turns) + s
            return (link, count + 1), (link[0], {"sum": link.sum()})

        return jax.lax.scan(turn, (x, jnp.array(0)), slices, reverse=True)

    turns = TURNS / jnp.linalg.norm(TURNS, axis=1, keepdims=True)
    _same(function, LINKS, turns, _numbers(5, 3), tolerance=1e-5)
    (scan,) = [e for e in jax.make_jaxpr(by_component(function))(LINKS, turns, _numbers(5, 3)).eqns if "scan" in str(e)]
    assert not {"dot_general", "concatenate"} & {e.primitive.name for e in scan.params["jaxpr"].eqns}


@pytest.mark.full
@given(first=st.lists(LENGTHS, min_size=1, max_size=4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_elements_move_as_numbers_do(first, data):
    """Law: numbering the elements, moving the numbers, and looking them up is moving the elements."""
    second = data.draw(st.lists(LENGTHS, min_size=0, max_size=3))
    shape = tuple(data.draw(st.lists(LENGTHS, min_size=0, max_size=3)))
    sources = [np.random.default_rng(0).normal(size=s).astype(np.float32) for s in (first, second)]
    count = sum(x.size for x in sources)
    size = int(np.prod(shape))
    numbers = np.array(data.draw(st.lists(st.integers(-1, count - 1), min_size=size, max_size=size)), int).reshape(
        shape
    )
    expected = np.append(np.concatenate([x.ravel() for x in sources]), 0.0)[numbers].astype(np.float32)
    for convert in (np.asarray, jnp.asarray):
        result = moved([Parts.of(convert(x)) for x in sources], numbers)
        assert result.known == (convert is np.asarray) or not size or (numbers < 0).all()
        np.testing.assert_array_equal(result.whole(), expected)


def test_parts_put_together_are_the_array():
    for shape in ((), (3,), (7,), (2, 7, 3), (7, 5), (5, 1, 6, 4), (0, 7)):
        (x,) = numbered(shape)
        np.testing.assert_array_equal(Parts.of(x).whole(), x)
        np.testing.assert_array_equal(Parts.of(jnp.asarray(x)).whole(), x)


def test_gradients_are_the_same():
    def function(x):
        turned = jax.vmap(brax_math.rotate)(x, TURNS)
        lengths = jax.vmap(brax_math.safe_norm)(jnp.concatenate([jnp.zeros((1, 3)), turned]))  # finite at zero
        return jnp.sum(jax.ops.segment_sum(lengths[1:], PARENTS, 7) ** 2)

    _same(jax.grad(function), LINKS, tolerance=1e-5)
    ours, theirs = (jax.jit(jax.grad(each))(LINKS) for each in (by_component(function), function))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Brax System")
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("inverted_pendulum", "spring"),
        ("halfcheetah", "spring"),
        ("ant", "positional"),
        ("humanoid", "spring"),
        ("pusher", "positional"),
        ("walker2d", "spring"),
        ("fetch", "spring"),
        ("grasp", "positional"),
    ],
)
def test_an_engine_steps_the_same(name, backend):
    """And nothing is left in its loop that a GPU would need a kernel of its own for, or sum up in any order."""
    env = pixelbrax.make(name, backend).physics._env
    plain, rewritten = BraxPhysics(env), BraxPhysics(env, componentwise=True)
    states = jax.jit(jax.vmap(plain.reset))(jax.random.split(jax.random.key(0), 16))
    actions = jax.random.uniform(jax.random.key(1), (16, plain.action_size), minval=-1, maxval=1)
    expected, result = (jax.jit(jax.vmap(p.step))(states, actions) for p in (plain, rewritten))
    for x, y in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3)

    one = jax.tree.map(lambda x: x[0], states)
    program = str(jax.make_jaxpr(rewritten.step)(one, actions[0]))
    assert "scan" in program
    assert not any(word in program for word in ("scatter-add", "dot_general"))
