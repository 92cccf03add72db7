"""Colors in float64 NumPy: MuJoCo's ray caster for what is seen and what is shaded, and the documented equations of
`pixelbrax.render.light`, `shade`, `pattern` and `sky`, written down a second time."""

import mujoco
import numpy as np

from pixelbrax.render import Camera, LightKind, Pattern, Scene
from tests.render.oracle import Truth, cast, pixel_directions


def colors(
    model: mujoco.MjModel, data: mujoco.MjData, scene: Scene, camera: Camera, height: int, width: int, shadows: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(height, width, 3) float64 colors, and (height, width) int, equal where one geom is seen in the same light."""
    truth = cast(model, data, camera, height, width)
    directions, length = pixel_directions(camera, height, width)
    hit = truth.ids.ravel() >= 0
    depth = np.where(hit, truth.depth.ravel(), 0.0)
    ids, normals = np.maximum(truth.ids.ravel(), 0), truth.normals.reshape(-1, 3)
    points, to_eye = np.asarray(camera.pos, np.float64) + depth[:, None] * directions, -directions / length[:, None]
    rgb, label = _of(scene.geom_rgb)[ids], np.where(hit, ids, -1)

    together = rgb * (_of(scene.geom_emission)[ids, None] + _of(scene.ambient))
    backward = np.broadcast_to(_of(camera.mat)[:, 2], points.shape)
    ambient, diffuse, gloss = _reflected(scene, ids, normals, to_eye, backward)
    together += rgb * (ambient * _of(scene.headlight_ambient) + diffuse * _of(scene.headlight_diffuse))
    together += gloss * _of(scene.headlight_specular)
    alone = []
    for i, kind in enumerate(scene.light_kind):
        unit, strength, reach = _arrives(scene, i, points)
        ambient, diffuse, gloss = (strength * x for x in _reflected(scene, ids, normals, to_eye, unit))
        light = rgb * (ambient * _of(scene.light_ambient)[i] + diffuse * _of(scene.light_diffuse)[i])
        light += gloss * _of(scene.light_specular)[i]
        if shadows and scene.light_castshadow[i]:
            lit = hit & (np.sum(normals * unit, 1) > 0)
            for p in np.flatnonzero(lit):
                lit[p] = _unobstructed(model, data, points[p] + 1e-6 * normals[p], unit[p], reach[p])
            label = label * 2 + lit
            alone.append(np.where(lit[:, None], np.clip(light, 0, 1), 0))
        else:
            together += light
        if kind == LightKind.SPOT:
            label = label * 2 + (strength[:, 0] > 0)
    color = (np.clip(together, 0, 1) + sum(alone)) * _pattern(scene, data, camera, truth, height)
    color = np.where(hit[:, None], np.minimum(color, 1), _sky(scene, directions / length[:, None]))
    return color.reshape(height, width, 3), label.reshape(height, width)


def _of(leaf) -> np.ndarray:
    return np.asarray(leaf, np.float64)


def _arrives(scene: Scene, i: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions to light `i`, (n, 1) what attenuation and cone leave of it, and distances in meters."""
    axis = _of(scene.light_dir)[i]
    if scene.light_kind[i] == LightKind.DIRECTIONAL:
        return np.broadcast_to(-axis, points.shape), np.ones((len(points), 1)), np.full(len(points), np.inf)
    toward = _of(scene.light_pos)[i] - points
    distance = np.linalg.norm(toward, axis=1)
    unit = toward / distance[:, None]
    strength = 1 / (distance[:, None] ** np.arange(3) @ _of(scene.light_attenuation)[i])
    if scene.light_kind[i] == LightKind.SPOT:
        cosine = -unit @ axis
        inside = cosine >= np.cos(np.deg2rad(_of(scene.light_cutoff)[i]))
        strength = np.where(inside, strength * np.maximum(cosine, 0) ** _of(scene.light_exponent)[i], 0)
    return unit, strength[:, None], distance


def _reflected(scene: Scene, ids: np.ndarray, normals: np.ndarray, to_eye: np.ndarray, to_light: np.ndarray):
    """(n, 1) strengths of ambient, diffuse and specular reflection of a light from these directions."""
    cosine = np.sum(normals * to_light, 1)
    half = to_eye + to_light
    half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12)
    shine = np.maximum(np.sum(normals * half, 1), 0) ** (128 * _of(scene.geom_shininess)[ids])
    gloss = np.where(cosine > 0, _of(scene.geom_specular)[ids] * shine, 0)
    return np.ones((len(ids), 1)), np.maximum(cosine, 0)[:, None], gloss[:, None]


def _unobstructed(model, data, point: np.ndarray, unit: np.ndarray, reach: float) -> bool:
    groups = np.array([1, 1, 1, 0, 0, 0], np.uint8)
    distance = mujoco.mj_ray(model, data, point, unit, groups, True, -1, np.zeros(1, np.int32))
    return distance < 0 or distance > reach


def _pattern(scene: Scene, data: mujoco.MjData, camera: Camera, truth: Truth, height: int) -> np.ndarray:
    """(n, 3) factors of plain geoms and of checkers, averaged over a box as wide as the pixel's footprint."""
    factors = np.ones((truth.ids.size, 3))
    for i in np.unique(truth.ids[truth.ids >= 0]):
        cells, mine = _of(scene.pattern_rgb)[i], truth.ids.ravel() == i
        share = np.zeros(mine.sum())
        if scene.geom_pattern[i] == Pattern.CHECKER:
            waves = np.ones(mine.sum())
            for k in range(2):
                value, right, up = (_texture(scene, data, camera, truth, i, k, height, s)[mine] for s in _STEPS)
                width = (np.abs(right - value) + np.abs(up - value)) / _STEP
                waves = waves * (_tent(value + width / 2) - _tent(value - width / 2)) / width
            share = 0.5 - 0.5 * waves
        factors[mine] = cells[0] + share[:, None] * (cells[1] - cells[0])
    return factors


_STEP = 1e-4  # pixels, over which differences stand for derivatives
_STEPS = ((0.0, 0.0), (_STEP, 0.0), (0.0, _STEP))


def _texture(scene, data, camera, truth, geom: int, k: int, height: int, step: tuple[float, float]) -> np.ndarray:
    """Texture coordinate `k` of a plane where the rays, shifted by `step` pixels, meet it."""
    directions, _ = pixel_directions(camera, *truth.ids.shape)
    pixel = 2 * np.tan(np.deg2rad(float(camera.fovy)) / 2) / height
    directions = directions + pixel * (_of(camera.mat)[:, :2] @ np.array(step))
    frame, offset = data.geom_xmat[geom].reshape(3, 3), np.asarray(camera.pos, np.float64) - data.geom_xpos[geom]
    with np.errstate(divide="ignore"):
        depth = -(offset @ frame[:, 2]) / (directions @ frame[:, 2])
    along = (offset + np.where(np.isfinite(depth), depth, 0)[:, None] * directions) @ frame[:, k]
    return _of(scene.texture_offset)[geom, k] + (1, -1)[k] * _of(scene.texture_scale)[geom, k] * along


def _tent(x: np.ndarray) -> np.ndarray:
    """Integral of the wave that is 1 and -1 on the halves of every unit."""
    part = x % 1
    return np.minimum(part, 1 - part)


def _sky(scene: Scene, unit: np.ndarray) -> np.ndarray:
    elevation = np.arcsin(np.clip(unit[:, 2], -1, 1)) * 2 / np.pi
    share = 0.5 + 0.5 * elevation / np.sqrt(0.5 + 0.5 * elevation**2)
    down, up = _of(scene.sky_rgb)
    return down + share[:, None] * (up - down)
