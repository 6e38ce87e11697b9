"""Rule that picks one design of a front, as study files say it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from archloom.search import Objective
from archloom.space import did_you_mean

from ..errors import UserError
from .objectives import stored_objective_set
from .quantities import positive
from .sections import Key, Reading

if TYPE_CHECKING:
    from archloom.search import PickRule

#: The rules, and what people call a design that one picked.
PICKED: Final = {
    "ideal": "nearest to the ideal point",
    "knee": "knee of the front",
    "lexicographic": "best by the objectives in their order",
}
_KEYS: Final = ("name", "order", "tolerance")


def _read_pick(entry: Any, beside: Reading) -> dict[str, Any]:
    """Return a rule as a mapping: ``name``, and of ``lexicographic`` its options if given.

    Raises:
        ValueError: what is wrong with it.
    """
    rule = entry if isinstance(entry, dict) else {"name": entry}
    unknown = [key for key in rule if key not in _KEYS]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is an unknown key; {did_you_mean(str(unknown[0]), _KEYS)}"
        )
    name = rule.get("name")
    if not isinstance(name, str) or name not in PICKED:
        raise ValueError(f"{name!r} is unknown; {did_you_mean(str(name), PICKED)}")
    if name != "lexicographic" and len(rule) > 1:
        raise ValueError(f"{name!r} has no options; order and tolerance belong to 'lexicographic'")
    order = rule.get("order", [])
    if not isinstance(order, list):
        raise ValueError(f"order {order!r} must be a list of objectives")
    if "objectives" in beside.before:
        positions(order, beside.before["objectives"])
    if "tolerance" in rule and rule["tolerance"] != 0:
        positive(rule["tolerance"], "")
    return dict(rule)


def positions(order: Sequence[Any], objectives: Sequence[Objective]) -> tuple[int, ...]:
    """Return where the named objectives stand; a metric's name will do where it is one alone.

    Raises:
        ValueError: a name that no objective, or more than one, has; or one that stands twice.
    """
    found = []
    for name in order:
        fits = [
            i
            for i, objective in enumerate(objectives)
            if name in (objective.name, objective.metric)
        ]
        if len(fits) != 1:
            near = did_you_mean(str(name), [objective.name for objective in objectives])
            raise ValueError(
                f"order names {name!r}, which is not exactly one of the objectives; {near}"
            )
        found.append(fits[0])
    if len(set(found)) < len(found):
        raise ValueError(f"order {list(order)} has an objective twice")
    return tuple(found)


def pick_rule(rule: Mapping[str, Any], objectives: Sequence[Objective]) -> "PickRule":
    """Return the rule of a mapping that :func:`_read_pick` returned."""
    from archloom.search import PickRule

    order = positions(rule.get("order", ()), objectives)
    return PickRule(rule["name"], order, float(rule.get("tolerance", 0.0)))


def stored_pick(config: Mapping[str, Any], name: str | None = None) -> "PickRule":
    """Return the rule of a study's directory; older ones picked the nearest to the ideal.

    ``name`` is a rule that is asked for in place of the study's.

    Raises:
        UserError: it is unknown.
    """
    if name is not None and name not in PICKED:
        raise UserError(f"--pick {name!r} is unknown; {did_you_mean(name, PICKED)}")
    rule = config.get("pick", {"name": "ideal"})
    if name not in (None, rule["name"]):
        rule = {"name": name}
    return pick_rule(rule, stored_objective_set(config).objectives)


_ABOUT: Final = """\
A rule that selects one design of the Pareto front.

Attributes:
    name: rule: ``ideal`` selects the design nearest to the ideal point (the best value of each
        objective), ``knee`` the knee of the front, ``lexicographic`` the best design by the
        objectives in order of importance.
    order: for ``lexicographic``: objectives, most important first.
    tolerance: for ``lexicographic``: relative difference within which designs count as equal.
"""

#: the key that holds a rule
PICK: Final = Key(
    _read_pick,
    form=lambda: {
        "anyOf": [
            {"enum": list(PICKED)},
            {
                "type": "object",
                "description": _ABOUT,
                "properties": {
                    "name": {"enum": list(PICKED)},
                    "order": {"type": "array", "items": {"type": "string"}},
                    "tolerance": {"type": "number", "minimum": 0, "default": 0},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        ]
    },
    examples=("knee", {"name": "lexicographic", "order": ["edp", "area"], "tolerance": 0.05}),
)
