"""One episode after another of an environment, a frame at a time: what a session shows, without threads and clocks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import UInt32

from pixelbrax.envs import State
from pixelbrax.errors import ConfigError
from pixelbrax.viewer.images import from_depth, from_packed, from_pixels, from_segmentation
from pixelbrax.viewer.messages import Source, View
from pixelbrax.viewer.orbit import Orbit
from pixelbrax.viewer.programs import Look, Programs, agent_view
from pixelbrax.xla import in_float32

_EPISODES, _ACTIONS = 0, 1  # streams of random numbers of a seed


@dataclass(frozen=True)
class Sample:
    """What the plots show of a step.

    Attributes:
      reward: of the step.
      value: the policy's value of the observation before it; None without one.
      action: one number for each actuator.
      begins: whether it is the first of an episode.
    """

    reward: float
    value: float | None
    action: tuple[float, ...]
    begins: bool


class Simulation:
    """Episodes of an environment. The seed and the episode's number determine each, whatever was seen before.

    Attributes:
      programs: the compiled environment.
      seed: of all episodes.
      episode: the number of the present one, from 0.
      steps: of the present episode so far.
      frames: of the physics that were shown so far, in all episodes; a step has `action_repeat` of them.
      seconds: simulated time of the present episode.
      episode_return: sum of its rewards.
      ending: why it has ended, "terminated", "truncated" or "diverged"; empty if it has not.
      source: where actions come from.
      sliders: the action of the source "sliders".
      camera: the free camera.
    """

    def __init__(self, programs: Programs, seed: int = 0, strength: float = 1.0, before: "Simulation | None" = None):
        """Begins the first episode, seen from the agent's camera.

        Args:
          programs: the compiled environment.
          seed: of all episodes.
          strength: factor on the strengths of the distractors.
          before: a simulation whose choice of the source of actions is kept; by default that is the policy. Where no
            policy fits, actions are random instead.

        Raises:
          ConfigError: one of the distractors cannot be so strong.
        """
        self.programs = programs
        self.strength = strength
        self.sliders = (0.0,) * programs.env.action_size
        self._chosen: Source = "policy"
        self.source: Source = "policy"
        self.choose_as(before)
        self._looked: tuple[State, Orbit, Look] | None = None
        self._step: tuple[np.ndarray, float | None, list[State]] | None = None  # action, value, frames still to show
        self.frames = 0
        self.camera = Orbit(follows=before is None or before.camera.follows)
        self.restart(seed)
        self.go_home()
        self._distance = self.camera.distance  # of the agent's camera, for the shades of its depths

    @property
    def facts(self) -> dict[str, Any]:
        """What a page shows beside the images, for `json.dumps`."""
        return self._facts | {"source": self.source, "sliders": self.sliders, "follows": self.camera.follows}

    @in_float32
    def restart(self, seed: int, episode: int = 0) -> None:
        """Begins an episode of a seed."""
        key = _key(seed, _EPISODES, episode)
        self._be(self.programs.reset(key, self.strength), seed, episode, 0)

    def choose_as(self, before: "Simulation | None") -> None:
        """Takes over the source of actions that was chosen before, as far as it fits."""
        self._chosen = self._chosen if before is None else before._chosen
        self.source = "random" if self._chosen == "policy" and self.programs.policy is None else self._chosen

    def choose_source(self, source: Source, action: Sequence[float] | None = None) -> None:
        """Says where actions come from.

        Args:
          source: "policy", "random" or "sliders".
          action: of the sliders; None keeps it.

        Raises:
          ConfigError: there is no policy that fits, or the action has another length.
        """
        size = len(self.sliders)
        if source == "policy" and self.programs.policy is None:
            reason = self.programs.misfit or "start it with pixelbrax view --run RUN"
            raise ConfigError(f"there is no policy for this environment: {reason}")
        if action is not None and len(action) != size:
            raise ConfigError(f"the action has {len(action)} numbers: it must have {size}, one for each actuator")
        self.source = self._chosen = source
        if action is not None:
            self.sliders = tuple(action)

    def step(self) -> Sample:
        """Takes one step, or the rest of one; after an episode's end, begins the next one first."""
        while (sample := self.advance()) is None:
            pass
        return sample

    @in_float32
    def advance(self) -> Sample | None:
        """Shows the next frame of a step, and begins a step if none is under way.

        Returns:
          What the plots show, with the last frame of a step: until then only the free camera sees it.
        """
        if self._step is None:
            if self.ending:
                self.restart(self.seed, self.episode + 1)
            action, value = self._action()
            self._step = action, value, self.programs.between(self._state, action)
        action, value, between = self._step
        self.frames += 1
        if between:
            self._visible = between.pop(0)
            return None
        self._be(self.programs.step(self._state, action), self.seed, self.episode, self.steps + 1)
        return Sample(float(self._state.reward), value, tuple(action.tolist()), self.steps == 1)

    @in_float32
    def scale_distractors(self, strength: float) -> None:
        """Multiplies the strengths of the distractors; those of the present episode are sampled anew with them.

        Before the first step the image shows it at once, and otherwise from the next step on.

        Raises:
          ConfigError: one of the distractors cannot be so strong; nothing has changed.
        """
        if not self.programs.env.distractors.distractors:
            self.strength = strength
            return
        fresh = self.programs.reset(_key(self.seed, _EPISODES, self.episode), strength)
        self.strength = strength
        if self.steps:
            info = self._state.info | {"distractors": fresh.info["distractors"]}
            fresh = replace(self._state, params=fresh.params, info=info)
        self._state = self._visible = fresh
        self._step = None

    def go_home(self) -> None:
        """Moves the free camera to where the agent's is now."""
        look = self._look()
        camera, body = look.camera, np.asarray(look.body)
        mat = np.asarray(camera.mat)
        self.camera = Orbit.from_camera(np.asarray(camera.pos), mat, float(camera.fovy), body, self.camera.follows)

    def drag(self, how: str, right: float, down: float) -> None:
        """Moves the free camera with the pointer; see `messages.Drag`."""
        self.camera = self.camera.panned(right, down) if how == "pan" else self.camera.turned(right, down)

    def zoom(self, notches: float) -> None:
        """Moves the free camera away or nearer; see `messages.Zoom`."""
        self.camera = self.camera.zoomed(notches)

    def follow(self, follows: bool) -> None:
        """Lets the free camera move along with the body, or stay."""
        body = np.asarray(self._look().body)  # first: meanwhile another thread may drag the camera
        self.camera = self.camera.following(follows, body)

    def agent_image(self, view: View) -> UInt32[np.ndarray, "height width"]:
        """What the agent sees, with all distractors."""
        image = agent_view(self._state, view, self.programs.env.images.channels)
        return self._shown(image, view, self._distance)

    def free_image(self, view: View) -> UInt32[np.ndarray, "height width"]:
        """What the free camera sees, with the distractors that change the scene."""
        look = self._look()
        if view == "color":
            return from_packed(np.asarray(look.packed))
        return self._shown(np.asarray(getattr(look, view)), view, self.camera.distance)

    def _shown(self, image: np.ndarray, view: View, distance: float) -> UInt32[np.ndarray, "height width"]:
        if view == "color":
            return from_pixels(image)
        if view == "depth":
            return from_depth(image, distance)
        return from_segmentation(image)

    def _be(self, state: State, seed: int, episode: int, steps: int) -> None:
        """Takes a new state, and with it all facts at once: other threads may ask for them."""
        done, diverged, terminated = bool(state.done), state.metrics["diverged"], state.terminated
        self.ending = "" if not done else "diverged" if diverged else "terminated" if terminated else "truncated"
        self.seconds = int(state.metrics["episode_length"]) * self.programs.env.physics.dt
        self.episode_return = float(state.metrics["episode_return"])
        self.seed, self.episode, self.steps, self._state = seed, episode, steps, state
        self._visible, self._step = state, None
        names = ("seed", "episode", "steps", "seconds", "episode_return", "ending")
        self._facts = {name: getattr(self, name) for name in names}

    def _look(self) -> Look:
        """What the free camera sees; rendered once, however often it is asked for."""
        if self._looked is None or self._looked[0] is not self._visible or self._looked[1] != self.camera:
            self._looked = self._visible, self.camera, self.programs.look(self._visible, self.camera)
        return self._looked[2]

    def _action(self) -> tuple[np.ndarray, float | None]:
        """The next action; and the policy's value, whoever acts."""
        policy = self.programs.policy
        action, value = policy.act(self._state.obs) if policy else (None, None)
        if self.source == "sliders":
            action = np.asarray(self.sliders, np.float32)
        elif self.source == "random" or action is None:
            key = jax.random.fold_in(_key(self.seed, _ACTIONS, self.episode), self.steps)
            action = np.asarray(jax.random.uniform(key, (len(self.sliders),), minval=-1.0, maxval=1.0))
        return action, value


def _key(seed: int, stream: int, episode: int) -> jax.Array:
    """The key of a stream of an episode."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), stream), episode)
