"""Which entries of `State.obs` an adapter shows, and the bounds of their values."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_choice


class Bounds(NamedTuple):
    """An entry's lowest and highest value, shape and dtype, for one environment."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: np.dtype


class ObsView:
    """What is observed of `State.obs`: one array, or a dict of several.

    Depth is finite, for learners: nothing is farther than the far plane of MuJoCo's cameras, where MuJoCo's own depth
    images have the sky.

    Attributes:
      bounds: of each entry that is observed, by its key in `State.obs`.
      single: whether the observation is one array.
    """

    def __init__(self, env: PixelEnv, keys: str | Iterable[str] | None):
        """Chooses entries.

        Args:
          env: the environment.
          keys: a name alone for one array, several names for a dict. By default all images, alone if there is but one;
            the state where there are none.

        Raises:
          ConfigError: there is no entry of that name, no name, or it is none.
        """
        spec = env.observation_spec
        if keys is None:
            images = [name for name in spec if name != "state"]
            keys = images if len(images) > 1 else [*images, "state"][0]
        if not isinstance(keys, Iterable):
            raise ConfigError(f"obs_keys is {keys!r:.80}: it must be one name or several of {', '.join(spec)}")
        self.single = isinstance(keys, str)
        chosen = (keys,) if isinstance(keys, str) else tuple(keys)
        if not chosen:
            raise ConfigError(f"obs_keys is empty: name some of {', '.join(spec)}")
        for name in chosen:
            check_choice("obs_keys", name, tuple(spec))
        self.bounds = {name: _bounds(env, name, spec[name]) for name in chosen}

    def of(self, obs: dict[str, Any]) -> Any:
        """The part of an observation that is observed."""
        return self._chosen({name: _finite(name, obs[name], bounds) for name, bounds in self.bounds.items()})

    def space(self, box: Callable[[str, Bounds], Any], union: Callable[[dict[str, Any]], Any]) -> Any:
        """The space of observations, in a library's own classes.

        Args:
          box: makes an entry's space from its name and bounds.
          union: makes the space of a dict from those of its entries.
        """
        spaces = {name: box(name, bounds) for name, bounds in self.bounds.items()}
        return self._chosen(spaces) if self.single else union(spaces)

    def _chosen(self, entries: dict[str, Any]) -> Any:
        """The only entry, if one array is observed."""
        return next(iter(entries.values())) if self.single else entries


def _finite(name: str, array: Any, bounds: Bounds) -> Any:
    return jnp.minimum(array, np.float32(bounds.high)) if name.split("/")[0] == "depth" else array


def _bounds(env: PixelEnv, name: str, spec: jax.ShapeDtypeStruct) -> Bounds:
    kind, model = name.split("/")[0], env.physics.mj_model
    far = float(np.float32(model.vis.map.zfar * model.stat.extent))
    known = {"pixels": (0, 255), "depth": (0.0, far), "mask": (0, 1)}
    low, high = (-1, _largest_id(env)) if kind == "segmentation" else known.get(kind, (-np.inf, np.inf))
    return Bounds(low, high, spec.shape, np.dtype(spec.dtype))


def _largest_id(env: PixelEnv) -> int:
    """The largest number in a segmentation, of what distractors add to the scene too."""
    scene = env.scene
    if env.distractors.furnishes:
        scene, *_ = jax.eval_shape(lambda key: env.render_inputs(env.reset(key)), jax.random.key(0))
    return len(scene.geom_type) - 1
