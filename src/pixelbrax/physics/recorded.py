"""Recorded motion, played back to render a model without compiling an engine. For tests and benchmarks."""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.physics.base import PhysicsState


class RecordedPhysics:
    """Plays recorded poses frame by frame and stays at the last. Actions have no effect; rewards are 0."""

    model = None
    cheap_reset = True
    action_size = 1

    def __init__(
        self,
        model: mujoco.MjModel,
        xpos: Float[np.ndarray, "frame nbody 3"],
        xmat: Float[np.ndarray, "frame nbody 3 3"],
        dt: float,
    ):
        """Takes the poses of all bodies in each frame.

        Args:
          model: the model that has these bodies.
          xpos: world positions, meters.
          xmat: rotation matrices.
          dt: seconds between frames.
        """
        self.mj_model = model
        self.reward_weights: dict[str, float] = {}
        self.dt = dt
        self._xpos, self._xmat = (np.asarray(x, np.float32) for x in (xpos, xmat))

    @classmethod
    def of_random_controls(cls, model: mujoco.MjModel, num_frames: int, dt: float, seed: int = 0) -> "RecordedPhysics":
        """Motion that MuJoCo simulates under smoothed random controls.

        Args:
          model: the model.
          num_frames: number of frames, including the initial state.
          dt: seconds between them.
          seed: seeds the controls.
        """
        data, rng = mujoco.MjData(model), np.random.default_rng(seed)
        xpos, xmat = [], []
        for _ in range(num_frames):
            mujoco.mj_kinematics(model, data)
            xpos.append(data.xpos.copy())
            xmat.append(data.xmat.reshape(-1, 3, 3).copy())
            for _ in range(round(dt / model.opt.timestep)):
                data.ctrl[:] = 0.9 * data.ctrl + 0.3 * rng.normal(size=model.nu)
                mujoco.mj_step(model, data)
        return cls(model, np.stack(xpos), np.stack(xmat), dt)

    def with_model(self, model: Any) -> "RecordedPhysics":
        """Itself: a recording does not depend on the model."""
        return self

    def with_reward_weights(self, weights: Any) -> "RecordedPhysics":
        """Itself: the reward is always 0."""
        return self

    def reset(self, key: Array) -> PhysicsState:
        """The first frame."""
        return self.at(jnp.zeros((), jnp.int32))

    def step(self, state: PhysicsState, action: Array) -> PhysicsState:
        """The next frame."""
        return self.at(jnp.minimum(state.engine_state + 1, len(self._xpos) - 1))

    def coordinates(self, state: PhysicsState) -> Array:
        """A constant: a recording cannot diverge."""
        return jnp.zeros(1)

    def body_pose(self, state: PhysicsState) -> tuple[Array, Array]:
        """The poses of the current frame."""
        return jnp.asarray(self._xpos)[state.engine_state], jnp.asarray(self._xmat)[state.engine_state]

    def at(self, frame: Array) -> PhysicsState:
        """The state at a frame, () int32."""
        return PhysicsState(frame, frame.astype(jnp.float32)[None], jnp.zeros(()), jnp.array(False), {})
