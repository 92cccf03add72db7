"""A distractor tells what a scene lacks for it to change anything."""

from dataclasses import replace

import jax.numpy as jnp
import pytest

from pixelbrax.distractors import SceneContext, distractor
from pixelbrax.distractors.roles import Role
from tests.probe import probe_env

_NEEDS = {
    "light": "vigen/light-position-easy vigen/light-color-hard vigen/moving-light-easy new/shadows",
    "floor": "vigen/texture-hard dmcr/floor severity/texture-1@test severity/moving-texture-5",
    "opaque floor": "dmcr/reflectance",
    "body": "vigen/object-color-easy new/body-texture",
    "target": "dmcr/target",
}


@pytest.mark.parametrize(("lacking", "name"), [(what, name) for what in _NEEDS for name in _NEEDS[what].split()])
def test_what_a_scene_must_have_for_a_preset_is_known(lacking, name):
    env = probe_env()
    here = SceneContext.of(env.physics.mj_model, env.scene, 16, 16)
    whole = replace(here, roles=(Role.FLOOR, Role.TARGET if lacking == "target" else Role.BODY))
    bare = replace(
        here, roles=(Role.SCENERY,) * 2, scene=replace(here.scene, light_kind=(), light_pos=jnp.zeros((0, 3)))
    )
    assert distractor(name).lacks(bare) == lacking
    assert distractor(name).lacks(whole) == ""
    assert distractor("dmcr/all").lacks(bare) == ""


def test_a_preset_that_changes_nothing_is_told():
    with pytest.warns(UserWarning, match=r"^dmcr/target@test changes nothing: the scene has no target$"):
        env = probe_env(distractors=["kage/hue", "dmcr/target@test"])
    assert env.distractor_names == ("kage/hue", "dmcr/target@test")
