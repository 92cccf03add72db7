"""An environment whose observations are images, with episodes that end, truncate and start again by themselves."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt8

from pixelbrax.errors import ConfigError
from pixelbrax.physics import Physics, PhysicsState
from pixelbrax.render import Camera, GeomPose, Scene, look_at, render
from pixelbrax.tasks import CameraSpec

MIN_IMAGE_SIZE = 8


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """One environment between two actions.

    Attributes:
      physics: the engine's state.
      obs: "pixels", (height, width, channels * frame_stack) uint8 with the newest frame last, and "state",
        (obs_size,) float32, the engine's own observation vector.
      reward: () float32, of the step that led here.
      terminated: () bool, the task ended here: no reward follows.
      truncated: () bool, time ran out here: reward would have followed. Never together with `terminated`.
      metrics: "episode_return" and "episode_length" (frames), both up to and including this step, and the engine
        task's own; () each.
      info: "steps", () int32, the episode's clock in frames; "key", of which the next episode is drawn.
    """

    physics: PhysicsState
    obs: dict[str, Array]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    truncated: Bool[Array, "*batch"]
    metrics: dict[str, Array]
    info: dict[str, Array]

    @property
    def done(self) -> Bool[Array, "*batch"]:
        """Whether the episode ended here, so that the next step starts a new one."""
        return self.terminated | self.truncated


class PixelEnv:
    """Pure `reset(key)` and `step(state, action)` that compose with `jax.jit`, `jax.vmap` and `jax.lax.scan`.

    The step after an episode's end is the reset (Gymnasium's next-step autoreset): it ignores the action, its reward
    is 0, and its observation is the first of a freshly drawn episode. So the state in which an episode ends carries
    that episode's true last image.

    An action lasts `action_repeat` frames or until the episode ends; its reward is the sum over those frames. Actions
    outside [-1, 1] are clipped.
    """

    def __init__(
        self,
        physics: Physics,
        camera: CameraSpec,
        *,
        image_size: int = 64,
        frame_stack: int = 3,
        action_repeat: int = 1,
        episode_length: int = 1000,
        grayscale: bool = False,
    ):
        """See `pixelbrax.make`, which takes the same settings and a task's name."""
        for name, value, least in (
            ("image_size", image_size, MIN_IMAGE_SIZE),
            ("frame_stack", frame_stack, 1),
            ("action_repeat", action_repeat, 1),
            ("episode_length", episode_length, 1),
        ):
            if value < least:
                raise ConfigError(f"{name} is {value}: it must be at least {least}")
        self.physics = physics
        self.image_size = image_size
        self.frame_stack = frame_stack
        self.action_repeat = action_repeat
        self.episode_length = episode_length
        self.grayscale = grayscale
        self.scene = Scene.from_mujoco(physics.mj_model).with_infinite_planes()
        self._camera = camera
        self._followed = None if camera.body is None else physics.mj_model.body(camera.body).id

    @property
    def action_size(self) -> int:
        """Length of the action vector; actions lie in [-1, 1]."""
        return self.physics.action_size

    @property
    def dt(self) -> float:
        """Simulated seconds between two observations."""
        return self.physics.dt * self.action_repeat

    @property
    def channels(self) -> int:
        """Channels of one frame."""
        return 1 if self.grayscale else 3

    @property
    def observation_spec(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shape and dtype of each entry of `State.obs`."""
        return jax.eval_shape(self.reset, jax.random.key(0)).obs

    def reset(self, key: Array) -> State:
        """The first state of a freshly drawn episode."""
        state = self._start(key)
        return self._observe(state, self._frame(state.physics), None, jnp.array(True))

    def step(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after an action; if `state` ended an episode, the first state of the next one."""
        fresh = self._start(state.info["key"])
        advanced = self._advance(state, jnp.clip(action, -1.0, 1.0))
        following = _select(state.done, fresh, advanced)
        return self._observe(following, self._frame(following.physics), state.obs["pixels"], state.done)

    def camera(self, physics: PhysicsState) -> Camera:
        """Where the task's camera is."""
        spec = self._camera
        if self._followed is None:
            x, y = jnp.zeros(()), jnp.zeros(())
        else:
            x, y, _ = self.physics.body_xpos(physics)[self._followed]
        pos = jnp.stack([x + spec.offset[0], y + spec.offset[1], jnp.full_like(x, spec.height)])
        return look_at(pos, jnp.stack([x, y, jnp.full_like(x, spec.target_height)]), spec.fovy)

    def render(self, state: State, height: int, width: int) -> UInt8[Array, "height width 3"]:
        """The task as its camera sees it, at any size and in color, for people to look at."""
        return self._rgb(state.physics, height, width)

    def _rgb(self, physics: PhysicsState, height: int, width: int) -> UInt8[Array, "height width 3"]:
        # Whole numbers have no gradient; cut here, `jax.grad` through physics need not look into the renderer.
        physics = jax.lax.stop_gradient(physics)
        pose = GeomPose(*self.physics.geom_pose(physics))
        return render(self.scene, pose, self.camera(physics), height, width).rgb

    def _frame(self, physics: PhysicsState) -> UInt8[Array, "height width channels"]:
        rgb = self._rgb(physics, self.image_size, self.image_size)
        return _luminance(rgb) if self.grayscale else rgb

    def _start(self, key: Array) -> State:
        """The first state of an episode, not yet observed."""
        episode_key, next_key = jax.random.split(key)
        physics = self.physics.reset(episode_key)
        return State(
            physics=physics,
            obs={},
            reward=jnp.zeros(()),
            terminated=jnp.array(False),
            truncated=jnp.array(False),
            metrics=physics.metrics | {"episode_return": jnp.zeros(()), "episode_length": jnp.zeros((), jnp.int32)},
            info={"steps": jnp.zeros((), jnp.int32), "key": next_key},
        )

    def _advance(self, state: State, action: Float[Array, " action_size"]) -> State:
        """The state after up to `action_repeat` frames, not yet observed."""

        def frame(carry: tuple[PhysicsState, Array, Array], _: None) -> tuple[Any, None]:
            physics, reward, frames = carry
            over = physics.terminated | (state.info["steps"] + frames >= self.episode_length)
            stepped = self.physics.step(physics, action)
            physics = _select(over, physics, stepped)
            return (physics, reward + jnp.where(over, 0.0, stepped.reward), frames + (~over).astype(jnp.int32)), None

        initial = (state.physics, jnp.zeros(()), jnp.zeros((), jnp.int32))
        (physics, reward, frames), _ = jax.lax.scan(frame, initial, None, length=self.action_repeat)
        steps = state.info["steps"] + frames
        episode = {
            "episode_return": state.metrics["episode_return"] + reward,
            "episode_length": state.metrics["episode_length"] + frames,
        }
        return State(
            physics=physics,
            obs={},
            reward=reward,
            terminated=physics.terminated,
            truncated=(steps >= self.episode_length) & ~physics.terminated,
            metrics=physics.metrics | episode,
            info=state.info | {"steps": steps},
        )

    def _observe(self, state: State, frame: Array, pixels: Array | None, first: Bool[Array, ""]) -> State:
        """Adds the observation: the frame behind the last ones, or alone in the stack if the episode begins."""
        stack = jnp.tile(frame, (1, 1, self.frame_stack))
        if pixels is not None:
            stack = jnp.where(first, stack, jnp.concatenate([pixels[..., self.channels :], frame], axis=-1))
        return replace(state, obs={"pixels": stack, "state": state.physics.obs})


def _select(condition: Bool[Array, ""], if_true: Any, if_false: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)


def _luminance(rgb: UInt8[Array, "height width 3"]) -> UInt8[Array, "height width 1"]:
    """ITU-R BT.601 luma in whole numbers."""
    red, green, blue = (rgb[..., k : k + 1].astype(jnp.uint32) for k in range(3))
    return ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(jnp.uint8)
