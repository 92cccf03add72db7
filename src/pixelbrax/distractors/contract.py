"""What the methods of a distractor must give, checked by their shapes before anything is compiled.

What a distractor gives goes into programs that cannot complain: a state of another shape breaks a loop far away, and an
image of another size or dtype is drawn as garbage.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.distractors.base import Distractor, Picture, Stage, View
from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera


def checked(distractor: Distractor, stage: Stage) -> Distractor:
    """Prepares a distractor for a stage, and checks what its methods give there.

    They are traced, one after the other, as a compiled program would call them.

    Raises:
      ConfigError: a method gives something of another type, structure, shape or dtype than it must; the message names
        the distractor's class and the method.
    """
    name = type(distractor).__name__
    prepared: Any = distractor.prepare(stage)
    if not isinstance(prepared, Distractor):
        raise ConfigError(f"{name}.prepare gives a {type(prepared).__name__}: it must give a Distractor")
    key = jax.eval_shape(lambda: jax.random.key(0))
    view, picture = _view(stage), _picture(stage, prepared.needs_segmentation)
    state = _traced(prepared, "init", lambda key: prepared.init(key, stage), key)
    after = _traced(prepared, "step", lambda state, key: prepared.step(state, key, stage), state, key)
    _check_same(f"{name}.step", "a state", after, "init", state)
    kept = _traced(prepared, "remember", lambda state, seen: prepared.remember(state, seen, stage), state, picture)
    _check_same(f"{name}.remember", "a state", kept, "init", state)
    drawn = _traced(prepared, "apply_scene", lambda state, view: prepared.apply_scene(state, view, stage), state, view)
    _check_type(f"{name}.apply_scene", drawn, View)
    _check_type(f"{name}.apply_scene", drawn.scene, type(stage.scene), "scene")
    _check_type(f"{name}.apply_scene", drawn.camera, Camera, "camera")
    _check_same(f"{name}.apply_scene", "a view", drawn, "the view before it", view)
    seen = _traced(
        prepared, "apply_frame", lambda state, seen: prepared.apply_frame(state, seen, stage), state, picture
    )
    _check_type(f"{name}.apply_frame", seen, Picture)
    _check_same(f"{name}.apply_frame", "a picture", seen, "the picture before it", picture)
    return prepared


def _view(stage: Stage) -> View:
    """Shapes of what is drawn."""
    scene = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), stage.scene)
    camera = Camera(_float((3,)), _float((3, 3)), _float(()))  # pyright: ignore[reportArgumentType]
    return View(scene, camera, _float(()))


def _picture(stage: Stage, segmented: bool) -> Picture:
    size = (stage.height, stage.width)
    return Picture(_float((3, *size)), jax.ShapeDtypeStruct(size, jnp.int32) if segmented else None)  # pyright: ignore


def _float(shape: tuple[int, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _traced(distractor: Distractor, method: str, call: Callable[..., Any], *args: Any) -> Any:
    """The shapes of what a method gives; an error of its own says in which class and method it arose."""
    name = f"{type(distractor).__name__}.{method}"
    try:
        return jax.eval_shape(call, *args)
    except ConfigError:
        raise
    except jax.errors.JAXTypeError as e:
        raise ConfigError(
            f"{name} must know an array's numbers, which are only there when the compiled program runs: use jnp.where "
            "or jax.lax.cond in place of `if`, and jax.numpy in place of numpy"
        ) from e
    except Exception as e:
        if "not a valid JAX type" in str(e):
            raise ConfigError(f"{name} gives what is no pytree of arrays") from e
        e.add_note(f"This is {name}, traced as in a compiled program.")
        raise


def _check_type(method: str, given: Any, kind: type, part: str = "") -> None:
    if not isinstance(given, kind):
        where = f" a {kind.__name__} as {part}" if part else f" a {kind.__name__}"
        what = "an array" if isinstance(given, jax.ShapeDtypeStruct) else f"a {type(given).__name__}"
        raise ConfigError(f"{method} gives {what}: it must give{where}")


def _check_same(method: str, what: str, given: Any, origin: str, expected: Any) -> None:
    """Refuses leaves of other names, shapes or dtypes; what is static may differ."""
    leaves, before = _leaves(given), _leaves(expected)
    for path, leaf in leaves.items():
        if path not in before:
            raise ConfigError(f"{method} gives {what} with {path or 'an array'}, which {origin} has not")
        if _told(leaf) != _told(before[path]):
            where = f" whose {path.lstrip('.')} is" if path else " that is"
            raise ConfigError(
                f"{method} gives {what}{where} {_told(leaf)}: it must be {_told(before[path])}, as in {origin}"
            )
    if lost := [path for path in before if path not in leaves]:
        raise ConfigError(f"{method} gives {what} without {lost[0].lstrip('.') or 'an array'}, which {origin} has")


def _leaves(tree: Any) -> dict[str, Array]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _told(leaf: Any) -> str:
    return f"{tuple(leaf.shape)} {leaf.dtype}"
