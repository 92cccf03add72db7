"""Shared by all rendering functions: `Shot`, all that is fixed for an image, and `Hit`, where its rays hit geoms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.render.analysis import Labels, SceneFacts
from pixelbrax.render.camera import Camera
from pixelbrax.render.rays import Pixels, Rays, Triple, Vector
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shapes import SHAPES, Geom, Shape
from pixelbrax.render.tolerances import FAR_BEHIND, ON_SURFACE, ON_SURFACE_ROUNDING
from pixelbrax.xla import select_row


class OneOf(NamedTuple):
    """A geom that all pixels share, of which a program knows that it is one of a few.

    Attributes:
      index: () its position among the visible geoms.
      members: the positions that it may be.
    """

    index: Int32[Array, ""]
    members: Sequence[int]


GeomIndex = Int32[Array, "*#pixels"] | int | OneOf
"""Position among the visible geoms, -1 for the sky; an int or `OneOf` is that of all pixels."""


class CameraGeoms(NamedTuple):
    """The visible geoms in the camera's frame; see `Geom`.

    Attributes:
      center: (n, 3) meters.
      mat: (n, 3, 3) geom-to-camera rotations.
      size: (n, 3) as in MuJoCo.
    """

    center: Float[Array, "n 3"]
    mat: Float[Array, "n 3 3"]
    size: Float[Array, "n 3"]


class Hit(NamedTuple):
    """Where rays hit geoms, in the camera's frame.

    Attributes:
      rays: the rays.
      geom_index: (ray,) position among the visible geoms, -1 where a ray hits none; or that of all rays.
      depth: (ray,) meters; 0 where a ray hits nothing.
      point: three arrays (ray,), meters.
      normal: three arrays (ray,), unit, outward.
      triangle: (ray,) number of the triangle that a ray hits, counted over the scene's meshes, where it hits a mesh;
        None if there are none.
    """

    rays: Rays
    geom_index: GeomIndex
    depth: Pixels
    point: Vector
    normal: Vector
    triangle: Int32[Array, " ray"] | None = None


@dataclass(frozen=True)
class Shot:
    """Everything that is fixed for an image.

    Attributes:
      scene: the rendered scene.
      facts: static facts about the scene.
      pose: the geoms' poses.
      camera: the camera.
      geoms: the visible geoms in the camera's frame, as rays from the camera meet them.
      casters: the same, as they cast shadows: those that contain the camera, too.
      shadows: whether shadows are rendered.
      same_exposure: whether what is not in shadow looks as it does without shadows.
      fog: whether fog is rendered.
      headlight: three (), the unit vector towards the headlight in the camera's frame; None: the camera has it.
      unrolled: whether the program is written geom by geom, as suits CPUs, or shape by shape, as suits accelerators:
        see `pixelbrax.xla.rows`.
    """

    scene: Scene
    facts: SceneFacts
    pose: GeomPose
    camera: Camera
    geoms: CameraGeoms
    casters: CameraGeoms
    shadows: bool
    same_exposure: bool
    fog: bool
    headlight: Triple | None
    unrolled: bool

    @property
    def transparent(self) -> list[int]:
        """Positions, among the visible geoms, of those that show what is behind them."""
        return [n for n, geom_id in enumerate(self.scene.visible) if geom_id in self.scene.transparent]

    @property
    def opaque(self) -> list[int]:
        """Positions of the other visible geoms."""
        return [n for n, geom_id in enumerate(self.scene.visible) if geom_id not in self.scene.transparent]

    def geom(self, n: int) -> Geom:
        """One of the visible geoms."""
        return Geom(self.geoms.center[n], self.geoms.mat[n], self.geoms.size[n], self.facts.bounded[n])

    def indices(self, *shapes: Shape, among: GeomIndex | None = None) -> list[int]:
        """Positions, among the visible geoms, of those that have one of these shapes.

        Args:
          *shapes: the shapes.
          among: if it is an int or `OneOf`, only such geoms count: the program has no code for others.
        """
        types = [shape.geom_type for shape in shapes]
        return [n for n in self.candidates(among) if self.scene.geom_type[self.scene.visible[n]] in types]

    def candidates(self, among: GeomIndex | None) -> Sequence[int]:
        """Positions that pixels may have, but for the sky's."""
        if isinstance(among, int):
            return [among]
        return among.members if isinstance(among, OneOf) else range(len(self.scene.visible))

    def mesh_indices(self, among: GeomIndex | None = None) -> list[int]:
        """Positions that pixels may have, of geoms that consist of triangles."""
        return [n for n in self.candidates(among) if self.scene.geom_mesh[self.scene.visible[n]] >= 0]

    def alike(self, among: Sequence[int] | None = None) -> dict[tuple[int, bool], list[int]]:
        """Positions of the visible geoms that have a shape, by what programs know of them.

        That is the type, and whether they are bounded.

        Args:
          among: the positions to consider, if not all.
        """
        groups: dict[tuple[int, bool], list[int]] = {}
        for n, geom_id in enumerate(self.scene.visible):
            if self.scene.geom_mesh[geom_id] >= 0 or (among is not None and n not in among):
                continue
            groups.setdefault((self.scene.geom_type[geom_id], self.facts.bounded[n]), []).append(n)
        return groups

    def select(
        self,
        geom_index: GeomIndex,
        values: Array | Sequence[Array],
        labels: Labels | None = None,
        members: Sequence[int] | None = None,
    ) -> Float[Array, "*pixel"]:
        """Each pixel's value by its geom.

        Args:
          geom_index: of each pixel.
          values: of each visible geom: (n,), or n arrays (pixel,).
          labels: of each visible geom, where geoms are known to share values.
          members: the geoms to select from, if not all; pixels of others and of the sky get an arbitrary value.
        """
        if isinstance(geom_index, int):
            return values[geom_index]
        labels = labels or tuple(range(len(self.scene.visible)))
        if isinstance(geom_index, OneOf):
            members = [n for n in geom_index.members if members is None or n in members]
        return select_row(position(geom_index), labels, values, members, unrolled=self.unrolled)

    def select_vector(self, geom_index: GeomIndex, values: Float[Array, "n 3"], members: Sequence[int]) -> Vector:
        """`select` for each of three components."""
        x, y, z = (self.select(geom_index, values[:, k], members=members) for k in range(3))
        return x, y, z


def take_shot(
    scene: Scene,
    facts: SceneFacts,
    pose: GeomPose,
    camera: Camera,
    *,
    shadows: bool = False,
    same_exposure: bool = False,
    fog: bool,
    unrolled: bool,
    headlight: Triple | None = None,
) -> Shot:
    """A `Shot`, with the visible geoms transformed into the camera's frame; by default the camera has the headlight."""
    offset, turned = scene.visible_rows(pose.xpos) - camera.pos[None], scene.visible_rows(pose.xmat)
    # Written out: accelerators round matrix products, and pass small ones to a library.
    x, y, z = (offset[:, i, None] * camera.mat[i][None] for i in range(3))
    a, b, c = (turned[:, i, None, :] * camera.mat[i][None, :, None] for i in range(3))
    geoms = CameraGeoms(x + y + z, a + b + c, scene.visible_rows(scene.geom_size))
    away = jnp.where(_contain_camera(scene, geoms)[:, None], jnp.array([0.0, 0.0, FAR_BEHIND]), geoms.center)
    seen = geoms._replace(center=away)
    return Shot(scene, facts, pose, camera, seen, geoms, shadows, same_exposure, fog, headlight, unrolled)


def _contain_camera(scene: Scene, geoms: CameraGeoms) -> Bool[Array, " n"]:
    """Whether the camera is inside each visible geom, or on its surface; never of planes and meshes.

    MuJoCo's renderer shows the fronts of geoms only, and all of theirs are behind the camera: a camera in a head looks
    out of it. (MuJoCo's rays would meet the far side.)
    """
    types = np.array([scene.geom_type[geom_id] for geom_id in scene.visible])
    local = jnp.stack([jnp.abs(jnp.sum(geoms.mat[:, :, k] * geoms.center, axis=1)) for k in range(3)], axis=1)
    size = geoms.size * (1.0 + ON_SURFACE_ROUNDING) + ON_SURFACE
    inside = jnp.zeros(len(types), bool)
    for shape in SHAPES.values():
        if shape.contains is not None and (own := types == shape.geom_type).any():
            inside |= jnp.asarray(own) & shape.contains(local, size)
    return inside


def is_one_of(geom_index: GeomIndex, members: Sequence[int]) -> Bool[Array, "*pixel"]:
    """Whether each pixel's geom is one of these."""
    if isinstance(geom_index, int):
        return jnp.array(geom_index in members)
    if isinstance(geom_index, OneOf) and set(geom_index.members) <= set(members):
        return jnp.array(True)
    index = position(geom_index)
    result = jnp.zeros(index.shape, bool)
    for n in members:
        result |= index == n
    return result


def is_sky(geom_index: GeomIndex) -> Bool[Array, "*pixel"]:
    """Whether each pixel shows no geom."""
    return jnp.array(False) if isinstance(geom_index, OneOf) else jnp.asarray(geom_index < 0)


def position(geom_index: GeomIndex) -> Int32[Array, "*pixel"]:
    """Each pixel's position among the visible geoms, or that of all."""
    return geom_index.index if isinstance(geom_index, OneOf) else jnp.asarray(geom_index, jnp.int32)
