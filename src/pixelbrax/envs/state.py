"""The state of an environment between two actions."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.envs.observe import DistractorStates, Snapshot
from pixelbrax.envs.params import EnvParams
from pixelbrax.errors import ConfigError
from pixelbrax.physics import PhysicsState

FINAL_OBS, DISTRACTORS = "final_obs", "distractors"  # keys of `State.info`
_VISUAL = 2502  # PixelBrax's arXiv number (2502.00021); folded into a PRNG key to derive the visual key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """One environment between two actions.

    Attributes:
      physics: the engine's state.
      obs: the observation, by key; what `PixelEnv(outputs=...)` leaves out has no key. With several cameras the keys of
        images are "pixels/<camera>" and so on.
        "pixels": (height, width, channels * frame_stack) uint8, the newest frame last; (channels * frame_stack, height,
          width) with `channels_first`.
        "depth": (height, width) float32, meters, of the newest frame; inf where the sky is seen. Networks need finite
          numbers: take `jnp.minimum(depth, far)`.
        "segmentation": (height, width) int32, ids of the newest frame: of geoms, then of sites, of tendons
          and of what distractors add; -1 shows the sky.
        "mask": (height, width) bool, the pixels of the newest frame that show the body.
        "state": (obs_size,) float32, the engine's own observation vector; always there.
      reward: () float32, of the step that led here.
      terminated: () bool, the task ended here, or the simulation diverged: no reward follows.
      truncated: () bool, the time limit was reached here (reward would have followed). Never together with
        `terminated`.
      metrics: () each, by key.
        "episode_return": float32, up to and including this step.
        "episode_length": int32 frames, up to and including this step, without a frame that diverged.
        "diverged": bool, the episode ended because an action or the simulation was not finite.
        any other: the engine task's own.
      params: settings that are data; replace them by `PixelEnv.with_params`.
      info: what the environment carries from step to step, by key.
        "steps": () int32, the episode's clock in frames.
        "key": () PRNG key for the next episode.
        "model": model parameters that `randomization_fn` sampled for this episode, by name; empty without it.
        "distractors": a `DistractorState` for each camera, by its name; no such key without distractors.
        "final_obs": last observation of the episode that ended in this step, as in `obs`; same-step auto-reset only.
        "curriculum": what an automatic curriculum keeps of the episode; in training with one only.
    """

    physics: PhysicsState
    obs: dict[str, Array]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    metrics: dict[str, Array]
    params: EnvParams
    info: dict[str, Any]

    @property
    def done(self) -> Bool[Array, "*batch"]:
        """Whether the episode ended in the step that led here."""
        return self.terminated | self.truncated


def default_visual_key(key: Array) -> Array:
    """The PRNG key of the distractors that `PixelEnv.reset` derives from `key` unless it is given one."""
    return jax.random.fold_in(key, _VISUAL)


def snapshot_of(state: State) -> Snapshot:
    """The parts of a state that rendering needs."""
    return Snapshot(state.physics, state.info["model"], state.info.get(DISTRACTORS, {}), state.params.distractors)


def with_distractors(state: State, distractors: DistractorStates) -> State:
    """The state with these distractor states, if there are any."""
    return replace(state, info=state.info | {DISTRACTORS: distractors}) if distractors else state


def check_state(state: Any, function: str, distracts: bool, randomizes: bool) -> None:
    """Refuses anything that is plainly not a single state of an environment.

    Args:
      state: what was given.
      function: name of the function that takes it, for the message.
      distracts: whether the environment has distractors.
      randomizes: whether it has a randomization_fn.

    Raises:
      ConfigError: it is no `State`, a batch of them, or from an environment with other settings.
    """
    if not isinstance(state, State):
        raise ConfigError(f"{function}'s state is {state!r:.80}: it must be a State, as env.reset returns it")
    if batch := jnp.shape(state.reward):
        raise ConfigError(
            f"{function}'s state is a batch of shape {batch}: for a batch of environments use jax.vmap({function})"
        )
    for what, has, needs in (
        ("distractors", DISTRACTORS in state.info, distracts),
        ("a randomization_fn", bool(state.info["model"]), randomizes),
    ):
        if has != needs:
            theirs, ours = ("with", "without") if has else ("without", "with")
            raise ConfigError(f"the state is from an environment {theirs} {what}, and this one is {ours}")
