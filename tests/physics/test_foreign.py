"""Environments of Brax and Playground that reset, time or vectorize themselves, fail, or lack what an engine needs."""

import warnings

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from brax import envs as brax_envs
from brax.envs.base import PipelineEnv, State, Wrapper
from brax.envs.wrappers import training
from brax.io import mjcf
from ml_collections import config_dict

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.physics import BraxPhysics
from pixelbrax.physics._foreign import copied, observation_vector, state_spec
from pixelbrax.physics._mjx import mjx

_XML = """
<mujoco>
  <option timestep="0.01"/>
  {custom}
  <worldbody>
    <body name="b" pos="0 0 1"><joint name="j" type="hinge" axis="0 1 0"/><geom type="capsule" size=".1 .3"/></body>
  </worldbody>
  <actuator><motor joint="j"/></actuator>
</mujoco>
"""
_CUSTOM = '<custom><numeric name="constraint_stiffness" data="5000"/></custom>'


class Swing(PipelineEnv):
    """The least that Brax simulates; nothing is ever compiled of it."""

    def __init__(self, custom=_CUSTOM, backend="spring"):
        super().__init__(mjcf.loads(_XML.format(custom=custom)), backend=backend)

    def reset(self, rng):
        state = self.pipeline_init(jax.random.normal(rng, (1,)), jnp.zeros(1))
        return State(state, state.q, jnp.zeros(()), jnp.zeros(()), {"height": jnp.zeros(())})

    def step(self, state, action):
        following = self.pipeline_step(state.pipeline_state, action)
        return state.replace(pipeline_state=following, obs=following.q, reward=action[0])


@pytest.fixture(scope="module")
def swing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Brax, about its own upkeep
        return Swing()


def test_a_kept_method_is_the_copys(swing):
    swing.kept = swing.reset
    other = copied(swing, lambda base: setattr(base, "changed", True))
    del swing.kept
    assert other.kept.__self__ is other
    assert other.changed
    assert not hasattr(swing, "changed")


class _Plain(Wrapper):
    """A user's wrapper that changes nothing of episodes."""

    def step(self, state, action):
        return self.env.step(state, 0.5 * action)


class _Timed(training.EpisodeWrapper):
    """A user's subclass."""


def _tuned(sys):
    return sys, jax.tree.map(lambda _: None, sys)


WRAPPED = {
    "AutoResetWrapper resets itself": lambda env: training.AutoResetWrapper(env),
    r"EpisodeWrapper ends by time.*episode_length=77, action_repeat=2\)": lambda env: training.EpisodeWrapper(
        env, 77, 2
    ),
    "VmapWrapper is vectorized": lambda env: training.VmapWrapper(env),
    "VmapWrapper is vectorized.*": lambda env: training.VmapWrapper(env, 4),
    "EvalWrapper counts episodes": lambda env: training.EvalWrapper(env),
    "DomainRandomizationVmapWrapper is vectorized.*randomization_fn=": (
        lambda env: training.DomainRandomizationVmapWrapper(env, _tuned)
    ),
    "AutoResetWrapper resets itself.*episode_length=50": lambda env: training.wrap(env, episode_length=50),
    r"EpisodeWrapper ends by time": lambda env: _Plain(training.EpisodeWrapper(env, 10, 1)),
    r"_Timed \(a EpisodeWrapper\) ends by time": lambda env: _Timed(_Plain(env), 10, 1),
}


@pytest.mark.parametrize("message", WRAPPED)
def test_environments_that_reset_time_or_vectorize_themselves_are_refused(message, swing):
    with pytest.raises(ConfigError, match=f"^{message}") as told:
        pixelbrax.wrap(WRAPPED[message](swing))
    assert "pixelbrax.wrap(env.unwrapped" in str(told.value)


def test_what_brax_creates_is_refused_with_its_own_remedy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = brax_envs.create("inverted_pendulum", backend="spring", episode_length=30)
    match = r"AutoResetWrapper resets itself.*env\.unwrapped, episode_length=30, action_repeat=1\).*get_environment"
    with pytest.raises(ConfigError, match=match):
        pixelbrax.wrap(env)


def _balance(options):
    """An environment of Playground; its model has these options."""
    playground = pytest.importorskip("mujoco_playground")

    class Balance(playground.MjxEnv):
        def __init__(self):
            super().__init__(config_dict.create(ctrl_dt=0.02, sim_dt=0.01))
            self._mj_model = mujoco.MjModel.from_xml_string(_XML.format(custom=options))
            self._mjx_model = mjx.put_model(self._mj_model)

        mj_model = property(lambda self: self._mj_model)
        mjx_model = property(lambda self: self._mjx_model)
        xml_path = property(lambda self: "")
        action_size = property(lambda self: 1)

        def reset(self, rng):
            data = mjx.forward(self._mjx_model, mjx.make_data(self._mj_model))
            return playground.State(data, data.qpos, jnp.zeros(()), jnp.zeros(()), {}, {})

        def step(self, state, action):
            data = mjx.step(self._mjx_model, state.data.replace(ctrl=action))
            return state.replace(data=data, obs=data.qpos)

    return Balance()


def test_what_mjx_ignores_in_an_environment_of_playground_is_warned_of():
    with pytest.warns(UserWarning, match=r"MJX ignores noslip_iterations \(3\), which MuJoCo simulates: take it out"):
        pixelbrax.wrap(_balance('<option noslip_iterations="3"/>'), image_size=16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixelbrax.wrap(_balance(""), image_size=16)


def test_what_playground_wraps_for_training_is_refused():
    wrapper = pytest.importorskip("mujoco_playground._src.wrapper")
    for wrap, message in (
        (lambda env: wrapper.wrap_for_brax_training(env, 40), "BraxAutoResetWrapper resets itself.*episode_length=40"),
        (lambda env: training.VmapWrapper(env), "VmapWrapper is vectorized"),
        (lambda env: wrapper.BraxDomainRandomizationVmapWrapper(env, _tuned), "BraxDomainRandomizationVmapWrapper is"),
        (lambda env: wrapper.Wrapper(wrapper.BraxAutoResetWrapper(env)), "BraxAutoResetWrapper resets itself"),
    ):
        with pytest.raises(ConfigError, match=f"^{message}"):
            pixelbrax.wrap(wrap(_balance("")))


class _Clocked(Wrapper):
    """A copy of what a library does, under another name."""

    def reset(self, rng):
        state = self.env.reset(rng)
        state.info["truncation"] = jnp.zeros(())
        return state


class _Many(Wrapper):
    def reset(self, rng):
        return jax.vmap(self.env.reset)(jax.random.split(rng, 4))


class _Branches(Wrapper):
    def step(self, state, action):
        return self.env.step(state, action if state.obs[0] > 0 else -action)  # pyright: ignore


class _Grows(Wrapper):
    def step(self, state, action):
        state = self.env.step(state, action)
        return state.replace(metrics=state.metrics | {"speed": jnp.zeros(())})


class _Widens(Wrapper):
    def step(self, state, action):
        state = self.env.step(state, action)
        return state.replace(obs=jnp.concatenate([state.obs, action]))  # pyright: ignore


class _Ends(Wrapper):
    def step(self, state, action):
        return self.env.step(state, action).replace(done=action > 0)


class _Imagines(Wrapper):
    def step(self, state, action):
        return self.env.step(state, action).replace(reward=action[0] * 1j)


class _Returns(Wrapper):
    """An environment whose states have other parts."""

    def __init__(self, env, **parts):
        super().__init__(env)
        self.parts = parts

    def reset(self, rng):
        return self.env.reset(rng).replace(**self.parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"obs": None}, "_Returns's obs is None: it must be an array, or a dict"),
        ({"obs": (jnp.zeros(2), jnp.zeros(3))}, "_Returns's obs is a tuple"),
        ({"obs": {"eye": {"left": jnp.zeros(2)}}}, "_Returns's obs is a dict of eye: dict"),
        ({"obs": {}}, "_Returns's obs is a dict of nothing"),
        ({"metrics": None}, "_Returns's metrics are None: they must be a dict of arrays, {} for none"),
        ({"metrics": {"cost": {"of": jnp.zeros(())}}}, "_Returns's metrics are a dict of cost: dict"),
    ],
)
def test_observations_and_metrics_are_arrays(parts, message, swing):
    with pytest.raises(ConfigError, match=f"^{message}"):
        state_spec(_Returns(swing, **parts), 1)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (_Ends, r"_Ends\.step returns a 'done' of bool and shape \(1,\): it must be one real number, of shape \(\)"),
        (_Imagines, r"_Imagines\.step returns a 'reward' of complex64 and shape \(\): it must be one real number"),
        (_Clocked, "_Clocked ends by time"),
        (_Many, r"_Many is vectorized: its 'reward' has shape \(4,\)"),
        (_Branches, r"_Branches\.step fails \(.*test_foreign\.py:\d+\): .*jnp\.where"),
        (_Grows, "_Grows's states differ in structure after reset and step: metrics.speed only after step"),
        (_Widens, r"_Widens's 'obs' has shape \(1,\) after reset, and \(2,\) after step"),
    ],
)
def test_states_are_looked_at_whatever_a_wrapper_is_called(wrapper, message, swing):
    with pytest.raises(ConfigError, match=message):
        BraxPhysics(wrapper(swing))


def test_harmless_wrappers_pass(swing):
    assert BraxPhysics(_Plain(swing)).action_size == 1
    assert state_spec(_Plain(swing), 1).reward.shape == ()


@pytest.mark.parametrize(("env", "message"), [(Swing, "the class Swing: make"), (3, "cannot wrap a int")])
def test_what_is_no_environment_is_told(env, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.wrap(env)


def test_observations_of_several_entries_become_one_vector():
    entries = {"b": jnp.ones((2, 2)), "a": jnp.zeros(1)}
    np.testing.assert_array_equal(observation_vector(entries), [0, 1, 1, 1, 1])
    np.testing.assert_array_equal(observation_vector(entries | {"state": jnp.arange(3)}), [0, 1, 2])
    np.testing.assert_array_equal(observation_vector(jnp.ones((2, 1))), [1, 1])


@pytest.mark.parametrize("backend", ["spring", "positional"])
def test_a_model_without_brax_numerics_is_warned_of(backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, tuned = Swing("", backend), Swing(_CUSTOM, backend)
    with pytest.warns(UserWarning, match=f'Swing.*{backend}.*numeric name="constraint_stiffness".*backend="mjx"'):
        BraxPhysics(plain)
    BraxPhysics(tuned)  # a warning would be an error


def test_other_engines_need_no_numerics():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = Swing("", "generalized")
    BraxPhysics(env)
