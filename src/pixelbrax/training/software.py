"""Provenance: where and how a result was made."""

import functools
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

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
        **software(),
        "device": f"{len(jax.devices())} x {device.device_kind} ({device.platform})",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "xla_flags": " ".join(os.environ.get("XLA_FLAGS", "").split()),
    }
    return {name: fact for name, fact in facts.items() if fact}


HOOKS = "hooks"
CHANGED = "changed"
SOFTWARE = "software"
BUFFER = "replay_buffer"
"""Facts that a run's provenance may have since it began: hooks that acted on its training, settings that were edited
between two of its sessions, other software of one, and that its replay buffer was empty after one."""


def hooks_in(provenance: Mapping[str, str]) -> list[str]:
    """Names of the hooks that acted on a run's training, by its provenance."""
    return [name for name in provenance.get(HOOKS, "").split(", ") if name]


@functools.cache
def software() -> Mapping[str, str]:
    """Versions, and the commit of this package if it is known."""
    commit = commit_of(Path(pixelbrax.__file__).parent)
    return MappingProxyType(versions() | ({"commit": commit} if commit else {}))


def other_software(before: Mapping[str, str]) -> str:
    """What of `software` is not as it was, in words; empty if all is, or if nothing is known of it.

    Args:
      before: what `software` gave then; empty if unknown.
    """
    now = software()
    return ", ".join(
        f"{name} is {now.get(name, 'unknown')} instead of {was}" for name, was in before.items() if now.get(name) != was
    )


def versions() -> dict[str, str]:
    """Versions of this package, of Python, and of the packages that training uses."""
    packages = {package: metadata.version(package) for package in _PACKAGES}
    return {"pixelbrax": pixelbrax.__version__, "python": platform.python_version(), **packages}
