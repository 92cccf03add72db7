"""What cannot be used is refused at once, in one line that names it, the rule and the remedy."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import MAX_FLOAT, ConfigError
from pixelbrax.physics import checked_action
from pixelbrax.physics.brax import make_brax_physics
from pixelbrax.render import Camera, UnsupportedGeomError
from pixelbrax.tasks import get_task
from pixelbrax.xla import in_float32
from tests.probe import CAMERA, ProbePhysics, probe_env

KEY = jax.random.key(0)
ENV = probe_env(image_size=8)
STATE = jax.eval_shape(ENV.reset, KEY)
STATES = jax.eval_shape(jax.vmap(ENV.reset), jax.random.split(KEY, 3))


def _traced_step(env, state, action):
    return jax.eval_shape(env.step, state, action)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_size": 64.0}, "image_size is 64.0: it must be a whole number"),
        ({"image_size": (64,)}, r"image_size is \(64,\): it must be a whole number, or height and width"),
        ({"image_size": (64, 64, 3)}, "it must be a whole number, or height and width"),
        ({"image_size": "64"}, "image_size is '64': it must be a whole number, or height and width"),
        ({"image_size": None}, "image_size is None"),
        ({"image_size": True}, "image_size is True"),
        ({"image_size": (8, 8.5)}, "image_size is 8.5: it must be a whole number"),
        ({"frame_stack": 2.5}, "frame_stack is 2.5: it must be a whole number"),
        ({"frame_stack": 101}, "frame_stack is 101: it must be"),
        ({"samples": 3}, "samples is 3: it must be one of 1, 4, 9, 16"),
        ({"samples": 5}, "samples is 5: it must be one of 1, 4, 9, 16"),
        ({"samples": 4.0}, "samples is 4.0: it must be a whole number"),
        ({"action_repeat": 1.5}, "action_repeat is 1.5: it must be a whole number"),
        ({"episode_length": float("nan")}, "episode_length is nan: it must be a whole number"),
        ({"episode_length": 2**31}, "episode_length is 2147483648: it must be at least 1 and at most 1073741824"),
        ({"outputs": ("pixels", "depth", "pixels")}, "outputs has 'pixels' twice: name each once"),
        ({"outputs": "pixel"}, "unknown output 'pixel': an environment gives pixels, depth"),
        ({"outputs": 3}, "outputs is 3: it must be a tuple of pixels, depth"),
        ({"sky": ((0, 0, 255), (255, 255, 255))}, r"sky's color straight down is \(0, 0, 255\): .* each from 0 to 1"),
        ({"sky": (0.5, 0.5, 0.5)}, r"sky is \(0.5, 0.5, 0.5\): it must be two colors"),
        ({"sky": ((0, 0, 0), (0, 0, float("nan")))}, "sky's color straight up is"),
        ({"sky": ((0, 0), (0, 0))}, "red, green and blue"),
        ({"shadows": 1}, "shadows is 1: it must be True or False"),
        ({"grayscale": "no"}, "grayscale is 'no': it must be True or False"),
        ({"channels_first": None}, "channels_first is None: it must be True or False"),
        ({"infinite_planes": 0}, "infinite_planes is 0: it must be True or False"),
        ({"skip_unsupported": "yes"}, "skip_unsupported is 'yes': it must be True or False"),
        ({"camera": 0.5}, "camera is 0.5: it must be the name or index of a camera of the model, a CameraSpec"),
        ({"camera": True}, "camera is True: it must be the name or index"),
        ({"camera": ["a", "b"]}, "for several, a dict of these by name"),
        ({"camera": {"side": None}}, "camera 'side' is None"),
        ({"camera": {0: CAMERA}}, "camera has the name 0: names of cameras must be non-empty strings"),
        ({"image_size": {}}, "image_size is empty: name at least one camera"),
        ({"image_size": {"near": 16, "far": 4}}, "image_size of far is 4: it must be at least 8"),
        ({"tendons": 1}, "tendons is 1: it must be True or False"),
        ({"camera": Camera(jnp.zeros((4, 3)), jnp.zeros((4, 3, 3)), jnp.zeros(4))}, "the camera's pos has shape"),
        ({"img_size": 64}, "PixelEnv has no setting 'img_size': did you mean image_size"),
        ({"frame_stacks": 2}, "did you mean frame_stack"),
    ],
)
def test_settings_of_the_wrong_kind_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        probe_env(**settings)


def test_numbers_of_numpy_lists_and_single_outputs_are_as_good():
    plain = probe_env(image_size=(8, 16), outputs=("depth",)).observation_spec
    same = probe_env(image_size=[np.int64(8), np.int32(16)], outputs="depth", samples=np.int64(1), shadows=np.bool_(0))
    assert same.observation_spec == plain
    assert probe_env(image_size=np.int64(8)).observation_spec == probe_env(image_size=8).observation_spec


def test_what_is_no_physics_is_refused():
    with pytest.raises(ConfigError, match=r"physics is 'ant': it must be a Physics; pixelbrax.make takes names"):
        PixelEnv("ant")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("more", [lambda n: (), lambda n: (n + 1,), lambda n: (n - 1,), lambda n: (4, n)])
def test_an_action_of_another_shape_is_refused_and_never_broadcast(monkeypatch, size, more):
    monkeypatch.setattr(ProbePhysics, "action_size", size)
    env, shape = probe_env(image_size=8), more(size)
    assert _traced_step(env, STATE, jnp.zeros(size)).reward.shape == ()
    written = ", ".join(map(str, shape))
    message = rf"the action of an environment has shape \({written},?\): it must have shape \({size},\)"
    with pytest.raises(ConfigError, match=message) as e:
        env.step(STATE, np.zeros(shape))  # pyright: ignore[reportArgumentType]
    assert ("for a batch of environments use jax.vmap" in str(e.value)) == (len(shape) == 2)
    with pytest.raises(ConfigError, match=message):
        jax.eval_shape(jax.vmap(env.step), STATES, jnp.zeros((3, *shape)))


@pytest.mark.parametrize("action", [[0], np.zeros(1, np.float64), jnp.zeros(1, jnp.bfloat16), jnp.ones(1, int), [0.5]])
def test_actions_of_other_numbers_become_float32(action):
    assert checked_action(action, 1).dtype == jnp.float32
    if isinstance(action, list):
        assert jax.jit(lambda numbers: checked_action(numbers, 1))(action).dtype == jnp.float32
    assert _traced_step(ENV, STATE, jnp.asarray(action)).reward.dtype == jnp.float32


def test_actions_beyond_float32_are_clipped_and_not_infinite():
    given = [1e300, -1e300, np.inf, np.nan, 0.1]
    expected = np.array([MAX_FLOAT, -MAX_FLOAT, np.inf, np.nan, 0.1], np.float32)
    np.testing.assert_array_equal(checked_action(given, 5), expected)
    with jax.enable_x64(True):
        double = jnp.array(given)
        assert double.dtype == jnp.float64
        for convert in (checked_action, in_float32(checked_action), jax.jit(checked_action, static_argnums=1)):
            action = convert(double, 5)
            assert action.dtype == jnp.float32
            np.testing.assert_array_equal(action, expected)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (jnp.array([True]), "the action has dtype bool: it must be float32 of shape"),
        (np.zeros(1, complex), "the action has dtype complex128"),
        (None, "the action is None: it must be float32 of shape"),
        (["left"], "the action has dtype <U4"),
        ([[1, 2], [3]], "the action is "),
    ],
)
def test_what_is_no_number_is_no_action(action, message):
    with pytest.raises(ConfigError, match=message):
        ENV.step(STATE, action)


@pytest.mark.filterwarnings("ignore:Brax System")
def test_engines_refuse_actions_by_themselves():
    physics = make_brax_physics("reacher", "spring")
    state = jax.eval_shape(physics.reset, KEY)
    for shape in ((), (1,), (3,)):
        with pytest.raises(ConfigError, match=r"it must have shape \(2,\)"):
            jax.eval_shape(physics.step, state, jnp.zeros(shape))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (0, r"reset's key is 0: it must be a PRNG key, such as jax.random.key\(0\)"),
        (np.int64(3), "it must be a PRNG key"),
        (jnp.zeros(2), "it must be a PRNG key"),
        (None, "reset's key is None"),
        (jax.random.split(KEY, 4), r"batch of keys of shape \(4,\): .* use jax.vmap\(env.reset\)"),
        (jax.random.split(jax.random.PRNGKey(0), 4), r"batch of keys of shape \(4, 2\)"),
        (jax.random.key(0, impl="rbg"), "reset's key is a key of the PRNG 'rbg': it must be one of 'threefry2x32'"),
        (jnp.zeros(4, jnp.uint32), "is a key of the PRNG 'rbg': it must be one of 'threefry2x32', such as"),
    ],
)
def test_what_is_no_key_starts_nothing(key, message):
    with pytest.raises(ConfigError, match=message):
        ENV.reset(key)
    if key is not None:
        with pytest.raises(ConfigError, match=message.replace("reset's key", "reset's visual_key")):
            ENV.reset(KEY, visual_key=key)


def test_another_default_prng_is_told_before_anything_fails():
    with jax.default_prng_impl("rbg"):
        with pytest.raises(ConfigError, match="JAX's default PRNG is 'rbg', and environments take 'threefry2x32' only"):
            make_brax_physics("inverted_pendulum", "generalized")
        with pytest.raises(ConfigError, match="JAX's default PRNG is 'rbg'"):
            ENV.reset(KEY)


def test_old_keys_of_uint32_start_the_same_episodes():
    typed, old = (jax.eval_shape(ENV.reset, key).obs for key in (KEY, jax.random.PRNGKey(0)))
    assert typed == old


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            jax.eval_shape(probe_env(image_size=16).reset, KEY),
            r"the state is from another environment: .* \(16, 16, 9\)",
        ),
        (jax.eval_shape(probe_env(image_size=8, outputs=()).reset, KEY), "its images are none"),
        (
            jax.eval_shape(probe_env(image_size=8, distractors="dcs/camera-easy").reset, KEY),
            "with distractors, and this",
        ),
        (replace(STATE, info=STATE.info | {"model": {"m": 0}}), "with a randomization_fn, and this one is without"),
        (
            jax.eval_shape(probe_env(image_size=8, autoreset="same_step").reset, KEY),
            'with autoreset="same_step", and this one has "next_step"',
        ),
        (STATES, r"a batch of shape \(3,\): .* jax.vmap\(env.step\)"),
        (STATE.obs, "it must be a State, as env.reset returns it"),
        (None, "state is None"),
    ],
)
def test_states_of_other_environments_are_refused(state, message):
    with pytest.raises(ConfigError, match=message):
        ENV.step(state, jnp.zeros(1))


def test_pictures_name_the_cameras_and_sizes_are_whole_numbers():
    with pytest.raises(ConfigError, match="camera is 'nope': it must be one of camera"):
        ENV.render_inputs(STATE, "nope")
    for size, message in ((0, "height is 0: it must be at least 1"), (8.0, "height is 8.0: it must be a whole number")):
        with pytest.raises(ConfigError, match=message):
            ENV.render(STATE, size, 8)  # pyright: ignore[reportArgumentType]
    for function in (ENV.render_inputs, lambda state: ENV.render(state, 8, 8)):
        with pytest.raises(ConfigError, match="is a batch of shape"):
            function(STATES)


MESH = """
    <mujoco>
      <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
      <worldbody>
        <geom type="plane" size="1 1 1"/>
        <body name="ball"><freejoint/><geom type="mesh" mesh="m"/><geom type="sphere" size="0.1"/></body>
      </worldbody>
    </mujoco>
"""


def test_what_is_not_rendered_is_refused_or_left_out(monkeypatch):
    model = mujoco.MjModel.from_xml_string(MESH)
    model.geom_type[1] = mujoco.mjtGeom.mjGEOM_SDF
    monkeypatch.setattr(ProbePhysics, "mj_model", model)
    with pytest.raises(UnsupportedGeomError, match="pass skip_unsupported=True"):
        probe_env(image_size=8)
    assert issubclass(UnsupportedGeomError, ConfigError)
    assert probe_env(image_size=8, skip_unsupported=True).scene.visible == (0, 2)


@pytest.mark.filterwarnings("ignore:Brax System")
@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (
            "ant",
            {"ctrl_cost": 1},
            "the physics of Brax's 'ant' has no setting 'ctrl_cost': did you mean ctrl_cost_weight",
        ),
        ("fetch", {"speed": 1}, "the physics of 'fetch' has no settings: leave out 'speed'"),
        ("dmc/cartpole_balance", {"ctrl_dtt": 1}, "CartpoleBalance' has no setting 'ctrl_dtt': did you mean ctrl_dt"),
        ("dmc/cartpole_balance", {"impl": "warp"}, "no setting 'impl'"),
        ("dmc/cartpole_balance", {"implementation": "warp"}, "no setting 'implementation'"),
        ("dmc/cartpole_balance", {"name": "FishSwim"}, "no setting 'name'"),
        ("dmc/cartpole_balance", {"ctrl_dt": 0.025}, "ctrl_dt is 0.025 s: it must be a multiple of its sim_dt, 0.01 s"),
        ("dmc/cartpole_balance", {"sim_dt": 0.02}, "ctrl_dt is 0.01 s: it must be a multiple of its sim_dt, 0.02 s"),
        ("dmc/cartpole_balance", {"ctrl_dt": 0.0}, "ctrl_dt is 0.0: it must be positive"),
        ("dmc/cartpole_balance", {"ctrl_dt": "fast"}, "ctrl_dt is 'fast': it must be a number"),
        ("dmc/cartpole_balance", {"njmax": "many"}, "CartpoleBalance' cannot be made with {'njmax': 'many'}"),
        (
            "dmc/cheetah_run",
            {"vision": True},
            "CheetahRun' cannot be made with {'vision': True}: Vision not implemented",
        ),
        (
            "ant",
            {"use_contact_forces": True},
            "'ant' cannot be made with {'use_contact_forces': True}: .*not implemented",
        ),
        ("ant", {"name": "hopper"}, "no setting 'name'"),
        ("ant", {"n_frames": 0}, "n_frames is 0: it must be at least 1"),
        ("ant", {"n_frames": 1.5}, "n_frames is 1.5: it must be a whole number"),
        ("ant", {"terminate_when_unhealthy": "false"}, "terminate_when_unhealthy is 'false': it must be True or False"),
        ("ant", {"reset_noise_scale": np.float32("nan")}, "reset_noise_scale is .*nan.*: it must be a number"),
        ("ant", {"healthy_z_range": (float("nan"), 1.0)}, "healthy_z_range is .*: it must be a number"),
        ("creatures/eel", {"creature": "grazer"}, "no setting 'creature'"),
        ("creatures/eel", {"min_upright": 2}, "min_upright is 2: it must be at most 1"),
    ],
)
def test_engines_settings_are_known(task, settings, message):
    with pytest.raises(ConfigError, match=message):
        get_task(task).load_physics(**settings)


def test_a_switch_of_brax_may_be_0_or_1_as_in_earlier_runs():
    assert get_task("ant").load_physics(terminate_when_unhealthy=1).action_size == 8


@pytest.mark.parametrize("setting", ["action_repeat", "episode_length"])
def test_what_only_playgrounds_wrappers_read_is_a_warning(setting):
    ignored: Any = {setting: 4}
    with pytest.warns(UserWarning, match=rf"{setting} changes nothing: give it as make\(\.\.\., {setting}=4\)"):
        get_task("dmc/cartpole_balance").load_physics(**ignored)
