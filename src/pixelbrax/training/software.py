"""Provenance: where and how a result was made."""

import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import jax

import pixelbrax
from pixelbrax.training.commit import commit_of

_PACKAGES = ("jax", "jaxlib", "brax", "mujoco", "mujoco-mjx", "flax", "optax", "orbax-checkpoint", "numpy")


def provenance(command: str = "", agents: int = 1) -> dict[str, str]:
    """Versions, device, machine, commit, XLA_FLAGS, and the command line; unknown facts are left out.

    Args:
      command: the command line or call, if there was one.
      agents: how many it trains side by side, which is told of several.
    """
    device = jax.devices()[0]
    facts = {
        "command": command,
        "agents": str(agents) if agents > 1 else "",
        **versions(),
        "commit": commit_of(Path(pixelbrax.__file__).parent),
        "device": f"{len(jax.devices())} x {device.device_kind} ({device.platform})",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "xla_flags": " ".join(os.environ.get("XLA_FLAGS", "").split()),
    }
    return {name: fact for name, fact in facts.items() if fact}


HOOKS = "hooks"
CHANGED = "changed"
BUFFER = "replay_buffer"
"""Facts that a run's provenance may have since it began: hooks that acted on its training, settings that were edited
between two of its sessions, and that its replay buffer was empty after one."""


def hooks_in(provenance: Mapping[str, str]) -> list[str]:
    """Names of the hooks that acted on a run's training, by its provenance."""
    return [name for name in provenance.get(HOOKS, "").split(", ") if name]


def versions() -> dict[str, str]:
    """Versions of this package, of Python, and of the packages that training uses."""
    packages = {package: metadata.version(package) for package in _PACKAGES}
    return {"pixelbrax": pixelbrax.__version__, "python": platform.python_version(), **packages}
