"""What is told of runs that are resumed, and who does what at the end."""

import re
import sys
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.experiments import finish, launch
from pixelbrax.learning import AgentState
from pixelbrax.training import Evaluation, Progress, RunDir, TrainConfig


def test_a_run_that_ends_before_its_replay_buffer_is_full_again_says_so():
    said = "nothing more will be learned: updates that are left: 3; updates until the replay buffer, .*: 3. A larger"
    assert re.match(said, launch._unlearned(3, 3))
    assert launch._unlearned(4, 3) == launch._unlearned(0, 3) == launch._unlearned(1, 0) == ""


@pytest.mark.parametrize(("process", "video", "records"), [(0, True, 1), (0, False, 0), (1, True, 0), (1, False, 0)])
def test_all_processes_take_part_in_what_one_of_them_records(process, video, records, tmp_path, monkeypatch):
    """One that was told --no-video left the others waiting for it."""
    run, nothing, taken, recorded = RunDir.create(tmp_path / "run", TrainConfig()), (), [], []
    run.write_evaluation("trained", {"steps": 1, **Evaluation(np.ones(2), np.ones(2)).as_dict()})
    one = lambda state, index: taken.append(index) or state  # noqa: E731
    trainer: Any = SimpleNamespace(progress=Progress(quiet=True), one=one, training_runs=[None])
    room = sys.modules[finish.__module__]
    monkeypatch.setattr(room, "plot_run", lambda run: None)
    monkeypatch.setattr(room, "record_videos", lambda *_: recorded.append(1))
    monkeypatch.setattr(jax, "process_index", lambda: process)
    state = AgentState(nothing, nothing, nothing, nothing, jax.random.key(0), jax.numpy.int32(1))  # pyright: ignore
    finish(trainer, run.path, [run], state, video)
    assert (taken, len(recorded)) == ([0], records)
