"""Our pictures against those of MuJoCo's own renderer."""

import numpy as np
import pytest

from tests.golden.make import ours
from tests.golden.models import NAMES, picture
from tests.images import read_image

# `make test` takes these, which have every shape, light and kind of texture between them.
SAMPLE = {("cubes", True), ("images", True), ("materials", False), ("solids", True), ("spots", True), ("sun", True)}
SAMPLE |= {("meshes", True), ("glass", False), ("fog", False), ("haze", False)}


@pytest.mark.parametrize(
    ("name", "shadows"),
    [
        pytest.param(name, shadows, marks=[] if (name, shadows) in SAMPLE else [pytest.mark.full])
        for name in NAMES
        for shadows in (False, True)
    ],
)
def test_colors_are_mujocos(name, shadows):
    mine, body = ours(name, shadows)
    difference = np.abs(read_image(picture(name, shadows)).astype(int) - mine)
    assert difference.mean() <= 6
    assert body.sum() > 300
    assert difference[body].mean() <= 3
