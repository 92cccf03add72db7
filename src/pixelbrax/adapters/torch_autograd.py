"""A step of a batch of environments as an operation of PyTorch's reverse-mode differentiation."""

from typing import Any

import jax
import jax.numpy as jnp
import torch  # pyright: ignore[reportMissingImports]
from torch.autograd.function import once_differentiable  # pyright: ignore[reportMissingImports]

from pixelbrax.adapters.arrays import from_torch, to_torch
from pixelbrax.adapters.functional import Differentiable, Leaves, SmoothStep


def linked(
    step: SmoothStep, leaves: Leaves, actions: jax.Array, results: Differentiable, inputs: dict[str, Any], action: Any
) -> Differentiable:
    """The results of a step as tensors, linked to the tensors that it was computed from.

    Args:
      step: knows the derivatives.
      leaves: the states before the step, JAX's.
      actions: of the step, JAX's.
      results: of the step, JAX's.
      inputs: tensors of the differentiable leaves before the step, by name.
      action: tensor of the actions.
    """
    values, treedef = jax.tree.flatten(results)
    tensors = _Step.apply(_Context(step, leaves, actions, treedef, tuple(inputs)), values, action, *inputs.values())
    return jax.tree.unflatten(treedef, tensors)


class _Context:
    """What the derivative needs besides tensors."""

    def __init__(self, step: SmoothStep, leaves: Leaves, actions: jax.Array, treedef: Any, names: tuple[str, ...]):
        self.step, self.leaves, self.actions, self.treedef, self.names = step, leaves, actions, treedef, names


class _Step(torch.autograd.Function):
    """Forward, results that are known already; backward, the vector-Jacobian product that JAX computes."""

    @staticmethod
    def forward(ctx: Any, context: _Context, values: list[jax.Array], *tensors: Any) -> Any:  # pyright: ignore
        ctx.context, ctx.device = context, tensors[0].device
        return tuple(to_torch(value).to(ctx.device) for value in values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Any) -> Any:  # pyright: ignore
        context: _Context = ctx.context
        arrays = from_torch(list(cotangents), context.actions.device)
        given = jax.tree.unflatten(context.treedef, arrays)
        leaves, actions = context.step.pulled_back(context.leaves, context.actions, given)
        gradients = [actions, *(leaves[name] for name in context.names)]
        return None, None, *(to_torch(jnp.asarray(each)).to(ctx.device) for each in gradients)
