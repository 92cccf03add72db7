"""Which parts of a Brax system an engine does not read: it holds MJX's beside its own, and each engine reads one."""

from collections.abc import Iterable

from pixelbrax.physics.scales import OF_VECTORS

_TWICE = {
    "body_mass": ("link.inertia.mass",),
    "body_inertia": ("link.inertia.i",),
    "body_ipos": ("link.inertia.transform.pos",),
    "dof_damping": ("dof.damping",),
    "dof_armature": ("dof.armature",),
    "jnt_stiffness": ("dof.stiffness",),
    "jnt_range": ("dof.limit",),
    "actuator_gainprm": ("actuator.gain",),
    "actuator_biasprm": ("actuator.bias_q", "actuator.bias_qd"),
    "actuator_ctrlrange": ("actuator.ctrl_range",),
    "actuator_forcerange": ("actuator.force_range",),
    "actuator_gear": ("actuator.gear",),
    "opt.gravity": ("gravity",),
}
"""Parts that a system has twice: MJX's name, which "mjx" reads, and Brax's names, which Brax's own engines read."""
_OF_JOINTS = ("dof.damping", "dof.armature", "dof.stiffness")
"""Which the engines of vectors do not read under either name."""


def unread_by(engine: str, changed: Iterable[str]) -> list[str]:
    """What a function changes for nothing, one line each.

    Args:
      engine: one of Brax's.
      changed: names of the parts of the system that the function changes.
    """
    changed, lines = set(changed), []
    for of_mjx, of_brax in _TWICE.items():
        unread, read = (of_brax, (of_mjx,)) if engine == "mjx" else ((of_mjx,), of_brax)
        nothing = engine in OF_VECTORS and of_brax[0] in _OF_JOINTS
        given = changed.intersection((*unread, *read) if nothing else unread)
        if given and (nothing or not changed.intersection(read)):
            remedy = "leave it out" if nothing else f"change {' and '.join(map(repr, read))} (too)"
            lines.append(f"changes {min(given)!r}, which Brax's {engine!r} engine does not read: {remedy}")
    return lines
