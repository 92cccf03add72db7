"""Options of the compiler for programs of the training loop, which take long to compile on CPUs.

What XLA does: JAX 0.10 has two emitters of fused loops for CPUs. The newer one, its default, takes half as long again
(a step of 64 halfcheetahs with images: 9.4 s instead of 6.3), and what it emits is no faster (by `bench env` 0 to 8 %
slower with 256 environments). And half of the compiler's time goes into optimization by LLVM, without which a step is
six times slower: a first reset, which runs once, needs none.
Seen with: JAX 0.10; JAX 0.11 has no other emitter, and LLVM takes as long.
Remove when: JAX 0.10 is no longer supported; a first reset compiles in a second.
"""

from typing import Any

import jax


def compiler_options(runs_once: bool = False) -> dict[str, Any]:
    """`compiler_options` of `jax.jit`: for CPUs the quickest way to a fast program, or to one that is called once."""
    if jax.default_backend() != "cpu":
        return {}
    emitters = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
    return emitters | ({"xla_backend_optimization_level": 0} if runs_once else {})
