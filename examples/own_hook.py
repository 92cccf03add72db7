"""Trains with your own hook: a curriculum that strengthens distractors as the return grows, and stops at the end.

Usage: python examples/own_hook.py [NUM_STEPS]
"""

import sys
from dataclasses import replace

import pixelbrax


class Curriculum(pixelbrax.ActingHook):
    """Raises the strength of the distractors by a quarter whenever the return reaches a target.

    Strengths are environment parameters, so nothing is recompiled. Evaluations keep the full strength.
    """

    def __init__(self, target):
        self.target, self.strength = target, 0.0

    def act(self, interval):
        """Called after every log interval."""
        if interval.row["return"] >= self.target:
            if self.strength == 1.0:
                interval.stop(f"return {interval.row['return']:.0f} at full strength")
            self.strength = min(self.strength + 0.25, 1.0)
        env, state = interval.env, interval.state
        envs = env.with_params(state.envs, env.scaled_params(self.strength))
        interval.state = replace(state, envs=envs)
        print(f"after {interval.updates} updates: strength {self.strength}", flush=True)

    def state_of(self, run):
        """The hook's state for checkpoints, so that a resumed run is the same."""
        return self.strength

    def set_state_of(self, run, state):
        """Restores the hook's state from a checkpoint."""
        self.strength = state


if __name__ == "__main__":
    pixelbrax.enable_compilation_cache()
    env = pixelbrax.make(
        "inverted_pendulum",
        image_size=32,
        grayscale=True,
        action_repeat=2,
        episode_length=200,
        distractors="kage/brightness",
    )
    num_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    hooks = [Curriculum(target=100.0)]
    print(pixelbrax.train(env, num_steps=num_steps, eval_episodes=8, hooks=hooks, name="curriculum"))
