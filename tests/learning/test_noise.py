"""Pink noise against the law that it bears the name of."""

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.learning import PinkNoise


def test_power_falls_as_one_over_frequency():
    def step(noise, key):
        noise = noise.following(key)
        return noise, noise.value

    length, start = 4096, PinkNoise.empty(32, 4)
    _, values = jax.jit(lambda keys: jax.lax.scan(step, start, keys))(jax.random.split(jax.random.key(0), length))
    values = np.asarray(values).reshape(length, -1)
    assert abs(values[0].std() - 1) < 0.2, "from the first step on"
    assert abs(values.std() - 1) < 0.05
    # Those of one step are independent of each other.
    assert np.abs(np.corrcoef(values.T) - np.eye(128)).max() < 0.5
    power = (np.abs(np.fft.rfft(values * np.hanning(length)[:, None], axis=0)) ** 2).mean(1)
    frequency = np.fft.rfftfreq(length)
    edges = 1.0 / 2.0 ** np.arange(10, 1, -1)
    bands = [power[(frequency >= low) & (frequency < 2 * low)].mean() for low in edges[:-1]]
    slope = np.polyfit(np.log(edges[:-1]), np.log(bands), 1)[0]
    assert abs(slope + 1) < 0.1


def test_the_same_key_gives_the_same_noise():
    noise = PinkNoise.empty(2, 3).following(jax.random.key(1))
    again = PinkNoise.empty(2, 3).following(jax.random.key(1))
    assert (noise.value == again.value).all()
    later = noise.following(jax.random.key(2))
    assert jnp.abs(later.processes[..., -1] - noise.processes[..., -1]).max() < 0.5, "the slowest has hardly changed"
