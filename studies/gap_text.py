"""What people read of how good mappings are."""

from typing import Any


def gap_text(gap_percent: float | None) -> str:
    """Say how far above the best a mapping may be; None if nothing is known."""
    if gap_percent is None:
        return "not proven"
    return "proven" if gap_percent == 0 else f"{gap_percent:.3g} %"


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
        text += f", largest gap {gaps['worst_percent']:.3g} %"
    if gaps["unknown"]:
        text += f", nothing known of {gaps['unknown']}"
    if gaps["plan_percent"] is not None:
        text += (
            f"; the plan's EDP is at most {gaps['plan_percent']:.3g} % above the least that any "
            "mappings give it"
        )
    return text
