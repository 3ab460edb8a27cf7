"""By which power of the input's size our time grows: a line through the logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results import Result

__all__ = ["LIMIT", "STAGE", "exponents", "render"]

LIMIT = 1.2
STAGE = "stage: "
"""What the operations that are stages of a build begin with."""


def exponents(results: Sequence[Result]) -> dict[tuple[str, str], float]:
    """Return the exponent of each operation and peer of ours measured at two sizes or more."""
    times: dict[tuple[str, str], dict[int, float]] = {}
    for result in results:
        if result.is_ours:
            times.setdefault((result.operation, result.peer), {})[result.size] = result.median
    return {
        key: float(np.polyfit(np.log(list(of_size)), np.log(list(of_size.values())), 1)[0])
        for key, of_size in times.items()
        if len(of_size) > 1
    }


def render(found: dict[tuple[str, str], float]) -> str:
    """Return a line for each operation, the steepest first, those above the limit marked."""
    steepest = sorted(found.items(), key=lambda item: -item[1])
    return "\n".join(
        f"  {power:5.2f}{' above ' + str(LIMIT) if power > LIMIT else '':10s}  {operation}: {peer}"
        for (operation, peer), power in steepest
    )
