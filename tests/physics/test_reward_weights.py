"""Weights of rewards as data: defaults change nothing, others change the reward and compile nothing again."""

import types
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from brax.envs.base import PipelineEnv, State, Wrapper
from brax.io import mjcf

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.physics import MjcfPhysics
from pixelbrax.physics._reward_weights import reward_weights_of, with_weights
from pixelbrax.physics.brax import BraxPhysics, quiet_brax

_XML = """
<mujoco>
  <option timestep="0.01"/>
  <custom><numeric name="constraint_stiffness" data="5000"/></custom>
  <worldbody>
    <body name="b" pos="0 0 1"><joint name="j" type="hinge" axis="0 1 0"/><geom type="capsule" size=".1 .3"/></body>
  </worldbody>
  <actuator><motor joint="j" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


class Swing(PipelineEnv):
    """A reward of two terms, weighted as Brax's own environments do it."""

    def __init__(self):
        super().__init__(mjcf.loads(_XML), backend="spring")
        self._forward_reward_weight = 1.0
        self._ctrl_cost_weight = 0.3
        self._healthy_reward = 2
        self._terminate_reward = True  # no number

    def reset(self, rng):
        state = self.pipeline_init(jax.random.normal(rng, (1,)), jnp.zeros(1))
        return State(state, state.q, jnp.zeros(()), jnp.zeros(()), {"forward": jnp.zeros(())})

    def step(self, state, action):
        before: Any = state.pipeline_state
        after: Any = self.pipeline_step(before, action)
        forward = self._forward_reward_weight * (after.q[0] - before.q[0]) / self.dt
        reward = forward + self._healthy_reward - self._ctrl_cost_weight * jnp.sum(jnp.square(action))
        return state.replace(pipeline_state=after, obs=after.q, reward=reward, metrics={"forward": forward})


@pytest.fixture(scope="module")
def swing():
    with quiet_brax():
        return BraxPhysics(Wrapper(Swing()))


def _weighted(physics):
    """A compiled step whose weights are an argument."""
    return jax.jit(lambda weights, state, action: physics.with_reward_weights(weights).step(state, action))


def _with_other_weights(physics, step, others):
    """A state, and results of a step without and with other weights.

    Default weights leave the program as it is. As arguments of the program they leave the states as they are, and the
    reward up to rounding: XLA fuses the multiplications otherwise. Other weights need no new program.
    """
    state, action = jax.jit(physics.reset)(jax.random.key(0)), jnp.full(physics.action_size, 0.7)
    same = physics.with_reward_weights(physics.reward_weights)
    programs = [jax.jit(p.step).lower(state, action).as_text() for p in (physics, same)]
    assert programs[0] == programs[1]
    plain = jax.jit(physics.step)(state, action)
    default = step(physics.reward_weights, state, action)
    np.testing.assert_array_equal(default.obs, plain.obs)
    np.testing.assert_allclose(default.reward, plain.reward, rtol=1e-5, atol=1e-5)
    other = step(physics.reward_weights | others, state, action)
    assert step._cache_size() == 1
    return state, plain, other


def test_braxs_weights_are_found_and_replaced(swing):
    assert swing.reward_weights == {"forward_reward_weight": 1.0, "ctrl_cost_weight": 0.3, "healthy_reward": 2.0}
    _, plain, other = _with_other_weights(swing, _weighted(swing), {"ctrl_cost_weight": 1.3, "healthy_reward": -1.0})
    np.testing.assert_allclose(other.reward, plain.reward - 3.0 - 0.49, rtol=1e-6)
    np.testing.assert_array_equal(other.obs, plain.obs)
    assert swing.with_reward_weights({"healthy_reward": 5.0}).reward_weights == swing.reward_weights


def test_weights_that_python_must_know_are_left_out_with_a_warning():
    class Rewarded(Swing):
        def __init__(self):
            super().__init__()
            self.reward_weights = {"alive": 1.0, "bonus": 0.5}

        def step(self, state, action):
            reward = self.reward_weights["alive"] + (
                self.reward_weights["bonus"] if self.reward_weights["bonus"] else 0
            )
            return super().step(state, action).replace(reward=state.reward + reward)

    with quiet_brax():
        env = Rewarded()
    with pytest.warns(UserWarning, match="Rewarded needs the value of bonus while JAX traces it"):
        physics = BraxPhysics(env)
    assert physics.reward_weights == {"alive": 1.0}
    state = jax.eval_shape(physics.reset, jax.random.key(0))
    jax.eval_shape(_weighted(physics), physics.reward_weights, state, jnp.zeros(1))


def test_weights_and_models_are_replaced_side_by_side(swing):
    both = swing.with_reward_weights({"healthy_reward": 7.0}).with_model(swing.model.replace(baumgarte_erp=0.5))
    assert (both._base._healthy_reward, both.model.baumgarte_erp) == (7.0, 0.5)
    assert (swing._base._healthy_reward, swing.with_model(both.model)._base._healthy_reward) == (2, 2)


@pytest.mark.full
def test_own_models_take_weights_as_a_fourth_argument():
    def reward(before, action, after, weights):
        return weights["height"] * after.qpos[0] - weights["ctrl"] * jnp.sum(action**2)

    spec = mujoco.MjSpec.from_string(_XML)
    physics = MjcfPhysics(spec, reward, reward_weights={"height": 1.0, "ctrl": 0.1})
    state, plain, other = _with_other_weights(physics, _weighted(physics), {"ctrl": 1.1})
    np.testing.assert_allclose(other.reward, plain.reward - 0.49, rtol=1e-6)
    env = pixelbrax.make(spec, reward_fn=reward, reward_weights={"height": 2, "ctrl": 0}, outputs=())
    assert env.physics.reward_weights == {"height": 2.0, "ctrl": 0.0}
    np.testing.assert_allclose(
        jax.jit(env.physics.step)(state, jnp.ones(1)).reward, 2 * other.engine_state.qpos[0], atol=0.1
    )


def test_playgrounds_scales_are_found_and_replaced():
    collections = pytest.importorskip("ml_collections")
    config = collections.config_dict.create(reward_config={"scales": {"alive": 1.0, "torque": -0.5}, "sigma": 0.25})
    config.lock()
    env = types.SimpleNamespace(_config=config)
    env.unwrapped = env
    assert reward_weights_of(env) == {"alive": 1.0, "torque": -0.5}

    def alive(weight):
        other = with_weights(env, {"alive": weight})
        return other._config.reward_config.scales["alive"] + other._config.reward_config.scales["torque"]

    assert float(jax.jit(alive)(jnp.float32(3.0))) == 2.5
    assert env._config.reward_config.scales.alive == 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            {"speed": 1.0},
            "Swing has no reward weight 'speed': it has forward_reward_weight, ctrl_cost_weight, healthy_reward",
        ),
        ({"healthy_reward": jnp.ones(3)}, r"'healthy_reward' has shape \(3,\): it must be a single number"),
    ],
)
def test_unknown_weights_name_the_known_ones(swing, weights, message):
    with pytest.raises(ConfigError, match=message):
        swing.with_reward_weights(weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"speed": None}, r"\.reward_weights\['speed'\] is None: it must be a number"),
        ({"speed": "1"}, r"\.reward_weights\['speed'\] is '1': it must be a number"),
        ({"speed": np.ones(2)}, r"\.reward_weights\['speed'\] is array.*: it must be a number"),
        ({1: 1.0}, r"\.reward_weights\[1\]: the name of a reward weight must be a string"),
    ],
)
def test_an_environments_own_weights_are_numbers(weights, message):
    with pytest.raises(ConfigError, match=message):
        reward_weights_of(types.SimpleNamespace(unwrapped=types.SimpleNamespace(reward_weights=weights)))


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2), np.array(2.0), jnp.array(2.0)])
def test_numbers_of_all_kinds_are_weights(weight):
    env = types.SimpleNamespace(unwrapped=types.SimpleNamespace(reward_weights={"speed": weight}))
    assert reward_weights_of(env) == {"speed": 2.0}


def test_rewards_without_weights_take_none():
    spec = mujoco.MjSpec.from_string(_XML)
    physics = MjcfPhysics(spec, lambda before, action, after: jnp.zeros(()))
    assert (physics.reward_weights, physics.with_reward_weights({}).reward_weights) == ({}, {})
    with pytest.raises(ConfigError, match="the MJCF model's reward_fn has no reward weights: leave out 'speed'"):
        physics.with_reward_weights({"speed": 1.0})
    with pytest.raises(ConfigError, match="the reward weight 'speed' is 'fast': it must be a number"):
        MjcfPhysics(spec, lambda *arguments: jnp.zeros(()), reward_weights={"speed": "fast"})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"reward_fn takes .*, and is called with 4 arguments: reward_fn"):
        MjcfPhysics(spec, lambda before, action, after: jnp.zeros(()), reward_weights={"speed": 1.0})


@pytest.mark.full
@pytest.mark.parametrize("task", ["ant", "halfcheetah", "hopper", "humanoid", "swimmer", "walker2d", "fetch", "grasp"])
def test_every_task_reads_each_of_its_weights(task):
    physics = pixelbrax.make(task, outputs=()).physics
    step, names = _weighted(physics), list(physics.reward_weights)
    state, plain, _ = _with_other_weights(physics, step, {})
    for name in names:
        weights = {**physics.reward_weights, name: physics.reward_weights[name] + 1}
        other = step(weights, state, jnp.full(physics.action_size, 0.7))
        # A term may be 0 in this step, such as a hit.
        assert float(other.reward) != float(plain.reward) or name in ("hits", "weighted_hits", "touching_object"), name
