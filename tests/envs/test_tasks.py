"""Every registered task on every engine, through `pixelbrax.make`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import get_task

MATRIX = [
    (name, backend) for name in pixelbrax.list_tasks() for backend in get_task(name).backends if backend != "warp"
]
# `make test` has these laws on the probe, and other tests of each engine; `make test-all` walks them all.
# MuJoCo Playground starts these in one pose, always.
FIXED_START = {"dmc/ball_in_cup", "dmc/humanoid_run", "dmc/humanoid_stand", "dmc/humanoid_walk"}
LENGTH, REPEAT = 5, 2


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Brax System")
@pytest.mark.parametrize(("name", "backend"), MATRIX, ids=["-".join(case) for case in MATRIX])
def test_task_steps_resets_and_shows_itself(name, backend):
    env = pixelbrax.make(name, backend, image_size=32, frame_stack=2, action_repeat=REPEAT, episode_length=LENGTH)

    @jax.jit
    @jax.vmap
    def rollout(key):
        def step(state, key):
            state = env.step(state, jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1))
            return state, state

        reset_key, act_key = jax.random.split(key)
        first = env.reset(reset_key)
        _, states = jax.lax.scan(step, first, jax.random.split(act_key, 2 * LENGTH))
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, states)

    task = get_task(name)
    assert task.sizes is not None
    assert task.sizes[:2] == (env.action_size, *env.observation_spec["state"].shape)
    if backend == task.backends[0]:
        assert task.sizes.dt == pytest.approx(env.physics.dt)

    states = rollout(jax.random.split(jax.random.key(0), 3))
    spec = {key: (x.shape[2:], x.dtype) for key, x in states.obs.items()}
    assert spec == {key: (x.shape, x.dtype) for key, x in env.observation_spec.items()}
    assert spec["pixels"] == ((32, 32, 6), jnp.uint8)
    assert all(np.isfinite(leaf).all() for leaf in (states.obs["state"], states.reward, *states.metrics.values()))
    assert not states.metrics["diverged"].any()
    if name.startswith("dmc/"):
        assert ((states.reward >= 0) & (states.reward <= REPEAT)).all()

    # Frames 2, 4 and 5: an episode takes 3 steps unless it terminates, and the step after its end is the reset.
    done = np.asarray(states.terminated | states.truncated)
    length = np.asarray(states.metrics["episode_length"])
    assert (length[np.asarray(states.truncated)] == LENGTH).all()
    assert not (states.terminated & states.truncated).any()
    for row, ends in enumerate(done):
        before = 0
        for t in range(1, len(ends)):
            expected = 0 if ends[t - 1] else min(before + REPEAT, LENGTH)
            assert length[row, t] <= expected
            assert length[row, t] == expected or ends[t]
            before = length[row, t]
    assert done.any()
    assert (states.reward[:, 1:][done[:, :-1]] == 0).all()

    # Something is seen, and it differs from state to state.
    frames = np.asarray(states.obs["pixels"][..., -3:]).astype(int)
    assert frames.std() > 5
    assert (frames[:, 0] != frames[:, 2]).any()
    if name not in FIXED_START:
        starts = np.asarray(states.obs["state"][:, 0])
        assert (starts[0] != starts[1]).any()


def test_names_are_checked_and_suggested():
    with pytest.raises(ConfigError, match="unknown task 'halfcheeta': did you mean halfcheetah"):
        pixelbrax.make("halfcheeta")
    with pytest.raises(ConfigError, match="no backend 'bullet': it runs on spring"):
        pixelbrax.make("ant", backend="bullet")
    with pytest.raises(ConfigError, match="needs an NVIDIA GPU: use 'jax' here"):
        pixelbrax.make("dmc/cheetah_run", backend="warp")
