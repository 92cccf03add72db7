"""Loads the policy of a run, evaluates it, uses it inside a compiled loop, and exports it.

Usage: python examples/load_policy.py RUN      (such as runs/demo, after `make demo`)
"""

import sys
from pathlib import Path

import jax

import pixelbrax

if __name__ == "__main__":
    pixelbrax.enable_compilation_cache()
    run = pixelbrax.open_run(sys.argv[1])
    policy, env = pixelbrax.load_policy(run), run.env
    print(f"{policy}\nreturn {pixelbrax.evaluate(policy, env, episodes=8)}")

    @jax.jit
    def episode(policy, key):
        """The return of up to 100 steps, with sampled actions; a policy is a pytree and can be an argument."""

        def step(state, key):
            state = env.step(state, policy(state.obs, key))
            return state, state.reward

        reset_key, key = jax.random.split(key)
        return jax.lax.scan(step, env.reset(reset_key), jax.random.split(key, 100))[1].sum()

    print(f"return of 100 steps with sampled actions {episode(policy, jax.random.key(1)):.1f}")

    file = policy.export(Path(run.path) / "policy.bin", overwrite=True)
    deployed = jax.export.deserialize(file.read_bytes())  # needs JAX, but not this package
    print(f"exported to {file}, for {', '.join(deployed.platforms)}")
