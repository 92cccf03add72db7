"""The public names of the package."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pixelbrax

ROOT = Path(__file__).parent.parent
PUBLIC = """
ActingHook CameraSpec CurriculumRun Evaluation Hook PixelEnv Policy Run RunGroup Sizes State Task Trajectories
__version__ enable_compilation_cache evaluate list_tasks load_dataset load_plugins load_policy make open_run register
rollout train train_curriculum wrap
""".split()
ROOMS = """
adapters algorithms creatures distractors envs experiments generalization learning networks physics render report
rewards tasks training
""".split()


def test_the_public_names_are_these():
    assert pixelbrax.__all__ == PUBLIC
    assert dir(pixelbrax) == sorted([*PUBLIC, *ROOMS])
    for name in PUBLIC:
        assert getattr(pixelbrax, name) is not None
        assert name == "__version__" or getattr(pixelbrax, name).__doc__


def test_rooms_load_on_attribute_access():
    code = "import sys, pixelbrax; assert 'jax' not in sys.modules\n"
    code += "pixelbrax.distractors.list_distractors; pixelbrax.training.TrainConfig; pixelbrax.render.render"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_rooms_of_the_reference_are_these():
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    documented = set(re.findall(r"^::: pixelbrax\.(\w+)", pages, re.MULTILINE)) - {"errors"}
    assert documented <= set(ROOMS)


def test_a_type_checker_knows_names_and_rooms(tmp_path):
    """What `__getattr__` loads is hidden from it: any name, also a misspelled one, was of type Any."""
    pytest.importorskip("pyright")
    known = "".join(f"reveal_type(pixelbrax.{name})\n" for name in [*PUBLIC, *ROOMS])
    (tmp_path / "mine.py").write_text(f"import pixelbrax\n{known}pixelbrax.mkae('ant')\n")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"include": ["mine.py"], "extraPaths": [str(ROOT / "src")]})
    )
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    told = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout)
    told = [each["message"] for each in told["generalDiagnostics"]]
    wrong = [text for text in told if not text.startswith("Type of ") or re.search(' is "(Any|Unknown)"', text)]
    assert wrong == ['"mkae" is not a known attribute of module "pixelbrax"']
    assert len(told) == len(PUBLIC) + len(ROOMS) + 1


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="module 'pixelbrax' has no attribute 'list_envs'"):
        pixelbrax.list_envs  # noqa: B018


def test_names_of_a_room_are_public_names_of_their_rooms():
    for room, names in pixelbrax._NAMES.items():
        assert set(names) <= set(getattr(pixelbrax, room).__all__)
