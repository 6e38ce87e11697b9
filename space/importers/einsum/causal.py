"""Causal mask that a file of einsums states: which ranks are queries and keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from archloom.space.workload import no_causal_mask

from ...errors import did_you_mean
from ...yaml_reader import Document, Faults, Place, shown
from .ranks import Sizes

_KEYS: Final = ("queries", "keys", "window")


@dataclass(frozen=True, slots=True)
class CausalRanks:
    """Ranks that a causal mask is along.

    Attributes:
        queries, keys: ranks; the last query's own key is the last one.
        window: keys that a query sees at the most, its own among them; 0 for all before it.
        place: where it stands.
    """

    queries: str
    keys: str
    window: int
    place: Place


def read_causal(document: Document, sizes: Sizes, faults: Faults) -> CausalRanks | None:
    """Return what a file has under ``causal``; None for nothing, or if that is wrong.

    Args:
        document: of the file.
        sizes: of its ranks.
        faults: gets what is wrong.
    """
    if "causal" not in document.data:
        return None
    given, place = document.data["causal"], document.place(("causal",))
    wrong = list(_wrong(given, sizes))
    for message in wrong:
        faults.add(place, message)
    if wrong:
        return None
    return CausalRanks(given["queries"], given["keys"], given.get("window", 0), place)


def _wrong(given: Any, sizes: Sizes) -> list[str]:
    if not isinstance(given, Mapping) or not {"queries", "keys"} <= given.keys():
        rule = "must name the ranks of queries and keys, such as {queries: q, keys: k}"
        return [f"{shown(given)} {rule}"]
    wrong = [
        f"{key!r} is not known; {did_you_mean(str(key), _KEYS)}" for key in given.keys() - _KEYS
    ]
    for key in ("queries", "keys"):
        if not isinstance(given[key], str) or given[key] not in sizes:
            hint = did_you_mean(str(given[key]), sizes)
            wrong.append(f"{key} is {shown(given[key])}, which is not a rank; {hint}")
    window = given.get("window", 1)
    if type(window) is not int or window < 1:
        wrong.append(f"window is {shown(window)}, must be a whole number, at least 1")
    if wrong:
        return wrong
    queries, keys = sizes[given["queries"]], sizes[given["keys"]]
    if queries is None or keys is None:
        return []
    unseen = no_causal_mask(queries, keys, given.get("window", 0))
    return [unseen] if unseen else []
