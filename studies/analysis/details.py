"""One trial taken apart: its hardware, and what its software costs by level, layer and group.

A record holds the plan that was found, its mappings, and what is proven of them; they are
evaluated again here. So the figures are those of the study, and a test compares them to the last
digit.
"""

from collections.abc import Mapping as Dict
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from archloom.space.mapping import loop_nest
from archloom.space.workload import DIMS, TENSORS
from archloom.studies.config import Location
from archloom.studies.storage import (
    Header,
    HeldOutTrial,
    Trial,
    kept_workloads,
    read_baseline,
    read_header,
    read_trials,
    read_validation,
    template_file,
)

from ..errors import UserError

if TYPE_CHECKING:
    from archloom.evaluators.fusion import GroupCost, LayerShare, NetworkCost
    from archloom.evaluators.technology import Technology
    from archloom.space.hardware import Hardware, StorageLevel
    from archloom.space.workload import Network


Details = dict[str, Any]


def trial_details(location: Location, trial: int | None) -> Details:
    """Return everything that is known of one trial, as plain JSON values.

    Args:
        location: of the study.
        trial: its number; None for the baseline.

    Returns:
        The trial's record without its curve, with ``hardware`` taken apart, and for each network
        ``levels``, ``layers``, ``groups`` and the sums that they add up to. Energies are in pJ
        per pass; levels and compute sum to layers, layers and leakage to the network, exactly.

    Raises:
        UserError: no such study or trial, or this version of archloom prices the recorded plan
            otherwise than the one that found it.
    """
    header = read_header(location)
    found = _trial(location, trial)
    hardware = hardware_of(location, header, found)
    workloads = kept_workloads(location, header)
    networks = [w.network for w in workloads if w.label in found.networks]
    held_out = _held_out(location, found)
    record = found.to_dict()
    kept = ("trial", "state", "rounds", "evaluations", "edp_js", "area_mm2", "tdp_w", "point")
    return {
        **{key: record[key] for key in kept},
        "values": record["values"],
        "held_out": held_out.to_dict() if held_out else None,
        "reason": record["reason"],
        "crash": record["crash"],
        "hardware": hardware_details(hardware),
        "networks": [_network_details(header, found, hardware, net) for net in networks],
    }


def _held_out(location: Location, trial: Trial) -> HeldOutTrial | None:
    """Return how the design does on the held-out networks; None if that was not searched."""
    return next((one for one in read_validation(location) if one.number == trial.number), None)


def hardware_of(location: Location, header: Header, trial: Trial) -> "Hardware":
    """Build the hardware of a trial again, from the template that the study keeps.

    Raises:
        UserError: the template no longer has a design there.
    """
    from archloom.space.design_space import HardwareSpace
    from archloom.space.hardware import Hardware
    from archloom.studies.config import baseline_hardware

    space = HardwareSpace.load(template_file(location, header))
    if trial.point is None:
        return baseline_hardware(header.config["baseline"], space)
    built = space.build(trial.point)
    if not isinstance(built, Hardware):
        raise UserError(f"{location}: trial {trial.number} cannot be built again: {built}")
    return built


def hardware_details(hardware: "Hardware") -> Details:
    """Return a design for people: its parts, and the area and power of each."""
    from archloom.evaluators import hardware_cost
    from archloom.evaluators.technology import technology

    cost = hardware_cost(hardware)
    return {
        "name": hardware.name,
        "technology": hardware.technology,
        "dram": hardware.dram,
        "dram_pj_per_bit": technology(hardware.technology).dram(hardware.dram).pj_per_bit,
        "dram_gbytes_per_s": hardware.dram_gbytes_per_s,
        "frequency_mhz": hardware.frequency_mhz,
        "word_bits": hardware.word_bits,
        "pe_mesh": list(hardware.pe_mesh),
        "array": list(hardware.array),
        "datapath": hardware.datapath,
        "macs": hardware.macs,
        "vector_lanes": hardware.vector_lanes,
        "effects": asdict(hardware.effects),
        "levels": [_level_details(level) for level in hardware.levels],
        "area_mm2": dict(cost.area_breakdown_mm2),
        "tdp_w": dict(cost.tdp_breakdown_w),
    }


def _trial(location: Location, number: int | None) -> Trial:
    if number is None:
        baseline = read_baseline(location)
        if baseline is None:
            raise UserError(f"{location} has no baseline, or has not evaluated it yet")
        return baseline
    trials = {trial.number: trial for trial in read_trials(location)}
    if number not in trials:
        known = f"0 to {max(trials)}" if trials else "none yet"
        raise UserError(f"{location} has no finished trial {number}; finished trials: {known}")
    return trials[number]


def _level_details(level: "StorageLevel") -> Details:
    return {
        "name": level.name,
        "storage": level.storage,
        "keeps": list(level.keeps),
        "mesh": list(level.mesh),
        "capacity_bytes": {tensor: level.buffer_bytes(tensor) for tensor in level.keeps}
        if level.private
        else level.capacity_bytes,
        "bandwidth_words": level.bandwidth_words,
        "width_words": level.width_words,
    }


def _network_details(
    header: Header, trial: Trial, hardware: "Hardware", network: "Network"
) -> Details:
    from archloom.evaluators.fusion import NetworkCost
    from archloom.search.software import recorded_evaluator
    from archloom.space import Infeasible
    from archloom.space.fusion import FusionPlan, layer_by_layer

    # studies that were begun before there was a choice are exact and dense
    factors = header.config["software"].get("factors", "exact")
    density = header.config.get("density", {"weights": 1.0, "inputs": 1.0})
    network = network.with_density(**density)
    recorded = trial.networks[network.name]
    evaluator = recorded_evaluator(hardware, network, recorded.mappings, factors, recorded.gaps)
    cost: NetworkCost | Infeasible | None
    unfused: NetworkCost | Infeasible | None
    try:
        cost = evaluator.plan(FusionPlan.from_list(recorded.plan))
        unfused = evaluator.plan(layer_by_layer(network))
    except ValueError:  # a problem that this version sees, and the recorded one did not
        cost, unfused = None, None
    if not (
        isinstance(cost, NetworkCost)
        and isinstance(unfused, NetworkCost)
        and cost.energy_pj == recorded.energy_pj
        and cost.latency_cycles == recorded.latency_cycles
    ):
        raise UserError(
            f"trial {trial.number}: this version of archloom prices the recorded mappings of "
            f"{network.name} otherwise than the one that found them; use the version that the "
            f"study was begun with ({header.archloom}), or run the study again"
        )
    return cost_details(cost, unfused) | {"spent": recorded.spent or None}


def cost_details(cost: "NetworkCost", unfused: "NetworkCost") -> Details:
    """Take the cost of a plan apart, beside that of the plan that fuses nothing."""
    return {
        "name": cost.network.name,
        **_totals(cost),
        "unfused": _totals(unfused),
        "gaps": _gaps(cost),
        "groups": _groups(cost, unfused),
        "layers": [
            _layer_details(cost.network, cost.hardware, share, position)
            for position, group in enumerate(cost.groups)
            for share in group.layers
        ],
    }


def _totals(cost: "NetworkCost") -> Details:
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


def _gaps(cost: "NetworkCost") -> Details:
    from archloom.evaluators.bounds import mapping_gaps

    found = asdict(mapping_gaps(cost))
    return found | {"plan_percent": _known(found["plan_percent"])}


def _known(gap_percent: float) -> float | None:
    """Return a gap as JSON has it, which knows no infinity."""
    return gap_percent if isfinite(gap_percent) else None


def _groups(cost: "NetworkCost", unfused: "NetworkCost") -> list[Details]:
    word_bytes = cost.hardware.word_bits / 8
    alone = {
        group.group.layers[0]: (group.dram_reads + group.dram_writes) * word_bytes
        for group in unfused.groups
    }
    return [_group_details(cost.network, group, word_bytes, alone) for group in cost.groups]


def _group_details(
    network: "Network", group: "GroupCost", word_bytes: float, alone: Dict[int, float]
) -> Details:
    def named(positions: tuple[int, ...]) -> list[str]:
        return [network.layers[i].name for i in positions]

    members, faces = group.group.layers, group.group.faces
    pins = [(pin.layer, pin.reader) for pin in group.group.pins]
    return {
        "layers": named(members),
        "tile": list(group.group.tile) if group.group.tile else None,
        **({"faces": [face.to_list() for face in faces]} if faces else {}),
        "halo": group.group.halo,
        "resident": named(group.group.resident),
        "pins": [dict(zip(("layer", "reader"), named(pair), strict=True)) for pair in pins],
        "steady": named(group.group.steady),
        "tiles": group.tiles,
        **({"cores": group.cores} if group.cores > 1 else {}),
        "prefetch": group.prefetch,
        "peak_bytes": group.peak_words * word_bytes,
        "latency_cycles": group.latency_cycles,
        "wait_cycles": group.wait_cycles,
        "dynamic_pj": group.dynamic_pj,
        "dram_read_bytes": group.dram_reads * word_bytes,
        "dram_write_bytes": group.dram_writes * word_bytes,
        "dram_bytes": (group.dram_reads + group.dram_writes) * word_bytes,
        "dram_bytes_unfused": sum(alone[i] for i in members),
    }


def _layer_details(
    network: "Network", hardware: "Hardware", share: "LayerShare", group: int
) -> Details:
    layer = network.layers[share.layer]
    names = [level.name for level in hardware.levels]
    levels = {name: float(share.energy_pj[i].sum()) for i, name in enumerate(names)}
    return {
        "name": layer.name,
        "operator": "depthwise" if layer.depthwise else layer.operator,
        "bounds": dict(zip(DIMS, layer.bounds, strict=True)),
        "group": group,
        "operations": share.operations,
        "latency_cycles": share.latency_cycles,
        "energy_pj": float(share.energy_pj.sum()) + share.compute_pj,
        "compute_pj": share.compute_pj,
        "levels_pj": levels,
        "words": {
            name: dict(zip(TENSORS, map(int, share.words[i]), strict=True))
            for i, name in enumerate(names)
        },
        "mappings": [
            {
                "tiles": times,
                "covers": dict(zip(DIMS, evaluation.mapping.factors, strict=True)),
                "gap_percent": _known(evaluation.gap_percent),
                "nest": loop_nest(evaluation.mapping, hardware),
            }
            for times, evaluation in share.evaluations
            if evaluation.mapping is not None
        ],
    }


def trial_number(text: str) -> int | None:
    """Read a trial as people write it: its number, or ``baseline`` (None).

    Raises:
        UserError: neither.
    """
    if text == "baseline":
        return None
    if not text.isdigit():
        raise UserError(f"trial {text!r} must be a number from 0 on, or 'baseline'")
    return int(text)


def fit_details(table: "Technology") -> Details:
    """Return how far interpolated SRAM prices are off where a run is left out, as shares.

    By what is left out (``size``, ``width``), quantity, and ``median``, ``most`` (90%), ``worst``.
    """
    axes: dict[str, Any] = {
        "size": table.sram.fit_errors("size"),
        "width": table.sram.fit_errors("width"),
    }
    return {
        axis: {name: error._asdict() for name, error in errors.items()}
        for axis, errors in axes.items()
    }
