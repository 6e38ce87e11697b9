"""The part of a report that draws the study's networks, and what runs fused in them."""

from collections.abc import Sequence

from archloom.space.workload import Network
from archloom.studies.analysis import Details
from archloom.studies.rendering.pictures import fused_groups, picture_card, pinned_reads


def network_sections(networks: Sequence[Network], details: Details | None) -> list[str]:
    """Return HTML with a picture of each network.

    Args:
        networks: of the study.
        details: of the picked design, whose plans tell what is fused; None if there is none.
    """
    if not networks:
        return []
    title = "Networks"
    plans: dict[str, list[Details]] = {}
    if details is not None:
        title += f", and what trial {details['trial']} runs fused"
        plans = {plan["name"]: plan["groups"] for plan in details["networks"]}
    cards = []
    for number, network in enumerate(networks):
        groups = plans.get(network.name)
        fused = None if groups is None else fused_groups(groups)
        pinned = pinned_reads(network, groups or [])
        cards.append(picture_card(network, fused, f"graph-{number}", network.name, pinned))
    return [f"<h2>{title}</h2>", *(f'<div class="wide">{card}</div>' for card in cards)]
