"""The part of a report that draws the study's networks, and what runs fused in them."""

from collections.abc import Sequence

from ..space.network import Network
from .details import Details
from .network_picture import Fused, picture_card
from .show import tiling_text

_KIB = 1024


def network_sections(networks: Sequence[Network], details: Details | None) -> list[str]:
    """Return HTML with a picture of each network.

    Args:
        networks: of the study.
        details: of the picked design, whose plans tell what is fused; None if there is none.
    """
    if not networks:
        return []
    plans = {} if details is None else {n["name"]: n["groups"] for n in details["networks"]}
    title = "Networks"
    if details is not None:
        title += f", and what trial {details['trial']} runs fused"
    cards = [
        picture_card(network, fused_groups(plans.get(network.name, ())), f"graph-{number}")
        for number, network in enumerate(networks)
    ]
    return [f"<h2>{title}</h2>", *(f'<div class="wide">{card}</div>' for card in cards)]


def fused_groups(groups: Sequence[Details]) -> list[Fused]:
    """Return the groups of a plan that fuse layers, with what tables say of them."""
    return [
        Fused(
            f"group {number}: {tiling_text(group)}", tuple(group["layers"]), _about(number, group)
        )
        for number, group in enumerate(groups)
        if len(group["layers"]) > 1
    ]


def _about(number: int, group: Details) -> str:
    resident = f", weights of {len(group['resident'])} stay" if group["resident"] else ""
    return (
        f"group {number}: {len(group['layers'])} layers, {tiling_text(group)}{resident}; "
        f"DRAM {group['dram_bytes'] / _KIB:,.1f} KiB, "
        f"{group['dram_bytes_unfused'] / _KIB:,.1f} layer by layer"
    )
