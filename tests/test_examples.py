"""The scripts that readers copy."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_body_is_found_by_gradient_descent_through_the_renderer():
    done = subprocess.run([sys.executable, EXAMPLES / "find_pose.py"], capture_output=True, text=True, check=True)
    apart = re.search(r"([0-9.]+) m apart", done.stdout)
    assert apart, done.stdout
    assert float(apart[1]) < 0.1  # it starts 0.36 m off


def test_a_creature_of_ones_own_acts():
    script = EXAMPLES / "own_creature.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "images (4, 48, 48, 9) uint8" in done.stdout


@pytest.mark.full
def test_a_brax_environment_is_wrapped():
    script = EXAMPLES / "wrap_brax.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "images (4, 48, 48, 9)" in done.stdout


def test_a_playground_environment_is_wrapped():
    script = EXAMPLES / "wrap_playground.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "images (4, 48, 48, 9)" in done.stdout
