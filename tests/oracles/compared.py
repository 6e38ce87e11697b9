"""The closed form beside the walked nest, case by case, and the smallest case that differs.

Independent of: the kernel on one side only; the other is the walk over the loop nest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from math import ceil, inf, prod
from typing import Any

import numpy as np

from archloom.evaluators.loopnest.kernel import VALID, evaluate_one
from archloom.evaluators.loopnest.kernel_inputs import new_workspace
from archloom.evaluators.loopnest.layer_cost import (
    energy_by_level,
    mapped_cost,
    setup_for,
    whole_grains,
    whole_pj,
)
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.effects import PLAIN
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import TENSORS

from ..cases.mapped_layers import Drawn
from .walked_cost import Bill, bill, broken, nest_of, word_bits


@dataclass(frozen=True)
class Closed:
    """What the kernel says of a mapping; ``by_level`` is what reports break its energy into."""

    status: int
    energy: float
    chip: float
    dram: float
    counts: Any
    used: Any
    by_level: Any

    @property
    def cycles(self) -> float:
        return max(self.chip, self.dram)


def closed(problem: MappingProblem, mapping: Mapping) -> Closed:
    """Evaluate a mapping with the compiled kernel."""
    setup, levels = setup_for(problem, mapping), len(mapping.levels)
    loops, keep = mapping.arrays()
    found = new_workspace(levels)
    status, *figures = evaluate_one(setup, loops, keep, found)
    by_level = np.full((levels, 3), inf)
    if status == VALID:
        latency = max(figures[1:])
        by_level = energy_by_level(setup, loops, keep, found, latency)
    return Closed(status, *figures, found.counts, found.used, by_level)


def differences(case: Drawn) -> list[str]:
    """Return every figure of the closed form that is not the one of the walked nest."""
    problem, mapping = case.problem, case.mapping
    walked, ours = bill(problem, mapping), closed(problem, mapping)
    if ours.status != VALID or walked.broken:
        return _refusals(problem, mapping, walked, ours)
    pairs: list[tuple[str, Any, Any]] = [
        ("counts", ours.counts.tolist(), walked.counts.tolist()),
        ("used", ours.used.tolist(), walked.used),
        ("energy", ours.energy, float(walked.energy_pj.sum()) + walked.compute_pj),
        ("energy by level", ours.by_level.tolist(), walked.energy_pj.tolist()),
        ("chip cycles", ours.chip, walked.chip_cycles),
        ("dram cycles", ours.dram, walked.dram_cycles),
        *_report(problem, mapping, walked),
    ]
    return [f"{what}: {mine}, walked {theirs}" for what, mine, theirs in pairs if mine != theirs]


def _refusals(problem: MappingProblem, mapping: Mapping, walked: Bill, ours: Closed) -> list[str]:
    found = []
    if (ours.status != VALID) != bool(walked.broken) or (
        walked.broken and ours.status not in walked.broken
    ):
        found.append(f"status: {ours.status}, walked {sorted(walked.broken)}")
    figures = (ours.energy, ours.chip, ours.dram)
    if ours.status != VALID and figures != (inf,) * 3:
        found.append(f"figures of a refused mapping: {figures}")
    if ours.status != VALID:
        try:
            mapped_cost(problem, mapping)
            found.append("a report of a refused mapping")
        except ValueError:
            pass
    return found


def _report(
    problem: MappingProblem, mapping: Mapping, walked: Bill
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what reports say beside what they should."""
    cost, bits = mapped_cost(problem, mapping), problem.hardware.word_bits
    moved = walked.counts.sum(axis=2) * np.array(walked.used)[:, None]
    yield "words", cost.words.tolist(), [_taken(problem, i, row) for i, row in enumerate(moved)]
    yield "reported energy", cost.energy_pj.tolist(), whole_grains(walked.energy_pj).tolist()
    yield "reported compute", cost.compute_pj, whole_pj(walked.compute_pj)
    yield "reported chip cycles", cost.chip_cycles, walked.chip_cycles
    yield "reported dram cycles", cost.dram_cycles, walked.dram_cycles
    outermost = len(walked.counts) - 1
    wide = [word_bits(problem, outermost, t) for t in range(3)]
    for what, ours, kind in (("reads", cost.dram_reads, 0), ("writes", cost.dram_writes, 2)):
        sent = sum(int(n) * b for n, b in zip(walked.counts[-1, :, kind], wide, strict=True))
        yield f"dram {what}", ours, -(-sent // bits)


def _taken(problem: MappingProblem, level: int, words: Any) -> list[int]:
    """Return the words of each tensor that a level moves; packed ones as what they take."""
    own = [problem.hardware.bits(level, tensor) for tensor in TENSORS]
    taken = [int(n) * word_bits(problem, level, t) for t, n in enumerate(words)]
    return [ceil(bits / b) for bits, b in zip(taken, own, strict=True)]


def shown(value: Any) -> str:
    """Return a value as Python writes it, without fields that have their defaults."""
    if isinstance(value, tuple):
        inner = ", ".join(map(shown, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    given = [
        f"{f.name}={shown(getattr(value, f.name))}"
        for f in fields(value)
        if getattr(value, f.name) != f.default
    ]
    return f"{type(value).__name__}({', '.join(given)})"


def refused(case: Drawn) -> bool:
    """Return whether the walked nest breaks a rule of its hardware."""
    return bool(broken(case.problem, case.mapping, nest_of(case.problem, case.mapping)))


def features(case: Drawn) -> list[str]:
    """Return what a case has of what a cost model may get wrong."""
    problem, rows = case.problem, case.mapping.levels
    hardware = problem.hardware
    spread = [v for v in rows if prod(v.spatial_x) * prod(v.spatial_y) > 1]
    several = [sum(v.temporal[d] > 1 for v in rows) for d in range(8)]
    windows = zip(problem.bounds[6:], problem.stride, strict=True)
    has = {
        "a stride": max(problem.stride) > 1,
        "a dilation": max(problem.dilation) > 1,
        "padding": max(problem.padding) > 0,
        "a kernel below its stride": any(kernel < stride for kernel, stride in windows),
        "groups": problem.bounds[1] > 1,
        "unrolled loops": bool(spread),
        "unrolled loops at several levels": len(spread) > 1,
        "results and windows unrolled at one level": any(
            v.spatial_x[d] * v.spatial_y[d] > 1 < v.spatial_x[d + 2] * v.spatial_y[d + 2]
            for v in rows
            for d in (4, 5)
        ),
        "loops unrolled along x and y": any(
            prod(v.spatial_x) > 1 and prod(v.spatial_y) > 1 for v in rows
        ),
        "one dimension at several levels": max(several) > 1,
        "a bypass": any(not all(v.keeps) for v in rows[:-1]),
        "an operand in the buffer": any(problem.staged),
        "a level without multicast": any(len(v.multicast) < 3 for v in hardware.levels),
        "words of several widths": any(v.tensor_bits for v in hardware.levels),
        "clusters": any(v.cluster_size > 1 for v in hardware.levels),
        "multiple buffering": any(v.multiple_buffering > 1 for v in hardware.levels),
        "private buffers": any(v.private for v in hardware.levels),
        "a mesh network": hardware.effects.network == "mesh",
        "fill and drain": hardware.effects.fill_drain != "none",
        "zeros": not {hardware.effects.weight_zeros, hardware.effects.input_zeros} <= {"computed"},
        "five or six levels": len(rows) > 4,
    }
    return [name for name, holds in has.items() if holds]


def simpler(case: Drawn) -> Iterator[Drawn]:
    """Yield the case with one thing less, the largest steps first."""
    problem, hardware = case.problem, case.problem.hardware
    yield from _without_idle_children(case)
    for i in range(len(hardware.levels) - 1):
        yield from _without_level(case, i)
    for v, level in enumerate(case.mapping.levels):
        for name in ("temporal", "spatial_x", "spatial_y"):
            factors = getattr(level, name)
            for d, factor in enumerate(factors):
                if factor > 1:
                    one = tuple(1 if i == d else f for i, f in enumerate(factors))
                    yield _mapped(case, v, **{name: one})
        for name in ("order", "order_x", "order_y"):
            if getattr(level, name) != tuple(range(8)):
                yield _mapped(case, v, **{name: tuple(range(8))})
    for bare in (
        replace(hardware, effects=PLAIN),
        replace(hardware, mac_pj=0.0),
        replace(hardware, pe_mesh=hardware.mac_mesh, array=(1, 1)),
    ):
        if bare != hardware:
            yield replace(case, problem=replace(problem, hardware=bare))
    yield from _without_switches(case)
    whole: dict[str, Any] = {
        "stride": (1, 1),
        "dilation": (1, 1),
        "padding": (0, 0),
        "staged": (False,) * 3,
        "free_words": None,
        "density": (1.0, 1.0),
    }
    for name, value in whole.items():
        if getattr(problem, name) != value:
            yield replace(case, problem=replace(problem, **{name: value}))


def _mapped(case: Drawn, level: int, **changes: Any) -> Drawn:
    levels = list(case.mapping.levels)
    levels[level] = replace(levels[level], **changes)
    mapping = Mapping(tuple(levels))
    return replace(case, mapping=mapping, problem=replace(case.problem, bounds=mapping.factors))


def _without_idle_children(case: Drawn) -> Iterator[Drawn]:
    """Yield the case on a hardware that has only the children which its mapping uses."""
    hardware = case.problem.hardware
    mesh, levels = (1, 1), []
    for level, rows in zip(reversed(hardware.levels), reversed(case.mapping.levels), strict=True):
        levels.append(replace(level, mesh=mesh, cluster_size=1))
        mesh = (mesh[0] * prod(rows.spatial_x), mesh[1] * prod(rows.spatial_y))
    snug = replace(hardware, levels=tuple(reversed(levels)), pe_mesh=mesh, array=(1, 1))
    if snug != hardware:
        try:
            yield replace(case, problem=replace(case.problem, hardware=snug))
        except ValueError:
            return  # an operand lived in a buffer that was not shared


def _without_level(case: Drawn, i: int) -> Iterator[Drawn]:
    levels, loops = case.problem.hardware.levels, case.mapping.levels
    below, here = case.problem.hardware.fanouts[i], loops[i]
    if len(levels) == 2 or below != (1, 1) or prod(here.temporal) > 1:
        return
    hardware = replace(case.problem.hardware, levels=(*levels[:i], *levels[i + 1 :]))
    mapping = Mapping((*loops[:i], *loops[i + 1 :]))
    try:
        yield replace(case, problem=replace(case.problem, hardware=hardware), mapping=mapping)
    except ValueError:
        return  # an operand lives there


def _without_switches(case: Drawn) -> Iterator[Drawn]:
    hardware = case.problem.hardware
    plain: dict[str, Any] = {
        "bandwidth_words": inf,
        "read_bandwidth_words": inf,
        "write_bandwidth_words": inf,
        "width_words": 1,
        "multiple_buffering": 1.0,
        "multicast": TENSORS,
        "cluster_size": 1,
        "tensor_bits": (),
    }
    for i, level in enumerate(hardware.levels):
        for name, value in plain.items():
            if getattr(level, name) == value:
                continue
            levels = list(hardware.levels)
            levels[i] = replace(level, **{name: value})
            changed = replace(hardware, levels=tuple(levels))
            yield replace(case, problem=replace(case.problem, hardware=changed))


def _lives_somewhere(case: Drawn) -> bool:
    """Whether each tensor is held where it lives, as a mapping must."""
    nest = nest_of(case.problem, case.mapping)
    return all(nest.keep[level][tensor] for tensor, level in enumerate(nest.top))


def smallest(case: Drawn) -> Drawn:
    """Return a case that differs too and from which nothing can be taken."""
    while True:
        for other in simpler(case):
            if _lives_somewhere(other) and differences(other):
                case = other
                break
        else:
            return case
