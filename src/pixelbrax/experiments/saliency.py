"""What a policy looks at: how its action depends on each pixel."""

from collections.abc import Callable, Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from pixelbrax.networks import ActionDistribution
from pixelbrax.report import Recording, Saliency
from pixelbrax.training import RunDir, TrainingRun
from pixelbrax.xla import in_float32

_PIXELS = "pixels"
_GRID = 16  # places along a side at which the image is blurred

Acting = Callable[[Mapping[str, Array]], ActionDistribution]
"""Maps a batch of observations to distributions of actions."""


@in_float32
def saliency_of(policy: Acting, episode: Recording, channels: int) -> Saliency | None:
    """What a policy looks at in an episode, by both maps below; None if no images were kept of it.

    Args:
      policy: as for the maps; may be traced.
      episode: of the policy.
      channels: of a frame.
    """
    if _PIXELS not in episode.observations:
        return None

    @jax.jit
    def maps(observation: dict[str, Array]) -> tuple[Array, Array]:
        return gradient_map(policy, observation), occlusion_map(policy, observation)

    gradient, occlusion = maps(dict(episode.observations))
    newest = episode.observations[_PIXELS][..., -channels:]
    return Saliency(
        frames=np.ascontiguousarray(np.broadcast_to(newest, (*newest.shape[:3], 3))),
        gradient=np.asarray(gradient),
        occlusion=np.asarray(occlusion),
        seconds=episode.moments,
    )


def save_saliency(
    run: RunDir, training_run: TrainingRun, variables: tuple[PyTree, PyTree], updates: int, episode: Recording
) -> None:
    """Writes what a run's policy looks at, for its report; nothing if it reads no images.

    Args:
      run: its folder.
      training_run: its policy and environment.
      variables: parameters and statistics of the policy.
      updates: after which it was taken.
      episode: of that policy.
    """
    with training_run.progress.busy("computing what the policy looks at"):
        found = saliency_of(partial(training_run.policy, variables), episode, training_run.env.images.channels)
    if found is not None:
        found.save(run.saliency_file)
        run.note_recorded(run.saliency_file, updates)


def gradient_map(policy: Acting, observation: Mapping[str, Array]) -> Float[Array, "batch height width"]:
    """How much the mode of the action changes per level of each pixel: Simonyan et al. 2013 (arXiv 1312.6034).

    The Euclidean norm of the derivatives of all actions by all channels of all frames there.

    Args:
      policy: must accept pixels as floats.
      observation: a batch; "pixels" is (batch, height, width, channels) uint8.
    """
    pixels = observation[_PIXELS].astype(jnp.float32)
    action, pull = jax.vjp(lambda pixels: _mode(policy, observation, pixels), pixels)
    each = jnp.eye(action.shape[-1])[:, None] * jnp.ones_like(action)
    (derivatives,) = jax.vmap(pull)(each)
    return jnp.sqrt(jnp.sum(derivatives**2, axis=(0, -1)))


def occlusion_map(
    policy: Acting, observation: Mapping[str, Array], grid: int = _GRID
) -> Float[Array, "batch height width"]:
    """How much the mode of the action changes where all frames are blurred around a pixel: Greydanus et al. 2018.

    The Euclidean norm of the change (arXiv 1711.00138, section 3, where it is half of its square). Place and blur are
    Gaussian; their standard deviations are 5 and 3 pixels of an image of height 80, as there.

    Args:
      policy: must accept pixels as floats.
      observation: as for `gradient_map`.
      grid: places along each side; between them the map is interpolated.
    """
    pixels = observation[_PIXELS].astype(jnp.float32)
    height, width = pixels.shape[1:3]
    place, blur = 5 * height / 80, 3 * height / 80
    down, across = (_gaussians((jnp.arange(grid) + 0.5) * size / grid, size, place) for size in (height, width))
    blurred = _blurred(pixels, blur)

    def change(number: Array) -> Float[Array, "grid grid"]:
        one = {name: x[number][None] for name, x in observation.items()}
        image = pixels[number]

        def at(row: Array, column: Array) -> Array:
            share = (row[:, None] * column)[..., None]
            return (1 - share) * image + share * blurred[number]

        images = jax.vmap(jax.vmap(at, (None, 0)), (0, None))(down, across).reshape(grid**2, *image.shape)
        many = {name: jnp.broadcast_to(x, (grid**2, *x.shape[1:])) for name, x in one.items()}
        moved = _mode(policy, many, images) - _mode(policy, one, image[None])
        return jnp.linalg.norm(moved, axis=-1).reshape(grid, grid)

    coarse = jax.lax.map(change, jnp.arange(len(pixels)))
    return jax.image.resize(coarse, (len(pixels), height, width), "linear")


def _mode(policy: Acting, observation: Mapping[str, Array], pixels: Array) -> Float[Array, "batch action_size"]:
    distribution = policy(dict(observation) | {_PIXELS: pixels})
    return distribution.action(distribution.mode())


def _gaussians(centers: Array, size: int, spread: float) -> Float[Array, "center size"]:
    """Bells of height 1 over the middles of pixels."""
    return jnp.exp(-0.5 * ((jnp.arange(size) + 0.5 - centers[:, None]) / spread) ** 2)


def _blurred(pixels: Float[Array, "batch height width channels"], spread: float) -> Array:
    """Gaussian blur; at the borders the bell is cut off."""
    height, width = pixels.shape[1:3]
    rows, columns = (_gaussians(jnp.arange(size) + 0.5, size, spread) for size in (height, width))
    rows, columns = (x / x.sum(1, keepdims=True) for x in (rows, columns))
    return jnp.einsum("ih,bhwc,jw->bijc", rows, pixels, columns, precision="highest")
