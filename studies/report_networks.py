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


def fused_groups(groups: Sequence[Details]) -> list[Fused]:
    """Return the groups of a plan that fuse layers, with what tables say of them."""
    return [
        Fused(_label(number, group), tuple(group["layers"]), _about(number, group))
        for number, group in enumerate(groups)
        if len(group["layers"]) > 1
    ]


def pinned_reads(network: Network, groups: Sequence[Details]) -> list[tuple[str, str]]:
    """Return maker and reader of all that a plan's groups find in the buffer of earlier ones."""
    home = {name: number for number, group in enumerate(groups) for name in group["layers"]}
    layers = network.layers
    found = []
    for number, group in enumerate(groups):
        for pin in group["pins"]:
            readers = (layers[c].name for c in network.consumers[network.index(pin["layer"])])
            last = home[pin["reader"]]
            found += [(pin["layer"], reader) for reader in readers if number < home[reader] <= last]
    return found


def _label(number: int, group: Details) -> str:
    tiles = f": {group['tiles']} tiles" if group["tiles"] > 1 else ""
    return f"group {number}{tiles}"


def _about(number: int, group: Details) -> str:
    resident = f", weights of {len(group['resident'])} stay" if group["resident"] else ""
    return (
        f"group {number}: {len(group['layers'])} layers, {tiling_text(group)}{resident}; "
        f"DRAM {group['dram_bytes'] / _KIB:,.1f} KiB, "
        f"{group['dram_bytes_unfused'] / _KIB:,.1f} layer by layer"
    )
