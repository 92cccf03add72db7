"""`make`: a registered task as an environment."""

from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.physics.brax import make_brax_physics
from pixelbrax.tasks import get_task


def make(
    name: str,
    image_size: int = 64,
    frame_stack: int = 3,
    action_repeat: int = 1,
    episode_length: int = 1000,
    backend: str | None = None,
    grayscale: bool = False,
) -> PixelEnv:
    """A task that is observed through a camera.

    Args:
      name: one of `pixelbrax.list_envs()`.
      image_size: height and width of the observation in pixels, at least 8.
      frame_stack: number of successive frames in one observation.
      action_repeat: physics steps ("frames") an action lasts. Only the last is rendered; rewards are summed.
      episode_length: frames after which an episode is truncated.
      backend: Brax backend; by default the task's own.
      grayscale: one luminance channel a frame instead of three colors.

    Raises:
      ConfigError: a name or a number cannot be used.
    """
    task = get_task(name)
    if backend is None:
        backend = task.backends[0]
    elif backend not in task.backends:
        raise ConfigError(f"environment {name!r} has no backend {backend!r}: it runs on {', '.join(task.backends)}")
    physics = make_brax_physics(name, backend)
    task.look.apply(physics.mj_model)
    return PixelEnv(
        physics,
        task.camera,
        image_size=image_size,
        frame_stack=frame_stack,
        action_repeat=action_repeat,
        episode_length=episode_length,
        grayscale=grayscale,
    )
