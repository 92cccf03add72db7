"""What distractors add to the scene: objects, a second body, pictures on the body."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.distractors import BackgroundOnly, Distractor, Objects, Role, SceneContext, Switching, Twin
from pixelbrax.distractors.kinds.places import body_center, ground_height
from pixelbrax.envs import EnvParams
from pixelbrax.errors import ConfigError
from pixelbrax.physics import RecordedPhysics
from pixelbrax.render import GeomPose, Scene, add_geoms
from pixelbrax.tasks import get_task
from tests.distractors.frames import keys
from tests.probe import probe_env

_UNIT = 4.0  # the usual camera's distance, which contexts made by hand have


@pytest.fixture(scope="module")
def cheetah():
    """A context of HalfCheetah, and its poses in several frames of a recorded motion."""
    model = get_task("halfcheetah").load_physics().mj_model
    env = pixelbrax.make("halfcheetah", outputs=())
    context = SceneContext.of(model, env.scene, 64, 64)
    recorded = RecordedPhysics.of_random_controls(model, 4, 0.05)
    bodies = recorded.body_pose(recorded.at(jnp.arange(4)))
    pose = jax.vmap(lambda xpos, xmat: GeomPose.from_bodies(model, xpos, xmat, sites=True))(*bodies)
    return context, [jax.tree.map(lambda x, k=k: x[k], pose) for k in range(4)]


def _moved(pose, x, y=0.0):
    return GeomPose(pose.xpos + jnp.array([x, y, 0.0]), pose.xmat)


def test_objects_stay_where_they_are_while_the_body_passes(cheetah):
    context, (pose, *_) = cheetah
    objects = Objects(count=7)
    begin = jax.jit(lambda key: objects.init(key, context))
    furnish = jax.jit(lambda state, pose: objects.furnish(state, context.scene, pose, context))
    count = len(context.scene.geom_type)
    for key in keys(5):
        state = begin(key)
        scene, here = furnish(state, pose)
        assert len(scene.geom_type) == count + 7 == here.xpos.shape[0]
        np.testing.assert_array_equal(here.xpos[:count], pose.xpos)
        center = np.asarray(body_center(pose, context))
        apart = np.asarray(here.xpos[count:, :2]) - center
        assert (np.abs(apart[:, 1]) >= 0.2 * _UNIT - 1e-4).all()
        assert (np.abs(apart) <= 1.5 * _UNIT + 1e-4).all()
        _, later = furnish(state, _moved(pose, 0.7))
        shift = np.asarray(later.xpos[count:, 0] - here.xpos[count:, 0])
        stayed = np.abs(shift) < 1e-4
        np.testing.assert_allclose(shift[~stayed], 3.0 * _UNIT, atol=1e-4)  # what is left behind follows in front
        assert stayed.mean() > 0.5


def test_objects_stand_on_the_ground(cheetah):
    context, (pose, *_) = cheetah
    objects = Objects(count=10)
    scene, here = objects.furnish(objects.init(jax.random.key(0), context), context.scene, pose, context)
    ground, count = float(ground_height(pose, context)), len(context.scene.geom_type)
    down = np.array([0.0, 0.0, -1.0])
    for i in range(count, count + 10):
        kind, size = int(scene.geom_type[i]), np.asarray(scene.geom_size[i])
        lowest = {2: size[0], 3: size[0] + size[1], 4: size[2], 5: size[1], 6: size[2]}[kind]  # MuJoCo's types
        assert here.xpos[i] @ -down - lowest == pytest.approx(ground, abs=1e-5)
    np.testing.assert_allclose(here.xmat[count:] @ jnp.array([0.0, 0.0, 1.0]), np.tile(-down, (10, 1)), atol=1e-6)


def test_a_second_body_moves_by_itself(cheetah):
    context, poses = cheetah
    twin = Twin().prepare(context)
    body = [i for i in context.scene.visible if context.roles[i] == Role.BODY]
    count = len(context.scene.geom_type)
    state = twin.init(jax.random.key(0), context)
    (scene, one), (_, other) = (twin.furnish(state, context.scene, pose, context) for pose in poses[::3])
    assert len(scene.geom_type) == count + len(body)
    np.testing.assert_array_equal(scene.geom_size[count:], context.scene.geom_size[np.array(body)])
    for name in ("geom_rgb", "pattern_rgb", "geom_specular", "texture_scale"):
        np.testing.assert_array_equal(getattr(scene, name)[count:], getattr(context.scene, name)[np.array(body)])
    assert scene.geom_pattern[count:] == tuple(context.scene.geom_pattern[i] for i in body)
    # Its shape does not follow the first body's, its place does.
    np.testing.assert_array_equal(one.xmat[count:], other.xmat[count:])
    np.testing.assert_allclose(
        np.asarray(other.xpos[count:] - one.xpos[count:])[:, :2],
        np.tile(np.asarray(body_center(poses[3], context) - body_center(poses[0], context)), (len(body), 1)),
        atol=1e-5,
    )
    turned = [state]
    for t in range(300):
        turned.append(twin.step(turned[-1], jax.random.fold_in(jax.random.key(1), t), context))
    apart = np.array([np.linalg.norm(s.place) for s in turned])
    assert (apart > 0.15 - 1e-5).all()
    assert (apart < 0.4 + 1e-5).all()
    _, after = twin.furnish(turned[7], context.scene, poses[0], context)
    assert not np.allclose(after.xmat[count:], one.xmat[count:], atol=1e-3)
    steps = np.array([int(s.frame) for s in turned])
    assert (steps >= 0).all()
    assert (steps < 238).all()


@pytest.mark.parametrize("task", [pytest.param("humanoid", marks=pytest.mark.full), "hopper", "ant"])
def test_a_second_body_does_not_sink_into_the_ground(task):
    """Few geoms of these models collide with the floor."""
    model = get_task(task).load_physics().mj_model
    context = SceneContext.of(model, Scene.from_mujoco(model, sites=True), 32, 32)
    motion = Twin().prepare(context).motion
    assert motion is not None
    heights = motion.xpos[..., 2].min(1)
    assert heights.min() >= heights[0] - 1e-5


def test_parameters_of_what_is_added_are_checked():
    env = pixelbrax.make("halfcheetah", image_size=16, frame_stack=1)
    for distractor, name in ((Objects(), "largest"), (Twin(), "farthest")):
        looks = env.with_distractors(distractor)
        (params,) = looks.default_params.distractors
        with pytest.raises(ConfigError, match=name):
            looks.complete_params(EnvParams(distractors=(params | {name: np.float32(0.01)},)))


@pytest.mark.full
@pytest.mark.parametrize("task", ["probe", "halfcheetah"])
def test_a_picture_is_on_the_body_and_nowhere_else(task):
    settings: Any = {"image_size": 48, "frame_stack": 1, "outputs": ("pixels", "mask")}
    env = probe_env(**settings) if task == "probe" else pixelbrax.make(task, **settings)
    looks = env.with_distractors("new/body-texture")
    several = keys(4)
    plain, seen = (jax.jit(jax.vmap(e.reset))(several).obs for e in (env, looks))
    body = np.asarray(plain["mask"])
    assert (np.asarray(seen["mask"]) == body).all()
    changed = (np.asarray(plain["pixels"]) != np.asarray(seen["pixels"])).any(-1)
    assert not changed[~body].any()
    assert changed[body].mean() > 0.9


@pytest.mark.full
@pytest.mark.parametrize("name", ["new/twin", "new/objects"])
def test_what_is_added_is_seen_and_changes_no_physics(name):
    env = pixelbrax.make("halfcheetah", image_size=48, frame_stack=1, outputs=("pixels", "segmentation"))
    looks = env.with_distractors(name)

    def run(env):
        def episode(key):
            state = env.reset(key)
            return env.step(state, jnp.ones(env.action_size))

        return jax.jit(jax.vmap(episode))(keys(4))

    plain, seen = run(env), run(looks)
    for a, b in zip(jax.tree.leaves(plain.physics), jax.tree.leaves(seen.physics), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)  # two programs, which may round differently
    added = np.asarray(seen.obs["segmentation"]) >= len(env.scene.geom_type)
    assert added.any((1, 2)).all()
    before, after = (np.asarray(state.obs["pixels"]).astype(int) for state in (plain, seen))
    apart = np.any(np.abs(after - before) > 8, axis=-1)
    assert (apart & ~added).mean() < 0.002
    assert apart[added].mean() > 0.5  # a second body has the first one's colors


@pytest.mark.full
def test_several_may_add():
    env = pixelbrax.make("halfcheetah", image_size=16, frame_stack=1)
    several = env.with_distractors(["new/body-texture", "new/twin", "new/objects", "dcs/color-hard"])
    scene, pose, _ = jax.eval_shape(lambda key: several.render_inputs(several.reset(key)), jax.random.key(0))
    assert len(scene.geom_type) == pose.xpos.shape[0] > len(env.scene.geom_type) + 8
    assert len(scene.textures) == len(env.scene.textures) + 1


def test_what_cannot_be_added_is_refused():
    class Forgetful(Distractor):
        def furnish(self, state, scene, pose, context):
            return add_geoms(scene, ["sphere"], jnp.ones((1, 3)), jnp.ones((1, 3))), pose

    class Lone(Distractor):
        def furnish(self, state, scene, pose, context):
            return scene

    env = probe_env()
    with pytest.raises(
        ConfigError, match=r"Forgetful.furnish returns a scene of 3 geoms and poses of 2: each geom needs"
    ):
        env.with_distractors(Forgetful())
    with pytest.raises(ConfigError, match=r"Lone.furnish returns a Scene: it must return a scene and the poses"):
        env.with_distractors(Lone())
    with pytest.raises(ConfigError, match="Switching: Objects adds to the scene, which cannot be switched"):
        Switching((Objects(),))
    with pytest.raises(ConfigError, match="Objects changes the scene"):
        BackgroundOnly(Objects())
    with pytest.raises(ConfigError, match=r"Objects: smallest is 0.5: it must be at most .* largest"):
        Objects(smallest=0.5)
    with pytest.raises(ConfigError, match="Twin: nearest"):
        Twin(nearest=3.0)


def test_a_picture_on_the_body_has_no_strength():
    env = probe_env(distractors="new/body-texture", image_size=8)
    assert not env.distractors.has_strength
