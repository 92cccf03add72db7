"""`render`: images of a scene from poses and a camera; composes with `jax.jit`, `jax.vmap` and `jax.grad`."""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt8, UInt32

from pixelbrax.errors import ConfigError, check_flag
from pixelbrax.render.analysis import analyze
from pixelbrax.render.camera import Camera, check_camera
from pixelbrax.render.image import OUTPUTS, SHADOWS, Output, RenderSettings, Shadows, trace_image, unpack_key
from pixelbrax.render.rays import Crop
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import unpack
from pixelbrax.xla import as_float32, call_where, chunk_size, in_float32, map_in_chunks

SAMPLES = (1, 4, 9, 16)
_MOST_RAYS = 2**31 - 1  # they are counted in int32

_INPUTS = {
    Scene: "Scene.from_mujoco(model)",
    GeomPose: "GeomPose.from_mujoco(data)",
    Camera: "look_at(...), orbit(...) or ModelCamera.from_mujoco(model, name).of(data)",
}
"""What `render` is given, in order, and how it is made."""

_ABSENT: Any = None  # typed as Any, so that type checkers do not ask whether an output was requested


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """The requested outputs of one image; the others are None. The first row is the top of the image.

    Attributes:
      rgb: (height, width, 3) uint8.
      packed: (height, width) uint32, `rgb` as R + G * 2**8 + B * 2**16.
      color: (height, width, 3) float32, 0..1: the colors before they are rounded to `rgb`, for derivatives.
      depth: (height, width) float32, meters along the viewing axis; inf where there is nothing.
      segmentation: (height, width) int32, MuJoCo geom id; -1 where there is nothing.
      normals: (height, width, 3) float32, unit, outward, world frame; 0 where there is nothing. On smooth meshes they
        are those that are shaded, between the normals of a triangle's corners.
    """

    rgb: UInt8[Array, "*batch height width 3"] = _ABSENT
    packed: UInt32[Array, "*batch height width"] = _ABSENT
    color: Float[Array, "*batch height width 3"] = _ABSENT
    depth: Float[Array, "*batch height width"] = _ABSENT
    segmentation: Int32[Array, "*batch height width"] = _ABSENT
    normals: Float[Array, "*batch height width 3"] = _ABSENT


def render(
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
    height: int,
    width: int,
    outputs: tuple[Output, ...] = ("rgb",),
    *,
    crop: Sequence[int] | None = None,
    shadows: Shadows = False,
    reflections: bool = False,
    fog: bool = False,
    samples: int = 1,
    soft: float | None = None,
) -> Frame:
    """Renders the scene as the camera sees it.

    Depth, segmentation and normals are those of the nearest geoms, transparent or not.

    Compose it with `jax.vmap` for batches: the batched program runs in chunks on a CPU and is fused on accelerators.
    Any leaf of `scene`, `pose` and `camera` may carry the batch axis.

    The floating-point outputs ("color", "depth", "normals") can be differentiated with respect to every leaf, with
    `jax.grad` and `jax.jvp`. These derivatives ignore the motion of silhouettes; pass `soft` to include it. They are
    first derivatives: of second ones only those of "color" with `soft` are right.

    Args:
      scene: geoms, materials, lights and sky.
      pose: world poses of all geoms of the model.
      camera: the camera.
      height: image height in pixels.
      width: image width in pixels; pixels are square.
      outputs: which fields of the frame to compute.
      crop: render only this part of the image, which costs as much as an image of its size: its top row, left column,
        height and width, in pixels. It is the same part of the whole image, to rounding.
      shadows: whether to render the shadows of lights that cast them; their edges are hard, without a derivative. With
        True, as in MuJoCo, such lights are clipped one by one, and textures under several of them are brighter than
        without shadows. With "same_exposure" all that is not in shadow looks as it does without, and shadows lack the
        lights' diffuse part and highlights only.
      reflections: whether to render the reflections in the scene's `mirror`, if it has one.
      fog: whether to render the scene's fog.
      samples: rays per pixel over which colors are averaged: 1, 4, 9 or 16. The other outputs always use the ray
        through the pixel's center.
      soft: width in pixels over which geoms fade out around their silhouettes in "color" and "rgb"; None renders sharp
        silhouettes, the limit for 0. See `pixelbrax.render.soft` for the formula.

    Returns:
      The frame; its arrays are float32, int32, uint8 or uint32, also under `jax_enable_x64`.

    Raises:
      ConfigError: an argument is invalid.
    """
    for kind, given in zip(_INPUTS, (scene, pose, camera), strict=True):
        _check_type(kind, given)
    scene, pose, camera = as_float32((scene, pose, check_camera(camera)))
    reflections = check_flag("reflections", reflections) and scene.mirror >= 0
    fog = check_flag("fog", fog)
    outputs = _checked_outputs(outputs)
    height, width, samples, part = _checked_image(height, width, samples, crop)
    soft = None if soft is None else _checked_soft(soft)
    _check_scene(scene, pose, soft, reflections)
    computed: dict[Output, None] = {"packed" if output == "rgb" else output: None for output in outputs}
    settings = RenderSettings(
        height,
        width,
        part,
        tuple(computed),
        _checked_shadows(shadows),
        reflections,
        fog,
        samples,
        soft,
        analyze(scene),
    )
    flat = in_float32(_flat_renderer(settings))(scene, pose, camera)
    image = {name: value.reshape(*settings.shape, *value.shape[1:]) for name, value in flat.items()}
    if "rgb" in outputs:
        image["rgb"] = unpack(image["packed"])
    return Frame(**{name: image[name] for name in outputs})


def render_where(
    needed: Bool[Array, ""], scene: Scene, pose: GeomPose, camera: Camera, height: int, width: int, **settings: Any
) -> Frame:
    """`render` where an image is needed; elsewhere zeros.

    Under `jax.vmap` only those elements of a batch are rendered that need it, a few at a time; there it has no
    derivative in reverse mode. It pays where few do.

    Args:
      needed: whether this element needs its image.
      scene: see `render`.
      pose: see `render`.
      camera: see `render`.
      height: see `render`.
      width: see `render`.
      **settings: the others of `render`.
    """

    def image(inputs: tuple[Scene, GeomPose, Camera]) -> Frame:
        return render(*inputs, height, width, **settings)

    return call_where(image, needed, (scene, pose, camera))


def _check_type(kind: type, given: Any) -> None:
    if not isinstance(given, kind):
        name, what = kind.__name__.removeprefix("Geom").lower(), type(given).__name__
        raise ConfigError(f"the {name} is a {what}: it must be a {kind.__name__}, as made by {_INPUTS[kind]}")


def _checked_outputs(outputs: Any) -> tuple[Output, ...]:
    if isinstance(outputs, str) and outputs in OUTPUTS:
        raise ConfigError(f"outputs is the text {outputs!r}: it must be a tuple of names, such as ({outputs!r},)")
    if not isinstance(outputs, Iterable):
        raise ConfigError(f"outputs is {outputs!r}: it must be a tuple of names, such as ('rgb',)")
    outputs = tuple(outputs)  # an iterator would be spent when it has been checked
    if unknown := [o for o in outputs if o not in OUTPUTS]:
        raise ConfigError(f"unknown output {unknown[0]!r}: the renderer has {', '.join(OUTPUTS)}")
    return outputs


def _checked_image(height: Any, width: Any, samples: Any, crop: Any) -> tuple[int, int, int, Crop | None]:
    """Sizes as integers, for a float equals one, and would be its place in the cache of programs; and the crop."""
    height, width, samples = _whole("height", height), _whole("width", width), _whole("samples", samples)
    if height < 1 or width < 1:
        raise ConfigError(f"an image of {height}x{width} pixels is empty: height and width must be at least 1")
    if samples not in SAMPLES:
        raise ConfigError(f"samples is {samples}: it must be one of {', '.join(map(str, SAMPLES))}")
    part = None if crop is None else _checked_crop(crop, height, width)
    rows, columns = (height, width) if part is None else (part.height, part.width)
    if rows * columns * samples > _MOST_RAYS:
        raise ConfigError(
            f"{rows}x{columns} pixels with {samples} rays each are too many: render at most {_MOST_RAYS:,} rays at "
            "once, as with crop"
        )
    return height, width, samples, part


def _whole(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return int(operator.index(value))
    except TypeError:  # of traced values, too
        pass
    raise ConfigError(f"{name} is {value!r}: it must be a whole number that is known when compiling")


def _checked_shadows(shadows: Any) -> Shadows:
    if shadows not in SHADOWS:
        raise ConfigError(f"shadows is {shadows!r}: it must be one of {', '.join(map(repr, SHADOWS))}")
    return SHADOWS[SHADOWS.index(shadows)]


def _checked_soft(soft: Any) -> float:
    try:
        pixels = float(soft)
    except (TypeError, ValueError):  # of traced values, too
        pixels = math.nan
    if not 0 < pixels < math.inf:
        raise ConfigError(f"soft is {soft}: it must be a positive number of pixels, or None for sharp silhouettes")
    return pixels


def _check_scene(scene: Scene, pose: GeomPose, soft: float | None, reflections: bool) -> None:
    count = len(scene.geom_type)
    if np.ndim(pose.xpos) > 1 and np.shape(pose.xpos)[-2] != count:
        raise ConfigError(
            f"the pose has {np.shape(pose.xpos)[-2]} geoms, but the scene has {count}: read both from one "
            "model, and both with or without sites"
        )
    _check_shape("the pose's xpos", pose.xpos, (count, 3))
    _check_shape("the pose's xmat", pose.xmat, (count, 3, 3))
    counts = {"ngeom": count, "nlight": len(scene.light_kind), "ntexture": len(scene.textures)}
    for name, axes in _axes_of_leaves():
        _check_shape(
            f"the scene's {name}", getattr(scene, name), tuple(counts[a] if a in counts else int(a) for a in axes)
        )
    if soft is not None and any(scene.geom_mesh[i] >= 0 for i in scene.visible):
        raise ConfigError("soft silhouettes of meshes and height fields are not rendered: pass soft=None")
    if soft is not None and reflections:
        raise ConfigError("reflections are not rendered with soft silhouettes: pass soft=None or reflections=False")


def _check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    if isinstance(array, list | tuple):
        raise ConfigError(f"{name} is a {type(array).__name__}: it must be an array of shape {shape}")
    if np.shape(array) != shape:
        raise ConfigError(
            f"{name} has shape {np.shape(array)}: it must be {shape}; images of a batch are rendered by jax.vmap"
        )


@functools.cache
def _axes_of_leaves() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The axes of each of a scene's arrays, beside those of a batch: "ngeom", or a number; from their annotations."""
    dims = {part.name: getattr(part.type, "dim_str", None) for part in fields(Scene)}
    return tuple((name, tuple(text.split()[1:])) for name, text in dims.items() if text is not None)


def _checked_crop(crop: Any, height: int, width: int) -> Crop:
    try:
        part = Crop(*map(operator.index, crop))
    except TypeError:
        raise ConfigError(
            f"crop is {crop!r}: it must be four whole numbers: top row, left column, height and width"
        ) from None
    inside = min(part.top, part.left) >= 0 and part.top + part.height <= height and part.left + part.width <= width
    if not inside or min(part.height, part.width) < 1:
        raise ConfigError(f"crop is {tuple(part)}: it must lie in the image of {height}x{width} pixels")
    return part


@functools.cache
def _flat_renderer(settings: RenderSettings) -> Callable[..., dict[str, Array]]:
    """The renderer of one image as flat arrays, with custom batching and differentiation rules.

    JAX calls the rules when it transforms a program that was traced before, when `render`'s `in_float32` has ended.
    """
    unrolled = functools.partial(trace_image, settings, False, True)
    by_shape = functools.partial(trace_image, settings, False, False)

    def one(*args: Any) -> dict[str, Array]:
        if jax.default_backend() == "cpu":  # the other need not be traced
            return unrolled(*args)
        return jax.lax.platform_dependent(*args, cpu=unrolled, default=by_shape)

    batching = jax.custom_batching.custom_vmap(one)

    @batching.def_vmap
    @in_float32
    def batched(axis_size: int, in_batched: tuple, *args: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched)
        if axis_size == 1:
            out = jax.vmap(one, in_axes=axes)(*args)
        else:
            chunk = chunk_size(axis_size, math.prod(settings.shape) * settings.samples)
            chunked = functools.partial(map_in_chunks, unrolled, in_batched, chunk)
            whole = jax.vmap(by_shape, in_axes=axes)
            out = jax.lax.platform_dependent(*args, cpu=chunked, default=whole)
        return out, jax.tree.map(lambda _: True, out)

    # A custom batching rule cannot be transposed; derivatives bypass it.
    @jax.custom_jvp
    def renderer(scene: Scene, pose: GeomPose, camera: Camera) -> dict[str, Array]:
        return unpack_key(settings, scene, batching(scene, pose, camera))

    @renderer.defjvp
    @in_float32
    def derivative(primals: tuple, tangents: tuple) -> tuple:  # pyright: ignore[reportUnusedFunction]
        def traced(*args: Any) -> dict[str, Array]:
            return unpack_key(settings, args[0], trace_image(settings, True, True, *args))

        return jax.jvp(traced, primals, tangents)

    # Called outside any program, it is compiled once, not run operation by operation; inside one, it is part of that.
    # Soft images are the exception, for they are rendered to be differentiated, and XLA compiles their reverse slowly.
    return renderer if settings.soft is not None else jax.jit(renderer, inline=True)
