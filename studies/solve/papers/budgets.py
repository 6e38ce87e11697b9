"""Budgets of a table: other values of its keys that make it cheaper, and what each budget costs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from archloom.studies.config import Key, Reading, Section, number, section

#: from the cheapest to the table as it is
BUDGETS: Final = ("tiny", "small", "full")
FULL: Final = BUDGETS[-1]

#: keys that are the same at all budgets
_FIXED: Final = ("kind", "paper", "source", "published", "budgets", "cost")


def changes_of(what: str) -> Key:
    """Return a key that holds other values for keys of a file."""

    def read(entry: Any, _: Reading) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise ValueError(f"{entry!r} must be a mapping of keys of {what}")
        return entry

    return Key(read)


def _changes() -> Key:
    def check(entry: dict[str, Any], _: Reading) -> dict[str, Any]:
        if wrong := [key for key in entry if key in _FIXED]:
            raise ValueError(f"{', '.join(wrong)} cannot differ between budgets")
        return entry

    return changes_of("the table").checked(check).or_none()


@dataclass(frozen=True, kw_only=True)
class Smaller(Section):
    """What differs from the table as it is; None for a budget that there is not.

    Attributes:
        tiny: enough to see that everything works.
        small: minutes.
    """

    tiny: Annotated[dict[str, Any] | None, _changes()] = None
    small: Annotated[dict[str, Any] | None, _changes()] = None


@dataclass(frozen=True, kw_only=True)
class Costs(Section):
    """CPU-seconds of each budget, as measured; None where that is not known.

    Attributes:
        tiny, small, full: by budget.
    """

    tiny: Annotated[float | None, number(above=0).or_none()] = None
    small: Annotated[float | None, number(above=0).or_none()] = None
    full: Annotated[float | None, number(above=0).or_none()] = None


@dataclass(frozen=True, kw_only=True)
class BudgetKeys(Section):
    """Keys of a table file that are not of the table.

    Attributes:
        budgets: what differs at each.
        cost: of each.
    """

    budgets: Annotated[Smaller, section(Smaller)] = field(default=Smaller())
    cost: Annotated[Costs, section(Costs)] = field(default=Costs())

    @property
    def by_budget(self) -> dict[str, float]:
        """CPU-seconds by budget, where they are known."""
        return {name: value for name, value in self.cost.to_dict().items() if value is not None}


def merged(keys: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys with changes: mappings are merged, but one that names another component replaces
    the whole, for the options beside the old name are not its own."""
    found = dict(keys)
    for key, new in changes.items():
        old = found.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            same = "name" not in new or new["name"] == old.get("name")
            found[key] = merged(old, new) if same else new
        else:
            found[key] = new
    return found
