"""Texts about how good mappings and plans are, and about what was spent on them."""

from math import isfinite
from typing import Any


def percent(share: float) -> str:
    """Return a number of percents with three digits, and never as a power of ten."""
    return f"{share:,.0f} %" if abs(share) >= 99.95 else f"{share:.3g} %"


def finite(value: Any) -> Any:
    """Return a value as JSON can have it: None in place of an infinite number."""
    return None if isinstance(value, float) and not isfinite(value) else value


def gap_text(gap_percent: float | None) -> str:
    """Say how far above the best a mapping may be; None if nothing is known."""
    if gap_percent is None:
        return "not proven"
    return "proven" if gap_percent == 0 else percent(gap_percent)


def plan_gap_text(gap_percent: float | None) -> str:
    """Say how far above the least for its mappings a plan may be; None if nothing is known."""
    return "unknown" if gap_percent is None else percent(gap_percent)


def layer_gap_text(layer: dict[str, Any]) -> str:
    """Say the largest gap of a layer's tiles; nothing where no mapping is searched."""
    gaps = [mapping["gap_percent"] for mapping in layer["mappings"]]
    if not gaps:
        return ""
    return gap_text(None if None in gaps else max(gaps))


def gaps_text(gaps: dict[str, Any]) -> str:
    """Say in a line what is proven of a plan's mappings, and of the plan."""
    if gaps["mappings"] == 0:
        return "no layer runs on MACs"
    text = f"{gaps['proven']} of {gaps['mappings']} mappings proven optimal"
    if gaps["worst_percent"]:
        text += f", largest gap {percent(gaps['worst_percent'])}"
    if gaps["unknown"]:
        text += f", {gaps['unknown']} without a bound"
    if gaps["plan_percent"] == 0:
        text += "; no other mappings give the plan a lower EDP"
    elif gaps["plan_percent"] is not None:
        text += (
            f"; the plan's EDP is at most {percent(gaps['plan_percent'])} above that of the same "
            "plan with optimal mappings"
        )
    return text


def fused_text(groups: int, fused: int) -> str:
    """Say how many groups a plan has, and how many of them have several layers."""
    if groups == 1:
        return "1 group, fused" if fused else "1 group, not fused"
    return f"{groups} groups, {fused or 'none'} of them fused"


def spent_text(spent: dict[str, int]) -> str:
    """Say on what a search budget was spent that fusion plans and mappings share."""
    if not spent["mapping_units"]:
        return f"search budget of {spent['units']} units: all spent on fusion plans"
    mappings = "1 mapping" if spent["mappings"] == 1 else f"{spent['mappings']} mappings"
    return (
        f"search budget of {spent['units']} units: {spent['plans']} spent on fusion plans, "
        f"{spent['mapping_units']} on refining {mappings}"
    )
