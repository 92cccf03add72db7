"""Options of the compiler for programs of the training loop: the same bits from the same seed, and quickly.

On GPUs some kernels that XLA may choose add in an order that varies: the likely reason that training twice gave other
bits (an H100, three updates of PPO; not tried again since). `xla_gpu_exclude_nondeterministic_ops` leaves them out of
the choice, unless XLA_FLAGS says something else of it; an update of PPO takes 12 % longer (an H200).

What XLA does: JAX 0.10 has two emitters of fused loops for CPUs. The newer one, its default, takes half as long again
(a step of 64 halfcheetahs with images: 9.4 s instead of 6.3), and what it emits is no faster (by `bench env` 0 to 8 %
slower with 256 environments). And half of the compiler's time goes into optimization by LLVM, without which a step is
six times slower: a first reset, which runs once, needs none.
Seen with: JAX 0.10; JAX 0.11 has no other emitter, and LLVM takes as long.
Remove when: JAX 0.10 is no longer supported; a first reset compiles in a second.
"""

import os
from typing import Any

import jax

_SAME_BITS = "xla_gpu_exclude_nondeterministic_ops"


def compiler_options(runs_once: bool = False) -> dict[str, Any]:
    """`compiler_options` of `jax.jit`: on GPUs kernels that give the same bits each time; on CPUs quick to compile.

    Args:
      runs_once: the program is called once, or rarely beside others, so that on CPUs it need not be fast.
    """
    if jax.default_backend() == "gpu":
        return {} if _SAME_BITS in os.environ.get("XLA_FLAGS", "") else {_SAME_BITS: True}
    if jax.default_backend() != "cpu":
        return {}
    emitters = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
    return emitters | ({"xla_backend_optimization_level": 0} if runs_once else {})
