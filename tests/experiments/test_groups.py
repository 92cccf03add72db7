"""Several runs side by side in one folder."""

from typing import Any

import pytest

import pixelbrax
from pixelbrax.training import RunDir
from tests.experiments.small import SETTINGS


@pytest.mark.full
def test_a_group_of_which_one_broke_down_goes_on_with_its_curve_and_report(env, tmp_path, capsys):
    settings: Any = SETTINGS | {"report": True, "quiet": False, "eval_interval": 4}
    group = pixelbrax.train(env, runs=tmp_path, name="two", num_seeds=2, **settings)
    told = capsys.readouterr().out.splitlines()
    for what in ("untrained policy", "update 4 policy", "trained policy", "best policy, of update"):
        assert [line.partition(": ")[0] for line in told if f": {what}" in line] == ["seed=0", "seed=1"], what
    broken, whole = (RunDir(run.path) for run in group)
    broken.fail("it broke")
    whole.config_file.write_text(whole.config_file.read_text().replace("num_steps = 96", "num_steps = 192"))
    curve, report = group.path / "curve.png", group.path / "report.html"
    before = curve.read_bytes()
    pixelbrax.train(env, resume=group.path, quiet=True, report=True, video=False)
    assert curve.read_bytes() != before
    told = report.read_text()
    assert "broke down" in told
    assert '"it broke"' in told
    assert told.count(">finished<") == 1
    assert "192" in told
