"""TorchRL's interface: environments with pixels, and with gradients through the physics and through the pixels.

    from pixelbrax.adapters.torchrl import PixelBraxEnv

    env = PixelBraxEnv("halfcheetah", batch_size=[64], from_pixels=True)
    env.rollout(100)["pixels"]  # (64, 100, 64, 64, 3) uint8

The settings of TorchRL's `BraxEnv` have the same names here; docs/adapters.md says which defaults differ. Contract:
that of `torchrl.envs.EnvBase`, TorchRL 0.14.
"""

import functools
from collections.abc import Sequence
from typing import Any

from pixelbrax.adapters.stepping import known_settings, refuse
from pixelbrax.adapters.torchrl_wrapper import PixelBraxWrapper
from pixelbrax.envs import PixelEnv, make
from pixelbrax.errors import check_count, check_flag, check_keywords

# TorchRL is there: its absence is told by the import above.
import torch  # isort: skip
from torchrl.envs import ParallelEnv  # isort: skip
from torchrl.envs.common import _EnvPostInit  # isort: skip

__all__ = ["PixelBraxEnv", "PixelBraxWrapper"]


class _ParallelIfWorkers(_EnvPostInit):
    """Makes a `ParallelEnv` where there is more than one worker, as TorchRL's `BraxEnv` does."""

    def __call__(cls, *args: Any, num_workers: int | None = None, **kwargs: Any) -> Any:
        workers = 1 if num_workers is None else check_count("num_workers", num_workers)
        if workers == 1:
            return super().__call__(*args, **kwargs)
        make_worker = functools.partial(cls, *args, **kwargs)
        # JAX's threads do not survive a fork.
        return ParallelEnv(workers, make_worker, mp_start_method="spawn", metadata_from_workers=True)


class PixelBraxEnv(PixelBraxWrapper, metaclass=_ParallelIfWorkers):
    """An environment by its task's name, by TorchRL's interface: TorchRL's `BraxEnv`, with pixels.

    With `num_workers` above 1 the result is a `ParallelEnv` of that many processes, each with its own batch. On one
    device, a larger `batch_size` is faster than more workers.
    """

    def __init__(
        self,
        env_name: Any,
        *,
        from_pixels: bool = False,
        frame_skip: int | None = None,
        camera_id: Any = None,
        distractors: Any = None,
        frame_stack: int = 1,
        device: Any = None,
        batch_size: Sequence[int] | torch.Size | None = None,
        pixels_only: bool = False,
        pixels_key: str = "pixels",
        requires_grad: bool = False,
        functional: bool | None = None,
        soft: float = 1.5,
        cache_clear_frequency: int | bool | None = None,
        categorical_action_encoding: bool = False,
        allow_done_after_reset: bool = False,
        **settings: Any,
    ):
        """Makes the environments; the first `reset` and the first `step` compile.

        Args:
          env_name: one of `available_envs`, or whatever else `pixelbrax.make` takes.
          from_pixels: whether to render images; without them, nothing is rendered.
          frame_skip: frames for which each action is repeated: `action_repeat` of `pixelbrax.make`.
          camera_id: `camera` of `pixelbrax.make`; by default the task's own.
          distractors: visual distractors, as in `pixelbrax.make`.
          frame_stack: frames stacked into each image; by default one, for TorchRL's `CatFrames`.
          device: see `PixelBraxWrapper`, as for all settings up to `allow_done_after_reset`.
          batch_size: see there.
          pixels_only: see there.
          pixels_key: see there.
          requires_grad: see there.
          functional: see there.
          soft: see there.
          cache_clear_frequency: see there.
          categorical_action_encoding: of no effect: actions are continuous.
          allow_done_after_reset: see there.
          **settings: those of `pixelbrax.make`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self._task, settings = env_name, settings | {"frame_stack": frame_stack}
        super().__init__(
            _made(env_name, from_pixels, requires_grad, frame_skip, camera_id, distractors, settings),
            device=device,
            batch_size=batch_size,
            from_pixels=from_pixels,
            pixels_only=pixels_only,
            pixels_key=pixels_key,
            requires_grad=requires_grad,
            functional=functional,
            soft=soft,
            cache_clear_frequency=cache_clear_frequency,
            allow_done_after_reset=allow_done_after_reset,
        )

    @property
    def env_name(self) -> Any:
        """The task's name."""
        return self._task

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._task!r}, batch_size={list(self.batch_size)}, device={self.device})"


def _made(
    name: Any, pixels: bool, grad: bool, frame_skip: Any, camera: Any, distractors: Any, settings: dict[str, Any]
) -> PixelEnv:
    """The environment, from settings of which some have TorchRL's names."""
    check_keywords("PixelBraxEnv", settings, (*known_settings(PixelBraxEnv), "num_workers"))
    check_flag("from_pixels", pixels)
    if frame_skip is not None:
        refuse(settings, ("action_repeat",), "frame_skip says it")
        settings["action_repeat"] = check_count("frame_skip", frame_skip)
    if camera is not None:
        refuse(settings, ("camera",), "camera_id says it")
    chosen = {"camera": camera, "distractors": distractors}
    settings |= {name: value for name, value in chosen.items() if value is not None}
    refuse(settings, ("autoreset",), "TorchRL resets")
    if not pixels:
        refuse(settings, ("outputs",), "nothing is rendered without from_pixels=True")
    if not pixels or (grad and distractors is None):
        settings.setdefault("outputs", ())
    return make(name, autoreset="disabled", **settings)
