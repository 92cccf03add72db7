"""Where JAX computes in double precision, environments compute in float32 what they compute without."""

import dataclasses
import functools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.physics.brax import brax_envs
from pixelbrax.render import Scene, render
from pixelbrax.tasks import get_task
from pixelbrax.training import TrainConfig, TrainingRun
from tests.probe import CAMERA, ProbePhysics, probe_env

pytestmark = pytest.mark.filterwarnings("ignore:Brax System")
ROOT = Path(__file__).parents[2]
KEY = jax.random.key(0)
FULL = pytest.mark.full


def _bits(tree):
    leaves = jax.tree.leaves(tree)
    keys = [jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
    return [np.asarray(jax.random.key_data(x) if key else x) for x, key in zip(leaves, keys, strict=True)]


@pytest.mark.full
@pytest.mark.parametrize(
    "settings",
    [{"action_repeat": 2}, pytest.param({"autoreset": "same_step", "distractors": "dcs/camera-easy"}, marks=FULL)],
)
def test_double_precision_changes_no_bit(settings):
    def play():
        env = probe_env(image_size=8, episode_length=3, **settings)
        actions = np.linspace(-1, 1, 10).reshape(5, 2, 1)  # float64

        @jax.jit
        def rollout(keys, actions):
            states = jax.vmap(env.reset)(keys)
            return jax.lax.scan(lambda s, a: (jax.vmap(env.step)(s, a), (s.obs, s.reward, s.metrics)), states, actions)

        return _bits(rollout(jax.random.split(KEY, 2), actions))

    single = play()
    with jax.enable_x64(True):
        assert jnp.zeros(()).dtype == jnp.float64
        double = play()
    for a, b in zip(double, single, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


ENGINES: list = [("inverted_pendulum", "spring")]
ENGINES += [
    pytest.param(*case, marks=FULL)
    for case in (
        ("inverted_pendulum", "positional"),
        ("inverted_pendulum", "generalized"),
        ("inverted_pendulum", "mjx"),
        ("dmc/cartpole_balance", "jax"),
    )
]
ENGINES += [pytest.param("fetch", "positional", marks=FULL)]


@pytest.mark.parametrize(("name", "backend"), ENGINES)
def test_every_engine_keeps_to_single_precision(name, backend):
    with jax.enable_x64(True):
        env = pixelbrax.make(name, backend, image_size=8, frame_stack=1)
        state = jax.eval_shape(env.reset, KEY)
        after = jax.eval_shape(env.step, state, jnp.zeros(env.action_size))
    specs = [[(x.shape, x.dtype) for x in jax.tree.leaves(s)] for s in (state, after)]
    assert specs[0] == specs[1]
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(state)} <= {
        *("float32", "int32", "uint32", "uint8", "int8", "bool", "key<fry>")
    }


def test_the_renderer_alone_draws_the_same():
    env = probe_env(image_size=8)
    picture = env.render_inputs(env.reset(KEY))
    single = render(*picture, 16, 16, ("rgb", "depth"), shadows=True)
    with jax.enable_x64(True):
        draw = functools.partial(render, height=16, width=16, outputs=("rgb", "depth"), shadows=True)
        double = jax.jit(draw)(*picture)
        assert Scene.from_mujoco(ProbePhysics.mj_model).geom_rgb.dtype == jnp.float32
    assert double.depth.dtype == jnp.float32
    assert np.abs(double.rgb.astype(int) - single.rgb.astype(int)).max() <= 1
    np.testing.assert_allclose(double.depth, single.depth, rtol=1e-5)


def test_transformed_programs_of_the_renderer_are_in_single_precision():
    """JAX calls its rules after `render` has returned."""
    env = probe_env(image_size=8)
    scene, pose, camera = env.render_inputs(env.reset(KEY))

    def image(shift):
        moved = dataclasses.replace(pose, xpos=pose.xpos + shift)
        return render(scene, moved, camera, 9, 9, ("color",)).color  # a size of its own: rules are cached

    with jax.enable_x64(True):
        shifts = jnp.zeros((2, 3), jnp.float32)
        assert jax.eval_shape(jax.vmap(jax.jit(image)), shifts).dtype == jnp.float32
        slope = jax.eval_shape(jax.grad(jax.jit(lambda shift: image(shift).sum())), shifts[0])
        assert slope.dtype == jnp.float32


def test_environments_made_in_double_precision_are_refused_with_the_remedy():
    with jax.enable_x64(True):
        made = brax_envs.get_environment("inverted_pendulum", backend="generalized")
        with pytest.raises(
            ConfigError, match=r"made in double precision .*: make it inside `with jax.enable_x64\(False\)"
        ):
            pixelbrax.wrap(made, CAMERA)
        with jax.enable_x64(False):
            made = brax_envs.get_environment("inverted_pendulum", backend="generalized")
        camera = get_task("inverted_pendulum").camera
        assert pixelbrax.wrap(made, camera, image_size=8).observation_spec["state"].dtype == jnp.float32


@FULL
def test_boundaries_hold_in_a_process_of_double_precision():
    names = "truncation_at or apart_from or never_mix or sums_rewards or same_step or diverged or not_a_number"
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/envs/test_pixel_env.py",
        "-k",
        names,
        "-p",
        "no:cacheprovider",
    )
    in_doubles = os.environ | {"JAX_ENABLE_X64": "1"}
    result = subprocess.run(command, cwd=ROOT, env=in_doubles, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:]


def test_training_from_a_script_is_refused_with_the_remedy():
    with jax.enable_x64(True), pytest.raises(ConfigError, match=r"do it inside `with jax.enable_x64\(False\):`"):
        TrainingRun(TrainConfig())
