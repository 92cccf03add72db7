"""rsl_rl's `VecEnv` (version 5) on PixelBrax's environments for Gymnasium, whose tensors stay on the device.

    runner = OnPolicyRunner(RslRlEnv("halfcheetah", 1024), config, device="cuda")  # with JAX on the GPU, too

Usage: python examples/rsl_rl_env.py
"""

from typing import Any

import torch
from tensordict import TensorDict

from pixelbrax.adapters.gymnasium import PixelBraxVectorEnv


class RslRlEnv:
    """Has all that rsl_rl's runners use of a `VecEnv`: "pixels" are floats with channels first, "state" a vector.

    The time limit is the environments' own: the runner's `init_at_random_ep_len` does not shorten first episodes.
    """

    def __init__(self, env: Any, num_envs: int, seed: int = 0, **settings: Any):
        """Makes environments; settings are those of `pixelbrax.make`."""
        self.cfg = settings
        settings = {"obs_keys": ("pixels", "state"), "channels_first": True} | settings
        self._envs = PixelBraxVectorEnv(env, num_envs, arrays="torch", autoreset_mode="SameStep", **settings)
        self._obs = self._envs.reset(seed=seed)[0]
        self.num_envs, self.num_actions = num_envs, self._envs.pixel_env.action_size
        self.max_episode_length = -(-self._envs.pixel_env.episode_length // self._envs.pixel_env.action_repeat)
        self.device = self._obs["state"].device
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long, device=self.device)

    def get_observations(self) -> TensorDict:
        """The current observations."""
        obs = {"pixels": self._obs["pixels"].float() / 255, "state": self._obs["state"].clone()}
        return TensorDict(obs, batch_size=[self.num_envs], device=self.device)

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Observations, rewards, which episodes ended, and which of them at the time limit."""
        self._obs, reward, terminated, truncated, _ = self._envs.step(actions.clamp(-1.0, 1.0))
        done = terminated | truncated
        self.episode_length_buf = torch.where(done, 0, self.episode_length_buf + 1)
        return self.get_observations(), reward.clone(), done, {"time_outs": truncated.float()}


if __name__ == "__main__":
    envs = RslRlEnv("inverted_pendulum", 8, image_size=32)
    obs, reward, done, extras = envs.step(torch.zeros(8, envs.num_actions))
    print(f"images {tuple(obs['pixels'].shape)}, mean reward {reward.mean():.1f}")
