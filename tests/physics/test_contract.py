"""Physics of one's own: what is missing, or is not what `PhysicsState` says, is told before anything is compiled."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import Task
from tests.probe import CAMERA, ProbePhysics


def _mine(method, change):
    """Physics one of whose methods gives something else."""

    def changed(self, *args):
        return change(getattr(ProbePhysics, method)(self, *args))

    return type("Mine", (ProbePhysics,), {method: changed})()


def _traced(physics):
    env = PixelEnv(physics, CAMERA, outputs=())
    state = jax.eval_shape(env.reset, jax.random.key(0))
    return jax.eval_shape(env.step, state, jnp.zeros(env.action_size))


WRONG = [
    ("reset", lambda state: None, r"Mine\.reset returns a NoneType: it must return a PhysicsState"),
    ("step", lambda state: (state, 0.0), r"Mine\.step returns a tuple: it must return a PhysicsState"),
    ("step", lambda state: replace(state, reward=None), r"Mine\.step returns reward that is a NoneType"),
    (
        "step",
        lambda state: replace(state, reward=state.obs),
        r"Mine\.step returns reward as \(2,\) float32: it must be \(\)",
    ),
    (
        "reset",
        lambda state: replace(state, terminated=jnp.zeros(())),
        r"reset returns terminated as \(\) float32: it must be \(\) bool",
    ),
    (
        "step",
        lambda state: replace(state, terminated=state.terminated.astype(jnp.int32)),
        r"step returns terminated as \(\) int32: it must be \(\) bool",
    ),
    (
        "reset",
        lambda state: replace(state, obs={"x": state.obs}),
        r"Mine\.reset returns obs that is a dict: it must be \(obs_",
    ),
    (
        "step",
        lambda state: replace(state, obs=state.obs[1:]),
        r"step returns obs as \(1,\) float32: it must be \(2,\) float32, as in",
    ),
    ("step", lambda state: replace(state, metrics=None), r"Mine\.step returns metrics that are a NoneType"),
    ("step", lambda state: replace(state, metrics={}), r"metrics\['x'\] is reset's, and not step's"),
    (
        "step",
        lambda state: replace(state, engine_state=(*state.engine_state[:2], state.obs)),
        r"step returns engine_state\[2\] as \(2,\) float32: it must be \(\) float32",
    ),
    (
        "step",
        lambda state: replace(state, engine_state=(state.engine_state[0], 0.5, state.engine_state[2])),
        r"step returns engine_state\[1\] as \(\) float32: it must be \(\) int32",
    ),
]


@pytest.mark.parametrize(("method", "change", "told"), WRONG)
def test_what_a_state_must_be(method, change, told):
    with pytest.raises(ConfigError, match=told):
        _traced(_mine(method, change))


def test_a_number_of_python_is_a_reward():
    assert _traced(_mine("step", lambda state: replace(state, reward=1.0))).reward.dtype == jnp.float32


class _Half:
    """Has `reset` and `step`, and not the rest."""

    mj_model, model, action_size, dt, cheap_reset = ProbePhysics.mj_model, None, 1, 0.1, True
    reset, step, with_model = ProbePhysics.reset, ProbePhysics.step, ProbePhysics.with_model

    def __init__(self):
        self.reward_weights = {}


def test_what_is_missing_is_named():
    missing = "it has no with_reward_weights, coordinates, body_pose"
    with pytest.raises(ConfigError, match=f"must be a Physics; .*; {missing}"):
        PixelEnv(_Half(), CAMERA)  # pyright: ignore[reportArgumentType]
    task = Task("half", "some of it", ("probe",), lambda backend: _Half(), CAMERA)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=f"the load of task 'half' .* must return a Physics, such as .*; {missing}"):
        task.load_physics()
