"""Filters of the whole image, sampled for every level: one axis a preset."""

import math

from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.filters import (
    Blur,
    Brightness,
    Contrast,
    Gamma,
    Hue,
    Jitter,
    Pixelate,
    RadialLight,
    Saturation,
    Sharpen,
    Vignette,
)
from pixelbrax.distractors.kinds.noise import GaussianNoise, PoissonNoise

add("filter/brightness", "brighter or darker by up to 0.4", [Brightness(0.4)])
add("filter/contrast", "contrast multiplied or divided by up to 2.7", [Contrast(1.0)])
add("filter/saturation", "saturation multiplied or divided by up to 4.5", [Saturation(1.5)])
add("filter/hue", "any rotation of hue", [Hue(math.pi)])
add("filter/gamma", "gamma multiplied or divided by up to 2.2", [Gamma(0.8)])
add("filter/gaussian-noise", "noise of standard deviation 0.1", [GaussianNoise(0.1)])
add("filter/poisson-noise", "noise of 30 photons in white", [PoissonNoise(30.0)])
add("filter/jitter", "shifted by up to 2 pixels", [Jitter(2)])
add("filter/pixelate", "blocks of 4 by 4 pixels", [Pixelate(4)])
add("filter/vignette", "up to 0.9 darker in the corners", [Vignette(0.9)])
add("filter/blur", "blurred by up to 1.5 pixels", [Blur(1.5)])
add("filter/sharpen", "sharpened by up to 2", [Sharpen(2.0)])
add("filter/radial-light", "a spot of light or darkness", [RadialLight(0.6, 0.4)])
