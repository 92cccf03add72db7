"""What is told of runs that are resumed."""

import re

from pixelbrax.experiments import launch


def test_a_run_that_ends_before_its_replay_buffer_is_full_again_says_so():
    said = "nothing more will be learned: updates that are left: 3; updates until the replay buffer, .*: 3. A larger"
    assert re.match(said, launch._unlearned(3, 3))
    assert launch._unlearned(4, 3) == launch._unlearned(0, 3) == launch._unlearned(1, 0) == ""
