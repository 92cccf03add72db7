"""Training that begins with the policy of another run."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.networks import NetworkConfig, actor_params
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, resolved
from tests.algorithms.agents import CONFIGS

pytestmark = pytest.mark.usefixtures("probe_tasks")

_NETWORK = NetworkConfig(conv_features=(8,), features=32, state_layers=())
_ENVIRONMENT = EnvConfig(task="probe/sides", obs="state", episode_length=20)


def _config(num_updates=2, algorithm="ppo", environment=_ENVIRONMENT, **settings):
    agent = CONFIGS[algorithm]
    sizes: dict[str, Any] = {"num_steps": num_updates * agent.steps_per_update, "log_interval": 1, "eval_episodes": 4}
    return resolved(TrainConfig(environment, _NETWORK, agent, **(sizes | settings)))


@pytest.fixture(scope="module")
def before(tmp_path_factory, probe_tasks):
    """A short run from states, and its last state."""
    config = _config(seed=3)
    run = RunDir.create(tmp_path_factory.mktemp("before") / "run", config)
    trainer = Trainer([config])
    return run, trainer.train([run], trainer.init())[0]


def _equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("algorithm", ["ppo", "apg"])
def test_it_begins_with_the_policy_and_a_fresh_critic(before, algorithm):
    run, last = before
    config = _config(algorithm=algorithm, start_from=str(run.path))
    assert (config.start_from, config.start_updates) == (str(run.path.resolve()), 2)
    state, fresh = Trainer([config]).init(), Trainer([replace(config, start_from="", start_updates=0)]).init()
    network, other = (x.params.get("network", x.params) for x in (state, fresh))
    assert _equal(actor_params(network), actor_params(last.params))
    assert _equal(network["value"], other["value"])
    assert _equal(state.statistics["state"], last.statistics["state"])
    assert _equal(state.envs.obs, fresh.envs.obs)


@pytest.mark.full
def test_the_critic_learns_alone_at_first(before, tmp_path):
    run, _ = before
    agent: Any = replace(CONFIGS["ppo"], critic_updates=2)
    config = replace(_config(3, start_from=str(run.path)), agent=agent, checkpoint_interval=0.0)
    trainer = Trainer([config])
    first = trainer.init()
    params, networks = jax.tree.map(np.asarray, first.params), []
    state = first
    for _ in range(3):
        state, *_ = jax.jit(trainer.training_runs[0].agent.update)(state)
        networks.append(state.params)
    actor = [_equal(actor_params(each), actor_params(params)) for each in networks]
    assert actor == [True, True, False]
    assert not _equal(networks[0]["value"], params["value"])
    with pytest.raises(ConfigError, match="target_kl"):
        replace(agent, target_kl=0.01).validate()


def test_several_seeds_begin_with_the_same_policy(before):
    run, last = before
    configs = [_config(start_from=str(run.path), seed=seed) for seed in (0, 1)]
    state = Trainer(configs).init()
    for name in actor_params(state.params):
        for kept, each in zip(jax.tree.leaves(last.params[name]), jax.tree.leaves(state.params[name]), strict=True):
            np.testing.assert_array_equal(each, np.stack([kept, kept]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"environment": replace(_ENVIRONMENT, obs="pixels", image_size=16)}, "obs=state, and this run pixels"),
        ({"network": replace(_NETWORK, features=16)}, "another network"),
        ({"network": replace(_NETWORK, distribution="clipped-normal")}, "another network"),
        ({"algorithm": "ppg"}, "not of ppg"),
        ({"algorithm": "sac", "network": NetworkConfig()}, "not of sac"),
        ({"start_updates": 7}, "no checkpoint of update 7: there is"),
    ],
)
def test_what_does_not_fit_is_refused(before, settings, said):
    algorithm, others = settings.get("algorithm", "ppo"), {k: v for k, v in settings.items() if k != "algorithm"}
    config = replace(_config(algorithm=algorithm, start_from=str(before[0].path)), **others)
    with pytest.raises(ConfigError, match=said):
        Trainer([config]).init()


def test_from_images_under_other_distractors(tmp_path):
    """The checkpoint has the states of its own environments, with their distractors."""
    seen = replace(_ENVIRONMENT, obs="pixels", image_size=16, frame_stack=1)
    run = RunDir.create(tmp_path / "run", _config(environment=seen))
    trainer = Trainer([_config(environment=seen)])
    state = trainer.init()
    trainer.save([run], state)
    config = _config(environment=replace(seen, distractors=("kage/hue",)), start_from=str(run.path), seed=9)
    begun = Trainer([config]).init()
    assert _equal(actor_params(begun.params), actor_params(state.params))


def test_no_run():
    with pytest.raises(ConfigError, match="nowhere"):
        _config(start_from="nowhere")
