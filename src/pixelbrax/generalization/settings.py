"""Distractors' settings as JSON: what fingerprints of locked settings are made of."""

import hashlib
import json
from typing import Any

from pixelbrax.distractors import Distractor

# Classes that have another name in locked fingerprints.
_LOCKED_NAMES = {"BackgroundOnly": "Behind"}
# Settings that came after a fingerprint was locked: it does not have them where they change nothing.
_ADDED = {
    "around_origin": False,
    "by_material": False,
    "drift": 0.0,
    "fixed": False,
    "from_start": False,
    "headlight": True,
    "one_way": False,
    "whole": False,
}


def settings_of(value: Any) -> Any:
    """A distractor's settings down to every constant, as JSON has them."""
    if isinstance(value, Distractor):
        given = {name: getattr(value, name) for name in value.__dataclass_fields__ if name not in ("bank", "texels")}
        fields = {name: settings_of(x) for name, x in given.items() if name not in _ADDED or x != _ADDED[name]}
        name = type(value).__name__
        return [_LOCKED_NAMES.get(name, name), fields]
    if isinstance(value, tuple):
        return [settings_of(item) for item in value]
    return repr(value)


def digest(facts: Any) -> str:
    """SHA-256 of facts that JSON can hold, in hexadecimal."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
