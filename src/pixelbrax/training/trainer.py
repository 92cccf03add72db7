"""What belongs to one run: environment, agent, checkpoints, evaluations."""

import copy
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from pixelbrax.algorithms import AgentState
from pixelbrax.envs import PixelEnv
from pixelbrax.precision import check_single
from pixelbrax.training.checkpoint import load_checkpoint, load_last, save_checkpoint
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.evaluation import Evaluation, Evaluator
from pixelbrax.training.progress import Progress
from pixelbrax.training.run_dir import HELD_OUT, RunDir

# Streams of random numbers of a run, all from its seed.
TRAINING_STREAM, EVALUATION_STREAM = 0, 1
_SIDE_BY_SIDE = 32  # episodes of an evaluation at least, if there are as many


class Trainer:
    """The environment and the agent of a run, and what is kept of them; `Cohort` trains."""

    def __init__(self, config: TrainConfig, progress: Progress | None = None, num_agents: int = 1):
        """Builds environment, network and algorithm; compiles nothing yet.

        Args:
          config: all settings.
          progress: where to tell what is under way.
          num_agents: agents that are to share the device's memory.

        Raises:
          ConfigError: a setting cannot be used, or JAX computes in double precision.
        """
        check_single("training")
        self.config = config
        self.env, self.agent = config.build(num_agents)
        self.progress = progress or Progress()
        self._evaluator = self.evaluator(config.eval_episodes)
        self._held_out: Evaluator | None = None

    def prepare(self) -> None:
        """Makes ready what only those need who train: the look of `eval_distractors`.

        Raises:
          ConfigError: it cannot be shown.
        """
        if self.config.eval_distractors:
            self._held_out = self.evaluator(self.config.eval_episodes, self.config.eval_distractors)

    def sibling(self, config: TrainConfig) -> "Trainer":
        """That of another run in the same environment, of an agent of the same form; nothing is compiled twice."""
        other = copy.copy(self)
        other.config = config
        return other

    def restore(self, run: RunDir, updates: int | None = None) -> AgentState:
        """The state of a run's checkpoint at that number of updates, by default the last.

        Raises:
          ConfigError: there is none that can be read.
        """
        if updates is None:
            return load_last(run.checkpoint_dir, lambda updates: self.restore(run, updates))
        like, say = jax.eval_shape(self.agent.init, jax.random.key(0)), self.progress.say
        if self.config.agent.needs_memory(updates):
            return load_checkpoint(run.checkpoint_dir, like, updates, say)
        state = load_checkpoint(run.checkpoint_dir, replace(like, memory=()), updates, say)
        return replace(state, memory=jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like.memory))

    def save(self, run: RunDir, state: AgentState) -> None:
        """A checkpoint of the state; `restore` gives it back, but for memory that nothing will read."""
        updates = int(state.num_updates)
        if not self.config.agent.needs_memory(updates):
            state = replace(state, memory=())
        save_checkpoint(run.checkpoint_dir, updates, state)

    def evaluator(
        self, num_episodes: int, distractors: tuple[str, ...] | None = None, deterministic: bool = True
    ) -> Evaluator:
        """Evaluates this trainer's policies in its environment.

        Args:
          num_episodes: episodes; as many side by side as in the run's own evaluations, so that the program is the same.
          distractors: seen instead of what the policy trains with; None changes nothing.
          deterministic: take the policy's mode; otherwise sample.
        """
        # As many as the run trains in fit into memory, however many are asked for.
        batch_size = min(self.config.eval_episodes, max(self.config.agent.num_envs, _SIDE_BY_SIDE))
        env, policy = self.env_under(distractors), self.agent.policy
        return Evaluator(env, policy, num_episodes, deterministic, self.progress, batch_size)

    def env_under(self, distractors: tuple[str, ...] | None) -> PixelEnv:
        """This trainer's environment with these distractors instead of its own; None changes nothing."""
        if distractors is None:
            return self.env
        return replace(self.config.environment, distractors=distractors).build()

    def evaluate(self, run: RunDir, name: str, state: AgentState) -> Evaluation:
        """The deterministic policy's return, on episodes drawn alike each time; kept in the run's evaluation.json.

        The policy is kept too if its interquartile mean is the highest yet. Beside it stands, if the settings name
        `eval_distractors`, the return in the same episodes under those.
        """
        key = jax.random.fold_in(jax.random.key(self.config.seed), EVALUATION_STREAM)
        result = self._evaluator(state.params, key)
        updates = int(state.num_updates)
        if all(result.iqm > other["iqm"] for known, other in run.read_evaluations().items() if known != name):
            save_checkpoint(run.best_dir, updates, {"params": state.params})
        self.progress.say(f"{name} policy, deterministic: {result}")
        found: dict[str, Any] = {"steps": updates * self.config.agent.batch_size, **result.as_dict()}
        if self._held_out:
            held_out = self._held_out(state.params, key)
            looks = " + ".join(self.config.eval_distractors)
            self.progress.say(f"{name} policy, deterministic, under {looks}: {held_out}")
            found[HELD_OUT] = {"distractors": looks, **held_out.as_dict()}
            result = replace(result, held_out=held_out)
        run.write_evaluation(name, found)
        return result

    def restore_best(self, run: RunDir) -> tuple[PyTree, int]:
        """Parameters of the policy whose evaluation was the best, and its number of updates.

        Raises:
          ConfigError: there is none that can be read.
        """
        like, folder = {"params": jax.eval_shape(self.agent.init, jax.random.key(0)).params}, run.best_dir
        say = self.progress.say
        return load_last(folder, lambda updates: (load_checkpoint(folder, like, updates, say)["params"], updates))
