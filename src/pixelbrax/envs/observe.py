"""What an agent sees of a state: frames of one or several cameras, stacked over time, in the layout asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Bool, UInt8

from pixelbrax.envs.cameras import CameraLike, View, view
from pixelbrax.errors import ConfigError
from pixelbrax.physics import PhysicsState, Randomizer
from pixelbrax.render import (
    Camera,
    Frame,
    GeomPose,
    LightsAt,
    Scene,
    moving_lights,
    render,
    varied_model,
    vary_scene,
)

ImageOutput = Literal["pixels", "depth", "segmentation"]
IMAGE_OUTPUTS: tuple[ImageOutput, ...] = ("pixels", "depth", "segmentation")
MIN_IMAGE_SIZE, MAX_IMAGE_SIZE = 8, 512
_RENDERED = {"pixels": "rgb", "depth": "depth", "segmentation": "segmentation"}

Frames = dict[str, Array]


@dataclass(frozen=True)
class ImageSettings:
    """See `PixelEnv`, which takes the same."""

    image_size: int | tuple[int, int]
    frame_stack: int
    grayscale: bool
    channels_first: bool
    outputs: tuple[ImageOutput, ...]
    shadows: bool
    samples: int

    def __post_init__(self):
        for side in self.shape:
            if not MIN_IMAGE_SIZE <= side <= MAX_IMAGE_SIZE:
                least, most = MIN_IMAGE_SIZE, MAX_IMAGE_SIZE
                raise ConfigError(f"image_size is {self.image_size}: it must be at least {least} and at most {most}")
        if self.frame_stack < 1:
            raise ConfigError(f"frame_stack is {self.frame_stack}: it must be at least 1")
        if unknown := [o for o in self.outputs if o not in IMAGE_OUTPUTS]:
            raise ConfigError(f"unknown output {unknown[0]!r}: an environment gives {', '.join(IMAGE_OUTPUTS)}")
        if not self.outputs:
            raise ConfigError("outputs is empty: name at least one of " + ", ".join(IMAGE_OUTPUTS))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return (self.image_size, self.image_size) if isinstance(self.image_size, int) else self.image_size

    @property
    def channels(self) -> int:
        """Channels of one frame of pixels."""
        return 1 if self.grayscale else 3


class _World(NamedTuple):
    """A model and what follows from it."""

    model: mujoco.MjModel
    scene: Scene
    views: dict[str, View]
    lights_at: LightsAt | None


def _views(model: mujoco.MjModel, cameras: Mapping[str, CameraLike]) -> dict[str, View]:
    return {name: view(model, camera) for name, camera in cameras.items()}


class Observer:
    """Draws frames and stacks them.

    What is called `drawn` are numbers of the engine's model that a `Randomizer` drew.
    """

    def __init__(
        self,
        randomizer: Randomizer,
        model: mujoco.MjModel,
        scene: Scene,
        cameras: Mapping[str, CameraLike],
        settings: ImageSettings,
    ):
        """The scene is the model's; if there is but one camera, its name is not in the observation's keys."""
        self._randomizer = randomizer
        self._model = model
        self._scene = scene
        self._cameras = cameras
        self._settings = settings
        self._plain = _World(model, scene, _views(model, cameras), moving_lights(model))

    def frames(self, physics: PhysicsState, drawn: dict[str, Array]) -> Frames:
        """The newest frame of every camera: "pixels", "depth" and "segmentation", as far as asked for."""
        settings = self._settings
        result = {}
        for name in self._cameras:
            frame = self.draw(physics, drawn, name, *settings.shape, settings.outputs)
            for output in settings.outputs:
                image = getattr(frame, _RENDERED[output])
                if output == "pixels" and settings.grayscale:
                    image = _luminance(image)
                if output == "pixels" and settings.channels_first:
                    image = jnp.moveaxis(image, -1, 0)
                result[output if len(self._cameras) == 1 else f"{output}/{name}"] = image
        return result

    def stack(self, frames: Frames, previous: Frames | None, first: Bool[Array, ""]) -> Frames:
        """The frames, with those of pixels behind the last ones, or alone in the stack if the episode begins."""
        return {
            key: self._stack(image, None if previous is None else previous[key], first)
            if key.split("/")[0] == "pixels"
            else image
            for key, image in frames.items()
        }

    def draw(
        self,
        physics: PhysicsState,
        drawn: dict[str, Array],
        camera: str,
        height: int,
        width: int,
        outputs: tuple[ImageOutput, ...],
    ) -> Frame:
        """One picture of any size."""
        # Whole numbers have no gradient; cut here, `jax.grad` through physics need not look into the renderer.
        scene, pose, seen_from = jax.lax.stop_gradient(self.picture(physics, drawn, camera))
        rendered = tuple(_RENDERED[output] for output in outputs)
        return render(
            scene,
            pose,
            seen_from,
            height,
            width,
            rendered,  # pyright: ignore[reportArgumentType]
            shadows=self._settings.shadows,
            samples=self._settings.samples,
        )

    def picture(self, physics: PhysicsState, drawn: dict[str, Array], camera: str) -> tuple[Scene, GeomPose, Camera]:
        """What the renderer needs."""
        bodies = self._randomizer.physics(drawn).body_pose(physics)
        world = self._world(drawn)
        scene = world.scene
        if world.lights_at is not None:
            scene = scene.with_lights(*world.lights_at(*bodies))
        return scene, GeomPose.from_bodies(world.model, *bodies, sites=True), world.views[camera](*bodies)

    def _world(self, drawn: dict[str, Array]) -> "_World":
        if not drawn:
            return self._plain
        model = varied_model(self._model, drawn)
        scene = vary_scene(self._scene, self._model, drawn)
        return _World(model, scene, _views(model, self._cameras), moving_lights(model))

    def _stack(self, frame: Array, previous: Array | None, first: Bool[Array, ""]) -> Array:
        count, axis = self._settings.frame_stack, 0 if self._settings.channels_first else -1
        alone = jnp.concatenate([frame] * count, axis=axis)
        if previous is None:
            return alone
        kept = jax.lax.slice_in_dim(previous, self._settings.channels, None, axis=axis)
        return jnp.where(first, alone, jnp.concatenate([kept, frame], axis=axis))


def _luminance(rgb: UInt8[Array, "height width 3"]) -> UInt8[Array, "height width 1"]:
    """ITU-R BT.601 luma in whole numbers."""
    red, green, blue = (rgb[..., k : k + 1].astype(jnp.uint32) for k in range(3))
    return ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(jnp.uint8)
