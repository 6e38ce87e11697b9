"""Cases of sweeps: a sample runs always, the others with ``make test-all`` alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(cases: Iterable[Any], sample: int) -> list[Any]:
    """Return the cases to parametrize with; those after the first ``sample`` are exhaustive.

    The first ones must be of every kind: what is drawn by number, kinds taking turns, is.
    """
    return [
        case
        if number < sample
        else pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.exhaustive
        )
        for number, case in enumerate(cases)
    ]
