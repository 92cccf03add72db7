# %% [markdown]
# # A learner of your own
#
# Environments are pure functions, so that a whole learner can be one compiled function: below, PPO from pixels in a hundred
# lines of JAX and Optax. For a learner that exists already there are adapters (Gymnasium, TorchRL, ...).

# %%
# On Colab, or wherever PixelBrax is missing. There is no release on PyPI yet: PACKAGE may be a wheel or a clone.
import importlib.util
import os
import subprocess
import sys

PACKAGE = "pixelbrax"
if importlib.util.find_spec("pixelbrax") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
SMALL = bool(os.environ.get("PIXELBRAX_SMALL"))  # the tests run this notebook with small budgets

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax

import pixelbrax

pixelbrax.enable_compilation_cache()
NUM_ENVS, UNROLL, UPDATES = (8, 4, 2) if SMALL else (64, 32, 120)
EPOCHS, MINIBATCHES, DISCOUNT, LAMBDA, CLIP = 4, 4, 0.99, 0.95, 0.2
env = pixelbrax.make("inverted_pendulum", "spring", image_size=16 if SMALL else 48, grayscale=True, action_repeat=2)
print(env.observation_spec)

# %% [markdown]
# ## A network
#
# Patches of 8x8 pixels, a hidden layer, and three outputs: the mean of a normal action, its spread, and a value. (Patches are
# a convolution as one matrix product, whose gradient is fast on CPUs.)

# %%
HEIGHT, WIDTH, CHANNELS = env.observation_spec["pixels"].shape
NUM_PATCHES = (HEIGHT // 8) * (WIDTH // 8)


def init(key):
    """Parameters: orthogonal layers, and outputs that begin at 0."""
    first, second = jax.random.split(key)
    orthogonal = jax.nn.initializers.orthogonal(2**0.5)
    return {
        "patch": orthogonal(first, (64 * CHANNELS, 32)),
        "hidden": orthogonal(second, (NUM_PATCHES * 32, 128)),
        "mean": jnp.zeros((128, env.action_size)),
        "log_std": jnp.full((env.action_size,), -1.2),
        "value": jnp.zeros((128,)),
    }


def outputs(params, pixels):
    """Mean and log of the spread of the actions, and the value, of a batch of images."""
    x = pixels.astype(jnp.float32) / 255.0 - 0.5
    x = x.reshape(-1, HEIGHT // 8, 8, WIDTH // 8, 8, CHANNELS).swapaxes(2, 3).reshape(-1, NUM_PATCHES, 64 * CHANNELS)
    x = jax.nn.relu(x @ params["patch"]).reshape(-1, NUM_PATCHES * 32)
    x = jax.nn.relu(x @ params["hidden"])
    return x @ params["mean"], params["log_std"], x @ params["value"]


def log_prob(mean, log_std, action):
    """Log-density of normal actions, up to a constant."""
    return (-0.5 * ((action - mean) / jnp.exp(log_std)) ** 2 - log_std).sum(-1)


# %% [markdown]
# ## A rollout
#
# `scan` over steps of all environments. Two things are worth a look:
#
# - An environment resets in the step after its episode's end and ignores that step's action: `valid` leaves it out of the loss.
# - The observation after an episode's last step is its own. So a truncated episode bootstraps from it, a terminated one from 0.


# %%
def rollout(params, states, key):
    """Steps of all environments, and the states after them."""

    def step(states, key):
        mean, log_std, value = outputs(params, states.obs["pixels"])
        action = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        after = jax.vmap(env.step)(states, action)
        taken = {
            "pixels": states.obs["pixels"],
            "action": action,
            "log_prob": log_prob(mean, log_std, action),
            "value": value,
            "next_value": outputs(params, after.obs["pixels"])[2],
            "reward": 0.03 * after.reward,
            "terminated": after.terminated,
            "done": after.done,
            "valid": ~states.done,
            "episode_return": after.metrics["episode_return"],
        }
        return after, taken

    return jax.lax.scan(step, states, jax.random.split(key, UNROLL))


def advantages(steps):
    """Generalized advantage estimation, backwards over a rollout."""
    delta = steps["reward"] + DISCOUNT * jnp.where(steps["terminated"], 0.0, steps["next_value"]) - steps["value"]

    def backward(following, step):
        delta, done = step
        advantage = delta + DISCOUNT * LAMBDA * jnp.where(done, 0.0, following)
        return advantage, advantage

    return jax.lax.scan(backward, jnp.zeros(NUM_ENVS), (delta, steps["done"]), reverse=True)[1]


# %% [markdown]
# ## An update

# %%
STEPS = UPDATES * EPOCHS * MINIBATCHES
optimizer = optax.chain(
    optax.clip_by_global_norm(0.5), optax.adam(optax.linear_schedule(7e-4, 3.5e-5, STEPS), eps=1e-5)
)


def loss(params, batch):
    """The clipped surrogate, and half a squared value error, over the steps that count."""
    mean, log_std, value = outputs(params, batch["pixels"])
    ratio = jnp.exp(log_prob(mean, log_std, batch["action"]) - batch["log_prob"])
    gain = jnp.minimum(ratio * batch["advantage"], jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * batch["advantage"])
    per_step = -gain + 0.5 * 0.5 * (value - batch["target"]) ** 2
    return (per_step * batch["valid"]).sum() / batch["valid"].sum()


@jax.jit
def update(params, opt_state, states, key):
    """One rollout, and what is learned from it."""
    rollout_key, epochs_key = jax.random.split(key)
    states, steps = rollout(params, states, rollout_key)
    advantage = advantages(steps)
    normal = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    samples = steps | {"advantage": normal, "target": steps["value"] + advantage}
    samples = jax.tree.map(lambda x: x.reshape(UNROLL * NUM_ENVS, *x.shape[2:]), samples)

    def minibatch(carry, rows):
        params, opt_state = carry
        gradient = jax.grad(loss)(params, jax.tree.map(lambda x: x[rows], samples))
        change, opt_state = optimizer.update(gradient, opt_state)
        return (optax.apply_updates(params, change), opt_state), None

    keys = jax.random.split(epochs_key, EPOCHS)
    rows = jax.vmap(lambda key: jax.random.permutation(key, UNROLL * NUM_ENVS))(keys).reshape(EPOCHS * MINIBATCHES, -1)
    (params, opt_state), _ = jax.lax.scan(minibatch, (params, opt_state), rows)
    ended = steps["done"] & steps["valid"]
    returns = jnp.where(ended, steps["episode_return"], 0.0).sum() / jnp.maximum(ended.sum(), 1)
    return params, opt_state, states, jnp.where(ended.any(), returns, jnp.nan)


# %% [markdown]
# ## Training
#
# The pole falls within a second or so at first; 1,000 is the most that an episode returns. More updates carry it further.

# %%
params_key, envs_key, key = jax.random.split(jax.random.key(0), 3)
params = init(params_key)
opt_state = optimizer.init(params)
states = jax.jit(jax.vmap(env.reset))(jax.random.split(envs_key, NUM_ENVS))
returns = []
for number in range(UPDATES):
    params, opt_state, states, mean_return = update(params, opt_state, states, jax.random.fold_in(key, number))
    returns.append(float(mean_return))
    if number % 10 == 0:
        print(f"{(number + 1) * UNROLL * NUM_ENVS:7,} steps, return {returns[-1]:.0f}", flush=True)
plt.plot(np.arange(1, UPDATES + 1) * UNROLL * NUM_ENVS, returns)
plt.xlabel("steps")
plt.ylabel("mean return of the episodes that ended")

# %% [markdown]
# ## The policy in an episode
#
# The deterministic one, in an environment of its own.


# %%
@jax.jit
def episode(params, key):
    """The return of an episode."""

    def step(state, _):
        state = env.step(state, outputs(params, state.obs["pixels"][None])[0][0])
        return state, (state.reward, state.done)

    _, (rewards, done) = jax.lax.scan(step, env.reset(key), None, length=20 if SMALL else 500)
    before_the_end = jnp.cumsum(done) - done == 0
    return (rewards * before_the_end).sum()


print([round(float(episode(params, jax.random.key(k)))) for k in range(1 if SMALL else 4)])
