"""Settings of networks."""

from dataclasses import dataclass
from typing import Literal

from pixelbrax.errors import check_count, check_number

_WIDEST = 1_000_000
LEAST_STD = 1e-3
"""Least standard deviation of a bounded normal."""


@dataclass(frozen=True)
class NetworkConfig:
    """Architecture of the networks."""

    encoder: Literal["patch", "nature", "impala", "drq"] = "patch"
    """Encoder of images: patch is fast on CPUs; the others are those of Mnih 2015, Espeholt 2018, Yarats 2021."""
    features: int = 128
    """Size of the feature vector, the input of the policy and value heads."""
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
    normalize_value: bool = False
    """Normalize values by moving statistics of returns (PopArt)."""
    distribution: Literal["tanh-normal", "clipped-normal", "bounded-normal"] = "tanh-normal"
    """Distribution of actions: a normal squashed by tanh, or clipped to -1..1; bounded-normal is clipped too, has its
    mean within -1..1, and a spread that depends on the observation."""
    initial_std: float = 0.6
    """Standard deviation of the untrained policy, before the tanh or the clipping."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of the encoder's computation; parameters, heads and losses stay float32."""
    freeze_encoder: bool = False
    """Leave the policy's encoder of images as it was at first, random or of another run (start_from); the encoder of a
    critic that is a network of its own learns."""
    blind: bool = False
    """Control experiment: replace all images with black ones."""

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a size is not positive, or a name is unknown.
        """
        sizes = {name: (getattr(self, name),) for name in ("patch_size", "patch_features", "features")}
        for name, values in (sizes | {"conv_features": self.conv_features, "state_layers": self.state_layers}).items():
            for value in values:
                check_count(name, value, most=_WIDEST)
        check_number("initial_std", self.initial_std, above=LEAST_STD if self.distribution == "bounded-normal" else 0)
