"""A curve of a few characters, for a line of text."""

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """Values from the lowest to the highest bar; what is not finite is left out.

    Args:
      values: in order.
      width: most characters; of more values, means of as many successive ones as it takes.
    """
    known = [value for value in values if math.isfinite(value)]
    if not known or width < 1:
        return ""
    size = -(-len(known) // width)
    means = [sum(part) / len(part) for part in (known[k : k + size] for k in range(0, len(known), size))]
    low, span = min(means), max(means) - min(means)
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1)) if span else 0] for value in means)
