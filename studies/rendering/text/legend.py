"""What columns of a front's table mean that say how good its figures are: one text for all."""

from collections.abc import Iterable
from typing import Final

from archloom.studies.storage import TrialState

#: what a state of a design with an EDP means for its figures
STATES: Final[dict[TrialState, str]] = {
    "complete": "its software was searched to the end of the study's budget",
    "stopped": "halving ended its search early; with more it may have less EDP",
    "failed": "a round crashed; the figures are those of the rounds before",
    "lost": "machines failed a round; the figures are those of the rounds before",
    "over_limit": "a round broke a limit; the figures are those of the rounds before",
}

#: what the other columns mean
COLUMNS: Final = {
    "evaluations": "fusion plans that were evaluated for each network",
    "gap": "EDP is at most so much above the least that any mappings give its plan; of several "
    "networks the largest",
    "proven": "mappings that are proven to be the best, of all recorded",
}


def front_legend(states: Iterable[str]) -> list[tuple[str, str]]:
    """Return terms and their meanings, for a table of designs in these states."""
    there = set(states)
    return [*((name, text) for name, text in STATES.items() if name in there), *COLUMNS.items()]
