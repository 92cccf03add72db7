"""Whether results are of one method: what the settings of their training differ in, also across versions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from pixelbrax.algorithms import algorithm_names, get_algorithm
from pixelbrax.training import TrainConfig

Settings = Mapping[str, Any]

_TEACHER = ("teacher", "teacher_updates")  # each seed may have its own,
_START = ("start_from", "start_updates")  # and its own run to begin with
_AGENT, _NETWORK, _DISTRACTORS = "agent", "network", "distractors"


def apart(one: Settings, other: Settings) -> list[str]:
    """Settings that differ and change what is learned; one that an earlier version did not have has its default.

    Args:
      one: settings as a result has them, with tables "agent" and "network".
      other: those of another result.
    """
    default = json.loads(json.dumps(asdict(TrainConfig())))
    names = [name for name in {**one, **other} if name not in (*TrainConfig.NEUTRAL, *_START, "log_interval")]
    return [name for name in names if not _same(name, one, other, default)]


def without_split(distractors: Iterable[str]) -> tuple[str, ...]:
    """Names of distractors of training: "NAME@train" is NAME."""
    return tuple(name.removesuffix("@train") for name in distractors)


def tuned(several: Sequence[Settings]) -> bool:
    """Whether settings of the algorithm or the network are not the same in all results."""
    first, *others = several
    return any(name in (_AGENT, _NETWORK) for other in others for name in apart(other, first))


def _same(name: str, one: Settings, other: Settings, default: Settings) -> bool:
    """Whether a setting, or a table of them, is the same in both; `default` has those of this version."""
    a, b = (settings.get(name, default.get(name)) for settings in (one, other))
    if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
        return a == b
    if name == _AGENT:
        a, b = ({key: x for key, x in table.items() if key not in _TEACHER} for table in (a, b))
        return _completed(a) == _completed(b)
    known = default.get(name) or {}
    filled = ({**known, **table} for table in (a, b))
    one, other = ({**table, _DISTRACTORS: without_split(table.get(_DISTRACTORS, ()))} for table in filled)
    return one == other


def _completed(agent: Settings) -> Settings:
    """An algorithm's settings with the defaults of those that are missing: of the one that has the fewest others."""
    kinds = [get_algorithm(name).config for name in algorithm_names()]
    having = [kind for kind in kinds if agent.keys() <= {field.name for field in fields(kind)}]
    if not having:
        return agent
    default = json.loads(json.dumps(asdict(min(having, key=lambda kind: len(fields(kind)))())))
    return {name: x for name, x in default.items() if name not in _TEACHER} | {**agent}
