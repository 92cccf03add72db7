"""Image observations: frames of one or several cameras, stacked over time, in the requested layout."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, PyTree, UInt8

from pixelbrax.distractors import Composed, Distraction, DistractorState, Role, SceneView, main_body
from pixelbrax.envs.cameras import CameraFn, CameraLike, camera_fn, check_sensors
from pixelbrax.errors import ConfigError, check_count, check_flag, check_pair
from pixelbrax.physics import PhysicsState, Randomizer
from pixelbrax.render import (
    SAMPLES,
    Camera,
    Frame,
    GeomPose,
    LightsAt,
    Output,
    PlaceTendons,
    Scene,
    moving_lights,
    randomize_scene,
    randomized_model,
    render,
    spatial_tendons,
    unpack,
)
from pixelbrax.xla import materialized

ImageOutput = Literal["pixels", "depth", "segmentation", "mask"]
IMAGE_OUTPUTS: tuple[ImageOutput, ...] = ("pixels", "depth", "segmentation", "mask")
MIN_IMAGE_SIZE, MAX_IMAGE_SIZE = 8, 1024
_MOST_FRAMES = 100  # in an observation
_NEAREST = 0.1  # meters of a camera to what it circles, so that it has a direction

Images = dict[str, Array]
"""The images of one observation, by their keys."""
DistractorStates = dict[str, DistractorState]
"""Distractor states by camera name, sampled from the same keys. Empty without distractors."""


@dataclass(frozen=True)
class ImageSettings:
    """Settings of images; `PixelEnv` documents them."""

    shapes: tuple[tuple[str, tuple[int, int]], ...]
    """Height and width in pixels of the images of each camera."""
    frame_stack: int
    grayscale: bool
    channels_first: bool
    outputs: tuple[ImageOutput, ...]
    shadows: bool
    reflections: bool
    tendons: bool
    samples: int

    @classmethod
    def checked(
        cls,
        cameras: Collection[str],
        image_size: int | Sequence[int] | Mapping[str, int | Sequence[int]],
        frame_stack: int,
        grayscale: bool,
        channels_first: bool,
        outputs: ImageOutput | Iterable[ImageOutput],
        shadows: bool,
        reflections: bool,
        tendons: bool,
        samples: int,
    ) -> "ImageSettings":
        """The settings, checked.

        Raises:
          ConfigError: a setting cannot be used; the message names it.
        """
        if check_count("samples", samples) not in SAMPLES:
            raise ConfigError(f"samples is {samples}: it must be one of {', '.join(map(str, SAMPLES))}")
        return cls(
            tuple(_sizes(cameras, image_size).items()),
            check_count("frame_stack", frame_stack, most=_MOST_FRAMES),
            check_flag("grayscale", grayscale),
            check_flag("channels_first", channels_first),
            _outputs(outputs),
            check_flag("shadows", shadows),
            check_flag("reflections", reflections),
            check_flag("tendons", tendons),
            int(samples),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the first camera's images."""
        return self.shapes[0][1]

    @property
    def aspects(self) -> dict[str, float]:
        """Width of each camera's images divided by their height."""
        return {name: width / height for name, (height, width) in self.shapes}

    @property
    def channels(self) -> int:
        """Channels of one frame of pixels."""
        return 1 if self.grayscale else 3

    @property
    def image_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each image in an observation, by its key."""
        channels, result, names = self.channels * self.frame_stack, {}, dict(self.shapes)
        for name, shape in self.shapes:
            pixels = (channels, *shape) if self.channels_first else (*shape, channels)
            result |= {_key(output, name, names): pixels if output == "pixels" else shape for output in self.outputs}
        return result


def _sizes(cameras: Collection[str], image_size: Any) -> dict[str, tuple[int, int]]:
    """Height and width of each camera's images."""
    if not isinstance(image_size, Mapping):
        return dict.fromkeys(cameras, _height_and_width(image_size))
    if set(image_size) != set(cameras):
        raise ConfigError(
            f"image_size is of {', '.join(map(str, image_size)) or 'nothing'}, and the cameras are "
            f"{', '.join(cameras)}: it must be one size for all, or a dict of one for each camera"
        )
    return {name: _height_and_width(image_size[name], f"image_size of {name}") for name in cameras}


def _height_and_width(image_size: Any, setting: str = "image_size") -> tuple[int, int]:
    if isinstance(image_size, (int, float, np.number)):
        sides = (image_size, image_size)
    else:
        sides = check_pair(setting, image_size, "a whole number, or height and width")
    height, width = (check_count(setting, side, MIN_IMAGE_SIZE, MAX_IMAGE_SIZE) for side in sides)
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
    """Key of an image in an observation."""
    return output if len(cameras) == 1 else f"{output}/{camera}"


def rendered_effects(images: ImageSettings, distractors: Composed) -> dict[str, Any]:
    """The renderer's shadows, reflections and samples: those of the images, and what distractors need."""
    return {
        "shadows": images.shadows or ("same_exposure" if distractors.needs_shadows else False),
        "reflections": images.reflections or distractors.needs_reflections,
        "samples": images.samples,
    }


class _World(NamedTuple):
    """A model with its scene, cameras, and what moves beside its geoms."""

    model: mujoco.MjModel
    scene: Scene
    cameras: dict[str, CameraFn]
    lights_at: LightsAt | None
    place_tendons: PlaceTendons | None


def _camera_fns(model: mujoco.MjModel, cameras: Mapping[str, CameraLike], images: ImageSettings) -> dict[str, CameraFn]:
    return {name: camera_fn(model, cameras[name], aspect) for name, aspect in images.aspects.items()}


class CameraPlace(NamedTuple):
    """Where a camera is in the reference pose.

    Attributes:
      distance: meters to the body's center of mass: the radius of a `CameraOrbit`.
      offset: see `SceneContext.camera_offset`.
      body_offset: likewise.
    """

    distance: float
    offset: tuple[float, float, float]
    body_offset: tuple[float, float, float]


def camera_places(model: mujoco.MjModel, cameras: dict[str, CameraFn]) -> dict[str, CameraPlace]:
    """The place of each camera."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    xpos, xmat = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    center = data.subtree_com[main_body(model)]
    moves = jnp.asarray(model.body_weldid != 0, jnp.float32)[:, None]  # what is fixed to the world stays

    def away(meters: np.ndarray) -> tuple[float, float, float]:
        x, y, z = meters.tolist()
        return x, y, z if x * x + y * y + z * z > _NEAREST**2 else _NEAREST

    def place(at: CameraFn) -> CameraPlace:
        pos, moved = (np.asarray(at(xpos + shift * moves, xmat).pos, np.float64) for shift in (0.0, 1.0))
        distance = max(float(np.linalg.norm(pos - center)), _NEAREST)
        still = np.allclose(pos, moved, atol=1e-3)
        return CameraPlace(distance, away(pos if still else pos - center), away(pos - center))

    return {name: place(at) for name, at in cameras.items()}


class Snapshot(NamedTuple):
    """The parts of an environment's state that rendering needs.

    Attributes:
      physics: the engine's state.
      model_params: model parameters that the `Randomizer` sampled for the episode, by name.
      distractors: states of the distractors, by camera name.
      distractor_params: see `EnvParams.distractors`.
    """

    physics: PhysicsState
    model_params: dict[str, Array]
    distractors: DistractorStates
    distractor_params: PyTree


class Observer:
    """Renders the images of an observation and stacks them."""

    def __init__(
        self,
        randomizer: Randomizer,
        model: mujoco.MjModel,
        scene: Scene,
        cameras: Mapping[str, CameraLike],
        settings: ImageSettings,
        distraction: Distraction,
    ):
        """Takes the model's scene. With a single camera, the observation's keys omit its name."""
        self._randomizer = randomizer
        self._model = model
        self._scene = scene
        self._cameras = cameras
        self._settings = settings
        self._distraction = distraction
        tendons = spatial_tendons(model) if settings.tendons else None
        self._plain = _World(model, scene, _camera_fns(model, cameras, settings), moving_lights(model), tendons)
        places = camera_places(model, self._plain.cameras) if distraction else {}
        self._distances = {name: place.distance for name, place in places.items()}
        unit = next(iter(self._distances.values()), 0.0)  # of the first: all cameras see the same world
        sizes = dict(settings.shapes)
        if settings.outputs:
            check_sensors(model, cameras, sizes)
        resized = {size: distraction.resized(*size) for size in set(sizes.values())}
        self._seen_by = {
            name: resized[sizes[name]].seen_from(place.offset, place.body_offset, unit)
            for name, place in places.items()
        }
        wanted = set(settings.outputs)
        self._outputs: tuple[Output, ...] = (
            *(["packed"] if "pixels" in wanted else []),
            *(["depth"] if "depth" in wanted else []),
            *(["segmentation"] if wanted & {"segmentation", "mask"} or distraction.composed.needs_segmentation else []),
        )

    @property
    def video_bytes(self) -> int:
        """Bytes of all clips; those of images of one size are shared."""
        each = {id(seen.composed): seen.composed.num_bytes for seen in self._seen_by.values()}
        return sum(each.values())

    @property
    def distracts(self) -> bool:
        """Whether there are distractors."""
        return bool(self._distraction)

    def init_distractors(self, key: Array, params: PyTree) -> DistractorStates:
        """Distractor states at an episode's first observation."""
        return {name: of_camera.init(key, params) for name, of_camera in self._seen_by.items()}

    def step_distractors(self, states: DistractorStates, first: Bool[Array, ""], params: PyTree) -> DistractorStates:
        """Distractor states at the next observation, which may be an episode's first."""
        if not states:
            return states
        initial = self.init_distractors(next(iter(states.values())).next_key, params)
        following = {name: self._seen_by[name].step(state, params) for name, state in states.items()}
        return jax.tree.map(lambda a, b: jnp.where(first, a, b), initial, following)

    def observe(self, snapshot: Snapshot) -> tuple[Images, DistractorStates]:
        """The newest images of every camera, not yet stacked, and the distractor states that remember them."""
        result, kept = {}, {}
        if not self._outputs:
            return result, snapshot.distractors
        for name in self._cameras:
            images, state = self._observe(snapshot, name)
            if state is not None:
                kept[name] = state
            for output in self._settings.outputs:
                result[_key(output, name, self._cameras)] = images[output]
        return result, kept

    def _observe(self, snapshot: Snapshot, camera: str) -> tuple[Images, DistractorState | None]:
        settings, state = self._settings, snapshot.distractors.get(camera)
        inputs = self.render_inputs(snapshot, camera, observed=True)
        frame = self._rendered(inputs, *dict(settings.shapes)[camera], self._outputs)
        images = {"depth": frame.depth, "segmentation": frame.segmentation}
        if "mask" in settings.outputs:
            images["mask"] = self._distraction.context.shows(frame.segmentation, (Role.BODY,))
        if "pixels" in settings.outputs:
            packed = frame.packed
            composed = self._distraction.composed
            if state is not None and (composed.changes_frames or composed.remembers_frames):
                seen = packed, frame.segmentation, inputs[2]
                state, packed = self._seen_by[camera].apply_frame(state, *seen, snapshot.distractor_params)
            rgb = unpack(materialized(packed))
            rgb = _luminance(rgb) if settings.grayscale else rgb
            images["pixels"] = jnp.moveaxis(rgb, -1, 0) if settings.channels_first else rgb
        return images, state

    def stack(self, images: Images, previous: Images | None, first: Bool[Array, ""]) -> Images:
        """The images, with pixels stacked behind the previous ones; an episode's first frame fills the stack."""
        return {
            key: self._stack(image, None if previous is None else previous[key], first)
            if key.split("/")[0] == "pixels"
            else image
            for key, image in images.items()
        }

    def render(self, snapshot: Snapshot, camera: str, height: int, width: int, outputs: tuple[Output, ...]) -> Frame:
        """An image of any size, with the distractors that change the scene and without those that change frames."""
        return self._rendered(self.render_inputs(snapshot, camera), height, width, outputs)

    def _rendered(
        self, inputs: tuple[Scene, GeomPose, Camera], height: int, width: int, outputs: tuple[Output, ...]
    ) -> Frame:
        # Observed images have no gradient; stopped here, `jax.grad` through physics need not trace the renderer.
        scene, pose, seen_from = _without_derivatives(inputs)
        effects = rendered_effects(self._settings, self._distraction.composed)
        return render(scene, pose, seen_from, height, width, outputs, **effects)

    def render_inputs(self, snapshot: Snapshot, camera: str, observed: bool = False) -> tuple[Scene, GeomPose, Camera]:
        """The renderer's arguments; `observed`: of the frame that distractors then change."""
        bodies = self._randomizer.apply(snapshot.model_params).body_pose(snapshot.physics)
        world = self._world(snapshot.model_params)
        scene, seen_from = world.scene, world.cameras[camera](*bodies)
        if world.lights_at is not None:
            scene = scene.with_lights(*world.lights_at(*bodies))
        pose = GeomPose.from_bodies(world.model, *bodies, sites=True)
        if world.place_tendons is not None:
            scene, pose = world.place_tendons(scene, pose, pose.xpos[world.model.ngeom :])
        if camera in snapshot.distractors:
            view = SceneView(scene, seen_from, jnp.float32(self._distances[camera]))
            state, params, seen = snapshot.distractors[camera], snapshot.distractor_params, self._seen_by[camera]
            scene, seen_from, _ = (seen.observe_scene if observed else seen.apply_scene)(state, view, params)
            scene, pose = seen.furnish(state, scene, pose, params)
        return scene, pose, seen_from

    def _world(self, model_params: dict[str, Array]) -> "_World":
        if not model_params:
            return self._plain
        shown = self._randomizer.rendered(model_params)
        model = randomized_model(self._model, shown)
        seen = {"sites": True, "tendons": self._settings.tendons}
        scene = randomize_scene(self._scene, self._model, shown, **seen)
        tendons = self._plain.place_tendons  # their paths and limits are not randomized
        return _World(model, scene, _camera_fns(model, self._cameras, self._settings), moving_lights(model), tendons)

    def _stack(self, frame: Array, previous: Array | None, first: Bool[Array, ""]) -> Array:
        count, axis = self._settings.frame_stack, 0 if self._settings.channels_first else -1
        alone = jnp.concatenate([frame] * count, axis=axis)
        if previous is None:
            return alone
        kept = jax.lax.slice_in_dim(previous, self._settings.channels, None, axis=axis)
        return jnp.where(first, alone, jnp.concatenate([kept, frame], axis=axis))


def _without_derivatives(inputs: Any) -> Any:
    """A pytree whose traced arrays have no derivatives.

    `jax.lax.stop_gradient` of a constant is traced, and of a scene whose numbers it does not know the renderer makes a
    program that is slower.
    """
    return jax.tree.map(lambda x: jax.lax.stop_gradient(x) if isinstance(x, jax.core.Tracer) else x, inputs)


LUMA = (77, 150, 29)
"""ITU-R BT.601's weights of red, green and blue, of 256."""


def _luminance(rgb: UInt8[Array, "height width 3"]) -> UInt8[Array, "height width 1"]:
    """Luma in integer arithmetic."""
    total = sum(LUMA[k] * rgb[..., k : k + 1].astype(jnp.uint32) for k in range(3))
    return ((total + 128) >> 8).astype(jnp.uint8)
