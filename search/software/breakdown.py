"""What the cost of a plan is made of, as plain numbers: a record keeps them, so that whoever looks
at a trial later prices nothing again.

Names of layers, bounds, tiles and loops are not repeated: network, hardware, plan and mappings that
stand in the record have them.
"""

from collections.abc import Iterable
from dataclasses import asdict
from math import isfinite
from typing import Any

from archloom.evaluators.bounds import mapping_gaps
from archloom.evaluators.fusion import GroupCost, LayerShare, NetworkCost

from .result import GROUP_FIGURES


def breakdown_of(
    cost: NetworkCost, unfused: NetworkCost, mappings: Iterable[str] = (), least: float = 0.0
) -> dict[str, Any]:
    """Return what a plan costs by level, group, layer and tile, beside the plan that fuses nothing.

    Args:
        cost: of the plan.
        unfused: of the other one.
        mappings: texts that a record has anyway; the place of one there stands for it.
        least: an EDP (pJ cycles) that the plan is known to have at least with any mappings.

    Returns:
        ``plan`` and ``unfused``, sums by name; ``gaps``; ``groups``, for each its
        :data:`archloom.search.software.result.GROUP_FIGURES`; ``layers``, for each in the order
        in which they run: operations, latency_cycles, compute_pj, pJ by level, words by level and
        tensor, and its distinct tiles as (how many, mapping, gap in percent or None if nothing is
        known).
    """
    known = {text: place for place, text in enumerate(mappings)}
    # of layers that are folded into one, the first stands for all
    alone = {g.group.layers[0]: g.dram_reads + g.dram_writes for g in unfused.groups}
    gaps = asdict(mapping_gaps(cost, least))
    return {
        "plan": _sums(cost),
        "unfused": _sums(unfused),
        "gaps": gaps | {"plan_percent": _finite(gaps["plan_percent"])},
        "groups": [_group(group, alone) for group in cost.groups],
        "layers": [_layer(share, known) for group in cost.groups for share in group.layers],
    }


def _sums(cost: NetworkCost) -> dict[str, Any]:
    shares = [share for group in cost.groups for share in group.layers]
    word_bytes = cost.hardware.word_bits / 8
    return {
        "edp_js": cost.edp_js,
        "energy_pj": cost.energy_pj,
        "levels_pj": {
            level.name: float(sum(share.energy_pj[i].sum() for share in shares))
            for i, level in enumerate(cost.hardware.levels)
        },
        "compute_pj": sum(share.compute_pj for share in shares),
        "leakage_pj": cost.leakage_pj,
        "latency_cycles": cost.latency_cycles,
        "latency_s": cost.latency_s,
        "dram_read_bytes": cost.dram_reads * word_bytes,
        "dram_write_bytes": cost.dram_writes * word_bytes,
        "dram_bytes": cost.dram_bytes,
    }


def _group(group: GroupCost, alone: dict[int, int]) -> list[Any]:
    unfused = sum(alone.get(layer, 0) for layer in group.group.layers)
    figures = {"dram_words_unfused": unfused}
    return [figures.get(name, getattr(group, name, None)) for name in GROUP_FIGURES]


def _layer(share: LayerShare, known: dict[str, int]) -> list[Any]:
    tiles = [
        (times, known.get(text, text), _finite(tile.gap_percent))
        for times, tile in share.evaluations
        if tile.mapping is not None
        for text in [tile.mapping.to_text()]
    ]
    levels_pj = [float(level.sum()) for level in share.energy_pj]
    words = share.words.tolist()
    return [share.operations, share.latency_cycles, share.compute_pj, levels_pj, words, tiles]


def _finite(gap_percent: float) -> float | None:
    """Return a gap as JSON has it, which knows no infinity."""
    return gap_percent if isfinite(gap_percent) else None
