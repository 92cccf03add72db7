"""Frames per second of meshes: HalfCheetah with its capsules as meshes beside the capsules themselves, and a robot.

Usage: python benchmarks/meshes.py [--num-envs 256] [--size 64] [--seconds 6] [--json FILE]

The scenes take turns, and ratios are taken within a round. The robot is MJX's shadow hand: its meshes come with MuJoCo.
"""

import argparse
import itertools
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.bench_render import some_states
from pixelbrax.experiments.measure import rate, write_rows
from pixelbrax.render import Camera, GeomPose, Scene, orbit, render
from pixelbrax.render.mesh.triangles import make_mesh

ROUNDS = 5
AROUND, RINGS = 10, 10  # of a capsule: 200 triangles
SHADOW_HAND = Path(mujoco.__file__).parent / "mjx" / "test_data" / "shadow_hand" / "scene_right.xml"
_CAPSULE, _MESH = int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_MESH)


def capsule(radius: float, half_length: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a capsule along z: two poles, and rings around the axis between them."""
    up = np.linspace(np.pi / 2, 0, RINGS // 2 + 1)[1:]
    angle = 2 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(AROUND)], axis=1)
    upper = [np.cos(a) * radius * circle + [0, 0, half_length + radius * np.sin(a)] for a in up]
    lower = [ring * [1, 1, -1] for ring in upper[::-1]]
    pole = [0, 0, half_length + radius]
    vertices = np.concatenate([[pole], *upper, *lower, [np.negative(pole)]])
    here, right = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    faces = [np.stack([np.zeros_like(here), 1 + here, 1 + right], axis=1)]
    for first in 1 + AROUND * np.arange(RINGS - 1):
        a, b, c, d = first + here, first + right, first + AROUND + here, first + AROUND + right
        faces += [np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)]
    last = 1 + AROUND * (RINGS - 1)
    faces += [np.stack([np.full_like(here, len(vertices) - 1), last + right, last + here], axis=1)]
    return vertices, np.concatenate(faces)


def with_meshes(scene: Scene) -> Scene:
    """The scene with a mesh in place of each capsule."""
    kinds, places, meshes = list(scene.geom_type), list(scene.geom_mesh), []
    for i in scene.visible:
        if kinds[i] == _CAPSULE:
            vertices, faces = capsule(*np.asarray(scene.geom_size[i, :2]).tolist())
            kinds[i], places[i] = _MESH, len(meshes)
            meshes.append(make_mesh(vertices, faces, None, None))
    return replace(scene, geom_type=tuple(kinds), geom_mesh=tuple(places), meshes=tuple(meshes))


def hand_model() -> mujoco.MjModel:
    """MJX's shadow hand."""
    return mujoco.MjModel.from_xml_path(str(SHADOW_HAND))


def hand(num_envs: int, model: mujoco.MjModel) -> tuple[Scene, GeomPose, Camera]:
    """The shadow hand in random postures."""
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    poses = []
    for _ in range(num_envs):
        data.qpos[:] = model.qpos0
        low, high = model.jnt_range.T
        hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
        data.qpos[model.jnt_qposadr[hinges]] = rng.uniform(low, high)[hinges]
        mujoco.mj_kinematics(model, data)
        poses.append(GeomPose.from_mujoco(data))
    center = data.geom_xpos[model.geom_type == _MESH].mean(0)
    camera = orbit(jnp.array(center), 0.5, 120.0, -20.0, 50.0)
    return (
        Scene.from_mujoco(model),
        jax.tree.map(lambda *x: jnp.asarray(np.stack(x)), *poses),  # JAX would compile a program of that many arguments
        jax.tree.map(lambda x: jnp.repeat(x[None], num_envs, axis=0), camera),
    )


def scenes(num_envs: int) -> Iterator[tuple[str, Scene, GeomPose, Camera]]:
    """What is measured; the first is what others are compared with."""
    env = pixelbrax.make("halfcheetah")
    states = some_states(env, num_envs)
    yield "halfcheetah, capsules", env.scene, *states
    yield "halfcheetah, meshes", with_meshes(env.scene), *states
    yield "shadow hand", *hand(num_envs, hand_model())


def triangles(scene: Scene) -> int:
    """Of all visible geoms, but those without area."""
    corners = [np.asarray(mesh.corners) for mesh in scene.meshes]
    areas = [np.linalg.norm(np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]), axis=1) for c in corners]
    return sum(int((areas[k] > 0).sum()) for i in scene.visible if (k := scene.geom_mesh[i]) >= 0)


def main() -> None:
    """Prints a line for each scene."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=6.0, help="of measurement, for each scene")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    enable_compilation_cache()
    found, programs = list(scenes(args.num_envs)), []
    for _, scene, pose, camera in found:

        def images(pose: GeomPose, camera: Camera, scene: Scene = scene) -> jax.Array:
            return jax.vmap(lambda p, c: render(scene, p, c, args.size, args.size).rgb)(pose, camera)

        programs.append((jax.jit(images).lower(pose, camera).compile(), pose, camera))
    rates: list[list[float]] = [[] for _ in found]
    for _, (each, (program, *inputs)) in itertools.product(range(ROUNDS), zip(rates, programs, strict=True)):
        each.append(args.num_envs * rate(lambda program=program, x=inputs: program(*x), args.seconds / ROUNDS))
    rows: list[dict[str, Any]] = []
    for (name, scene, *_), each in zip(found, rates, strict=True):
        ratio = statistics.median(mine / theirs for mine, theirs in zip(each, rates[0], strict=True))
        rows.append(
            {
                "scene": name,
                "triangles": triangles(scene),
                "size": args.size,
                "num_envs": args.num_envs,
                "frames_per_second": round(statistics.median(each)),
                "of_the_first": round(ratio, 3),
            }
        )
        print(rows[-1], flush=True)
    write_rows(args.json, rows)


if __name__ == "__main__":
    main()
