"""Distractors of which one is active at a time."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.distractors import (
    Brightness,
    ColorOffset,
    FloorColors,
    Latency,
    Reflectance,
    Shadows,
    Switching,
    Video,
)
from pixelbrax.errors import ConfigError
from tests.distractors.frames import context, frame, keys, noise, view
from tests.probe import probe_env

_MEMBERS = (Brightness(0.4), ColorOffset(0.3, 0.1), FloorColors(0.5))


def test_what_is_shown_is_the_active_members_alone():
    here, rgb = context(), noise()
    switching = Switching(_MEMBERS, idle=True).prepare(here)
    state = switching.init(jax.random.key(0), here)
    for active in range(4):
        chosen = state._replace(active=jnp.int32(active))
        shown, scene = (
            switching.apply_frame(chosen, frame(rgb), here).rgb,
            switching.apply_scene(chosen, view(), here).scene,
        )
        if active == 3:
            np.testing.assert_array_equal(shown, rgb)
            np.testing.assert_array_equal(scene.pattern_rgb, view().scene.pattern_rgb)
            continue
        member, own = switching.distractors[active], state.members[active]
        np.testing.assert_array_equal(shown, member.apply_frame(own, frame(rgb), here).rgb)
        np.testing.assert_array_equal(scene.pattern_rgb, member.apply_scene(own, view(), here).scene.pattern_rgb)


@pytest.mark.parametrize("idle", [False, True])
def test_the_chain_is_uniform_and_jumps_as_often_as_it_says(idle):
    here, switching = context(), Switching(_MEMBERS, probability=0.2, idle=idle)
    state, seen = jax.vmap(lambda key: switching.init(key, here))(keys(4000)), []
    for t in range(5):
        seen.append(np.asarray(state.active))
        step_keys = jax.vmap(jax.random.fold_in, (0, None))(keys(4000), t)
        state = jax.vmap(lambda s, key: switching.step(s, key, here))(state, step_keys)
    count = switching.num_choices
    for each in seen:
        np.testing.assert_allclose(np.bincount(each, minlength=count) / 4000, 1 / count, atol=0.03)
    changed = np.mean([one != other for one, other in itertools.pairwise(seen)])
    np.testing.assert_allclose(changed, 0.2, atol=0.02)


def test_all_members_go_on_while_another_is_active():
    here = context()
    switching = Switching(_MEMBERS)
    state = switching.init(jax.random.key(0), here)
    later = switching.step(state, jax.random.key(1), here)
    assert np.abs(later.members[1] - state.members[1]).max() > 0


def test_needs_are_those_of_all_and_strength_is_handed_on():
    both = Switching((Video(sky=1.0), Brightness(0.2)))
    assert both.needs_segmentation
    assert Switching((Shadows(), Brightness(0.2))).needs_shadows
    assert Switching((Reflectance(), Brightness(0.2))).needs_reflections
    switching = Switching(_MEMBERS, probability=0.3)
    params = switching.scaled(switching.params, 0.5)
    assert params["probability"] == np.float32(0.3)
    np.testing.assert_allclose(params["members"][0]["amount"], 0.2)
    assert switching.with_params(params).probability == np.float32(0.3)
    assert Switching((Brightness(0.0),)).is_identity
    with pytest.raises(ConfigError, match="Switching: probability is 2"):
        Switching(_MEMBERS, probability=2.0)


def test_it_works_in_an_environment_with_members_that_remember():
    env = probe_env(image_size=16, distractors=Switching((*_MEMBERS, Latency(1)), probability=0.5))
    state = jax.jit(jax.vmap(env.reset))(keys(4))
    step = jax.jit(jax.vmap(env.step))
    for _ in range(3):
        state = step(state, jnp.zeros((4, 1)))
    assert np.isfinite(np.asarray(state.obs["pixels"], float)).all()
