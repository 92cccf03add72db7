"""An environment whose observations are images, with episodes that end, truncate and start again by themselves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, UInt8

from pixelbrax.distractors import Distraction, DistractorLike, Stage, resolve
from pixelbrax.envs.cameras import CameraLike, default_camera
from pixelbrax.envs.checks import check_key, check_shapes, checked_sky, named_cameras, suggests_keywords
from pixelbrax.envs.draw import draw_where
from pixelbrax.envs.eager import CompilesOnce, compiled_once
from pixelbrax.envs.memory import check_videos, num_bytes
from pixelbrax.envs.observe import ImageOutput, ImageSettings, Looks, Observer
from pixelbrax.errors import ConfigError, check_choice, check_count, check_flag
from pixelbrax.physics import Physics, PhysicsState, RandomizationFn, Randomizer, checked_action, select
from pixelbrax.precision import in_float32
from pixelbrax.render import Camera, GeomPose, Scene
from pixelbrax.tasks import Rgb

Autoreset = Literal["next_step", "same_step", "disabled"]
AUTORESETS: tuple[Autoreset, ...] = ("next_step", "same_step", "disabled")
FINAL_OBSERVATION = "final_observation"
EPISODE_LENGTH = 1000  # frames, unless asked for otherwise
_MAX_EPISODE_LENGTH = 2**30  # frames; their clock is an int32
_LOOK = "look"
_VISUAL = 2502  # folded into a key where it becomes the visual one; no split of it has so many parts


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """One environment between two actions.

    Attributes:
      physics: the engine's state.
      obs: "pixels", (height, width, channels * frame_stack) uint8 with the newest frame last, or (channels *
        frame_stack, height, width) if channels come first; as far as asked for "depth", (height, width) float32
        metres, "segmentation", (height, width) int32 geom ids (sites count on behind the geoms), and "mask", (height,
        width) bool, where the body is, of the newest frame; and "state", (obs_size,) float32, the engine's own
        observation vector. With several cameras "pixels/<camera>" and so on.
      reward: () float32, of the step that led here.
      terminated: () bool, the task ended here: no reward follows.
      truncated: () bool, time ran out here (reward would have followed), or the physics diverged. Never together
        with `terminated`.
      metrics: "episode_return" and "episode_length" (frames), both up to and including this step; "diverged", whether
        the episode ended because an action or the physics was not finite; and the engine task's own; () each.
      info: "steps", () int32, the episode's clock in frames; "key", of which the next episode is drawn; "model", the
        numbers of the engine's model that `randomization_fn` drew, by name; "look", a `Look` for each camera's name, if
        anything distracts; and with same-step autoreset
        "final_observation", in which the episode ended if it ended in this step.
    """

    physics: PhysicsState
    obs: dict[str, Array]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    metrics: dict[str, Array]
    info: dict[str, Any]

    @property
    def done(self) -> Bool[Array, "*batch"]:
        """Whether the episode ended in the step that led here."""
        return self.terminated | self.truncated


class PixelEnv(CompilesOnce):
    """Pure `reset(key)` and `step(state, action)` that compose with `jax.jit`, `jax.vmap` and `jax.lax.scan`.

    Called from outside of them, each compiles once, and again only for arguments of other shapes. All is float32,
    also where JAX computes in double precision.

    Autoreset, by Gymnasium's names:
      next_step: the step after an episode's end is the reset: it ignores the action, its reward is 0, and its
        observation is the first of a freshly drawn episode. So the state in which an episode ends carries that
        episode's true last image, and nothing is rendered twice.
      same_step: the step that ends an episode already shows the next one's first observation, and the last one of the
        ended episode is in `info["final_observation"]`. Every step renders two images.
      disabled: a finished episode stays as it is, with reward 0, until `reset`.

    An action lasts `action_repeat` frames or until the episode ends; its reward is the sum over those frames. Actions
    outside [-1, 1] are clipped. If an action is not finite, or the physics becomes so, the episode is truncated in the
    last finite state, with `metrics["diverged"]`; that frame's reward does not count.
    """

    @suggests_keywords
    @in_float32
    def __init__(
        self,
        physics: Physics,
        camera: CameraLike | Mapping[str, CameraLike] | None = None,
        *,
        image_size: int | Sequence[int] = 64,
        frame_stack: int = 3,
        action_repeat: int = 1,
        episode_length: int = EPISODE_LENGTH,
        grayscale: bool = False,
        channels_first: bool = False,
        outputs: ImageOutput | Iterable[ImageOutput] = ("pixels",),
        shadows: bool = False,
        samples: int = 1,
        autoreset: Autoreset = "next_step",
        sky: tuple[Rgb, Rgb] | None = None,
        infinite_planes: bool = False,
        skip_unsupported: bool = False,
        randomization_fn: RandomizationFn | None = None,
        distractors: DistractorLike = (),
    ):
        """Takes an engine's environment, and how it is seen.

        Args:
          physics: the engine's environment.
          camera: from where it is seen: a name or number of a camera of the model, a `CameraSpec`, a `Camera` that
            stands still, or several of them by names of your own; by default the model's first, or one that frames its
            bodies (see `default_camera`).
          image_size: height and width of the observation in pixels, 8 to 512; one number for both.
          frame_stack: number of successive frames in one observation of pixels.
          action_repeat: physics steps ("frames") an action lasts. Only the last is rendered; rewards are summed.
          episode_length: frames after which an episode is truncated.
          grayscale: one luminance channel a frame instead of three colors.
          channels_first: channels before height and width, as PyTorch has them.
          outputs: "pixels", "depth", "segmentation", "mask": which images are observed, one or several; with none of
            them nothing is drawn, and the engine's own observation vector is all there is.
          shadows: draw shadows.
          samples: rays in each pixel: 1, 4, 9 or 16.
          autoreset: "next_step", "same_step" or "disabled".
          sky: colors straight down and straight up, 0..1, for a model that has no sky; without it, that is black.
          infinite_planes: draw planes without the bounds that the model gives their pictures, for bodies that run far.
          skip_unsupported: leave out geoms that cannot be drawn, such as meshes, instead of refusing the model.
          randomization_fn: (model, keys) -> (model, in_axes), as for Brax's and Playground's own domain randomization:
            the engine's model (`physics.model`) for a batch of keys, with a leading axis where in_axes has 0. Every
            episode draws anew, and sees what it drew: geoms' sizes, places and colors, materials, lights and cameras.
          distractors: names such as "dcs/hard" (see `pixelbrax.distractors.presets`), distractors, or several of them
            that apply in order.

        Raises:
          ConfigError: something cannot be used.
        """
        if not isinstance(physics, Physics):
            raise ConfigError(
                f"physics is {physics!r:.80}: it must be a Physics; pixelbrax.make takes names of tasks and MJCF "
                "models, pixelbrax.wrap environments of Brax and MuJoCo Playground"
            )
        self.action_repeat = check_count("action_repeat", action_repeat)
        self.episode_length = check_count("episode_length", episode_length, most=_MAX_EPISODE_LENGTH)
        self.autoreset: Autoreset = check_choice("autoreset", autoreset, AUTORESETS)  # pyright: ignore
        self.images = ImageSettings.checked(
            image_size, frame_stack, grayscale, channels_first, outputs, shadows, samples
        )
        if distractors and not self.images.outputs:
            raise ConfigError("distractors change images, and outputs has none: leave out the one or name the other")
        self.physics = physics
        skip_unsupported = check_flag("skip_unsupported", skip_unsupported)
        self.scene = Scene.from_mujoco(physics.mj_model, skip_unsupported=skip_unsupported, sites=True)
        if check_flag("infinite_planes", infinite_planes):
            self.scene = self.scene.with_infinite_planes()
        if sky is not None:
            sky = checked_sky(sky)
            if not np.any(physics.mj_model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX):
                self.scene = replace(self.scene, sky_rgb=jnp.array(sky, jnp.float32))
        cameras = named_cameras(default_camera(physics.mj_model) if camera is None else camera)
        self.cameras = tuple(cameras)
        self._randomizer = Randomizer(physics, randomization_fn)
        stage = Stage.of(physics.mj_model, self.scene, *self.images.shape)
        distraction = Distraction(resolve(distractors), stage)
        self.distractors = distraction.several
        self.video_bytes = self.distractors.num_bytes
        check_videos(self.video_bytes)
        self._observer = Observer(self._randomizer, physics.mj_model, self.scene, cameras, self.images, distraction)

    @property
    def action_size(self) -> int:
        """Length of the action vector; actions lie in [-1, 1]."""
        return self.physics.action_size

    @property
    def dt(self) -> float:
        """Simulated seconds between two observations."""
        return self.physics.dt * self.action_repeat

    @property
    def observation_spec(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each entry of `State.obs`."""
        return jax.eval_shape(self.reset, jax.random.key(0)).obs

    @property
    def bytes_per_env(self) -> int:
        """What a step needs at least of the device's memory for each environment: the states before and after it."""
        return 2 * num_bytes(jax.eval_shape(self.reset, jax.random.key(0)))

    @in_float32
    def reset(self, key: Array, visual_key: Array | None = None) -> State:
        """The first state of a freshly drawn episode.

        Args:
          key: of which this and all following episodes are drawn.
          visual_key: of which all looks are drawn, if anything distracts; by default it follows from `key`.

        Raises:
          ConfigError: a key is no PRNG key, or a batch of them.
        """
        check_key("reset's key", key, "env.reset")
        if visual_key is not None:
            check_key("reset's visual_key", visual_key, "env.reset")
        return self._reset(key, visual_key)

    @compiled_once()
    def _reset(self, key: Array, visual_key: Array | None) -> State:
        looks = self._observer.looks(visual_key_of(key) if visual_key is None else visual_key)
        return self._observe(_with_looks(self._start(key), looks), None, jnp.array(True))

    @in_float32
    def step(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after an action, or at the boundary of two episodes what `autoreset` says.

        Raises:
          ConfigError: the action has another shape than (action_size,), or the state is a batch, or of an environment
            with other settings.
        """
        self._check_state(state, "env.step")
        check_shapes(state.obs, self.images.observed(self.cameras))
        return self._step(state, checked_action(action, self.action_size))

    @compiled_once()
    def _step(self, state: State, action: Float[Array, " action_size"]) -> State:
        looks = state.info.get(_LOOK, {})
        if self.autoreset == "next_step":
            looks = self._observer.next_looks(looks, state.done)
            fresh = _with_looks(self._fresh(state.done, state.info["key"]), looks)
            following = select(state.done, fresh, _with_looks(self._advance(state, action), looks))
            return self._observe(following, state.obs, state.done)
        looks = self._observer.next_looks(looks, jnp.array(False))
        ended = self._observe(_with_looks(self._advance(state, action), looks), state.obs, jnp.array(False))
        if self.autoreset == "disabled":
            return replace(select(state.done, state, ended), reward=jnp.where(state.done, 0.0, ended.reward))
        looks = self._observer.next_looks(looks, jnp.array(True))
        fresh = _with_looks(self._fresh(ended.done, ended.info["key"]), looks)
        fresh = self._observe(fresh, None, jnp.array(True))
        return replace(
            ended,
            physics=select(ended.done, fresh.physics, ended.physics),
            obs=select(ended.done, fresh.obs, ended.obs),
            info=select(ended.done, fresh.info, ended.info) | {FINAL_OBSERVATION: ended.obs},
        )

    @in_float32
    def picture(self, state: State, camera: str | None = None) -> tuple[Scene, GeomPose, Camera]:
        """What `pixelbrax.render.render` needs to draw a state, as the camera of that name or the first one sees it.

        Raises:
          ConfigError: there is no camera of that name, or the state is a batch.
        """
        camera = self.cameras[0] if camera is None else check_choice("camera", camera, self.cameras)
        self._check_state(state, "env.picture")
        return self._observer.picture(state.physics, state.info["model"], state.info.get(_LOOK, {}), camera)

    def engine(self, state: State) -> Physics:
        """The engine in which a state's episode runs: `physics` with what `randomization_fn` drew for it."""
        return self._randomizer.physics(state.info["model"])

    @in_float32
    def render(self, state: State, height: int, width: int) -> UInt8[Array, "height width 3"]:
        """The task as its first camera sees it, at any size and in color, for people to look at.

        Distractors that change the scene are seen in it; those that change frames are in the observation only.

        Raises:
          ConfigError: height or width is no positive whole number, or the state is a batch.
        """
        self._check_state(state, "env.render")
        return self._render(state, check_count("height", height), check_count("width", width))

    @compiled_once("height", "width")
    def _render(self, state: State, height: int, width: int) -> UInt8[Array, "height width 3"]:
        info, draw = state.info, self._observer.draw
        return draw(state.physics, info["model"], info.get(_LOOK, {}), self.cameras[0], height, width, ("rgb",)).rgb

    def _check_state(self, state: Any, function: str) -> None:
        """Refuses what is not one state of this environment, as far as that is seen at once."""
        if not isinstance(state, State):
            raise ConfigError(f"{function}'s state is {state!r:.80}: it must be a State, as env.reset returns it")
        if batch := jnp.shape(state.reward):
            raise ConfigError(
                f"{function}'s state is a batch of shape {batch}: for a batch of environments use jax.vmap({function})"
            )
        for what, has, needs in (
            ("distractors", _LOOK in state.info, self._observer.distracts),
            ("a randomization_fn", bool(state.info["model"]), self._randomizer.draws),
        ):
            if has != needs:
                theirs, ours = ("with", "without") if has else ("without", "with")
                raise ConfigError(f"the state is of an environment {theirs} {what}, and this is one {ours}")

    def _fresh(self, needed: Bool[Array, ""], key: Array) -> State:
        """The first state of an episode, not yet observed; anything where it is not needed."""
        return self._start(key) if self.physics.cheap_reset else draw_where(self._start, needed, key)

    def _start(self, key: Array) -> State:
        """The first state of an episode, not yet observed."""
        episode_key, model_key, next_key = jax.random.split(key, 3)
        drawn = self._randomizer.draw(model_key)
        physics = self._randomizer.physics(drawn).reset(episode_key)
        nothing = {
            "episode_return": jnp.zeros(()),
            "episode_length": jnp.zeros((), jnp.int32),
            "diverged": jnp.array(False),
        }
        return State(
            physics=physics,
            obs={},
            reward=jnp.zeros(()),
            terminated=jnp.array(False),
            truncated=jnp.array(False),
            metrics=physics.metrics | nothing,
            info={"steps": jnp.zeros((), jnp.int32), "key": next_key, "model": drawn},
        )

    def _advance(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after up to `action_repeat` frames, not yet observed."""
        sound = jnp.all(jnp.isfinite(action))
        action = jnp.clip(jnp.where(jnp.isfinite(action), action, 0.0), -1.0, 1.0)
        engine = self.engine(state)

        def frame(carry: tuple[PhysicsState, Array, Array, Array], _: None) -> tuple[Any, None]:
            physics, reward, frames, diverged = carry
            over = diverged | physics.terminated | (state.info["steps"] + frames >= self.episode_length)
            stepped = engine.step(physics, action)
            finite = self._is_finite(stepped)
            stays = over | ~finite
            physics = select(stays, physics, stepped)
            reward += jnp.where(stays, 0.0, stepped.reward)
            return (physics, reward, frames + (~stays).astype(jnp.int32), diverged | (~over & ~finite)), None

        initial = (state.physics, jnp.zeros(()), jnp.zeros((), jnp.int32), ~sound)
        (physics, reward, frames, diverged), _ = jax.lax.scan(frame, initial, None, length=self.action_repeat)
        steps = state.info["steps"] + frames
        # A same-step reset leaves the figures of the episode that ended.
        begins = state.done if self.autoreset == "same_step" else jnp.array(False)
        episode = {
            "episode_return": jnp.where(begins, 0.0, state.metrics["episode_return"]) + reward,
            "episode_length": jnp.where(begins, 0, state.metrics["episode_length"]) + frames,
            "diverged": diverged,
        }
        truncated = (steps >= self.episode_length) | episode["diverged"]
        return State(
            physics=physics,
            obs={},
            reward=reward,
            terminated=physics.terminated,
            truncated=truncated & ~physics.terminated,
            metrics=physics.metrics | episode,
            info=state.info | {"steps": steps},
        )

    def _is_finite(self, physics: PhysicsState) -> Bool[Array, ""]:
        numbers = (physics.obs, physics.reward, self.physics.coordinates(physics))
        return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in numbers]))

    def _observe(self, state: State, previous: dict[str, Array] | None, first: Bool[Array, ""]) -> State:
        """Adds the observation, which at an episode's beginning does not remember the previous one."""
        frames, looks = self._observer.frames(state.physics, state.info["model"], state.info.get(_LOOK, {}))
        state = _with_looks(state, looks)
        state = replace(state, obs=self._observer.stack(frames, previous, first) | {"state": state.physics.obs})
        if self.autoreset == "same_step":
            state = replace(state, info=state.info | {FINAL_OBSERVATION: state.obs})
        return state


def visual_key_of(key: Array) -> Array:
    """The visual key of an environment whose key this is, if it is given none of its own."""
    return jax.random.fold_in(key, _VISUAL)


def _with_looks(state: State, looks: Looks) -> State:
    return replace(state, info=state.info | {_LOOK: looks}) if looks else state
