"""Functions that users give: what is wrong with them is told in one error, before anything is compiled."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics import MjcfPhysics, Randomizer
from pixelbrax.physics._functions import array, called, check_like
from tests.probe import ProbePhysics

FORM = "reward_fn(before, after) -> () number"
VECTOR = jax.ShapeDtypeStruct((3,), jnp.float32)


def _with_branch(before, after):
    if after[0] > before[0]:
        return 1.0
    return 0.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, r"^reward_fn is 3: it must be a function, reward_fn\(before, after\)"),
        (None, "^reward_fn is None: it must be a function"),
        (lambda after: 0.0, r"^reward_fn takes \(after\), and is called with 2 arguments: reward_fn\(before, after\)"),
        (lambda a, b, c: 0.0, r"^reward_fn takes \(a, b, c\)"),
        (lambda *, before, after: 0.0, r"^reward_fn takes \(\*, before, after\)"),
        (_with_branch, r"^reward_fn fails \(.*test_functions.py:\d+\): .*use jnp.where"),
        (jax.jit(_with_branch), r"^reward_fn fails \(.*test_functions.py:\d+\): .*use jnp.where"),
        (lambda a, b: float(b[0]), "instead of float"),
        (lambda a, b: np.sin(b), "use jax.numpy instead of NumPy"),
        (lambda a, b: [1, 2][b[0].astype(int)], "use jnp.take instead"),
        (lambda a, b: b[b > 0].sum(), "instead of a mask"),
        (lambda a, b: b.qpos[0], "AttributeError: .*qpos.*; it is called as reward_fn"),
        (lambda a, b: jnp.zeros(2) + jnp.zeros(3), "TypeError: .*shapes"),
        (lambda a, b: "much", "TypeError: .*'str'|TypeError: .*str"),
    ],
)
def test_what_a_function_raises_is_told_in_one_error(function, message):
    with pytest.raises(ConfigError, match=message) as told:
        called(FORM, function, VECTOR, VECTOR)
    assert "\n" not in str(told.value)
    if "fails" in str(told.value):
        assert told.value.__cause__ is not None


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: None, r"^reward_fn returns None: it must return a scalar, reward_fn\(before, after\)"),
        (lambda a, b: (a[0], b[0]), "^reward_fn returns a tuple: it must return a scalar"),
        (lambda a, b: b, r"^reward_fn returns an array of shape \(3,\): it must return a scalar"),
        (lambda a, b: b[:1], r"^reward_fn returns an array of shape \(1,\): it must return a scalar"),
        (lambda a, b: b[0] + 1j, "^reward_fn returns complex64: it must return real numbers"),
    ],
)
def test_what_a_function_returns_is_checked(function, message):
    with pytest.raises(ConfigError, match=message):
        array(FORM, called(FORM, function, VECTOR, VECTOR), ndim=0)


def test_truth_values_are_no_numbers():
    form = "terminate_fn(data) -> () bool"
    with pytest.raises(ConfigError, match=r"terminate_fn returns float32: it must return a bool"):
        array(form, called(form, lambda data: data[0] - 0.2, VECTOR), ndim=0, boolean=True)
    array(form, called(form, lambda data: data[0] < 0.2, VECTOR), ndim=0, boolean=True)


@pytest.mark.parametrize(
    "function", [lambda a, b: a[0], lambda *args: 1, functools.partial(lambda w, a, b: w * b[0], 2.0), jnp.dot]
)
def test_functions_of_the_right_form_pass(function):

    assert array(FORM, called(FORM, function, VECTOR, VECTOR), ndim=0).shape == ()


def test_numbers_that_are_known_may_be_used():
    assert called(
        "f(known, key) -> x", lambda known, key: key * float(np.asarray(known)[0]), jnp.ones(2), VECTOR
    ).shape == (3,)


def test_trees_that_must_stay_alike():
    expected = {"a": jnp.zeros(2), "b": jnp.zeros((), jnp.int32)}
    form = "reset_fn(key, data) -> data"
    check_like(form, jax.eval_shape(lambda: expected), expected)
    for result, message in (
        (None, "None: it must return a dict"),
        (
            {"a": jnp.zeros(3), "b": expected["b"]},
            r"'a' as float32 of shape \(3,\): it must be float32 of shape \(2,\)",
        ),
        ({"a": jnp.zeros(2, int), "b": expected["b"]}, r"'a' as int32 of shape \(2,\)"),
        ({"a": jnp.zeros(2)}, r"'b' as nothing: it must be int32 of shape \(\)"),
        ({**expected, "c": jnp.zeros(1)}, r"'c' as float32 of shape \(1,\): it must be nothing"),
    ):
        with pytest.raises(ConfigError, match=f"^reset_fn returns .*{message}"):
            check_like(form, jax.eval_shape(lambda result=result: result), expected)


def _if_fallen(data):
    return jnp.array(True) if data.qpos[0] > 1 else jnp.array(False)


CREATURE = Path(__file__).parents[2] / "examples" / "creature.xml"


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"reward_fn": lambda before, action, after: None}, "reward_fn returns None"),
        ({"reward_fn": lambda before, after: 0.0}, r"reward_fn takes \(before, after\), and is called with 3"),
        ({"terminate_fn": _if_fallen}, r"terminate_fn fails .*jnp\.where"),
        ({"terminate_fn": lambda data: data.qpos[0]}, "terminate_fn returns float32: it must return a bool"),
        ({"terminate_fn": lambda data: data.qpos > 1}, r"terminate_fn returns an array of shape \(5,\)"),
        ({"observe_fn": lambda data: data.qpos[0]}, r"observe_fn returns an array of shape \(\): .* a vector"),
        ({"observe_fn": lambda data: {"q": data.qpos}}, "observe_fn returns a dict: it must return a vector"),
        ({"observe_fn": "qpos"}, "observe_fn is 'qpos': it must be a function"),
        ({"reset_fn": lambda data: data}, r"reset_fn takes \(data\), and is called with 2 arguments"),
        ({"reset_fn": lambda key, data: data.qpos}, "reset_fn returns float32 of shape .*: it must return a Data"),
        (
            {"reset_fn": lambda key, data: data.replace(qpos=data.qpos[:2])},
            r"returns 'qpos' as float32 of shape \(2,\)",
        ),
        ({"reset_fn": lambda key, data: data.replace(qpos=jnp.zeros(5, int))}, "returns 'qpos' as int32"),
        ({"reset_fn": lambda key, data: data.replace(position=data.qpos)}, r"reset_fn fails .*: TypeError: .*position"),
    ],
)
def test_functions_of_creatures_are_checked_when_they_are_made(functions, message, shared):
    given = {"reward_fn": lambda before, action, after: 0.0} | functions
    with pytest.raises(ConfigError, match=message):
        shared(**given)


def test_a_start_at_which_episodes_end_is_told(shared):
    def behind(data):
        return data.qpos[0] < 1.0

    with pytest.warns(
        UserWarning, match="terminate_fn is True where episodes begin, .*: each ends with its first step"
    ):
        shared(reward_fn=lambda before, action, after: 0.0, terminate_fn=behind)
    shared(reward_fn=lambda before, action, after: 0.0, terminate_fn=behind, reset_fn=lambda key, data: data)


@pytest.fixture(scope="module")
def shared():
    """`MjcfPhysics` without the trace of MJX's step, which takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pixelbrax.physics.mjcf.mjx.step", lambda model, start: start)
        yield functools.partial(MjcfPhysics, CREATURE)


def test_what_mjx_lacks_is_told():
    spec = mujoco.MjSpec.from_string(CREATURE.read_text())
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICIT
    with pytest.raises(ConfigError, match=r"^MJX cannot simulate the model: .*IMPLICIT"):
        MjcfPhysics(spec, lambda before, action, after: 0.0)  # pyright: ignore


class _Modelled(ProbePhysics):
    def __init__(self):
        super().__init__()
        self.model = {"mass": np.ones(3, np.float32), "friction": np.ones((), np.float32)}


def _drawn(key):
    return jax.random.uniform(key, (3,))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda model: model, r"randomization_fn takes \(model\), and is called with 2 arguments"),
        (5, "randomization_fn is 5: it must be a function"),
        (lambda model, keys: model, "randomization_fn returns a dict: it must return model, in_axes"),
        (lambda model, keys: None, "randomization_fn returns a NoneType"),
        (lambda model, keys: ({"mass": 1.0}, None), "a model whose structure differs"),
        (lambda model, keys: (model, {"mass": None, "friction": None}), "randomization_fn changes nothing"),
        (lambda model, keys: (model, {"mass": "0", "friction": None}), "in_axes has '0' for 'mass'"),
        (lambda model, keys: (model, {"mass": 0, "friction": None}), r"'mass' of shape \(3,\) for one key"),
        (lambda model, keys: (model, {"mass": None, "friction": 0}), r"'friction' of shape \(\) for one key"),
        (
            lambda model, keys: (model | {"mass": jax.vmap(_drawn)(keys)}, {"mass": None, "friction": None}),
            "changes 'mass', for which its in_axes has None",
        ),
        (
            lambda model, keys: (
                model | {"mass": jax.vmap(_drawn)(keys), "friction": np.float32(3.0)},
                {"mass": 0, "friction": None},
            ),
            "changes 'friction', for which its in_axes has None",
        ),
        (lambda model, keys: (model, (0,)), "in_axes that do not fit the model"),
        (
            lambda model, keys: (model | {"mass": jax.vmap(_drawn)(keys)[:, :2]}, {"mass": 0, "friction": None}),
            r"samples 'mass' of shape \(2,\) for an environment",
        ),
        (lambda model, keys: (model, 1.0) if keys[0, 0] > 0 else (model, None), r"randomization_fn fails .*jnp\.where"),
    ],
)
def test_randomization_functions_are_checked(function, message):
    with pytest.raises(ConfigError, match=message) as refused:
        Randomizer(_Modelled(), function)
    assert "\n" not in str(refused.value)


def test_a_randomization_function_of_the_right_form_draws():
    randomizer = Randomizer(
        _Modelled(), lambda model, keys: (model | {"mass": jax.vmap(_drawn)(keys)}, {"mass": 0, "friction": None})
    )
    assert randomizer.sample(jax.random.key(0))["mass"].shape == (3,)
