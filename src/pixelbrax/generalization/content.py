"""Fingerprints of what a benchmark's images and motions follow from beside its settings: models, clips, code."""

import hashlib
from pathlib import Path
from typing import Any

import mujoco
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
# What else is simulated: fingerprints of models were locked without it.
_DYNAMICS = ("qpos0", "qpos_spring", "body_ipos", "body_iquat", "body_gravcomp", "jnt_pos", "jnt_stiffness")
_DYNAMICS += ("jnt_limited", "jnt_margin", "jnt_solref", "jnt_solimp", "jnt_actfrclimited", "jnt_actfrcrange")
_DYNAMICS += ("dof_frictionloss", "dof_solref", "dof_solimp", "geom_contype", "geom_conaffinity", "geom_condim")
_DYNAMICS += ("geom_priority", "geom_solmix", "geom_solref", "geom_solimp", "geom_margin", "geom_gap")
_DYNAMICS += ("exclude_signature", "eq_type", "eq_obj1id", "eq_obj2id", "eq_active0", "eq_data", "eq_solref")
_DYNAMICS += ("eq_solimp", "tendon_limited", "tendon_range", "tendon_stiffness", "tendon_damping", "wrap_type")
_DYNAMICS += ("wrap_objid", "wrap_prm")
_DYNAMICS += ("actuator_trntype", "actuator_trnid", "actuator_dyntype", "actuator_dynprm", "actuator_gaintype")
_DYNAMICS += ("actuator_biastype", "actuator_ctrllimited", "actuator_ctrlrange", "actuator_forcelimited")
_DYNAMICS += ("actuator_forcerange", "numeric_data")  # the last: Brax's settings of its engines
_OPTIONS = ("integrator", "cone", "solver", "iterations", "ls_iterations", "tolerance", "ls_tolerance", "impratio")
_OPTIONS += ("density", "viscosity", "wind", "disableflags", "enableflags")
_DIGITS = 5


def model_digest(rules: TaskRules) -> str:
    """SHA-256 of a task's model, as it is simulated and seen, to five digits."""
    model = _model(rules)
    found = hashlib.sha256(f"{model.opt.timestep:.{_DIGITS}g} {_rounded(model.opt.gravity)}".encode())
    return _of_arrays(found, model, (*_SIMULATED, *_SEEN))


def dynamics_digest(rules: TaskRules) -> str:
    """SHA-256 of what else a task's model is simulated by: contacts, springs, limits, the solver; to five digits."""
    model = _model(rules)
    found = hashlib.sha256()
    for name in _OPTIONS:
        found.update(f"{name} {_rounded(np.asarray(getattr(model.opt, name)))}".encode())
    return _of_arrays(found, model, _DYNAMICS)


def _model(rules: TaskRules) -> mujoco.MjModel:
    settings = {"suite": True} if rules.physics == "suite" else {}
    return get_task(rules.task).load_physics(rules.backend, **settings).mj_model


def _of_arrays(found: Any, model: mujoco.MjModel, names: tuple[str, ...]) -> str:
    for name in names:
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
