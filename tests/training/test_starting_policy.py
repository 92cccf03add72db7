"""Training that begins with the policy, or with the encoder, of another run."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.environments import config_of
from pixelbrax.networks import NetworkConfig, actor_params
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, TrainingRun, resolved, takeover
from tests.algorithms.agents import CONFIGS
from tests.probe import CAMERA, ProbePhysics, WideProbePhysics

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


def test_it_begins_with_the_whole_learner_at_the_first_learning_rate(before):
    run, last = before
    config = _config(start_from=str(run.path), start_part="learner")
    state, fresh = Trainer([config]).init(), Trainer([_config()]).init()
    assert _equal(state.params, last.params)
    assert _equal(state.statistics, last.statistics)
    (_, adam, rate), (_, adam_there, rate_there) = state.opt_state, last.opt_state
    assert _equal(adam, adam_there)
    assert int(rate_there.count) > int(rate.count) == 0
    assert _equal(state.envs.obs, fresh.envs.obs)
    with pytest.raises(ConfigError, match="its learner is ppo's, and this run's apg's"):
        Trainer([_config(algorithm="apg", start_from=str(run.path), start_part="learner")]).init()


def test_open_episodes_are_not_taken_over(tmp_path):
    """Nor is their number: the unit of rewards is."""
    agent: Any = replace(CONFIGS["ppo"], normalize_reward=True)
    first = replace(_config(), agent=agent)
    run, trainer = RunDir.create(tmp_path / "run", first), Trainer([first])
    state = trainer.init()
    known = state.statistics["reward"] | {"returns": state.statistics["reward"]["returns"] + 3.0}
    known["spread"] = jax.tree.map(lambda x: x + 2.0, known["spread"])
    trainer.training_runs[0].save(run, replace(state, statistics=state.statistics | {"reward": known}))
    more = replace(agent, num_envs=2 * agent.num_envs)
    begun = Trainer([replace(resolved(replace(first, start_from=str(run.path), start_part="learner")), agent=more)])
    reward = begun.init().statistics["reward"]
    assert _equal(reward["spread"], known["spread"])
    np.testing.assert_array_equal(reward["returns"], np.zeros(more.num_envs))


def test_it_begins_with_the_checkpoint_that_is_asked_for(tmp_path):
    """Which need not be the last."""
    config = _config(seed=3)
    run, trainer = RunDir.create(tmp_path / "run", config), Trainer([config])
    state = trainer.init()
    for updates in (1, 2):
        params = jax.tree.map(lambda x, updates=updates: x + updates, state.params)
        trainer.save([run], replace(state, params=params, num_updates=state.num_updates + updates))
    for asked, added in ((0, 2), (1, 1), (2, 2)):
        begun = Trainer([_config(start_from=str(run.path), start_updates=asked)]).init()
        for found, first in zip(*map(jax.tree.leaves, map(actor_params, (begun.params, state.params))), strict=True):
            np.testing.assert_array_equal(found, np.asarray(first) + added)


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
        ({"network": replace(_NETWORK, features=16)}, "its policy is another network.* it has features=32 and not 16"),
        ({"network": replace(_NETWORK, policy_layers=(8,))}, r"it has policy_layers=\(\) and not \(8,\)"),
        (
            {"network": replace(_NETWORK, distribution="clipped-normal")},
            "distribution=tanh-normal and not clipped-normal",
        ),
        ({"environment": replace(_ENVIRONMENT, task="probe/wide_sides")}, "another number of actions"),
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


@pytest.mark.full
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


_IMAGES = replace(_ENVIRONMENT, obs="pixels", image_size=16, frame_stack=1)
# Where each algorithm keeps the policy's encoder, and what follows it; any other encoder is a critic's own.
_ENCODERS = {
    "ppo": ("encoder",),
    "ppo-separate": ("encoder",),
    "ppg": ("policy/encoder",),
    "dcpg": ("network/encoder",),
    "dcpg-separate": ("policy/encoder", "target/encoder"),
    "sac": ("network/encoder",),
    "apg-state": ("network/encoder",),
    "es": ("encoder",),
}


@pytest.fixture(scope="module")
def seeing(tmp_path_factory, probe_tasks):
    """A run of PPO from images before its first update, and its encoder."""
    config = _config(environment=_IMAGES, seed=3)
    run = RunDir.create(tmp_path_factory.mktemp("seeing") / "run", config)
    trainer = Trainer([config])
    state = trainer.init()
    trainer.save([run], state)
    return run, state.params["encoder"]


def _with_its_encoder(run, name, frozen=False):
    """Settings of a run with another task and two actions."""
    algorithm, _, critic = name.partition("-")
    network = replace(_NETWORK, critic=critic or "shared", freeze_encoder=frozen)
    network = replace(network, state_layers=NetworkConfig().state_layers) if algorithm == "sac" else network
    environment = replace(_IMAGES, task="probe/wide_sides")
    start: dict[str, Any] = {"start_from": str(run.path), "start_part": "encoder"}
    return replace(_config(4, algorithm=algorithm, environment=environment, **start), network=network)


def _leaves(params):
    """Parameters by their paths."""
    return {"/".join(str(x.key) for x in path): leaf for path, leaf in jax.tree.leaves_with_path(params)}


def _places(name):
    return tuple(f"{place}/" for place in _ENCODERS[name])


# One that learns on its policy's steps, and one that does not; all others take longer.
_ONES = ("ppo",)


@pytest.mark.parametrize(
    "name", [name if name in _ONES else pytest.param(name, marks=pytest.mark.full) for name in _ENCODERS]
)
def test_only_the_encoder_is_carried_over(seeing, name):
    run, encoder = seeing
    config = _with_its_encoder(run, name)
    others = replace(config, start_from="", start_part="policy", start_updates=0)
    begun, fresh = (_leaves(Trainer([each]).init().params) for each in (config, others))
    carried = {f"{place}{path}": leaf for place in _places(name) for path, leaf in _leaves(encoder).items()}
    assert begun.keys() == fresh.keys()
    assert carried.keys() <= begun.keys()
    for path, leaf in begun.items():
        np.testing.assert_array_equal(leaf, carried.get(path, fresh[path]), err_msg=path)


@pytest.mark.parametrize(
    ("name", "learns"),
    [
        ("ppo", ("policy/", "value/")),
        pytest.param("ppg", ("policy/policy/", "value/encoder/"), marks=pytest.mark.full),
        pytest.param("dcpg-separate", ("policy/policy/", "value/encoder/"), marks=pytest.mark.full),
        pytest.param("sac", ("network/actor/", "network/critics/"), marks=pytest.mark.full),
    ],
)
def test_a_frozen_encoder_stays_and_other_networks_learn(seeing, name, learns):
    trainer = Trainer([_with_its_encoder(seeing[0], name, frozen=True)])
    state = trainer.init()
    before = {path: np.asarray(leaf) for path, leaf in _leaves(state.params).items()}
    update = jax.jit(trainer.training_runs[0].agent.update)
    for _ in range(4):  # a phase
        state, *_ = update(state)
    for path, leaf in _leaves(state.params).items():
        if path.startswith(_places(name)):  # a slow copy that moves between equals rounds
            np.testing.assert_allclose(leaf, before[path], rtol=1e-6, atol=0, err_msg=path)
        elif path.startswith(learns):
            assert not np.array_equal(leaf, before[path]), path


@pytest.mark.full
@pytest.mark.parametrize("num_agents", [1, 2])
def test_on_two_devices_every_agent_keeps_the_encoder(seeing, num_agents, tmp_path):
    """Half of the environments on each, or an agent on each; and what a resumed run goes on with has it too."""
    frozen = replace(_with_its_encoder(seeing[0], "ppo", frozen=True), num_devices=2)
    configs = [replace(frozen, seed=seed) for seed in range(num_agents)]
    runs = [RunDir.create(tmp_path / f"{config.seed}", config) for config in configs]
    trainer = Trainer(configs)
    begun = trainer.init()
    fresh = [jax.tree.map(np.asarray, trainer.one(begun, k).params) for k in range(num_agents)]
    last, _ = trainer.train(runs, begun)
    for state in (last, trainer.restore(runs)):
        for k in range(num_agents):
            learnt = trainer.one(state, k).params
            assert _equal(learnt["encoder"], seeing[1])
            assert not _equal(learnt["policy"], fresh[k]["policy"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"environment": _ENVIRONMENT, "network": _NETWORK}, "with obs=state there are none"),
        ({"environment": _ENVIRONMENT, "start_part": "policy"}, "freeze_encoder"),
        ({"network": replace(_NETWORK, features=16)}, "its encoder is another network.* features=32 and not 16"),
        ({"environment": replace(_IMAGES, image_size=24)}, "image_size=16, and this run 24"),
        ({"start_from": "", "start_updates": 0}, "set start_from"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(seeing, settings, said):
    config = replace(_with_its_encoder(seeing[0], "ppo", frozen=True), **settings)
    with pytest.raises(ConfigError, match=said):
        Trainer([resolved(config)]).init()


@pytest.mark.parametrize(
    ("agent", "network", "said"),
    [({"state_coef": 1.0}, {}, "it has state_coef=0.0 and not 1.0$"), ({}, {"critic": "state"}, "critic=shared")],
)
def test_a_learner_with_other_heads_is_refused(seeing, agent, network, said):
    config = _config(environment=_IMAGES, start_from=str(seeing[0].path), start_part="learner")
    config = replace(config, agent=replace(config.agent, **agent), network=replace(config.network, **network))
    with pytest.raises(ConfigError, match=said):
        Trainer([config]).init()


def test_what_a_critic_knows_of_states_is_not_carried_over_with_a_policy_of_images(tmp_path):
    """They may be another task's."""
    config = _config(environment=_IMAGES)
    config = replace(config, network=replace(_NETWORK, critic="state"))
    run, there = RunDir.create(tmp_path / "run", config), TrainingRun(config)
    state = jax.jit(there.agent.init)(jax.random.key(0))
    known = {"state": jax.tree.map(lambda x: x + 3.0, state.statistics["state"])}
    there.save(run, replace(state, statistics=known))
    here = TrainingRun(resolved(replace(config, start_from=str(run.path))))
    begun = takeover(here.config, here.agent)(replace(state, params=jax.tree.map(np.zeros_like, state.params)))
    assert _equal(actor_params(begun.params), actor_params(state.params))
    assert _equal(begun.statistics, state.statistics)


def test_an_environment_made_in_python_may_be_another_than_that_of_the_run(tmp_path):
    """Nothing but the checkpoint knows that run's environment: other distractors, and another number of actions."""

    def made(physics, **settings):
        env = PixelEnv(physics, CAMERA, image_size=16, frame_stack=1, **settings)
        return TrainingRun(replace(_config(environment=config_of(env)), **begins), env=env)

    begins: dict[str, Any] = {}
    there = made(ProbePhysics())
    run, state = RunDir.create(tmp_path / "run", there.config), jax.jit(there.agent.init)(jax.random.key(0))
    there.save(run, state)
    begins = {"start_from": str(run.path)}
    here = made(ProbePhysics(), distractors="pixelbrax/color")
    begun = takeover(here.config, here.agent)(state)
    assert _equal(actor_params(begun.params), actor_params(state.params))
    wide = made(WideProbePhysics())
    with pytest.raises(ConfigError, match=r"'log_std'\] it has one of float32\[1\], and not one of float32\[2\]"):
        takeover(wide.config, wide.agent)
    begins["start_part"] = "encoder"
    wide = made(WideProbePhysics())
    fresh = {name: jax.tree.map(np.zeros_like, x) for name, x in state.params.items()}
    begun = takeover(wide.config, wide.agent)(replace(state, params=fresh))
    assert _equal(begun.params["encoder"], state.params["encoder"])
    assert _equal(begun.params["policy"], fresh["policy"])


def test_evolution_searches_the_whole_policy(seeing):
    with pytest.raises(ConfigError, match="freeze_encoder, the whole policy is searched"):
        Trainer([_with_its_encoder(seeing[0], "es", frozen=True)])


def test_no_run():
    with pytest.raises(ConfigError, match="nowhere"):
        _config(start_from="nowhere")
