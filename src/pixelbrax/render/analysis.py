"""Static analysis of a scene: facts about its leaves that are known at trace time and compiled into the program.

A scene that is a constant of the program, as in `PixelEnv`, often has one color for all limbs and no highlights.
Traced leaves (arguments of `jit`, mapped by `vmap`, differentiated) count as unknown and get the general program. The
image is the same either way.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from pixelbrax.render.scene import Pattern, Scene
from pixelbrax.render.shapes import PLANE

Labels = tuple[int, ...]  # equal labels mean equal values
_FEW_EXPONENTS = 3  # for up to this many exponents, repeated squaring is cheaper than an exponential


@dataclass(frozen=True)
class SceneFacts:
    """Hashable facts about a scene's leaves.

    Attributes:
      rgb, pattern, emission, specular, shininess, radius: a label of each visible geom; equal labels mean equal values.
      bounded: whether each visible geom is a plane that may have edges.
      patterned: whether any visible geom may have a texture or a factor on its color.
      emits: whether any visible geom may emit light.
      highlights: whether the headlight, and then each light, may produce a highlight.
      exponents: the specular exponent of each visible geom, if all are integers and few are distinct; else None.
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


def analyze(scene: Scene) -> SceneFacts:
    """Facts about a scene, from those of its leaves that are not traced."""
    visible = np.array(scene.visible, np.int32)
    reflects = _maybe_nonzero(scene.geom_specular, visible)
    return SceneFacts(
        rgb=_labels(scene.geom_rgb, visible),
        pattern=_labels(scene.pattern_rgb, visible),
        emission=_labels(scene.geom_emission, visible),
        specular=_labels(scene.geom_specular, visible),
        shininess=_labels(scene.geom_shininess, visible),
        radius=_labels(scene.geom_size, visible, 0),
        bounded=tuple(
            scene.geom_type[i] == PLANE.geom_type and _maybe_nonzero(scene.geom_size, (i, slice(2)))
            for i in scene.visible
        ),
        patterned=any(scene.geom_pattern[i] != Pattern.PLAIN for i in scene.visible)
        or _maybe_nonzero(scene.pattern_rgb, visible, less=1.0),
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
    return tuple(int(e) for e in exponents) if whole and len(set(exponents)) <= _FEW_EXPONENTS else None


def _value(leaf: Array) -> np.ndarray | None:
    return None if isinstance(leaf, jax.core.Tracer) else np.asarray(leaf)


def _maybe_nonzero(leaf: Array, index: Any = slice(None), less: float = 0.0) -> bool:
    value = _value(leaf)
    return value is None or bool(np.any(value[index] - less))


def _labels(leaf: Array, visible: np.ndarray, column: Any = ...) -> Labels:
    """Of the values, or of one of their columns; what is computed of a leaf would be traced where that is not."""
    value = _value(leaf)
    if value is None:
        return tuple(range(len(visible)))
    first: dict[bytes, int] = {}
    return tuple(first.setdefault(value[i, column].tobytes(), n) for n, i in enumerate(visible))
