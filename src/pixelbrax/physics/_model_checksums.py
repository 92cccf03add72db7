"""Whether two compiled models are the same: checksums of what determines how they move and look."""

import hashlib
from collections.abc import Sequence

import mujoco
import numpy as np

# Arrays that determine a model's motion and appearance; arrays that a newer MuJoCo adds do not change the checksum.
_FIRST = """
body_parentid body_pos body_quat body_mass body_inertia body_ipos body_iquat jnt_type jnt_bodyid jnt_pos jnt_axis
jnt_range jnt_stiffness dof_damping dof_armature dof_frictionloss geom_type geom_bodyid geom_size geom_pos geom_quat
geom_rgba geom_friction geom_contype geom_conaffinity site_pos actuator_trnid actuator_gear actuator_gainprm
actuator_biasprm actuator_ctrlrange cam_pos cam_quat cam_fovy light_pos light_dir light_diffuse mat_rgba eq_data
""".split()

# The rest of what does, told since later; meshes are in inertias and sizes, and their vertices differ among compilers.
_REST = """
qpos0 qpos_spring key_qpos key_qvel key_act key_ctrl body_gravcomp body_mocapid jnt_limited jnt_margin jnt_solref
jnt_solimp jnt_actfrclimited jnt_actfrcrange dof_solref dof_solimp geom_condim geom_priority geom_solmix geom_solref
geom_solimp geom_margin geom_gap geom_fluid geom_group geom_matid geom_dataid hfield_data hfield_size tex_data
site_bodyid site_quat site_size actuator_trntype actuator_dyntype actuator_gaintype actuator_biastype actuator_dynprm
actuator_ctrllimited actuator_forcelimited actuator_forcerange actuator_actlimited actuator_actrange eq_type eq_obj1id
eq_obj2id eq_active0 eq_solref eq_solimp tendon_stiffness tendon_damping tendon_frictionloss tendon_lengthspring
tendon_limited tendon_range wrap_type wrap_objid wrap_prm pair_geom1 pair_geom2 pair_friction exclude_signature
sensor_type sensor_objid sensor_cutoff cam_mode cam_bodyid light_type mat_texid mat_texrepeat
mat_reflectance
""".split()
_OPTIONS = """
density viscosity wind magnetic integrator cone impratio disableflags enableflags disableactuator iterations
ls_iterations noslip_iterations tolerance
""".split()


def model_checksums(model: mujoco.MjModel) -> tuple[str, str]:
    """Checksums of a compiled model: of the arrays that were told first, and of the rest.

    Older runs and datasets know the first alone. Numbers are rounded, so that versions of MuJoCo agree unless they
    compile another model.
    """
    return _checksum(model, ("timestep", "gravity"), _FIRST), _checksum(model, _OPTIONS, _REST)


def _checksum(model: mujoco.MjModel, options: Sequence[str], arrays: Sequence[str]) -> str:
    """Checksum of some of a model's options and arrays."""
    total = hashlib.sha256(repr(tuple(np.asarray(getattr(model.opt, name)).tolist() for name in options)).encode())
    for name in arrays:
        values = np.asarray(getattr(model, name))
        # Rounded: compilers of MuJoCo differ in the last bits.
        total.update(f"{name}{values.shape}".encode() + np.round(values.astype(np.float32), 5).tobytes())
    return total.hexdigest()[:12]
