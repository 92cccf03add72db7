"""Counts what JAX compiles."""

import jax


def compilations(function):
    """How many programs a call compiles, and what it returns."""
    compiled = []

    def count(event, duration_secs, **kwargs):
        compiled.extend([event] * (event == "/jax/core/compile/backend_compile_duration"))

    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        result = jax.block_until_ready(function())
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    return len(compiled), result
