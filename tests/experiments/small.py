"""A training run of seconds, from states of the probe."""

SETTINGS = {
    "num_envs": 4,
    "unroll_length": 4,
    "num_minibatches": 2,
    "num_epochs": 1,
    "features": 8,
    "num_steps": 96,  # 6 updates
    "log_interval": 2,
    "eval_episodes": 2,
    "quiet": True,
    "report": False,
    "video": False,
}
