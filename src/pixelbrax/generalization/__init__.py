"""Benchmarks of generalization: policies under distractors that they were not trained with.

pairs, gaps, gen_v1: pairs of settings, and the gap between them. benchmark, gen_v2: many severities under one protocol;
evaluation runs its tests, entry keeps their results, scores and leaderboard compare them.
"""

from pixelbrax.generalization.benchmark import Benchmark, TaskRules
from pixelbrax.generalization.entry import PLAIN, Entry
from pixelbrax.generalization.evaluation import check_run, evaluate_runs, fingerprints, result_file
from pixelbrax.generalization.gaps import PairResult, departures, evaluate_pairs, pairs_for
from pixelbrax.generalization.gen_v1 import GEN_V1
from pixelbrax.generalization.gen_v2 import GEN_V2, GEN_V2_LITE
from pixelbrax.generalization.leaderboard import Leaderboard, read_results, result_files
from pixelbrax.generalization.pairs import Pair, PairSuite
from pixelbrax.generalization.registry import SUITES, get_benchmark, get_suite
from pixelbrax.generalization.scores import LEARNED, MethodResult

__all__ = [
    "GEN_V1",
    "GEN_V2",
    "GEN_V2_LITE",
    "LEARNED",
    "PLAIN",
    "SUITES",
    "Benchmark",
    "Entry",
    "Leaderboard",
    "MethodResult",
    "Pair",
    "PairResult",
    "PairSuite",
    "TaskRules",
    "check_run",
    "departures",
    "evaluate_pairs",
    "evaluate_runs",
    "fingerprints",
    "get_benchmark",
    "get_suite",
    "pairs_for",
    "read_results",
    "result_file",
    "result_files",
]
