"""An environment whose observations are images, with termination, truncation and auto-reset."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt8

from pixelbrax.distractors import Distraction, DistractorLike, SceneContext, names_of, resolve
from pixelbrax.envs.cameras import CameraLike, default_camera
from pixelbrax.envs.checks import check_key, check_origin, check_shown, named_cameras, suggests_keywords
from pixelbrax.envs.device_memory import check_videos, num_bytes
from pixelbrax.envs.eager import CompilesOnce, compiled_once, found_once
from pixelbrax.envs.observe import ImageOutput, ImageSettings, Observer
from pixelbrax.envs.params import MAX_EPISODE_LENGTH, EnvParams, ParamsOf
from pixelbrax.envs.scene import read_randomizer, read_scene
from pixelbrax.envs.settings import AUTORESETS, EPISODE_LENGTH, Autoreset
from pixelbrax.envs.state import (
    DISTRACTORS,
    FINAL_OBS,
    State,
    check_state,
    default_visual_key,
    snapshot_of,
    with_distractors,
)
from pixelbrax.errors import ConfigError, check_choice, check_count
from pixelbrax.physics import (
    Physics,
    PhysicsState,
    RandomizationFn,
    check_physics,
    checked_action,
    first_state,
    is_sound,
    next_state,
    select_state,
    shares_arrays,
)
from pixelbrax.render import Camera, GeomPose, Scene
from pixelbrax.tasks import Rgb
from pixelbrax.xla import call_where, in_float32


class PixelEnv(CompilesOnce):
    """Pure `reset(key)` and `step(state, action)` that compose with `jax.jit`, `jax.vmap` and `jax.lax.scan`.

    Called outside of these, each compiles once, and again only for arguments of other shapes. Everything is float32,
    even if JAX's double precision is enabled.

    Auto-reset, by Gymnasium's names:
      next_step: the step after an episode's end is the reset: it ignores the action, its reward is 0, and its
        observation is the first of a new episode. So the state in which an episode ends carries that episode's true
        final observation, and nothing is rendered twice.
      same_step: the step that ends an episode already shows the next one's first observation, and the final
        observation of the ended episode is in `info["final_obs"]`. Every step renders two images.
      disabled: a finished episode stays as it is, with reward 0, until `reset`.

    An action lasts `action_repeat` frames or until the episode ends; its reward is the sum over those frames. Actions
    outside [-1, 1] are clipped. If an action is not finite, or the simulation blows up (see `is_sound`), the episode is
    terminated in the last sound state, with `metrics["diverged"]`; the reward of that frame does not count. (If it were
    truncated, learners would count on rewards after it: blowing up would cost nothing.)

    Settings (see `default_params` for those that can change without compiling again):
      physics: the engine's environment.
      camera: the name or index of a camera of the model, a `CameraSpec`, a fixed `Camera`, or a dict of several by
        name; by default the model's first, or one that frames its bodies (see `default_camera`).
      image_size: height and width of the observation in pixels, 8 to 1,024; one number for both; or a dict of these by
        camera: {"actor": 48, "critic": 96} observes two sizes, of one camera too.
      frame_stack: number of successive frames in one observation of pixels, 1 to 100.
      action_repeat: physics steps ("frames") of an action, at most episode_length; rewards add, the last is rendered.
      episode_length: frames after which an episode is truncated.
      grayscale: one luminance channel a frame instead of three colors.
      channels_first: channels before height and width, as in PyTorch.
      outputs: the images that are observed, one or several of "pixels", "depth", "segmentation" and "mask"; with ()
        nothing is rendered, and only the engine's own observation vector is left.
      shadows, tendons: render shadows, the model's spatial tendons.
      reflections: render the reflections in the floor, or in the first box, whose material reflects.
      samples: rays in each pixel: 1, 4, 9 or 16.
      autoreset: "next_step", "same_step" or "disabled".
      sky: colors straight down and straight up, 0..1, for a model without a skybox; by default black.
      infinite_planes: render planes without the bounds that the model gives them, for bodies that run far.
      skip_unsupported: leave out geoms that cannot be rendered (signed distance fields) instead of refusing the model.
      randomization_fn: (model, keys) -> (model, in_axes), as in Brax's and Playground's domain randomization: the
        engine's model (`physics.model`) for a batch of keys, with a leading axis where in_axes has 0. Parameters are
        resampled every episode and affect both dynamics and rendering: sizes, positions and colors of geoms, materials,
        lights and cameras.
      distractors: a name such as "dcs/hard" (see `pixelbrax.distractors.presets`), a `Distractor`, or several of these,
        applied in order.
    """

    _task = ""  # name of the task, if it has one: what a preset of distractors does may depend on it

    @suggests_keywords
    @in_float32
    def __init__(
        self,
        physics: Physics,
        camera: CameraLike | Mapping[str, CameraLike] | None = None,
        *,
        image_size: int | Sequence[int] | Mapping[str, int | Sequence[int]] = 64,
        frame_stack: int = 3,
        action_repeat: int = 1,
        episode_length: int = EPISODE_LENGTH,
        grayscale: bool = False,
        channels_first: bool = False,
        outputs: ImageOutput | Iterable[ImageOutput] = ("pixels",),
        shadows: bool = False,
        reflections: bool = False,
        tendons: bool = False,
        samples: int = 1,
        autoreset: Autoreset = "next_step",
        sky: tuple[Rgb, Rgb] | None = None,
        infinite_planes: bool = False,
        skip_unsupported: bool = False,
        randomization_fn: RandomizationFn | None = None,
        distractors: DistractorLike = (),
    ):
        """Checks the settings, and reads the model's scene.

        Raises:
          ConfigError: a setting or the model cannot be used.
        """
        check_physics(f"physics is {physics!r:.80}", physics)
        self._episode_length = check_count("episode_length", episode_length, most=MAX_EPISODE_LENGTH)
        self.action_repeat = check_count("action_repeat", action_repeat, most=self._episode_length)
        self.autoreset: Autoreset = check_choice("autoreset", autoreset, AUTORESETS)  # pyright: ignore
        cameras = named_cameras(0 if camera is None else camera, image_size)
        self.images = ImageSettings.checked(
            cameras, image_size, frame_stack, grayscale, channels_first, outputs, shadows, reflections, tendons, samples
        )
        if camera is None:
            cameras = {name: default_camera(physics.mj_model, aspect) for name, aspect in self.images.aspects.items()}
        self.views, self.cameras = cameras, tuple(cameras)
        self.physics, self.randomization_fn = physics, randomization_fn
        self.scene = read_scene(physics.mj_model, infinite_planes, skip_unsupported, self.images.tendons, sky)
        self._randomizer = read_randomizer(physics, randomization_fn, self.images)
        self._own_params, self.recipe = EnvParams(), None  # the arguments of `pixelbrax.make`, if it made this
        self._set_distractors(distractors)

    @in_float32
    def with_distractors(self, distractors: DistractorLike) -> "PixelEnv":
        """This environment with other distractors, () for none; begin by its `reset`: a state carries its settings.

        Raises:
          ConfigError: a distractor cannot be used, or the environment renders no images.
        """
        other = copy.copy(self)
        other._set_distractors(distractors)
        return other

    def _set_default_params(self, params: EnvParams) -> None:
        """Replaces `default_params`; `with_default_params` does it to a copy."""
        self._params = self._params.with_default(params)
        self._own_params = replace(self.default_params, distractors=None)
        self._episode_length, self.recipe = int(self.default_params.episode_length), None

    def _set_distractors(self, distractors: DistractorLike) -> None:
        if distractors and not self.images.outputs:
            raise ConfigError("distractors change images, but outputs is empty: leave them out, or name an output")
        model = self.physics.mj_model
        self.recipe: Mapping[str, Any] | None = self.recipe and {**self.recipe, "distractors": distractors}
        context = SceneContext.of(model, self.scene, *self.images.shape, self.action_repeat)
        distraction = Distraction(resolve(distractors, self._task), context)
        self.distractors, self.distractor_names = distraction.composed, names_of(distractors)
        check_shown(distraction, self.distractor_names, self.images.outputs)
        known = ParamsOf(self._episode_length, self.physics.reward_weights, self._randomizer.scalable, self.distractors)
        self._params = known.with_default(self._own_params)
        self._observer = Observer(self._randomizer, model, self.scene, self.views, self.images, distraction)
        self.video_bytes = self._observer.video_bytes
        check_videos(self.video_bytes)

    @property
    def action_size(self) -> int:
        """Length of the action vector; actions lie in [-1, 1]."""
        return self.physics.action_size

    @property
    def episode_length(self) -> int:
        """Frames after which an episode is truncated by default; `EnvParams.episode_length` changes it."""
        return self._episode_length

    @property
    def dt(self) -> float:
        """Simulated seconds between two observations."""
        return self.physics.dt * self.action_repeat

    @property
    def observation_spec(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each entry of `State.obs`."""
        return dict(self._first_state.obs)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that a step needs for each environment: the states before and after it."""
        return 2 * num_bytes(self._first_state)

    @found_once
    def _first_state(self) -> State:
        """Its shapes: tracing takes long."""
        return jax.eval_shape(self.reset, jax.random.key(0))

    @property
    def default_params(self) -> EnvParams:
        """All settings that are data, with the values that the environment was made with; NumPy arrays."""
        return self._params.default

    def complete_params(self, params: EnvParams | None = None) -> EnvParams:
        """All parameters as arrays; what is None or missing has its default.

        Your own functions of parameters compile only once if all come from here.

        Raises:
          ConfigError: a parameter is unknown, or has a wrong shape or a value that is not allowed.
        """
        return jax.tree.map(jnp.asarray, self._params.completed(params))

    def scaled_params(self, strength: Any, params: EnvParams | None = None) -> EnvParams:
        """Parameters with the strengths of all distractors multiplied.

        Args:
          strength: 0 leaves (nearly) nothing of the distractors, 1 leaves them as they are; may be traced.
          params: to start from; by default `default_params`.

        Raises:
          ConfigError: the strength is no number, not finite or negative.
        """
        return self._params.scaled(self.complete_params(params), strength)

    @in_float32
    def with_params(self, state: State, params: EnvParams) -> State:
        """A state, or a batch of states, with other parameters; `EnvParams` says when they take effect.

        Args:
          state: of this environment.
          params: what is None or missing has its default. Each array has the batch's leading axes, or is the same for
            all environments.

        Raises:
          ConfigError: a parameter is unknown, or has a wrong shape or a value that is not allowed.
        """
        return replace(state, params=self._params.completed(params, jnp.shape(state.reward)))

    @in_float32
    def reset(self, key: Array, params: EnvParams | None = None, visual_key: Array | None = None) -> State:
        """The first state of a new episode.

        Args:
          key: PRNG key for this and all later episodes.
          params: settings that are data; what is None or missing has its default. `jax.vmap(env.reset, (0, None))`
            gives a batch the same; `(0, 0)` each its own, whose values only `with_params` on the batch can check.
          visual_key: PRNG key for the distractors; derived from `key` by default.

        Raises:
          ConfigError: a key is no PRNG key, or a batch of them; or params cannot be used.
        """
        check_key("reset's key", key, "env.reset")
        params = self._params.completed(params)
        if visual_key is not None:
            check_key("reset's visual_key", visual_key, "env.reset")
        return self._reset(key, params, visual_key)

    @compiled_once()
    def _reset(self, key: Array, params: EnvParams, visual_key: Array | None) -> State:
        params = jax.tree.map(jnp.asarray, params)
        visual_key = default_visual_key(key) if visual_key is None else visual_key
        distractors = self._observer.init_distractors(visual_key, params.distractors)
        return self._observe(with_distractors(self._start(key, params), distractors), None, jnp.array(True))

    @in_float32
    def step(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after an action; after an episode's end, what `autoreset` says.

        `jax.grad` goes through the physics (rewards, `obs["state"]`), but images have no gradient: they are uint8. For
        a loss on pixels, render `render_inputs(state)` with the output "color" of `pixelbrax.render.render`.

        Raises:
          ConfigError: the action has another shape than (action_size,), or the state is a batch, or of an environment
            with other settings.
        """
        self._check_state(state, "env.step")
        check_origin(state, self.images.image_shapes, self.autoreset)
        self._params.check_structure(state.params)
        return self._step(state, checked_action(action, self.action_size))

    @compiled_once()
    def _step(self, state: State, action: Float[Array, " action_size"]) -> State:
        distractors, params = state.info.get(DISTRACTORS, {}), state.params
        if self.autoreset == "next_step":
            distractors = self._observer.step_distractors(distractors, state.done, params.distractors)
            initial = with_distractors(self._reset_where(state.done, state.info["key"], params), distractors)
            following = select_state(state.done, initial, with_distractors(self._advance(state, action), distractors))
            return self._observe(following, state.obs, state.done)
        distractors = self._observer.step_distractors(distractors, jnp.array(False), params.distractors)
        ended = self._observe(with_distractors(self._advance(state, action), distractors), state.obs, jnp.array(False))
        if self.autoreset == "disabled":
            return replace(select_state(state.done, state, ended), reward=jnp.where(state.done, 0.0, ended.reward))
        distractors = self._observer.step_distractors(distractors, jnp.array(True), params.distractors)
        initial = with_distractors(self._reset_where(ended.done, ended.info["key"], params), distractors)
        initial = self._observe(initial, None, jnp.array(True))
        return replace(
            ended,
            physics=select_state(ended.done, initial.physics, ended.physics),
            obs=select_state(ended.done, initial.obs, ended.obs),
            info=select_state(ended.done, initial.info, ended.info) | {FINAL_OBS: ended.obs},
        )

    @in_float32
    def substeps(self, state: State, action: Float[Array, " action_size"]) -> PhysicsState:
        """The physics after each of the `action_repeat` frames of an action, for smooth videos.

        `env.render(dataclasses.replace(state, physics=...), ...)` renders one of them. If the episode ends, the
        remaining frames repeat its last state. There is no auto-reset here.

        Returns:
          The engine's states, along a first axis of length `action_repeat`.

        Raises:
          ConfigError: see `step`.
        """
        self._check_state(state, "env.substeps")
        return self._frames(state, checked_action(action, self.action_size), keep_frames=True)[1]

    @in_float32
    def render_inputs(self, state: State, camera: str | None = None) -> tuple[Scene, GeomPose, Camera]:
        """The arguments of `pixelbrax.render.render` for a state and a camera, by default the first.

        Raises:
          ConfigError: there is no camera of that name, or the state is a batch.
        """
        camera = self.cameras[0] if camera is None else check_choice("camera", camera, self.cameras)
        self._check_state(state, "env.render_inputs")
        return self._observer.render_inputs(snapshot_of(state), camera)

    def engine(self, state: State) -> Physics:
        """The engine of a state's episode: `physics` with its sampled model parameters and its reward weights."""
        return self._engine(state.info["model"], state.params)

    def _engine(self, model_params: dict[str, Array], params: EnvParams) -> Physics:
        engine = self._randomizer.apply(model_params)
        return engine.with_reward_weights(params.reward_weights) if params.reward_weights else engine

    @in_float32
    def render(self, state: State, height: int, width: int) -> UInt8[Array, "height width 3"]:
        """An RGB image of any size from the first camera, for people to look at.

        It shows distractors that change the scene; those that change frames are in the observation only.

        Raises:
          ConfigError: height or width is no positive whole number, or the state is a batch.
        """
        self._check_state(state, "env.render")
        return self._render(state, check_count("height", height), check_count("width", width))

    @compiled_once("height", "width")
    def _render(self, state: State, height: int, width: int) -> UInt8[Array, "height width 3"]:
        return self._observer.render(snapshot_of(state), self.cameras[0], height, width, ("rgb",)).rgb

    def _check_state(self, state: Any, function: str) -> None:
        check_state(state, function, self._observer.distracts, self._randomizer.active)

    def _reset_where(self, needed: Bool[Array, ""], key: Array, params: EnvParams) -> State:
        """The first state of an episode, without its observation; undefined where it is not needed."""
        if self.physics.cheap_reset:
            return self._start(key, params)
        relevant = replace(params, episode_length=None, distractors=None)
        return replace(call_where(lambda x: self._start(*x), needed, (key, relevant), shares_arrays), params=params)

    def _start(self, key: Array, params: EnvParams) -> State:
        """The first state of an episode, without its observation."""
        episode_key, model_key, next_key = jax.random.split(key, 3)
        model_params = self._randomizer.sample(model_key)
        model_params = self._randomizer.scaled(model_params, params.randomization)
        physics = first_state(self._engine(model_params, params), episode_key)
        episode = {
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
            metrics=physics.metrics | episode,
            params=params,
            info={"steps": jnp.zeros((), jnp.int32), "key": next_key, "model": model_params},
        )

    @compiled_once("keep_frames")
    def _frames(self, state: State, action: Float[Array, " action_size"], keep_frames: bool = False) -> Any:
        """Steps the physics for up to `action_repeat` frames.

        Returns:
          The physics at the end, sum of rewards, number of frames, whether it diverged; each frame's physics or None.
        """
        acts = jnp.all(jnp.isfinite(action))
        action = jnp.clip(jnp.where(jnp.isfinite(action), action, 0.0), -1.0, 1.0)
        engine = self.engine(state)

        def frame(carry: tuple[PhysicsState, Array, Array, Array], _: None) -> tuple[Any, Any]:
            physics, reward, frames, diverged = carry
            over = diverged | physics.terminated | (state.info["steps"] + frames >= state.params.episode_length)
            stepped = next_state(engine, physics, action)
            sound = is_sound(engine, stepped)
            stays = over | ~sound
            physics = select_state(stays, physics, stepped)
            reward += jnp.where(stays, 0.0, stepped.reward)
            carry = (physics, reward, frames + (~stays).astype(jnp.int32), diverged | (~over & ~sound))
            return carry, physics if keep_frames else None

        over = ~acts | (state.metrics["diverged"] & (self.autoreset != "same_step"))  # there, a new episode has begun
        initial = (state.physics, jnp.zeros(()), jnp.zeros((), jnp.int32), over)
        return jax.lax.scan(frame, initial, None, length=self.action_repeat)

    def _advance(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after up to `action_repeat` frames, without its observation."""
        (physics, reward, frames, diverged), _ = self._frames(state, action)
        steps = state.info["steps"] + frames
        # After a same-step reset, the metrics are still those of the episode that ended.
        begins = state.done if self.autoreset == "same_step" else jnp.array(False)
        episode = {
            "episode_return": jnp.where(begins, 0.0, state.metrics["episode_return"]) + reward,
            "episode_length": jnp.where(begins, 0, state.metrics["episode_length"]) + frames,
            "diverged": diverged,
        }
        terminated = physics.terminated | diverged
        return State(
            physics=physics,
            obs={},
            reward=reward,
            terminated=terminated,
            truncated=(steps >= state.params.episode_length) & ~terminated,
            metrics=physics.metrics | episode,
            params=state.params,
            info=state.info | {"steps": steps},
        )

    def _observe(self, state: State, previous: dict[str, Array] | None, first: Bool[Array, ""]) -> State:
        """Adds the observation; an episode's first fills the whole frame stack."""
        images, distractors = self._observer.observe(snapshot_of(state))
        state = with_distractors(state, distractors)
        state = replace(state, obs=self._observer.stack(images, previous, first) | {"state": state.physics.obs})
        if self.autoreset == "same_step":
            state = replace(state, info=state.info | {FINAL_OBS: state.obs})
        return state
