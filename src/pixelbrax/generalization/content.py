"""Fingerprints of what a benchmark's images and motions follow from beside its settings: models, clips, code."""

import hashlib
from pathlib import Path

import numpy as np

import pixelbrax
from pixelbrax.distractors import SCENES, SPLITS, load_bank
from pixelbrax.generalization.benchmark import TaskRules
from pixelbrax.tasks import get_task

_CLIP_SIZE = 16
_CODE = ("physics", "tasks", "render", "distractors", "envs")
# What a model is made of: what is simulated, then what is seen.
_SIMULATED = ("body_parentid", "body_pos", "body_quat", "body_mass", "body_inertia", "jnt_type", "jnt_axis")
_SIMULATED += ("jnt_range", "dof_damping", "dof_armature", "geom_friction")
_SIMULATED += ("actuator_gear", "actuator_gainprm", "actuator_biasprm")
_SEEN = ("geom_type", "geom_size", "geom_pos", "geom_quat", "geom_rgba", "geom_matid", "site_pos", "site_rgba")
_SEEN += ("mat_rgba", "mat_texrepeat", "tex_data", "cam_pos", "cam_quat", "cam_fovy", "light_pos", "light_dir")
_SEEN += ("light_diffuse", "light_ambient", "light_specular")
_DIGITS = 5


def model_digest(rules: TaskRules) -> str:
    """SHA-256 of a task's model, as it is simulated and seen, to five digits."""
    settings = {"suite": True} if rules.physics == "suite" else {}
    model = get_task(rules.task).load_physics(rules.backend, **settings).mj_model
    found = hashlib.sha256(f"{model.opt.timestep:.{_DIGITS}g} {_rounded(model.opt.gravity)}".encode())
    for name in (*_SIMULATED, *_SEEN):
        found.update(f"{name} {_rounded(getattr(model, name))}".encode())
    return found.hexdigest()


def clips_digest() -> str:
    """SHA-256 of the scenes of both splits, at a small size."""
    found = hashlib.sha256()
    for split in SPLITS:
        found.update(load_bank(SCENES, split, _CLIP_SIZE, _CLIP_SIZE).frames.tobytes())
    return found.hexdigest()


def code_digest() -> str:
    """SHA-256 of the source of physics, tasks, renderer, distractors and environments."""
    found, source = hashlib.sha256(), Path(pixelbrax.__file__).parent
    for room in _CODE:
        for file in sorted((source / room).rglob("*.py")):
            found.update(f"{file.relative_to(source).as_posix()}\n{file.read_text(encoding='utf-8')}".encode())
    return found.hexdigest()


def _rounded(array: np.ndarray) -> str:
    """An array's shape and values; the last digits of a compiled model differ between machines."""
    if array.dtype.kind != "f":
        return f"{array.shape} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"
    return f"{array.shape} {' '.join(f'{x + 0.0:.{_DIGITS}g}' for x in array.ravel())}"
