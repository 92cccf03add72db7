"""Collects a dataset of pixels, states, actions and rewards, and reads it back as stacked frames.

Usage: python examples/collect_dataset.py FOLDER [RUN]      (without a run: random actions in the pendulum task)

`pixelbrax collect RUN --out FOLDER` does the same from the shell.
"""

import sys

import pixelbrax

if __name__ == "__main__":
    pixelbrax.enable_compilation_cache()
    folder, *run = sys.argv[1:]
    if run:
        env = pixelbrax.open_run(run[0]).env
        policy = pixelbrax.load_policy(run[0])
    else:
        env, policy = pixelbrax.make("inverted_pendulum", image_size=32), "random"
    dataset = pixelbrax.rollout(policy, env, episodes=6, seed=0, steps=40, num_envs=4, path=folder)
    print(dataset)
    for part in pixelbrax.load_dataset(folder):  # one shard after another
        frames = part.stacked(env.images.frame_stack)  # frames are stored once
        print(f"frames {frames.shape} {frames.dtype}, actions {part.actions.shape}, lengths {part.lengths}")
