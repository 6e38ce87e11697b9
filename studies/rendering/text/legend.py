"""What columns of a front's table mean that say how good its figures are: one text for all."""

from collections.abc import Iterable
from typing import Final

from archloom.studies.storage import TrialState

#: what a state of a design with an EDP means for its figures
STATES: Final[dict[TrialState, str]] = {
    "complete": "the software search used its full budget",
    "stopped": "halving ended the software search early; more search may lower the EDP",
    "failed": "a round crashed; the figures are from the rounds before it",
    "lost": "machines failed during a round; the figures are from the rounds before it",
    "over_limit": "a round exceeded a limit; the figures are from the rounds before it",
}

#: what the other columns mean
COLUMNS: Final = {
    "evaluations": "number of fusion plans evaluated for each network",
    "gap": "how far the EDP is at most above that of the same fusion plan with optimal mappings; "
    "for several networks the largest",
    "proven": "mappings that are proven optimal, of all mappings of the plans",
}


def front_legend(states: Iterable[str]) -> list[tuple[str, str]]:
    """Return terms and their meanings, for a table of designs in these states."""
    there = set(states)
    return [*((name, text) for name, text in STATES.items() if name in there), *COLUMNS.items()]
