"""What is known of a scene's numbers when a program is compiled, and compiled in.

A scene that is a constant of the program, as in `PixelEnv`, often gives all limbs one color and no light a highlight.
Numbers that are traced (arguments of `jit`, mapped by `vmap`, differentiated) count as unknown: for them the program
is the general one. The picture is the same either way.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32

from pixelbrax.render.scene import PLANE, Pattern, Scene

Labels = tuple[int, ...]  # equal numbers mean equal values
_FEW = 3  # powers by repeated squaring cost less than an exponential for so many exponents
_FEW_SELECTS = 3  # so many cost an accelerator no more than a gather


@dataclass(frozen=True)
class Known:
    """Facts about a scene's leaves, hashable.

    Attributes:
      rgb, pattern, emission, specular, shininess, radius: of each visible geom a label; equal labels, equal values.
      bounded: whether a visible geom is a plane that may have edges.
      patterned: whether any visible geom may have a texture, be it plain.
      emits: whether any visible geom may give off light.
      highlights: whether the headlight, and then each light, may make a highlight.
      exponents: of each visible geom's highlight, if they are whole numbers and few of them differ; else None.
      one_by_one: whether the program is written geom by geom, as suits CPUs, or kind by kind, as suits accelerators:
        see `of_each_geom` and `select`.
    """

    rgb: Labels
    pattern: Labels
    emission: Labels
    specular: Labels
    shininess: Labels
    radius: Labels
    bounded: tuple[bool, ...]
    patterned: bool
    emits: bool
    highlights: tuple[bool, ...]
    exponents: tuple[int, ...] | None
    one_by_one: bool = True


def known(scene: Scene) -> Known:
    """What can be told of a scene before its traced numbers have values."""
    visible = np.array(scene.visible, np.int32)
    reflects = _maybe_nonzero(scene.geom_specular, visible)
    return Known(
        rgb=_labels(scene.geom_rgb, visible),
        pattern=_labels(scene.pattern_rgb, visible),
        emission=_labels(scene.geom_emission, visible),
        specular=_labels(scene.geom_specular, visible),
        shininess=_labels(scene.geom_shininess, visible),
        radius=_labels(scene.geom_size[:, 0], visible),
        bounded=tuple(
            scene.geom_type[i] == PLANE and _maybe_nonzero(scene.geom_size, (i, slice(2))) for i in scene.visible
        ),
        patterned=any(scene.geom_pattern[i] != Pattern.PLAIN for i in scene.visible)
        or _maybe_nonzero(scene.pattern_rgb - 1.0, visible),
        emits=_maybe_nonzero(scene.geom_emission, visible),
        highlights=tuple(
            reflects and maybe
            for maybe in [
                _maybe_nonzero(scene.headlight_specular),
                *(_maybe_nonzero(scene.light_specular, i) for i in range(len(scene.light_kind))),
            ]
        ),
        exponents=_exponents(scene.geom_shininess, visible),
    )


def _exponents(shininess: Array, visible: np.ndarray) -> tuple[int, ...] | None:
    value = _value(shininess)
    if value is None:
        return None
    exponents = (value[visible] * 128.0).tolist()
    whole = all(e >= 1 and e == int(e) for e in exponents)
    return tuple(int(e) for e in exponents) if whole and len(set(exponents)) <= _FEW else None


def select(
    facts: Known,
    number: Int32[Array, " pixel"] | int,
    labels: Labels,
    values: Array | Sequence[Array],
    members: Sequence[int] | None = None,
) -> Float[Array, "*pixel"]:
    """Each pixel's value by the number of its geom. Pixels without a geom get any value.

    On CPU a chain of selects is faster than a gather for the few dozen geoms of a scene; on accelerators only where
    the values of very few differ.

    Args:
      facts: how the program is written.
      number: (pixel,) position among the visible geoms, or one for all pixels.
      labels: of each visible geom; where they are equal, only the first geom's value is used.
      values: of each visible geom: (n,), or n times (pixel,), which are not gathered from.
      members: the geoms that count, if not all; pixels of others get any value.
    """
    if isinstance(number, int):
        return values[number]
    groups: dict[int, list[int]] = defaultdict(list)
    for n in range(len(labels)) if members is None else members:
        groups[labels[n]].append(n)
    rest, *others = sorted(groups.values(), key=len, reverse=True) or [[]]
    if isinstance(values, Array) and not facts.one_by_one and sum(map(len, others)) > _FEW_SELECTS:
        return _lookup(values, number)
    result = jnp.broadcast_to(values[rest[0]], number.shape) if rest else jnp.zeros(number.shape)
    for group in others:
        for n in group:
            result = jnp.where(number == n, values[group[0]], result)
    return result


@jax.custom_batching.custom_vmap
def _lookup(values: Array, number: Int32[Array, " pixel"]) -> Array:
    return values.at[number.astype(jnp.uint32)].get(mode="promise_in_bounds")


@_lookup.def_vmap
def _lookup_batched(size: int, in_batched: list[bool], values: Array, number: Array) -> tuple[Array, bool]:
    """All images' values as one long array: XLA would write the pairs of image and number to memory."""
    if not in_batched[1]:
        number = jnp.broadcast_to(number, (size, *number.shape))
    if in_batched[0]:
        first = values.shape[1] * jnp.arange(size, dtype=number.dtype)
        number = number + jnp.expand_dims(first, range(1, number.ndim))
    return _lookup(values.reshape(-1), number), True


def _value(leaf: Array) -> np.ndarray | None:
    return None if isinstance(leaf, jax.core.Tracer) else np.asarray(leaf)


def _maybe_nonzero(leaf: Array, index: Any = slice(None)) -> bool:
    value = _value(leaf)
    return value is None or bool(np.any(value[index]))


def _labels(leaf: Array, visible: np.ndarray) -> Labels:
    value = _value(leaf)
    if value is None:
        return tuple(range(len(visible)))
    first: dict[bytes, int] = {}
    return tuple(first.setdefault(value[i].tobytes(), n) for n, i in enumerate(visible))
