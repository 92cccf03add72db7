"""The scripts that readers copy."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# tests/test_docs.py looks at them in `make test`, too: they import what there is.
pytestmark = pytest.mark.full


def _run(script: str, *arguments: str, cwd: Path | None = None) -> str:
    """What an example prints."""
    command = [sys.executable, EXAMPLES / script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_gymnasium_takes_environments():
    assert "images (16, 32, 32, 9)" in _run("gymnasium_loop.py")


@pytest.mark.parametrize(
    ("library", "script", "printed"),
    [
        ("dm_env", "dm_env_loop.py", "image (32, 32, 9), return"),
        ("gymnax", "gymnax_loop.py", "images (50, 8, 32, 32, 9)"),
        ("tensordict", "rsl_rl_env.py", "images (8, 9, 32, 32)"),
    ],
)
def test_other_libraries_take_environments(library, script, printed):
    pytest.importorskip(library)
    assert printed in _run(script)


def test_stable_baselines3_trains(tmp_path):
    pytest.importorskip("stable_baselines3")
    assert "ep_rew_mean" in _run("sb3_ppo.py", "4096", cwd=tmp_path)


def test_braxs_ppo_trains():
    assert len(re.findall(r"steps: return [0-9.]+", _run("brax_ppo.py", "2560"))) == 3


def test_a_policy_of_pytorch_learns_by_gradients():
    pytest.importorskip("torchrl")
    losses = re.findall(r"loss ([0-9.]+)", _run("torchrl_gradients.py"))
    assert float(losses[-1]) < 0.5 * float(losses[0])


def test_a_body_is_found_by_gradient_descent_through_the_renderer():
    done = _run("find_pose.py")
    apart = re.search(r"([0-9.]+) m apart", done)
    assert apart, done
    assert float(apart[1]) < 0.1  # it starts 0.36 m off


def test_an_own_creature_acts():
    assert "images (4, 48, 48, 9) uint8" in _run("own_creature.py")


def test_a_brax_environment_is_wrapped():
    assert "images (4, 48, 48, 9)" in _run("wrap_brax.py")


def test_a_curriculum_compiles_one_program():
    assert _run("curriculum.py").count("programs compiled 1") == 6


def test_a_playground_environment_is_wrapped():
    assert "images (4, 48, 48, 9)" in _run("wrap_playground.py")


def test_a_creature_is_trained(tmp_path):
    done = _run("train_own_creature.py", "1280", cwd=tmp_path)
    assert "5 of 5 updates" in done
    assert "first action" in done


def test_a_hook_acts_and_its_policy_is_loaded(tmp_path):
    assert "strength 0.0" in _run("own_hook.py", "10240", cwd=tmp_path)
    done = _run("load_policy.py", "runs/curriculum", cwd=tmp_path)
    assert "for cpu, cuda, tpu" in done


def test_a_dataset_is_collected_and_read(tmp_path):
    assert "32, 32, 9) uint8" in _run("collect_dataset.py", str(tmp_path / "data"))
