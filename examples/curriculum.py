"""Distractors that grow stronger while an agent acts, without recompilation.

Everything in `env.default_params` can change this way: distractor strengths and levels, randomization ranges, reward
weights, episode length; for all environments or for each separately.
"""

import jax
import jax.numpy as jnp

import pixelbrax

NUM_ENVS, NUM_PHASES, STEPS = 4, 5, 10

env = pixelbrax.make("inverted_pendulum", distractors="dcs/hard", image_size=48)


@jax.jit
def act(states, key):
    """Random actions; an agent would learn here."""

    def step(states, key):
        actions = jax.random.uniform(key, (NUM_ENVS, env.action_size), minval=-1.0, maxval=1.0)
        states = jax.vmap(env.step)(states, actions)
        return states, states.reward.mean()

    states, rewards = jax.lax.scan(step, states, jax.random.split(key, STEPS))
    return states, rewards.mean()


keys = jax.random.split(jax.random.key(0), NUM_ENVS)
states = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(keys, env.scaled_params(0.0))
for phase in range(NUM_PHASES):
    strength = phase / (NUM_PHASES - 1)
    states = env.with_params(states, env.scaled_params(strength))
    states, reward = act(states, jax.random.key(phase))
    print(f"strength {strength:.2f}: reward {float(reward):.2f}, programs compiled {act._cache_size()}")

# Parameters per environment: each gets its own level of the distractors.
params = env.complete_params()
params = jax.tree.map(lambda x: jnp.broadcast_to(x, (NUM_ENVS, *x.shape)), params)
params.distractors[0]["first"] = jnp.arange(NUM_ENVS)
params.distractors[0]["count"] = jnp.ones(NUM_ENVS, jnp.int32)
states, _ = act(env.with_params(states, params), jax.random.key(NUM_PHASES))
print(f"levels 0 to {NUM_ENVS - 1}: programs compiled {act._cache_size()}")
