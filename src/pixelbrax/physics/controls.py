"""Actions in [-1, 1] as controls of a model's actuators."""

import mujoco
import numpy as np
from jaxtyping import Float


def control_scale(model: mujoco.MjModel) -> tuple[Float[np.ndarray, " nu"], Float[np.ndarray, " nu"]]:
    """Middle and reach of each control: middle + reach * action spans the `ctrlrange`.

    Where an actuator has none they are 0 and 1, and actions reach it unchanged.
    """
    limited = model.actuator_ctrllimited.astype(bool)
    low, high = model.actuator_ctrlrange.T
    middle, reach = np.where(limited, (low + high) / 2, 0.0), np.where(limited, (high - low) / 2, 1.0)
    return middle.astype(np.float32), reach.astype(np.float32)
