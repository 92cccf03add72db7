"""Renders every distractor on every task cheaply: one compiled renderer per task, and small programs per distractor."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from pixelbrax.distractors import Distraction, DistractorLike, DistractorState, SceneContext, SceneView, resolve
from pixelbrax.envs import PixelEnv, camera_fn, camera_places, default_camera, default_visual_key
from pixelbrax.physics import RecordedPhysics
from pixelbrax.render import Camera, Frame, GeomPose, Scene, render, unpack
from pixelbrax.report.motion import FRAMES_A_SECOND
from pixelbrax.tasks import get_task

Seen = tuple[Scene, GeomPose, Camera]


class Stagehand:
    """A task's recorded motion, rendered under one distractor after another: `recorded_frames`, but faster."""

    def __init__(self, task: str, num_frames: int, image_size: int):
        """Records the motion.

        Args:
          task: a name of `pixelbrax.list_tasks()`.
          num_frames: frames of each episode.
          image_size: height and width, pixels.
        """
        known = get_task(task)
        self._task, self._size, self._num_frames = task, image_size, num_frames
        physics = RecordedPhysics.of_random_controls(known.load_physics().mj_model, num_frames, 1 / FRAMES_A_SECOND)
        env = PixelEnv(physics, known.camera, image_size=image_size, frame_stack=1, **known.env_settings)
        views = {"": camera_fn(physics.mj_model, known.camera or default_camera(physics.mj_model))}
        place = camera_places(physics.mj_model, views)[""]
        context = SceneContext.of(physics.mj_model, env.scene, image_size, image_size)
        self._context = replace(
            context, camera_offset=place.offset, body_offset=place.body_offset, world_unit=place.distance
        )
        self._distance = jnp.float32(place.distance)

        def seen(frame: Array) -> Seen:
            return env.render_inputs(replace(env.reset(jax.random.key(0)), physics=physics.at(frame)))

        self._seen = jax.jit(jax.vmap(seen))(jnp.arange(num_frames))
        self._draw = jax.jit(self._drawn, static_argnums=(1, 2, 3))

    def frames(self, distractors: DistractorLike, keys: Array) -> UInt8[np.ndarray, "episode frame height width 3"]:
        """One episode per PRNG key."""
        distraction = Distraction(resolve(distractors, self._task), self._context)
        several = distraction.composed

        @jax.jit
        def look_at(looks: DistractorState, frame: Array) -> Seen:
            scene, pose, camera = jax.tree.map(lambda x: x[frame], self._seen)
            view = SceneView(scene, camera, self._distance)

            def changed(state: DistractorState) -> Seen:
                after = distraction.observe_scene(state, view)
                return *distraction.furnish(state, after.scene, pose), after.camera

            return jax.vmap(changed)(looks)

        start, step = jax.jit(jax.vmap(distraction.init)), jax.jit(jax.vmap(distraction.step))
        change = jax.jit(jax.vmap(distraction.apply_frame)) if several.changes_frames else None
        looks, result = start(jax.vmap(default_visual_key)(keys)), []
        for k in range(self._num_frames):
            looks = step(looks) if k else looks
            seen = look_at(looks, jnp.int32(k))
            needs = several.needs_segmentation, several.needs_shadows, several.needs_reflections
            frame = self._draw(seen, *needs)
            packed = frame.packed
            if change is not None:
                looks, packed = change(looks, packed, frame.segmentation, seen[2])
            result.append(np.asarray(jax.vmap(unpack)(packed)))
        return np.stack(result, axis=1)

    def _drawn(self, seen: Seen, segmentation: bool, shadows: bool, reflections: bool) -> Frame:
        outputs = ("packed", "segmentation") if segmentation else ("packed",)
        exposure = "same_exposure" if shadows else False  # as the environment has it

        def draw(scene: Scene, pose: GeomPose, camera: Camera) -> Frame:
            size = self._size, self._size
            return render(scene, pose, camera, *size, outputs, shadows=exposure, reflections=reflections)

        return jax.vmap(draw)(*seen)
