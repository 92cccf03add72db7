"""The one exception for mistakes a user can mend, and checks that several rooms share."""


class ConfigError(ValueError):
    """A setting, name or file that cannot be used; the message names it and says what to do instead."""


MAX_SEED = 2**31 - 1


def check_seed(seed: int) -> None:
    """Raises ConfigError unless a seed is one that every JAX configuration takes."""
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed is {seed}: it must lie between 0 and {MAX_SEED}")
