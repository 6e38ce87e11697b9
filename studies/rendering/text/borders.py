"""Borders between groups of a plan in words: why neighbours are not merged."""

from collections.abc import Iterator
from typing import Any, Final

from .design import KIB, group_layers
from .gaps import percent

#: borders that are named; of more, how many there are
_NAMED: Final = 12
#: of percents; a smaller change is none
_DIGITS: Final = 4


def border_lines(borders: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a heading and a line for each border, as records of JSON have them."""
    if not borders:
        return
    yield "Neighbouring groups that are not merged"
    for border in borders[:_NAMED]:
        yield f"  {_pair(border)}: {_why(border)}"
    if len(borders) > _NAMED:
        yield f"  and {len(borders) - _NAMED} more pairs; --json lists all"
    yield ""


def _pair(border: dict[str, Any]) -> str:
    names = f"{group_layers(border['before'])} + {group_layers(border['after'])}"
    if not border["alike"]:
        return names
    return f"{names} (and {border['alike']} similar pair{'s' if border['alike'] > 1 else ''})"


def _why(border: dict[str, Any]) -> str:
    lacks = border["infeasible"]
    if lacks is None:
        more = border["edp_percent"]
        if round(more, _DIGITS) == 0:
            return "would not change the EDP"
        return f"would {'raise' if more >= 0 else 'lower'} the EDP by {percent(abs(more))}"
    if lacks["unit"] != "bytes":
        return str(border["sentence"])
    needed, available = (f"{lacks[key] / KIB:,.1f} KiB" for key in ("needed", "available"))
    where = lacks["where"].partition(",")[0]
    return f"infeasible ({lacks['reason']}): needs {needed} of {where}, which has {available}"
