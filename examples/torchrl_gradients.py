"""A policy of PyTorch's that learns by gradients through Brax's physics: its pole stays upright.

Usage: python examples/torchrl_gradients.py
"""

import torch
from tensordict.nn import TensorDictModule

from pixelbrax.adapters.torchrl import PixelBraxEnv

if __name__ == "__main__":
    torch.manual_seed(0)
    env = PixelBraxEnv("inverted_pendulum", backend="spring", batch_size=[16], requires_grad=True)
    network = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1), torch.nn.Tanh())
    policy = TensorDictModule(network, in_keys=["observation"], out_keys=["action"])
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    print("compiling the physics and its derivative: half a minute")
    env.set_seed(0)
    for update in range(31):
        rollout = env.rollout(20, policy, break_when_any_done=False)
        loss = rollout["next", "observation"].square().sum(-1).mean()  # position, angle and velocities
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 10 == 0:
            print(f"update {update}: loss {loss.item():.4f}", flush=True)
