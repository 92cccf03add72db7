"""Our pictures against those of MuJoCo's own renderer."""

import numpy as np
import pytest

from tests.golden.make import ours
from tests.golden.models import NAMES, picture
from tests.images import read_image


@pytest.mark.parametrize("shadows", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_colors_are_mujocos(name, shadows):
    difference = np.abs(read_image(picture(name, shadows)).astype(int) - ours(name, shadows))
    assert difference.mean() <= 6
