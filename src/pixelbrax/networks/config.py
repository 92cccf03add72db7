"""Settings of networks."""

import math
from dataclasses import dataclass
from typing import Literal

from pixelbrax.errors import MAX_FLOAT, ConfigError, check_count, check_number

_WIDEST = 1_000_000
LEAST_LOG_STD = -5.0
"""Bound of a policy's spread that is a parameter: one that narrows without end would soon have infinite densities."""
LEAST_STD = 1e-3
"""Least standard deviation of a bounded normal, beside the softplus of what the network says."""
SPREADS = -10.0, 2.0
"""Bounds of what the network says of a bounded normal's spread, before the softplus."""


@dataclass(frozen=True)
class NetworkConfig:
    """Architecture of the networks."""

    encoder: Literal["patch", "nature", "impala", "drq"] = "patch"
    """Encoder of images: patch is fast on CPUs; the others are those of Mnih 2015, Espeholt 2018, Yarats 2021."""
    features: int = 128
    """Size of the feature vector, which the policy and a shared critic read."""
    patch_size: int = 4
    """Patch encoder: side of the patches of the first layer, pixels."""
    patch_features: int = 16
    """Patch encoder: channels of the patch embedding."""
    conv_features: tuple[int, ...] = (32, 32)
    """Patch encoder: channels of the 3x3 convolutions with stride 2 that follow."""
    critic: Literal["shared", "separate", "state"] = "shared"
    """Critic: shared reads the policy's features; separate is a network of its own with the same input; state is one
    of the engine's state (privileged)."""
    state_layers: tuple[int, ...] = (256,)
    """Hidden layers of the networks that read states, before the one of size `features`."""
    policy_layers: tuple[int, ...] = ()
    """Hidden layers between the features and the policy's head, which else is linear in them."""
    normalize_value: bool = False
    """Normalize values by moving statistics of returns (PopArt)."""
    distribution: Literal["tanh-normal", "clipped-normal", "bounded-normal"] = "tanh-normal"
    """Distribution of actions: a normal squashed by tanh, or clipped to -1..1; bounded-normal is clipped too, has its
    mean within -1..1, and a spread that depends on the observation."""
    initial_std: float = 0.6
    """Standard deviation of the untrained policy, before the tanh or the clipping; above 0.0067, for a bounded-normal
    above 0.001 and below 2.13, where the spread is bounded."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of the encoder's computation; parameters, heads and losses stay float32."""
    freeze_encoder: bool = False
    """Leave the policy's encoder of images as it was at first, random or of another run (start_from); the encoder of a
    critic that is a network of its own learns."""
    blind: bool = False
    """Control experiment: replace all images with black ones."""

    def idle(self, sees: bool, reads_states: bool) -> dict[str, str]:
        """Settings that change nothing beside the others, and why.

        Args:
          sees: whether there are images.
          reads_states: whether the algorithm has a network that reads states beside them.
        """
        patches = ("patch_size", "patch_features", "conv_features")
        if not sees:
            return dict.fromkeys(("encoder", *patches), "obs=state has no images")
        others = () if self.encoder == "patch" else patches
        idle = dict.fromkeys(others, f"encoder={self.encoder} has layers of its own")
        states = reads_states or self.critic == "state"
        return idle | ({} if states else {"state_layers": f"obs=pixels, and critic={self.critic} reads no states"})

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a size is not positive, or the spread is beyond its bounds.
        """
        sizes = {name: (getattr(self, name),) for name in ("patch_size", "patch_features", "features")}
        sizes |= {name: getattr(self, name) for name in ("conv_features", "state_layers", "policy_layers")}
        for name, values in sizes.items():
            for value in values:
                check_count(name, value, most=_WIDEST)
        check_number("initial_std", self.initial_std, above=0)
        least, most = self._std_bounds
        if not least < self.initial_std < most:
            bounds = f"above {least:.3g}" + (f" and below {most:.3g}" if most < MAX_FLOAT else "")
            raise ConfigError(
                f"initial_std is {self.initial_std:g}: with distribution={self.distribution} it must be {bounds}, "
                "where the policy's spread is bounded"
            )

    @property
    def _std_bounds(self) -> tuple[float, float]:
        """Bounds of the spread of a policy."""
        if self.distribution != "bounded-normal":
            return math.exp(LEAST_LOG_STD), MAX_FLOAT
        least, most = (math.log1p(math.exp(spread)) + LEAST_STD for spread in SPREADS)
        return least, most
