"""What an agent sees of a state: frames of one or several cameras, stacked over time, in the layout asked for."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, UInt8

from pixelbrax.distractors import Distraction, Look
from pixelbrax.distractors.base import View as Seen
from pixelbrax.distractors.roles import Role, main_body
from pixelbrax.envs.cameras import CameraLike, View, view
from pixelbrax.errors import ConfigError, check_count, check_flag, check_pair
from pixelbrax.physics import PhysicsState, Randomizer
from pixelbrax.render import (
    SAMPLES,
    Camera,
    Frame,
    GeomPose,
    LightsAt,
    Output,
    Scene,
    materialized,
    moving_lights,
    render,
    unpack,
    varied_model,
    vary_scene,
)

ImageOutput = Literal["pixels", "depth", "segmentation", "mask"]
IMAGE_OUTPUTS: tuple[ImageOutput, ...] = ("pixels", "depth", "segmentation", "mask")
MIN_IMAGE_SIZE, MAX_IMAGE_SIZE = 8, 512

Frames = dict[str, Array]
Looks = dict[str, Look]
"""How an environment looks through each camera; all the same but for what each remembers."""


@dataclass(frozen=True)
class ImageSettings:
    """See `PixelEnv`, which takes the same."""

    shape: tuple[int, int]
    """Height and width in pixels."""
    frame_stack: int
    grayscale: bool
    channels_first: bool
    outputs: tuple[ImageOutput, ...]
    shadows: bool
    samples: int

    @classmethod
    def checked(
        cls,
        image_size: int | Sequence[int],
        frame_stack: int,
        grayscale: bool,
        channels_first: bool,
        outputs: ImageOutput | Iterable[ImageOutput],
        shadows: bool,
        samples: int,
    ) -> "ImageSettings":
        """The settings, if they can be used.

        Raises:
          ConfigError: one cannot; the message names it.
        """
        if check_count("samples", samples) not in SAMPLES:
            raise ConfigError(f"samples is {samples}: it must be one of {', '.join(map(str, SAMPLES))}")
        return cls(
            _height_and_width(image_size),
            check_count("frame_stack", frame_stack),
            check_flag("grayscale", grayscale),
            check_flag("channels_first", channels_first),
            _outputs(outputs),
            check_flag("shadows", shadows),
            int(samples),
        )

    @property
    def channels(self) -> int:
        """Channels of one frame of pixels."""
        return 1 if self.grayscale else 3

    def observed(self, cameras: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Shape of each image in an observation, by its key."""
        channels = self.channels * self.frame_stack
        pixels = (channels, *self.shape) if self.channels_first else (*self.shape, channels)
        shapes = {output: pixels if output == "pixels" else self.shape for output in self.outputs}
        return {_key(output, name, cameras): shape for name in cameras for output, shape in shapes.items()}


def _height_and_width(image_size: Any) -> tuple[int, int]:
    if isinstance(image_size, (int, float, np.number)):
        sides = (image_size, image_size)
    else:
        sides = check_pair("image_size", image_size, "a whole number, or height and width")
    height, width = (check_count("image_size", side, MIN_IMAGE_SIZE, MAX_IMAGE_SIZE) for side in sides)
    return height, width


def _outputs(outputs: Any) -> tuple[ImageOutput, ...]:
    try:
        names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    except TypeError:
        raise ConfigError(f"outputs is {outputs!r}: it must be a tuple of {', '.join(IMAGE_OUTPUTS)}") from None
    if unknown := [name for name in names if name not in IMAGE_OUTPUTS]:
        raise ConfigError(f"unknown output {unknown[0]!r}: an environment gives {', '.join(IMAGE_OUTPUTS)}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"outputs has {twice[0]!r} twice: name each once")
    return names  # pyright: ignore[reportReturnType]


def _key(output: str, camera: str, cameras: Collection[str]) -> str:
    """Of an image in an observation."""
    return output if len(cameras) == 1 else f"{output}/{camera}"


class _World(NamedTuple):
    """A model and what follows from it."""

    model: mujoco.MjModel
    scene: Scene
    views: dict[str, View]
    lights_at: LightsAt | None


def _views(model: mujoco.MjModel, cameras: Mapping[str, CameraLike]) -> dict[str, View]:
    return {name: view(model, camera) for name, camera in cameras.items()}


def camera_distances(model: mujoco.MjModel, views: dict[str, View]) -> dict[str, float]:
    """From each camera to the body's center of mass, metres, as the model is made; what a camera can turn around."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    xpos, xmat = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    center = data.subtree_com[main_body(model)]
    return {
        name: max(float(np.linalg.norm(np.asarray(at(xpos, xmat).pos) - center)), 0.1) for name, at in views.items()
    }


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
        distraction: Distraction,
    ):
        """The scene is the model's; if there is but one camera, its name is not in the observation's keys."""
        self._randomizer = randomizer
        self._model = model
        self._scene = scene
        self._cameras = cameras
        self._settings = settings
        self._distraction = distraction
        self._plain = _World(model, scene, _views(model, cameras), moving_lights(model))
        self._distances = camera_distances(model, self._plain.views) if distraction else {}
        wanted = set(settings.outputs)
        self._outputs: tuple[Output, ...] = (
            *(["packed"] if "pixels" in wanted else []),
            *(["depth"] if "depth" in wanted else []),
            *(["segmentation"] if wanted & {"segmentation", "mask"} or distraction.several.needs_segmentation else []),
        )

    @property
    def distracts(self) -> bool:
        """Whether episodes have looks."""
        return bool(self._distraction)

    def looks(self, key: Array) -> Looks:
        """How a fresh episode looks; empty if nothing distracts."""
        return {name: self._distraction.init(key) for name in self._cameras} if self._distraction else {}

    def next_looks(self, looks: Looks, first: Bool[Array, ""]) -> Looks:
        """How the next observation looks, which may be an episode's first."""
        if not looks:
            return looks
        fresh = self.looks(next(iter(looks.values())).next_key)
        going_on = {name: self._distraction.step(look) for name, look in looks.items()}
        return jax.tree.map(lambda a, b: jnp.where(first, a, b), fresh, going_on)

    def frames(self, physics: PhysicsState, drawn: dict[str, Array], looks: Looks) -> tuple[Frames, Looks]:
        """The newest frame of every camera, with the outputs asked for, and the looks that remember them."""
        result, kept = {}, {}
        if not self._outputs:
            return result, looks
        for name in self._cameras:
            seen, look = self._frame(physics, drawn, looks, name)
            if look is not None:
                kept[name] = look
            for output in self._settings.outputs:
                result[_key(output, name, self._cameras)] = seen[output]
        return result, kept

    def _frame(
        self, physics: PhysicsState, drawn: dict[str, Array], looks: Looks, camera: str
    ) -> tuple[Frames, Look | None]:
        settings, look = self._settings, looks.get(camera)
        frame = self.draw(physics, drawn, looks, camera, *settings.shape, self._outputs)
        images = {"depth": frame.depth, "segmentation": frame.segmentation}
        if "mask" in settings.outputs:
            images["mask"] = self._distraction.stage.shows(frame.segmentation, (Role.BODY,))
        if "pixels" in settings.outputs:
            packed = frame.packed
            if look is not None and self._distraction.several.changes_frames:
                look, packed = self._distraction.frame(look, packed, frame.segmentation)
            rgb = unpack(materialized(packed))
            rgb = _luminance(rgb) if settings.grayscale else rgb
            images["pixels"] = jnp.moveaxis(rgb, -1, 0) if settings.channels_first else rgb
        return images, look

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
        looks: Looks,
        camera: str,
        height: int,
        width: int,
        outputs: tuple[Output, ...],
    ) -> Frame:
        """One picture of any size; of the distractors, those that change what is drawn."""
        # Whole numbers have no gradient; cut here, `jax.grad` through physics need not look into the renderer.
        scene, pose, seen_from = jax.lax.stop_gradient(self.picture(physics, drawn, looks, camera))
        shadows = self._settings.shadows or self._distraction.several.needs_shadows
        samples = self._settings.samples
        return render(scene, pose, seen_from, height, width, outputs, shadows=shadows, samples=samples)

    def picture(
        self, physics: PhysicsState, drawn: dict[str, Array], looks: Looks, camera: str
    ) -> tuple[Scene, GeomPose, Camera]:
        """What the renderer needs."""
        bodies = self._randomizer.physics(drawn).body_pose(physics)
        world = self._world(drawn)
        scene, seen_from = world.scene, world.views[camera](*bodies)
        if world.lights_at is not None:
            scene = scene.with_lights(*world.lights_at(*bodies))
        if camera in looks:
            distance = jnp.float32(self._distances[camera])
            scene, seen_from, _ = self._distraction.view(looks[camera], Seen(scene, seen_from, distance))
        return scene, GeomPose.from_bodies(world.model, *bodies, sites=True), seen_from

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
