"""Adam on clipped gradients, with a learning rate that decays linearly or adapts to the policy's KL divergence."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int32, PyTree

from pixelbrax.errors import check_count
from pixelbrax.learning.config import ADAPTED_RATES, GradientConfig, OnPolicyConfig

_FACTOR = 1.5  # of a change of an adaptive learning rate


class LearningRateState(NamedTuple):
    """The learning rate; () float32."""

    learning_rate: Float[Array, ""]


class DecayState(NamedTuple):
    """A learning rate that decays linearly: data, so that runs which differ in it share a compiled program.

    Attributes:
      count: () int32, gradient steps so far, at most `num_steps`.
      first: () float32, the learning rate of the first step.
      last: () float32, that of all steps after the decay.
      num_steps: () int32, steps that the decay takes.
    """

    count: Int32[Array, ""]
    first: Float[Array, ""]
    last: Float[Array, ""]
    num_steps: Int32[Array, ""]

    def after_step(self) -> Self:
        """With one more step counted."""
        return self._replace(count=jnp.minimum(self.count + 1, self.num_steps))


def make_optimizer(
    config: GradientConfig, num_steps: int, target_kl: float = 0.0, betas: tuple[float, float] = (0.9, 0.999)
) -> optax.GradientTransformation:
    """Adam on gradients of clipped norm.

    Args:
      config: settings.
      num_steps: gradient steps in which the learning rate decays from `learning_rate` to `final_learning_rate`.
      target_kl: if not 0, `adapt_learning_rate` sets the learning rate instead of the decay.
      betas: decay of Adam's moments.
    """
    if target_kl:
        rate = _scale_by_learning_rate(config.learning_rate)
    else:
        rate = scale_by_decaying_rate(config.learning_rate, config.final_learning_rate, num_steps)
    adam = optax.scale_by_adam(*betas, eps=config.adam_epsilon)
    return optax.chain(optax.clip_by_global_norm(config.max_grad_norm), adam, rate)


def delayed(
    optimizer: optax.GradientTransformation, names: Collection[str], num_steps: int
) -> optax.GradientTransformation:
    """An optimizer that leaves some parameters as they are in the first gradient steps of a run.

    Their moments wait too, and Adam's bias correction counts their own steps: they then begin as a fresh Adam does. By
    the others' count the correction would be over, and their first step (1 - beta_1) / sqrt(1 - beta_2), or 3.2, times
    the learning rate.

    Args:
      optimizer: one of `make_optimizer` without a `target_kl`; the states of both have the same structure.
      names: of the entries of the parameters, a dictionary, that begin late; their gradients are 0 until then.
      num_steps: gradient steps before they begin.
    """

    def late(waits: Array, before: Any, after: Any) -> dict[str, PyTree]:
        return {name: jax.tree.map(lambda x, y: jnp.where(waits, x, y), before[name], after[name]) for name in names}

    def update(updates: Any, state: Any, params: PyTree | None = None) -> tuple[PyTree, PyTree]:
        clip, adam, rate = state
        waits = rate.count < num_steps
        own = adam._replace(count=jnp.maximum(adam.count - num_steps, 0))
        of_late, _ = optimizer.update(updates, (clip, own, rate), params)
        moved, after = optimizer.update(updates, state, params)
        moved: Any = moved | late(waits, optax.tree.zeros_like(of_late), of_late)  # pyright: ignore[reportOperatorIssue]
        _, counted, rate = after  # pyright: ignore[reportGeneralTypeIssues]
        mu, nu = counted.mu | late(waits, adam.mu, counted.mu), counted.nu | late(waits, adam.nu, counted.nu)
        return moved, (clip, counted._replace(mu=mu, nu=nu), rate)

    return optax.GradientTransformation(optimizer.init, update)


def adapt_learning_rate(state: optax.OptState, kl: Float[Array, ""], config: OnPolicyConfig) -> optax.OptState:
    """The optimizer's state with a smaller learning rate if the policy moved too far, a larger one if not far enough.

    The factor is 1.5 where the KL divergence is above twice its target or below half of it, as in RSL-RL (Rudin et al.
    2022), but applied once per update, not in every gradient step.

    Args:
      state: of an optimizer with a `target_kl`; any other is left as it is.
      kl: KL divergence of the policy from the one that acted, the mean over the last pass.
      config: settings.
    """
    *others, last = state  # pyright: ignore[reportGeneralTypeIssues]
    if not isinstance(last, LearningRateState):
        return state
    rate = last.learning_rate
    far, near = kl > 2 * config.target_kl, kl < config.target_kl / 2
    rate = jnp.where(far, rate / _FACTOR, jnp.where(near, rate * _FACTOR, rate))
    return (*others, LearningRateState(jnp.clip(rate, *ADAPTED_RATES)))


def skip_step(state: optax.OptState) -> optax.OptState:
    """The optimizer's state after a gradient step that is not taken: it counts in the decay of the learning rate."""
    return jax.tree.map(lambda x: x.after_step() if isinstance(x, DecayState) else x, state, is_leaf=_is_rate)


def with_first_learning_rate(state: PyTree, fresh: PyTree) -> PyTree:
    """Optimizers' states whose learning rates are where those of fresh states of the same structure are.

    Adam's moments stay; the decay of the learning rate begins anew.
    """
    return jax.tree.map(lambda old, new: new if _is_rate(old) else old, state, fresh, is_leaf=_is_rate)


def learning_rates(state: PyTree) -> list[LearningRateState | DecayState]:
    """The learning rates of optimizers' states, in the order of the tree."""
    return [x for x in jax.tree.leaves(state, is_leaf=_is_rate) if _is_rate(x)]


def with_learning_rates(
    state: PyTree, rates: Iterable[LearningRateState | DecayState], *, restarts_adaptive: bool
) -> PyTree:
    """Optimizers' states between the first and the last learning rate of others; where a decay stands it stays.

    Args:
      state: of the optimizers.
      rates: `learning_rates` of states of the same structure.
      restarts_adaptive: whether learning rates that adapt to a KL divergence begin anew; else they stay as they are.
    """
    given = iter(rates)

    def taken(old: Any) -> Any:
        if not _is_rate(old):
            return old
        new = next(given)
        if isinstance(old, DecayState) and isinstance(new, DecayState):
            return old._replace(first=new.first, last=new.last)
        return new if restarts_adaptive else old

    return jax.tree.map(taken, state, is_leaf=_is_rate)


def _is_rate(x: Any) -> bool:
    return isinstance(x, LearningRateState | DecayState)


def _scale_by_learning_rate(initial: float) -> optax.GradientTransformation:
    def update(updates: PyTree, state: Any, params: PyTree | None = None) -> tuple[PyTree, Any]:
        del params
        return optax.tree.scale(-state.learning_rate, updates), state

    return optax.GradientTransformation(lambda params: LearningRateState(jnp.float32(initial)), update)


def scale_by_decaying_rate(first: Any, last: Any, num_steps: int) -> optax.GradientTransformation:
    """Scales updates by minus a learning rate that decays linearly, as `optax.linear_schedule` does.

    Args:
      first: () learning rate of the first step, which may be traced.
      last: () learning rate after `num_steps` steps, which may be traced.
      num_steps: gradient steps.

    Raises:
      ConfigError: there are too many steps, or none.
    """
    check_count("number of gradient steps in the run", num_steps, most=2**31 - 1)  # counted with int32

    def init(params: PyTree) -> DecayState:
        del params
        return DecayState(jnp.int32(0), jnp.float32(first), jnp.float32(last), jnp.int32(num_steps))

    def update(updates: PyTree, state: Any, params: PyTree | None = None) -> tuple[PyTree, DecayState]:
        del params
        left = 1.0 - state.count / state.num_steps
        rate = (state.first - state.last) * left + state.last
        return optax.tree.scale(-rate, updates), state.after_step()

    return optax.GradientTransformation(init, update)
