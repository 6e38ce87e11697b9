"""Conformance check: counts, energy and cycles of a case against those recorded for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.loopnest import (
    FILLS,
    OVER_CAPACITY,
    READS,
    TEMPORAL,
    UPDATES,
    VALID,
    KernelInputs,
    MappingProblem,
    energy_by_level,
    evaluate_one,
    new_workspace,
    setup_for,
    tile_words,
)
from archloom.space.importers.cases import CASE_TENSORS, Case

#: our counts by the recorded names
COUNTS = ("reads_per_instance", "fills_per_instance", "updates_per_instance")
_CAPACITY = "utilized_capacity_words"

#: a recorded count may be one word short where that is less than this share of it: Timeloop
#: computes counts in floating point and cuts them to integers
_TRUNCATION = 1e-6


class MisfitError(ValueError):
    """A mapping that does not fit the hardware; with the numbers."""


@dataclass(frozen=True)
class Difference:
    """One figure that is not the recorded one."""

    what: str
    ours: float
    theirs: float

    @property
    def truncated(self) -> bool:
        """Whether the record is a count that was cut to the integer below."""
        return self.ours - self.theirs == 1 and _TRUNCATION * self.ours > 1

    @property
    def relative(self) -> float:
        """Size of the difference as a share of the recorded figure (of 1 if that is 0)."""
        return abs(self.ours - self.theirs) / max(1.0, abs(self.theirs))


@dataclass(frozen=True)
class EvaluatedCase:
    """Figures of the kernel for the mapping of a case.

    Attributes:
        counts: int64[L, 3, 3], reads, fills and updates of each tensor in one used instance.
        tiles: int64[L, 3], words of the tile that a level keeps; 0 where it keeps none.
        used: int64[L], instances in use.
        level_pj: float64[L, 3], energy of each tensor at each level, with its network.
        leaked_pj: float64[L], what the instances in use leak.
        mac_pj: energy of the multiply-accumulates.
        chip_leakage_pj: what the technology says that everything leaks.
        energy_pj: of everything above.
        cycles: latency.
        compute_cycles: steps of the multipliers.
        port_cycles: float64[L], what the ports of one instance need for its words.
        dearest_pj: of one access, over all instances in use, at the dearest level.
    """

    counts: Ints
    tiles: Ints
    used: Ints
    level_pj: Floats
    leaked_pj: Floats
    mac_pj: float
    chip_leakage_pj: float
    energy_pj: float
    cycles: float
    compute_cycles: int
    port_cycles: Floats
    dearest_pj: float


@dataclass(frozen=True)
class Agreement:
    """A case, and everything that differs from what was recorded.

    Attributes:
        failure: why the mapping could not be evaluated; empty if it was.
        counts, energy, cycles: differences beyond the tolerance.
        truncated: counts that the record has one word short (see TRUNCATION); they are in no
            other list.
        expected: False where the record says that its figures are off.
    """

    name: str
    failure: str
    counts: tuple[Difference, ...]
    energy: tuple[Difference, ...]
    cycles: tuple[Difference, ...]
    truncated: tuple[Difference, ...]
    expected: bool

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All of them, the largest first."""
        every = (*self.counts, *self.energy, *self.cycles)
        return tuple(sorted(every, key=lambda d: -d.relative))

    @property
    def agrees(self) -> bool:
        """Whether everything is equal."""
        return not self.failure and not self.differences


def evaluated(case: Case) -> EvaluatedCase:
    """Evaluate the mapping of a case.

    Raises:
        MisfitError: the mapping does not fit.
        ValueError: it has no mapping, or the hardware is none that can be evaluated.
    """
    if case.mapping is None:
        raise ValueError("the case has no mapping")
    problem = MappingProblem.of_layer(case.layer, case.hardware)
    setup, levels = setup_for(problem, case.mapping), len(case.hardware.levels)
    found = new_workspace(levels)
    loops, keep = case.mapping.arrays()
    status, energy, chip, dram = evaluate_one(setup, loops, keep, found)
    counts, used = found.counts, found.used
    tiles = np.array(
        [[tile_words(t, found.cum, v + 1, setup.window) for t in range(3)] for v in range(levels)],
        np.int64,
    )
    tiles *= keep
    if status != VALID:
        raise MisfitError(_misfit(case, setup, loops, tiles, status))
    cycles = max(chip, dram)
    level_pj = energy_by_level(setup, loops, keep, found, cycles)
    # reports spread the leakage of a level over the tensors, as the kernel does
    leaked = setup.used_leakage_pj * cycles * used
    level_pj -= leaked[:, None] / len(CASE_TENSORS)
    per_access = np.maximum(np.maximum(setup.read_pj, setup.fill_pj), setup.update_pj)
    dearest = float((used[:, None] * per_access * keep)[:-1].max(initial=0.0))
    return EvaluatedCase(
        counts=counts,
        tiles=tiles,
        used=used,
        level_pj=level_pj,
        leaked_pj=leaked,
        mac_pj=problem.macs * setup.working * setup.mac_pj,
        chip_leakage_pj=setup.leakage_pj * cycles,
        energy_pj=energy + setup.leakage_pj * cycles,
        cycles=cycles,
        compute_cycles=int(loops[:, TEMPORAL].prod()),
        port_cycles=_port_cycles(setup, counts),
        dearest_pj=dearest,
    )


def _port_cycles(setup: KernelInputs, counts: Ints) -> Floats:
    """Cycles that each level needs to read and write its words, as the kernel counts them."""
    units = counts * setup.unit[:, :, None]
    read = units[:, :, READS].sum(axis=1)
    written = units[:, :, FILLS].sum(axis=1) + units[:, :, UPDATES].sum(axis=1)
    asked = np.stack([read, written, read + written], axis=1)
    cycles: Floats = np.ceil((asked / setup.bandwidth).max(axis=1))
    return cycles


def _misfit(case: Case, setup: KernelInputs, loops: Ints, tiles: Ints, status: int) -> str:
    for level, fanout, rows, kept, capacity in zip(
        case.hardware.levels, setup.fanout, loops, tiles, setup.shared, strict=True
    ):
        across = tuple(int(rows[axis].prod()) for axis in (1, 2))
        if status != OVER_CAPACITY and (across[0] > fanout[0] or across[1] > fanout[1]):
            return (
                f"{level.name}: unrolls over {across[0]} x {across[1]} children, "
                f"has {fanout[0]} x {fanout[1]}"
            )
        if status == OVER_CAPACITY and 0 <= capacity < kept.sum():
            return f"{level.name}: needs {kept.sum()} words, has {capacity}"
    return "the mapping does not fit"


def agreement(case: Case, energy_tolerance: float = 1e-9, cycles_tolerance: int = 1) -> Agreement:
    """Compare a case with its record: counts exactly, energy and cycles within tolerances.

    Args:
        case: must have a mapping and a result to compare with.
        energy_tolerance: relative.
        cycles_tolerance: absolute; the record rounds a slowdown in floating point.
    """
    try:
        ours = evaluated(case)
        every = list(_count_differences(case, ours))
        energy = Difference("energy_pJ", ours.energy_pj, _figure(case.result, "energy_pJ"))
        cycles = Difference("cycles", ours.cycles, _figure(case.result, "cycles"))
    except ValueError as error:
        return Agreement(case.name, str(error), (), (), (), (), case.closed_form_agrees)
    truncated = tuple(d for d in every if d.truncated)
    # of the words that the record lost it has not counted the energy either
    lost_pj = len(truncated) * ours.dearest_pj
    close = abs(energy.ours - energy.theirs) <= energy_tolerance * abs(energy.theirs) + lost_pj
    near = abs(cycles.ours - cycles.theirs) <= cycles_tolerance
    return Agreement(
        case.name,
        "",
        tuple(d for d in every if not d.truncated),
        () if close else (energy,),
        () if near else (cycles,),
        truncated,
        case.closed_form_agrees,
    )


def _figure(where: Any, key: str) -> float:
    value = where.get(key) if isinstance(where, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"result: {key} is missing or no number")
    return float(value)


def _count_differences(case: Case, ours: EvaluatedCase) -> list[Difference]:
    recorded = case.result.get("levels") if case.result else None
    if not isinstance(recorded, list) or len(recorded) != len(case.hardware.levels):
        raise ValueError("result.levels: must have an entry for each level of the architecture")
    found = []
    for v, (level, entry) in enumerate(zip(case.hardware.levels, recorded, strict=True)):
        tensors = entry.get("tensors") if isinstance(entry, dict) else None
        if not isinstance(tensors, dict):
            raise ValueError(f"result.levels[{v}].tensors is missing")
        for t, tensor in enumerate(CASE_TENSORS):
            kept = tensors.get(tensor)
            pairs = [*zip(COUNTS, ours.counts[v, t], strict=True), (_CAPACITY, ours.tiles[v, t])]
            for key, mine in pairs:
                theirs = 0.0 if kept is None else _figure(kept, key)
                if int(mine) != theirs:
                    found.append(Difference(f"{level.name}.{tensor}.{key}", float(mine), theirs))
    return found
