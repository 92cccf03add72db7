"""The one exception for mistakes a user can mend."""


class ConfigError(ValueError):
    """A setting, name or file that cannot be used; the message names it and says what to do instead."""
