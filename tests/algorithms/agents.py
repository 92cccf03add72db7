"""Small agents of every algorithm, for probes."""

from dataclasses import replace
from typing import Any, Literal

import jax

from pixelbrax.algorithms import APGConfig, DCPGConfig, ESConfig, PPGConfig, PPOConfig, SACConfig, algorithm_of
from pixelbrax.networks import NetworkConfig

_SHARED: dict[str, Any] = {
    "num_envs": 16,
    "unroll_length": 8,
    "num_minibatches": 4,
    "learning_rate": 3e-3,
    "final_learning_rate": 3e-4,
    "reward_scale": 1.0,
}
_PHASIC: dict[str, Any] = _SHARED | {"policy_iterations": 4, "policy_epochs": 4, "auxiliary_minibatches": 16}
CONFIGS = {
    "ppo": PPOConfig(**_SHARED),
    "ppg": PPGConfig(**_PHASIC, value_epochs=3),
    "dcpg": DCPGConfig(**_PHASIC),
    "ddcpg": DCPGConfig(**_PHASIC, dynamics_coef=1.0),
    "sac": SACConfig(
        num_envs=16,
        unroll_length=8,
        learning_rate=3e-3,
        final_learning_rate=3e-4,
        replay_size=2048,
        random_steps=128,
        gradient_steps=4,
        minibatch_size=64,
        hidden_layers=(32,),
        num_atoms=21,
        tau=0.05,
    ),
    "apg": APGConfig(
        num_envs=16, unroll_length=8, learning_rate=1e-2, critic_learning_rate=3e-3, reward_scale=1.0, critic_epochs=4
    ),
    "es": ESConfig(num_envs=32, unroll_length=10, learning_rate=0.1, final_learning_rate=0.03, perturbation_std=0.1),
}


def make_agent(
    name,
    env,
    updates=30,
    critic: Literal["shared", "separate", "state"] = "shared",
    normalize=False,
    freeze_encoder=False,
    policy_layers=(),
    **settings,
):
    if name == "dcpg-separate":
        name, critic = "dcpg", "separate"
    config = replace(CONFIGS[name], **settings)
    config.validate()
    sizes = NetworkConfig(
        conv_features=(8,),
        features=32,
        policy_layers=policy_layers,
        normalize_value=normalize,
        critic=critic,
        freeze_encoder=freeze_encoder,
    )
    sizes = sizes if name == "sac" else replace(sizes, state_layers=())  # SAC has hidden layers of its own
    return algorithm_of(config).make(env, sizes, config, updates)


def train(program, updates, seed=0):
    """The last state, and the metrics and totals of every update, of a compiled (init, update)."""
    init, update = program
    state, history = init(jax.random.key(seed)), []
    for _ in range(updates):
        state, *seen = update(state)
        history.append(seen)
    return state, history
