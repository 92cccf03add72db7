"""Checks of what a distractor's methods return, by abstract evaluation before anything is compiled.

Without them, a state of another shape would break a scan far away, and an image of another size or dtype would show as
garbage.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, SceneView
from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, Scene

_INHERITED = Distractor.observe_scene  # it is `apply_scene`


def checked(distractor: Distractor, context: SceneContext) -> Distractor:
    """Prepares a distractor for a context, and checks what its methods return there.

    They are traced, one after the other, as a compiled program would call them.

    Raises:
      ConfigError: a method returns a wrong type, structure, shape or dtype; the message names
        the distractor's class and the method.
    """
    name = type(distractor).__name__
    prepared = _prepared(distractor, context)
    key = jax.eval_shape(lambda: jax.random.key(0))
    params = _traced(prepared, "params", lambda: prepared.params)

    def of(params: Any) -> Distractor:  # as a compiled program has it: settings that are data are traced
        return prepared.with_params(params)

    view, frame = _view(context), _frame(context, prepared.needs_segmentation)
    state = _traced(prepared, "init", lambda p, key: of(p).init(key, context), params, key)
    after = _traced(prepared, "step", lambda p, state, key: of(p).step(state, key, context), params, state, key)
    _check_state(f"{name}.step", after, state)
    kept = _traced(
        prepared, "remember", lambda p, state, seen: of(p).remember(state, seen, context), params, state, frame
    )
    _check_state(f"{name}.remember", kept, state)
    for method in ("apply_scene", *(["observe_scene"] if type(prepared).observe_scene is not _INHERITED else [])):
        changed = _traced(
            prepared, method, lambda p, *given, m=method: getattr(of(p), m)(*given, context), params, state, view
        )
        _check_type(f"{name}.{method}", changed, SceneView)
        _check_type(f"{name}.{method}", changed.scene, type(context.scene), "scene")
        _check_type(f"{name}.{method}", changed.camera, Camera, "camera")
        _check_same(f"{name}.{method}", "a view", changed, "the view before it", view)
    furnished = _traced(
        prepared,
        "furnish",
        lambda p, s, scene, pose: of(p).furnish(s, scene, pose, context),
        params,
        state,
        view.scene,
        _pose(context),
    )
    _check_furnished(f"{name}.furnish", furnished)
    seen = _traced(
        prepared, "apply_frame", lambda p, state, seen: of(p).apply_frame(state, seen, context), params, state, frame
    )
    _check_type(f"{name}.apply_frame", seen, RenderedFrame)
    _check_same(f"{name}.apply_frame", "a frame", seen, "the frame before it", frame)
    return prepared


def _prepared(distractor: Distractor, context: SceneContext) -> Distractor:
    name = f"{type(distractor).__name__}.prepare"
    try:
        prepared: Any = distractor.prepare(context)
    except Exception as e:
        if not isinstance(e, ConfigError):
            e.add_note(f"This is {name}.")
        raise
    if not isinstance(prepared, Distractor):
        raise ConfigError(f"{name} returns a {type(prepared).__name__}: it must return a Distractor")
    return prepared


def _view(context: SceneContext) -> SceneView:
    """Shapes of the scene and camera."""
    scene = jax.tree.map(lambda x: jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)), context.scene)
    return SceneView(scene, _camera(), _float(()))


def _pose(context: SceneContext) -> GeomPose:
    count = len(context.scene.geom_type)
    return GeomPose(_float((count, 3)), _float((count, 3, 3)))


def _frame(context: SceneContext, segmented: bool) -> RenderedFrame:
    size = (context.height, context.width)
    segmentation: Any = jax.ShapeDtypeStruct(size, jnp.int32) if segmented else None
    return RenderedFrame(_float((3, *size)), segmentation, _camera())


def _camera() -> Camera:
    return Camera(_float((3,)), _float((3, 3)), _float(()))  # pyright: ignore[reportArgumentType]


def _float(shape: tuple[int, ...]) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _traced(distractor: Distractor, method: str, call: Callable[..., Any], *args: Any) -> Any:
    """The shapes of what a method returns; errors raised in it name the class and the method."""
    name = f"{type(distractor).__name__}.{method}"
    try:
        return jax.eval_shape(call, *args)
    except ConfigError:
        raise
    except jax.errors.JAXTypeError as e:
        raise ConfigError(
            f"{name} needs the values of an array, which are unknown until the compiled program runs: use jnp.where "
            "or jax.lax.cond in place of `if`, and jax.numpy in place of numpy"
        ) from e
    except Exception as e:
        if "not a valid JAX type" in str(e):
            raise ConfigError(f"{name} returns something that is no pytree of arrays") from e
        e.add_note(f"This is {name}, traced as in a compiled program.{_of_segmentation(args)}")
        raise


def _of_segmentation(args: tuple[Any, ...]) -> str:
    """What to know of a method that was given a frame without segmentation, where it may want one; else empty."""
    if any(isinstance(given, RenderedFrame) and given.segmentation is None for given in args):
        return " Its frame has a segmentation only where the property needs_segmentation is True."
    return ""


def _check_type(method: str, given: Any, kind: type, part: str = "") -> None:
    if not isinstance(given, kind):
        where = f" a {kind.__name__} as {part}" if part else f" a {kind.__name__}"
        what = "an array" if isinstance(given, jax.ShapeDtypeStruct) else f"a {type(given).__name__}"
        raise ConfigError(f"{method} returns {what}: it must return{where}")


def _check_furnished(method: str, given: Any) -> None:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ConfigError(
            f"{method} returns a {type(given).__name__}: it must return a scene and the poses of its geoms"
        )
    scene, pose = given
    _check_type(method, scene, Scene, "scene")
    _check_type(method, pose, GeomPose, "poses")
    if pose.xpos.shape[0] != len(scene.geom_type):
        raise ConfigError(
            f"{method} returns a scene of {len(scene.geom_type)} geoms and poses of {pose.xpos.shape[0]}: each geom "
            "needs one (add_geoms, add_poses)"
        )


def _check_state(method: str, given: Any, initial: Any) -> None:
    """Refuses a state of another structure than the initial one, which a loop could not carry."""
    _check_same(method, "a state", given, "init", initial)
    after, before = jax.tree.structure(given), jax.tree.structure(initial)
    if after != before:
        raise ConfigError(f"{method} returns a state that is {after}: it must be {before}, as in init")


def _check_same(method: str, what: str, given: Any, origin: str, expected: Any) -> None:
    """Refuses leaves of other names, shapes or dtypes; static fields may differ."""
    leaves, before = _leaves(given), _leaves(expected)
    for path, leaf in leaves.items():
        if path not in before:
            raise ConfigError(f"{method} returns {what} with {path or 'an array'}, which {origin} does not have")
        if _spec(leaf) != _spec(before[path]):
            where = f" whose {path.lstrip('.')} is" if path else " that is"
            raise ConfigError(
                f"{method} returns {what}{where} {_spec(leaf)}: it must be {_spec(before[path])}, as in {origin}"
            )
    if lost := [path for path in before if path not in leaves]:
        raise ConfigError(f"{method} returns {what} without {lost[0].lstrip('.') or 'an array'}, which {origin} has")


def _leaves(tree: Any) -> dict[str, Array]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _spec(leaf: Any) -> str:
    return f"{tuple(leaf.shape)} {leaf.dtype}"
