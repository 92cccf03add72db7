"""Every stage's policy in every stage: what later stages forget."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from pixelbrax.errors import ConfigError
from pixelbrax.experiments.policies import Policy, PolicyNetwork, channels_of, check_fits
from pixelbrax.experiments.stages.folder import CurriculumDir
from pixelbrax.experiments.stages.plan import Curriculum
from pixelbrax.report import write_matrix
from pixelbrax.training import Evaluator, Progress, TrainingRun, amount, as_json, kind_of, replace_text

_STREAM = 4  # of random numbers, from the curriculum's seed; a run's own are 0 to 3


def evaluate_across(
    folder: CurriculumDir, curriculum: Curriculum, checked: list[TrainingRun], progress: Progress
) -> None:
    """Evaluates the last policy of each stage that was trained in every stage; writes across.json and across.png.

    All policies have the same episodes in a stage. One that observes something else than a stage offers has no
    entry, and one that cannot be loaded no row.

    Args:
      folder: of the curriculum.
      curriculum: its stages.
      checked: their runs, with environments and agents.
      progress: where to show what is under way.
    """
    policies = {ended.stage - 1: ended.run for ended in folder.ended()}  # the last attempt of each
    names = [stage.name for stage in curriculum.stages]

    def is_known() -> bool:
        found = folder.across()
        return (found.get("policies"), found.get("stages")) == (list(policies.values()), names)

    if is_known():
        return
    variables = {}
    for k, run in policies.items():
        try:
            variables[k], _ = checked[k].restore_policy(folder.run_named(run))
        except ConfigError as e:  # it was removed, or its stage edited, after it had ended
            progress.say(f"{run} is left out of {folder.across_file}: {e}", always=True)
    policies = {k: policies[k] for k in variables}
    if not variables or is_known():
        return
    rows: list[list[dict[str, Any] | None]] = [[None] * len(names) for _ in policies]
    for column, stage in enumerate(curriculum.stages):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(curriculum.seed), _STREAM), column)
        env = checked[column].env
        evaluators: dict[Any, Evaluator] = {}
        for row, (index, each) in enumerate(variables.items()):
            kind = _kind(checked[index], each)
            if kind not in evaluators:
                if not _fits(checked[index], each, checked[column]):
                    continue
                policy = checked[index].policy
                config, batch = stage.config, checked[column].side_by_side
                evaluators[kind] = Evaluator(
                    env, policy, config.eval_episodes, True, progress, batch, config.eval_metrics
                )
            result = evaluators[kind](each, key).as_dict()
            rows[row][column] = result | ({"gate_is_met": stage.gate.is_met(result)} if stage.gate else {})
            progress.say(f"policy of {names[index]} in {stage.name}: {amount(result['mean_return'])}")
    table = {"stages": names, "policies": list(policies.values()), "results": rows}
    returns = np.array([[np.nan if x is None else x["mean_return"] for x in row] for row in rows])
    met = np.array([[x is not None and bool(x.get("gate_is_met")) for x in row] for row in rows])
    write_matrix(folder.across_file.with_suffix(".png"), returns, [names[k] for k in policies], names, met)
    replace_text(folder.across_file, as_json(table))  # last: with it nothing is evaluated again


def _kind(training_run: TrainingRun, variables: PyTree) -> Any:
    """What policies have in common that one program can evaluate."""
    config, env = training_run.config, training_run.env
    seen = tuple((name, x.shape, x.dtype) for name, x in sorted(env.observation_spec.items()))
    return config.algorithm, config.network, kind_of(variables), seen, channels_of(env)


def _fits(training_run: TrainingRun, variables: PyTree, where: TrainingRun) -> bool:
    """Whether a policy can act in another stage's environment."""
    env = training_run.env
    network = PolicyNetwork(training_run.policy, env.observation_spec, env.action_size, channels_of(env))
    try:
        check_fits(Policy(variables, network), where.env)
    except ConfigError:
        return False
    return True
