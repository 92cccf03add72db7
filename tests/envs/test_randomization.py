"""Domain randomization in the form of Brax and Playground: it reaches the physics and the picture."""

import copy
import functools
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from brax.envs.wrappers.training import DomainRandomizationVmapWrapper
from mujoco import mjx

import pixelbrax
from pixelbrax.envs import EnvParams
from pixelbrax.errors import ConfigError
from pixelbrax.physics import Randomizer, random_factors
from pixelbrax.physics.brax import brax_envs
from pixelbrax.render import (
    GeomPose,
    ModelCamera,
    Scene,
    moving_lights,
    randomize_scene,
    randomized_model,
    render,
)
from pixelbrax.tasks import Palette

pytestmark = pytest.mark.filterwarnings("ignore:Brax System")


FALLING = """
    <mujoco>
      <worldbody>
        <light pos="0 0 9"/>
        <camera name="eye" pos="0 -4 3" xyaxes="1 0 0 0 0 1"/>
        <geom type="plane" size="4 4 1" rgba="0.3 0.4 0.5 1" contype="0" conaffinity="0"/>
        <body pos="0 0 3"><joint name="up" type="slide" axis="0 0 1"/><geom type="sphere" size="0.8"/></body>
      </worldbody>
      <actuator><motor joint="up" ctrlrange="-1 1"/></actuator>
    </mujoco>
"""


def randomize(model, keys):
    """Written as for Brax: gravity and every geom's color."""

    @jax.vmap
    def draw(key):
        gravity_key, color_key = jax.random.split(key)
        gravity = model.opt.gravity * jax.random.uniform(gravity_key, minval=0.2, maxval=2.0)
        color = jax.random.uniform(color_key, (model.ngeom, 3))
        return gravity, jnp.concatenate([color, jnp.ones((model.ngeom, 1))], -1)

    gravity, rgba = draw(keys)
    in_axes = jax.tree.map(lambda x: None, model)
    changed = {"opt.gravity": gravity, "geom_rgba": rgba}
    if hasattr(model, "gravity"):  # Brax's own engines read this one
        changed["gravity"] = gravity
    return model.tree_replace(changed), in_axes.tree_replace(dict.fromkeys(changed, 0))


@pytest.fixture(scope="module")
def pendulum():
    """A randomized environment, its compiled reset and step, and three first states."""
    env = pixelbrax.make(
        "inverted_pendulum", "spring", image_size=16, frame_stack=1, episode_length=2, randomization_fn=randomize
    )
    reset, step = jax.jit(jax.vmap(env.reset)), jax.jit(jax.vmap(env.step))
    return env, step, reset(jax.random.split(jax.random.PRNGKey(1), 3))


def _step_often(step, states, count):
    """`count` steps with a small action, the first state included."""
    history = [states]
    for _ in range(count):
        history.append(step(history[-1], jnp.full((3, 1), 0.02)))
    return history


@pytest.mark.full
def test_each_episode_keeps_what_it_sampled_and_looks_like_it(pendulum):
    env, step, first = pendulum
    history = _step_often(step, first, 4)
    gravity = np.stack([state.info["model"]["opt.gravity"][:, 2] for state in history])
    assert (gravity[0] == gravity[2]).all(), "an episode keeps what it sampled"
    assert len(np.unique(gravity[[0, 3]])) == 6, "every episode and environment samples anew"
    # The image is the one that MuJoCo's model in these colors would give.
    for state in (history[0], history[3]):
        for i in range(3):
            model = copy.copy(env.physics.mj_model)
            model.geom_rgba[:] = state.info["model"]["geom_rgba"][i]
            model.geom_matid[:] = -1
            expected = Scene.from_mujoco(model, sites=True).geom_rgb
            scene, pose, camera = env.render_inputs(jax.tree.map(lambda x, i=i: x[i], state))
            np.testing.assert_allclose(scene.geom_rgb, expected, atol=1e-6)
            difference = np.asarray(render(scene, pose, camera, 16, 16).rgb).astype(int) - state.obs["pixels"][i]
            assert np.abs(difference).max() <= 1
        assert (state.obs["pixels"][0] != state.obs["pixels"][1]).any()


@pytest.mark.full
@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0])
def test_what_has_no_limit_has_none_at_any_range(factor):
    """Brax's motors have infinite ranges of force; times 0 they would be NaN."""
    randomize: Any = random_factors({"strength": 0.3})
    env = pixelbrax.make("inverted_pendulum", "spring", outputs=(), randomization_fn=randomize)
    ranges = dict.fromkeys(env.default_params.randomization, factor)
    state = env.reset(jax.random.key(0), EnvParams(randomization=ranges))
    assert not any(np.isnan(x).any() for x in state.info["model"].values())
    assert not env.step(state, jnp.ones(1)).metrics["diverged"]


def test_physics_equal_those_of_braxs_own_wrapper(pendulum):
    _, step, first = pendulum
    gravity, rgba = first.info["model"]["opt.gravity"], first.info["model"]["geom_rgba"]

    def same(sys):
        changed = {"opt.gravity": gravity, "gravity": gravity, "geom_rgba": rgba}
        in_axes = jax.tree.map(lambda x: None, sys).tree_replace(dict.fromkeys(changed, 0))
        return sys.tree_replace(changed), in_axes

    theirs = DomainRandomizationVmapWrapper(brax_envs.get_environment("inverted_pendulum", backend="spring"), same)
    keys = jax.random.split(jax.random.PRNGKey(1), 3)
    expected = jax.jit(theirs.reset)(jax.vmap(lambda key: jax.random.split(key)[0])(keys))
    their_step = jax.jit(theirs.step)
    for states in _step_often(step, first, 2)[1:]:
        expected = their_step(expected, jnp.full((3, 1), 0.02))
        np.testing.assert_allclose(states.obs["state"], expected.obs, rtol=1e-4, atol=1e-5)


def _no_reward(before, action, after):
    return jnp.zeros(())


@pytest.mark.full
def test_each_episode_falls_and_looks_as_it_drew():
    env = pixelbrax.make(
        mujoco.MjSpec.from_string(FALLING),
        reward_fn=_no_reward,
        reset_fn=lambda key, data: data,
        randomization_fn=randomize,
        image_size=16,
        frame_stack=1,
        episode_length=2,
    )

    @jax.jit
    @jax.vmap
    def rollout(key):
        def step(state, _):
            state = env.step(state, jnp.zeros(env.action_size))
            return state, state

        first = env.reset(key)
        return first, jax.lax.scan(step, first, None, length=4)[1]

    first, states = rollout(jax.random.split(jax.random.key(0), 3))
    gravity = np.asarray(states.info["model"]["opt.gravity"])[..., 2]
    assert (gravity[:, 0] == gravity[:, 1]).all(), "an episode keeps what it drew"
    assert len(np.unique(gravity[:, (0, 3)])) == 6, "every episode and environment draws anew"
    speed = np.asarray(states.physics.engine_state.qvel)[..., 0]
    np.testing.assert_allclose(speed[:, 0], gravity[:, 0] * env.dt, rtol=1e-3)
    np.testing.assert_allclose(speed[:, 3], gravity[:, 3] * env.dt, rtol=1e-3)
    # The picture is the one that MuJoCo's model in these colors would give.
    for i in range(3):
        model = mujoco.MjModel.from_xml_string(FALLING)
        model.geom_rgba[:] = first.info["model"]["geom_rgba"][i]
        scene = Scene.from_mujoco(model, sites=True)
        _, pose, camera = env.render_inputs(jax.tree.map(lambda x, i=i: x[i], first))
        difference = np.asarray(render(scene, pose, camera, 16, 16).rgb).astype(int) - first.obs["pixels"][i]
        assert np.abs(difference).max() <= 1
    assert (first.obs["pixels"][0] != first.obs["pixels"][1]).any()


SCENE = """
    <mujoco>
      <asset><material name="m" rgba="0.2 0.9 0.3 1" emission="0.1"/></asset>
      <worldbody>
        <light pos="1 -1 3" dir="-0.3 0.3 -1"/>
        <camera name="eye" pos="0 -3 1.2" xyaxes="1 0 0 0 0.3 1"/>
        <geom type="plane" size="4 4 1" rgba="0.3 0.4 0.5 1"/>
        <body pos="0 0 0.6">
          <freejoint/>
          <geom type="capsule" size="0.2 0.3" material="m"/>
          <geom type="box" size="0.2 0.1 0.1" pos="0.4 0 0" euler="20 40 30" rgba="0.9 0.2 0.2 1"/>
          <site name="s" type="sphere" size="0.1" pos="-0.4 0 0.2"/>
        </body>
      </worldbody>
    </mujoco>
"""


@pytest.mark.full
def test_whatever_a_picture_shows_may_vary():
    model = mujoco.MjModel.from_xml_string(SCENE)
    rng = np.random.default_rng(0)
    names = ["geom_size", "geom_pos", "geom_quat", "geom_rgba", "mat_rgba", "mat_emission", "site_pos", "site_size"]
    names += ["site_rgba", "cam_pos", "cam_quat", "cam_fovy", "light_pos", "light_dir", "light_diffuse"]

    @jax.jit
    def draw(arrays, bodies):
        scene = randomize_scene(Scene.from_mujoco(model, sites=True), model, arrays, sites=True)
        return _picture(scene, randomized_model(model, arrays), bodies)

    same = {name: jnp.asarray(getattr(model, name), jnp.float32) for name in names}
    for name in names:
        own = getattr(model, name)
        values = own + rng.uniform(0, 0.05, own.shape) * (np.abs(own) > 0)
        if name.endswith("quat"):
            values /= np.linalg.norm(values, axis=-1, keepdims=True)
        arrays = {name: jnp.asarray(values, jnp.float32)}
        other = mujoco.MjModel.from_xml_string(SCENE)
        getattr(other, name)[:] = values
        data = mujoco.MjData(other)
        mujoco.mj_forward(other, data)
        bodies = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
        expected = _picture(Scene.from_mujoco(other, sites=True), other, bodies)
        assert (expected != _picture(Scene.from_mujoco(model, sites=True), model, bodies)).any(), name
        difference = np.asarray(draw(same | arrays, bodies)).astype(int) - expected
        assert (np.abs(difference) > 1).mean() < 0.002, name


GOAL = """
    <mujoco>
      <asset>
        <material name="m" rgba="1 0 0 1" emission="0.3" specular="0.2" shininess="0.1" reflectance="0.4"/>
      </asset>
      <worldbody>
        <geom size="0.1" material="m"/>
        <geom size="0.1"/>
        <site name="goal" size="0.3" material="m"/>
        <site name="mark" type="box" size="0.1 0.2 0.3" pos="0 0 1" rgba="0 1 0 0.4" material="m"/>
        <body><freejoint/><geom size="0.1"/><site name="end" size="0.1"/></body>
      </worldbody>
      <tendon>
        <spatial width="0.01" material="m"><site site="goal"/><site site="end"/><site site="mark"/></spatial>
        <spatial width="0.02" rgba="0 0 1 1"><site site="goal"/><site site="mark"/></spatial>
      </tendon>
    </mujoco>
"""


@pytest.mark.parametrize("shown", [{}, {"sites": True}, {"tendons": True}, {"sites": True, "tendons": True}], ids=str)
def test_sites_and_tendons_vary_as_geoms_do(shown):
    """As if the scene had been read from a model with these parameters."""
    model = mujoco.MjModel.from_xml_string(GOAL)
    scene, rng = Scene.from_mujoco(model, **shown), np.random.default_rng(0)
    names = ["geom_size", "geom_rgba", "site_size", "site_rgba", "tendon_width", "tendon_rgba"]
    for name in names + ["mat_rgba", "mat_emission", "mat_specular", "mat_shininess", "mat_reflectance"]:
        other = copy.copy(model)
        own = getattr(other, name)
        own[:] = rng.uniform(0.1, 0.9, own.shape)
        expected = Scene.from_mujoco(other, **shown)
        randomized = randomize_scene(scene, model, {name: jnp.asarray(own, jnp.float32)}, **shown)
        for leaf, truth in zip(jax.tree.leaves(randomized), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, truth, rtol=1e-6, err_msg=name)


def test_the_materials_that_parts_have_may_vary():
    model = mujoco.MjModel.from_xml_string(GOAL)
    shown = {"sites": True, "tendons": True}
    scene = Scene.from_mujoco(model, **shown)
    for name in ("geom_matid", "site_matid", "tendon_matid"):
        other = copy.copy(model)
        getattr(other, name)[:] = -1 - getattr(model, name)  # 0 and -1 the other way round
        expected = Scene.from_mujoco(other, **shown)
        draw = jax.jit(lambda ids, name=name: randomize_scene(scene, model, {name: ids}, **shown))
        randomized = draw(jnp.asarray(getattr(other, name)))
        for leaf, truth in zip(jax.tree.leaves(randomized), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(leaf, truth, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", ["light_castshadow", "light_active", "cam_intrinsic", "hfield_data"])
def test_samples_that_images_do_not_show_are_a_warning(name):
    def switch(model, keys):
        axes = jax.tree.map(lambda x: None, model).tree_replace({name: 0})
        own = jnp.asarray(getattr(model, name))
        return model.tree_replace({name: jnp.repeat(own[None], len(keys), 0)}), axes

    spec = mujoco.MjSpec.from_string(FALLING)
    spec.worldbody.add_camera(name="c", pos=[0, 0, 6])  # it looks down
    spec.worldbody.add_light(pos=[0, 0, 3], dir=[0, 0, -1])
    with pytest.warns(UserWarning, match=f"samples {name}, of which images show the model's own"):
        env = pixelbrax.make(spec, reward_fn=_no_reward, camera="c", randomization_fn=switch)
    jax.eval_shape(env.reset, jax.random.key(0))


def test_samples_of_what_an_engine_has_as_a_constant_are_refused():
    """MJX's own error is "DynamicJaxprTracer has no attribute array"."""

    def grow(model, keys):
        axes = jax.tree.map(lambda x: None, model)
        return model.tree_replace({"site_size": jax.vmap(lambda key: model.site_size * key[0])(keys)}), axes

    spec = mujoco.MjSpec.from_string(FALLING)
    with pytest.raises(ConfigError, match="samples 'site_size', which is static in the engine's model"):
        pixelbrax.make(spec, reward_fn=_no_reward, randomization_fn=grow)


def test_a_scene_read_in_another_way_is_refused():
    model = mujoco.MjModel.from_xml_string(GOAL)
    with pytest.raises(ConfigError, match="the scene has 6 geoms, and the model 3 with sites=False and tendons=False"):
        randomize_scene(Scene.from_mujoco(model, sites=True), model, {})


def test_cameras_and_lights_of_all_modes_vary():
    """As in MuJoCo after `mj_setConst`; the body that carries them is turned in the reference pose."""
    modes = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
    moving = [f'<{kind} mode="{mode}" target="b" pos=".4 .1 .2" ' for kind in ("camera", "light") for mode in modes]
    moving = [text + ("/>" if "camera" in text else 'dir=".1 .2 -1"/>') for text in moving]
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="b" pos="1 0 1"><freejoint/><geom size=".1"/></body>
        <body pos="0 0 1" euler="20 50 70"><freejoint/><geom size=".1"/>{"".join(moving)}
        <body pos=".3 0 0"><joint/><geom size=".1"/></body></body></worldbody></mujoco>"""
    )
    rng = np.random.default_rng(0)
    names = ("cam_pos", "cam_quat", "light_pos", "light_dir")
    other, arrays = copy.copy(model), {}
    for name in names:
        own = getattr(other, name)
        own += rng.uniform(-0.3, 0.3, own.shape)
        if not name.endswith("pos"):
            own /= np.linalg.norm(own, axis=-1, keepdims=True)
        arrays[name] = jnp.asarray(own, jnp.float32)
    data = mujoco.MjData(other)
    mujoco.mj_setConst(other, data)
    data.qpos[:] = rng.normal(size=other.nq)
    mujoco.mj_normalizeQuat(other, data.qpos)
    mujoco.mj_forward(other, data)
    bodies = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    ours = randomized_model(model, arrays)
    for i in range(model.ncam):
        camera = ModelCamera.from_mujoco(ours, i).at(*bodies)
        np.testing.assert_allclose(camera.pos, data.cam_xpos[i], atol=1e-5)
        np.testing.assert_allclose(camera.mat, data.cam_xmat[i].reshape(3, 3), atol=1e-5)
    pos, direction = moving_lights(ours)(*bodies)  # pyright: ignore[reportOptionalCall]
    np.testing.assert_allclose(pos, data.light_xpos, atol=1e-5)
    np.testing.assert_allclose(direction, data.light_xdir, atol=1e-5)


MARKED = """
    <mujoco>
      <worldbody>
        <camera name="eye" mode="trackcom" pos="0 -4 1" xyaxes="1 0 0 0 0 1"/>
        <body pos="0 0 1"><joint axis="0 1 0"/><geom size=".1"/></body>
        <body name="target" mocap="true" pos="2 0 .1"><geom name="target" size=".05"/></body>
      </worldbody>
    </mujoco>
"""


def test_what_is_rendered_otherwise_than_simulated_stays_when_it_is_sampled():
    """A target that is a disc without a mass: a factor of 1 changes nothing, another only the rest."""
    model = mujoco.MjModel.from_xml_string(MARKED)
    shown, names = copy.copy(model), ("geom_size", "geom_pos", "body_mass", "geom_rgba")
    Palette(accents=(("target", (1.0, 0.0, 0.0)),), discs=(("target", 0.3),)).apply(shown)
    shown.body_mass[shown.body_mocapid >= 0] = 0

    def scaled(model, keys, factor):
        axes = jax.tree.map(lambda _: None, model).tree_replace(dict.fromkeys(names, 0))
        new = {name: jnp.tile(factor * getattr(model, name), (len(keys), 1, 1)) for name in names[:2]}
        mass, rgba = jnp.tile(factor * model.body_mass, (len(keys), 1)), jnp.tile(model.geom_rgba, (len(keys), 1, 1))
        return model.tree_replace(new | {"body_mass": mass, "geom_rgba": rgba}), axes

    physics: Any = SimpleNamespace(mj_model=shown, model=mjx.put_model(model))
    for factor in (1.0, 2.0):
        randomizer = Randomizer(physics, functools.partial(scaled, factor=factor))
        seen = randomizer.rendered(randomizer.sample(jax.random.key(0)))
        np.testing.assert_allclose(seen["body_mass"], factor * shown.body_mass, rtol=1e-6)
        np.testing.assert_allclose(seen["geom_rgba"], shown.geom_rgba, rtol=1e-6)
        for name in names[:2]:
            np.testing.assert_allclose(seen[name][1], getattr(shown, name)[1], rtol=1e-6)
            np.testing.assert_allclose(seen[name][0], factor * getattr(model, name)[0], rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(("task", "parts"), [("reacher", ("geom_size", "geom_pos")), ("dmc/fish_swim", ("body_mass",))])
def test_a_factor_of_one_changes_no_pixel_of_a_task(task, parts):
    def same(model, keys):
        axes = jax.tree.map(lambda _: None, model).tree_replace(dict.fromkeys(parts, 0))
        return model.tree_replace({x: jnp.stack([getattr(model, x)] * len(keys)) for x in parts}), axes

    images = [
        jax.jit(pixelbrax.make(task, image_size=32, randomization_fn=function).reset)(jax.random.key(3)).obs["pixels"]
        for function in (None, same)
    ]
    np.testing.assert_array_equal(*images)


def _picture(scene, model, bodies):
    pose = GeomPose.from_bodies(model, *bodies, sites=True)
    return render(scene, pose, ModelCamera.from_mujoco(model, "eye").at(*bodies), 48, 48).rgb


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda model, keys: model, "must return model, in_axes"),
        (lambda model, keys: (model, jax.tree.map(lambda x: None, model)), "changes nothing"),
        (
            lambda model, keys: (model, jax.tree.map(lambda x: None, model).tree_replace({"geom_rgba": 0})),
            r"returns 'geom_rgba' of shape \(3, 4\) for one key: its in_axes has 0",
        ),
    ],
)
def test_functions_that_cannot_be_used_are_told(function, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.make("inverted_pendulum", randomization_fn=function)
