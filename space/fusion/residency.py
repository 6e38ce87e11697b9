"""Residency: pinned feature maps and weights that stay in the buffer around each group of a plan.

Fusion model, sections 3 and 9: a pinned map takes its full size from the group that makes it to
the group that reads it last; weights that stay take theirs in every group.
"""

from dataclasses import dataclass
from typing import Final

from archloom.space.workload import Network

from .plan import FusionPlan
from .sub_batches import sub_batch


@dataclass(frozen=True, slots=True)
class Residents:
    """What one group needs to know of the rest of its plan.

    Attributes:
        held: layers of earlier groups whose whole feature maps lie in the buffer while the group
            runs, ascending.
        kept: members of the group whose maps stay there whole.
        unwritten: those of ``kept`` whose maps DRAM never sees.
        words: of all these maps, for all images of a sub-batch, and of all weights of the plan
            that are steady or loaded once. The group has that much less of the buffer.
    """

    held: tuple[int, ...]
    kept: tuple[int, ...]
    unwritten: tuple[int, ...]
    words: int


#: a group whose plan leaves nothing in the buffer
ALONE: Final = Residents((), (), (), 0)


def plan_residents(network: Network, plan: FusionPlan) -> tuple[Residents, ...]:
    """Return what lies in the buffer around each group of a valid plan, in running order."""
    if not any(group.pins or group.staying for group in plan.groups):
        return (ALONE,) * len(plan.groups)
    home = {layer: g for g, group in enumerate(plan.groups) for layer in group.layers}
    last = {pin.layer: home[pin.reader] for group in plan.groups for pin in group.pins}
    network = sub_batch(network, plan.sub_batches)
    owners = {network.weight_owner(i) for group in plan.groups for i in group.staying}
    always = sum(network.layers[i].weight_words for i in owners)
    found = []
    there: list[int] = []
    for g, group in enumerate(plan.groups):
        there = sorted(i for i in there if last[i] >= g)
        held, kept = tuple(there), tuple(pin.layer for pin in group.pins)
        there += kept
        unwritten = tuple(
            i
            for i in kept
            if network.layers[i].name not in network.leaving
            and all(home[reader] <= last[i] for reader in network.consumers[i])
        )
        words = sum(network.layers[i].output_words for i in (*held, *kept))
        found.append(Residents(held, kept, unwritten, always + words))
    return tuple(found)
