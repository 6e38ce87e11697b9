"""A mapping problem: one layer, or one tile of it, on one hardware under one residency."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from archloom.space import Infeasible, InfeasibleError
from archloom.space.hardware import Hardware
from archloom.space.mapping import UNCONSTRAINED, MappingConstraints
from archloom.space.workload import INPUTS, TENSORS, Layer, Sparsity, Tensor

from ..arrays import Flags, Ints
from ..hardware import access_costs
from .constraint_arrays import conflict, constraint_arrays, unrolled_arrays
from .hardware_arrays import effect_arrays, price_arrays, storage_arrays
from .kernel_inputs import MAX_LEVELS, KernelInputs, unlimited
from .validation import impossible, many_levels, shortages, too_large, wrong_place, wrong_sizes

Residency = tuple[bool, bool, bool]
STREAMED: Residency = (False, False, False)


@dataclass(frozen=True)
class MappingProblem:
    """One layer, or one tile of it, to be mapped on one hardware.

    Attributes:
        bounds: loop bounds in the order of DIMS.
        stride, dilation, padding, input_size: window geometry (rows, columns).
        hardware: where it runs.
        staged: for weights, inputs, outputs: does the operand live whole in the fusion level?
            Then DRAM has no part in it (fusion model, section 4).
        free_words: words left in the fusion level for the tiles of the other operands; None
            for the whole level.
        density: share of weights and of inputs that are not zero.
        loop_bounds: what the factors of a mapping multiply to, where that is more than
            ``bounds``; None for the bounds themselves. Searches evaluate all of that nest;
            :func:`archloom.evaluators.loopnest.layer_cost.mapped_cost` only what lies inside
            ``bounds``.
        constraints: what every mapping that a search proposes must satisfy.
        weights: exponents of energy and of latency in the objective: (1, 1) for EDP.
        row_words: learned weights of one output channel, where the hardware packs them; else 0.
        cycle_pj: what a cycle counts in the objective besides the leakage of the chip: the energy
            that a plan would spend to be a cycle faster. It is no part of the cost.
        begun: whether it adds to partial sums that were begun before, whose first touch is read
            and fetched like all others.

    Raises:
        ValueError: numbers that are no sizes or shares, a staged operand on hardware without a
            fusion level or one that the fusion level cannot keep, more levels than the kernel is
            compiled for, loop bounds that are less than the bounds, constraints of a level that
            the hardware does not have, or more to count than the kernel's numbers hold.
    """

    bounds: tuple[int, ...]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]
    input_size: tuple[int, int]
    hardware: Hardware
    staged: Residency = STREAMED
    free_words: int | None = None
    density: tuple[float, float] = (1.0, 1.0)
    loop_bounds: tuple[int, ...] | None = None
    constraints: MappingConstraints = UNCONSTRAINED
    weights: tuple[float, float] = (1.0, 1.0)
    row_words: int = 0
    cycle_pj: float = 0.0
    begun: bool = False

    def __post_init__(self) -> None:
        # each line takes for granted what the one before it found right
        for wrong in (wrong_sizes, wrong_place, too_large):
            message = "; ".join(wrong(self))
            if message:
                raise ValueError(f"{self.hardware.name}: {message}")

    @classmethod
    def of_layer(cls, layer: Layer, hardware: Hardware) -> "MappingProblem":
        """Return the problem of a whole layer with every operand in DRAM."""
        window = (layer.stride, layer.dilation, layer.padding, layer.input_size)
        row_words = packed_row_words(layer, hardware)
        return cls(layer.bounds, *window, hardware, density=layer.density, row_words=row_words)

    @property
    def sparsity(self) -> Sparsity:
        """Zeros, and whether weights are packed."""
        return Sparsity(*self.density, self.row_words)

    @property
    def covered(self) -> tuple[int, ...]:
        """Products of the factors of a mapping."""
        return self.loop_bounds or self.bounds

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return prod(self.bounds)

    @cached_property
    def key(self) -> str:
        """Everything but the hardware, as one canonical string: the memo key of a trial.

        Seeds derive from it too, so what is not the plain case is named only where it is there.
        """
        window = (self.stride, self.dilation, self.padding, self.input_size)
        special = () if self.density == (1.0, 1.0) else (("density", self.density),)
        if self.covered != self.bounds:
            special = (*special, ("covered", self.covered))
        if self.constraints != UNCONSTRAINED:
            special = (*special, ("constraints", repr(self.constraints)))
        if self.weights != (1.0, 1.0):
            special = (*special, ("weights", self.weights))
        if self.row_words:
            special = (*special, ("row_words", self.row_words))
        if self.cycle_pj:
            special = (*special, ("cycle_pj", self.cycle_pj))
        if self.begun:
            special = (*special, ("begun", True))
        return repr((self.bounds, *window, self.staged, self.free_words, *special))

    @cached_property
    def setup(self) -> KernelInputs:
        """The arrays that the kernel and the searches read.

        Raises:
            InfeasibleError: constraints that no mapping on the hardware can obey.
        """
        broken = conflict(self.constraints, self.hardware)
        if broken is not None:
            raise InfeasibleError(broken)
        same = _design_inputs(
            self.hardware, self.constraints, self.staged, self.sparsity, self.weights
        )
        # arrays of its own: who changes one changes no other problem
        own: dict[str, Any] = {
            k: v.copy() for k, v in same._asdict().items() if isinstance(v, np.ndarray)
        }
        window = [
            [self.stride[a], self.dilation[a], self.padding[a], self.input_size[a]] for a in (0, 1)
        ]
        own["bounds"], own["window"] = np.array(self.covered, np.int64), np.array(window, np.int64)
        own |= unrolled_arrays(self.constraints, self.hardware, self.covered)
        buffer = self.hardware.fusion_level
        if self.free_words is not None and buffer is not None:
            own["shared"][buffer] = self.free_words * own["unit"][buffer, INPUTS]
        own |= {"leakage_pj": same.leakage_pj + self.cycle_pj, "begun": int(self.begun)}
        return same._replace(**own)

    def impossible(self) -> Infeasible | None:
        """Return why not even the smallest tiles fit, with bytes and remedies, or which
        constraint the hardware cannot obey; None if there is a mapping.

        A mapping with the smallest tiles everywhere, single words but for what constraints
        unroll, exists for every problem, so there are no other reasons.
        """
        broken = conflict(self.constraints, self.hardware)
        if broken is not None:
            return broken
        found = shortages(self.hardware, self.setup, self.free_words, self.sparsity)
        return impossible(found)


def packed_row_words(layer: Layer, hardware: Hardware) -> int:
    """Return the weights of one output channel if the hardware packs weights, else 0."""
    return 0 if hardware.effects.weight_format == "dense" else layer.sparsity.row_words


def design_inputs(hardware: Hardware, staged: Residency, zeros: Sparsity) -> KernelInputs:
    """Return what kernel inputs of all layers with such zeros have in common, unconstrained.

    Sizes of loops and windows stand for nothing. Arrays are to be read only.

    Raises:
        ValueError: more levels than the kernel is compiled for.
    """
    if len(hardware.levels) > MAX_LEVELS:
        raise ValueError(f"{hardware.name}: {many_levels(hardware)}")
    same = _design_inputs(hardware, UNCONSTRAINED, staged, zeros, (1.0, 1.0))
    return same._replace(**unrolled_arrays(UNCONSTRAINED, hardware, (1,) * 8))


@lru_cache(maxsize=256)
def _design_inputs(
    hardware: Hardware,
    constraints: MappingConstraints,
    staged: Residency,
    zeros: Sparsity,
    weights: tuple[float, float],
) -> KernelInputs:
    """Return kernel inputs that are the same whatever the loops are: a trial has hundreds of
    problems and a handful of these. Sizes of loops and windows stand for nothing. Arrays are
    shared: to be read only.
    """
    levels, buffer = hardware.levels, hardware.fusion_level
    dram = len(levels) - 1
    top = tuple(dram if buffer is None or not here else buffer for here in staged)
    held = _places(tuple((lv.keeps, lv.optional, lv.multicast) for lv in levels), top)
    return _anything(len(levels))._replace(
        fanout=np.array(hardware.fanouts, np.int64),
        top=held.top,
        staged=np.array(staged, np.uint8),
        multicast=held.multicast,
        cluster=np.array([lv.cluster_size for lv in levels], np.int64),
        instances=np.array([lv.instances for lv in levels], np.int64),
        weights=np.array(weights, np.float64),
        **storage_arrays(hardware, zeros),
        **price_arrays(access_costs(hardware), hardware),
        **effect_arrays(hardware, zeros),
        **constraint_arrays(constraints, hardware, held.allowed, held.optional, held.top),
    )


class _Places(NamedTuple):
    """What levels hold; see :class:`KernelInputs`."""

    top: Ints
    allowed: Flags
    optional: Flags
    multicast: Flags


@lru_cache(maxsize=256)
def _places(
    levels: tuple[tuple[tuple[Tensor, ...], bool, tuple[Tensor, ...]], ...], top: tuple[int, ...]
) -> _Places:
    """Return what levels hold by what each keeps, whether it is optional, and what it sends to
    several children at once: all designs of a template have the same.
    """
    allowed = np.array([[t in keeps for t in TENSORS] for keeps, _, _ in levels], np.uint8)
    optional = np.array([[may] * 3 for _, may, _ in levels], np.uint8) & allowed
    for t in range(3):
        optional[top[t], t] = 0
    sent = np.array([[t in multicast for t in TENSORS] for _, _, multicast in levels], np.uint8)
    return _Places(np.array(top, np.int64), allowed, optional, sent)


@lru_cache(maxsize=MAX_LEVELS)
def _anything(levels: int) -> KernelInputs:
    return unlimited(np.ones(8, np.int64), np.ones((2, 4), np.int64), levels)
