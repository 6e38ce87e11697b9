"""One trial taken apart: its hardware, and what its software costs by level, layer and group.

A record holds the plan that was found, its mappings, what is proven of them, and what their costs
are made of. What an older version recorded without is evaluated again. A test compares both, to the
last digit.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archloom.space.mapping import Mapping, loop_nest
from archloom.space.workload import DIMS, TENSORS
from archloom.studies.config import Location, form_choices
from archloom.studies.storage import (
    Header,
    Trial,
    kept_workloads,
    read_baseline,
    read_header,
    read_trials,
    read_validation,
    template_file,
)

from ..errors import UserError
from .design_details import Details, hardware_details
from .nest_details import nest_details

if TYPE_CHECKING:
    from archloom.evaluators.fusion import NetworkCost
    from archloom.search.fusion import MemoizedPlanEvaluator
    from archloom.space.design_space import HardwareSpace
    from archloom.space.fusion import FusionGroup, Residents
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Layer, Network
    from archloom.studies.config import Workload


def trial_details(location: Location, trial: int | None, outcome: int = 0) -> Details:
    """Return everything that is known of one trial, as plain JSON values.

    Args:
        location: of the study.
        trial: its number; None for the baseline.
        outcome: which of its outcomes, if it has several.

    Returns:
        The trial's record without its curve, with ``hardware`` taken apart, and for each network
        ``levels``, ``layers``, ``groups`` and the sums that they add up to. Energies are in pJ
        per pass; levels and compute sum to layers, layers and leakage to the network, exactly.

    Raises:
        UserError: no such study or trial, or this version of archloom prices the recorded plan
            otherwise than the one that found it.
    """
    reader, found = TrialReader(location), _trial(location, trial)
    if outcome >= len(found.outcomes):
        known = f"outcomes 0 to {len(found.outcomes) - 1}" if found.trade_offs else "no others"
        raise UserError(f"{location}: trial {found.label} has no outcome {outcome}; it has {known}")
    return reader.details(found.outcomes[outcome])


class TrialReader:
    """Takes trials of a study apart; what they have in common is read once.

    Args:
        location: of the study.

    Attributes:
        header: of the study.
        workloads: of the study.

    Raises:
        UserError: there is no study.
    """

    def __init__(self, location: Location) -> None:
        self._location, self.header = location, read_header(location)
        self.workloads = kept_workloads(location, self.header)
        self._held_out = {one.number: one for one in read_validation(location)}

    @cached_property
    def _space(self) -> "HardwareSpace":
        return _space_of(self._location, self.header, self.workloads)

    def hardware(self, trial: Trial) -> "Hardware":
        """Build the hardware of a trial again; see :func:`hardware_of`."""
        return _built(self._location, self.header, self._space, trial)

    def networks(self, trial: Trial) -> "list[Network]":
        """Return the networks that a trial has software for, each in the form that it ran in."""
        choices = form_choices(self.workloads)
        whole = tuple(workload.network for workload in self.workloads)
        ran = whole if choices is None else choices.networks_at(trial.point)
        return [network for network in ran if network.name in trial.networks]

    def details(self, trial: Trial) -> Details:
        """Return everything that is known of a trial; see :func:`trial_details`."""
        hardware = self.hardware(trial)
        held_out = self._held_out.get(trial.number)
        record = trial.to_dict()
        kept = ("trial", "state", "rounds", "evaluations", "edp_js", "area_mm2", "tdp_w", "point")
        return {
            **{key: record[key] for key in kept},
            **({"outcome": trial.outcome} if trial.outcome else {}),
            "effort": trial.effort,
            "values": record["values"],
            "held_out": held_out.to_dict() if held_out else None,
            "reason": record["reason"],
            "crash": record["crash"],
            "hardware": hardware_details(hardware),
            "networks": [
                _network_details(self.header, trial, hardware, network)
                for network in self.networks(trial)
            ],
        }

    def costs(self, trial: Trial) -> "list[NetworkCost]":
        """Evaluate a trial's recorded plans again, one for each network.

        Raises:
            UserError: this version of archloom evaluates them otherwise than the one that found
                them.
        """
        hardware = self.hardware(trial)
        return [_evaluated(self.header, trial, hardware, n)[1] for n in self.networks(trial)]


def hardware_of(location: Location, header: Header, trial: Trial) -> "Hardware":
    """Build the hardware of a trial again, from the template that the study keeps.

    Raises:
        UserError: the template no longer has a design there.
    """
    space = _space_of(location, header, kept_workloads(location, header))
    return _built(location, header, space, trial)


def _space_of(
    location: Location, header: Header, workloads: "Sequence[Workload]"
) -> "HardwareSpace":
    from archloom.space.design_space import HardwareSpace

    space = HardwareSpace.load(template_file(location, header))
    choices = form_choices(workloads)
    return space.with_parameters(choices.parameters) if choices else space


def _built(location: Location, header: Header, space: "HardwareSpace", trial: Trial) -> "Hardware":
    from archloom.space.hardware import Hardware
    from archloom.studies.config import baseline_hardware

    if trial.point is None:
        return baseline_hardware(header.config["baseline"], space)
    try:
        built: object = space.build(trial.point)
    except ValueError as error:
        # somebody changed the record
        built = error
    if not isinstance(built, Hardware):
        raise UserError(f"{location}: trial {trial.number} cannot be rebuilt: {built}")
    return built


def _trial(location: Location, number: int | None) -> Trial:
    if number is None:
        baseline = read_baseline(location)
        if baseline is None:
            raise UserError(f"{location} has no baseline, or it is not evaluated yet")
        return baseline
    trials = {trial.number: trial for trial in read_trials(location)}
    if number not in trials:
        known = f"0 to {max(trials)}" if trials else "none yet"
        raise UserError(f"{location} has no finished trial {number}; finished trials: {known}")
    return trials[number]


def _network_details(
    header: Header, trial: Trial, hardware: "Hardware", network: "Network"
) -> Details:
    recorded = trial.networks[network.name]
    texts = list(recorded.mappings.values())
    found = recorded.costs() or _priced_again(header, trial, hardware, network)
    network = network.with_batch(recorded.batch)
    details = plan_details(network, hardware, recorded.plan, texts, found)
    return details | {"spent": recorded.spent or None}


def _priced_again(
    header: Header, trial: Trial, hardware: "Hardware", network: "Network"
) -> Details:
    """Return the breakdown of a record that has none: older versions kept plan and mappings."""
    from archloom.search.software import breakdown_of, least_edp_of

    evaluator, cost, unfused = _evaluated(header, trial, hardware, network)
    least = least_edp_of(evaluator, cost.plan)
    return breakdown_of(cost, unfused, trial.networks[network.name].mappings.values(), least)


def _evaluated(
    header: Header, trial: Trial, hardware: "Hardware", network: "Network"
) -> "tuple[MemoizedPlanEvaluator, NetworkCost, NetworkCost]":
    """Evaluate the recorded plan, and the one that fuses nothing."""
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
            f"trial {trial.label}: this version of archloom evaluates the recorded mappings of "
            f"{network.name} differently from the version that found them; use the version that "
            f"started the study ({header.archloom}), or run the study again"
        )
    return evaluator, cost, unfused


def cost_details(cost: "NetworkCost", unfused: "NetworkCost", least: float = 0.0) -> Details:
    """Take the cost of a plan apart, beside that of the plan that fuses nothing.

    ``least`` is an EDP (pJ cycles) that the plan is known to have at least with any mappings.
    """
    from archloom.search.software import breakdown_of

    found = breakdown_of(cost, unfused, least=least)
    return plan_details(cost.network, cost.hardware, cost.plan.to_list(), [], found)


def plan_details(
    network: "Network",
    hardware: "Hardware",
    plan: list[dict[str, Any]],
    mappings: Sequence[str],
    found: Details,
) -> Details:
    """Give the numbers of a plan the names of what they are of.

    Args:
        network: that runs, with the batch of one pass.
        hardware: that it runs on.
        plan: as a record has it.
        mappings: texts that numbers in ``found`` stand for.
        found: :func:`archloom.search.software.breakdown.breakdown_of`.
    """
    from archloom.space.fusion import FusionPlan, plan_residents, sub_batch

    known = FusionPlan.from_list(plan)
    groups, residents = known.groups, plan_residents(network, known)
    # mappings and nests are of what runs at a time
    network = sub_batch(network, known.sub_batches)
    order = [(at, layer) for at, group in enumerate(groups) for layer in group.layers]
    layers = zip(order, found["layers"], strict=True)
    return {
        "name": network.name,
        **found["plan"],
        "unfused": found["unfused"],
        "gaps": found["gaps"],
        "groups": [
            _group_details(network, group, figures, hardware, beside)
            for group, figures, beside in zip(groups, found["groups"], residents, strict=True)
        ],
        "layers": [
            _layer_details(network.layers[layer], hardware, at, figures, mappings)
            for (at, layer), figures in layers
        ],
    }


def _group_details(
    network: "Network",
    group: "FusionGroup",
    figures: list[Any],
    hardware: "Hardware",
    residents: "Residents",
) -> Details:
    from archloom.search.software import GROUP_FIGURES
    from archloom.space.fusion import folded_of

    word_bytes = hardware.word_bits / 8

    def named(positions: Iterable[int]) -> list[str]:
        return [network.layers[i].name for i in positions]

    cost = dict(zip(GROUP_FIGURES, figures, strict=True))
    pins = [(pin.layer, pin.reader) for pin in group.pins]
    return {
        "layers": named(group.layers),
        "tile": list(group.tile) if group.tile else None,
        **({"faces": [face.to_list() for face in group.faces]} if group.faces else {}),
        "halo": group.halo,
        "resident": named(group.resident),
        "pins": [dict(zip(("layer", "reader"), named(pair), strict=True)) for pair in pins],
        "steady": named(group.steady),
        **({"sub_batches": group.sub_batches} if group.sub_batches > 1 else {}),
        **({"loaded_once": named(group.loaded_once)} if group.loaded_once else {}),
        **({"nest": nest_details(network, group, hardware, residents)} if group.nest else {}),
        **({"folded": True} if folded_of(network, group) else {}),
        "tiles": cost["tiles"],
        **({"cores": cost["cores"]} if cost["cores"] > 1 else {}),
        "prefetch": cost["prefetch"],
        "peak_bytes": cost["peak_words"] * word_bytes,
        "latency_cycles": cost["latency_cycles"],
        "wait_cycles": cost["wait_cycles"],
        "dynamic_pj": cost["dynamic_pj"],
        "dram_read_bytes": cost["dram_reads"] * word_bytes,
        "dram_write_bytes": cost["dram_writes"] * word_bytes,
        "dram_bytes": (cost["dram_reads"] + cost["dram_writes"]) * word_bytes,
        "dram_bytes_unfused": cost["dram_words_unfused"] * word_bytes,
    }


def _layer_details(
    layer: "Layer", hardware: "Hardware", group: int, figures: list[Any], mappings: Sequence[str]
) -> Details:
    operations, latency_cycles, compute_pj, levels_pj, words, tiles = figures
    names = [level.name for level in hardware.levels]
    return {
        "name": layer.name,
        "operator": "depthwise" if layer.depthwise else layer.operator,
        "bounds": dict(zip(DIMS, layer.bounds, strict=True)),
        "group": group,
        "operations": operations,
        "latency_cycles": latency_cycles,
        # multiples of 2**-8 pJ, whose sums are exact in any order
        "energy_pj": sum(levels_pj) + compute_pj,
        "compute_pj": compute_pj,
        "levels_pj": dict(zip(names, levels_pj, strict=True)),
        "words": {
            name: dict(zip(TENSORS, counts, strict=True))
            for name, counts in zip(names, words, strict=True)
        },
        "mappings": [_tile_details(hardware, mappings, *tile) for tile in tiles],
    }


def _tile_details(
    hardware: "Hardware",
    mappings: Sequence[str],
    times: int,
    mapping: int | str,
    gap_percent: float | None,
) -> Details:
    found = Mapping.from_text(mappings[mapping] if isinstance(mapping, int) else mapping)
    return {
        "tiles": times,
        "covers": dict(zip(DIMS, found.factors, strict=True)),
        "gap_percent": gap_percent,
        "nest": loop_nest(found, hardware),
    }


def trial_number(text: str) -> tuple[int | None, int]:
    """Read a trial as people write it: its number, or ``baseline`` (None), and behind a dot which
    of its outcomes.

    Raises:
        UserError: neither.
    """
    name, dot, outcome = text.partition(".")
    numbers = [*([] if name == "baseline" else [name]), *([outcome] if dot else [])]
    if not all(one.isascii() and one.isdigit() for one in numbers):
        raise UserError(
            f"trial {text!r} must be a number from 0, or 'baseline'; a number behind a dot says "
            "which of its outcomes, such as 7.2"
        )
    return None if name == "baseline" else int(name), int(outcome or 0)
