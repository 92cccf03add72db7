"""Our pictures against those of MuJoCo's own renderer."""

import numpy as np
import pytest

from tests.golden.make import ours
from tests.golden.models import NAMES, picture
from tests.images import read_image


# Without shadows, `make test` takes one scene: all else is the same program.
@pytest.mark.parametrize(
    ("name", "shadows"),
    [(name, True) for name in NAMES]
    + [pytest.param(name, False, marks=[] if name == "materials" else [pytest.mark.full]) for name in NAMES],
)
def test_colors_are_mujocos(name, shadows):
    mine, body = ours(name, shadows)
    difference = np.abs(read_image(picture(name, shadows)).astype(int) - mine)
    assert difference.mean() <= 6
    assert body.sum() > 300
    assert difference[body].mean() <= 3
