"""FAST's fusion planner: layers run one by one, and an integer program pins data on the chip."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from archloom.evaluators.fusion import uneven_sub_batches
from archloom.space import Infeasible
from archloom.space.fusion import (
    Computation,
    FusionGroup,
    FusionPlan,
    Pin,
    Residents,
    computation_numbers,
    computations,
    divisors,
    plan_residents,
    sub_batch,
)
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..one_shot import OneShotPlanner
from ..parametric_search import HullVertex, least_product
from ..plan_evaluator import MemoizedPlanEvaluator
from ..protocol import Abilities
from .coefficients import pinning_problem, steady_layers
from .ilp import IlpSolution, IntegerProgram
from .model import Form, LinearCost, PinnedData, PinningProblem, linear_cost

#: parts of the batch that run one after another; ``auto`` finds out how many are best
SubBatches = int | Literal["auto"]


@dataclass(frozen=True)
class PinningPlan:
    """Solution of the integer program as a plan.

    Attributes:
        plan: one-layer groups with pins.
        solved: the program's answer, with its own cost and gap.
        dropped: what was given up since the layers beside it did not fit: (maker, first reader
            from DRAM) of maps, (layer, layer) of weights.
        own: cost of what is left under the linear model; the common cost model may differ.
    """

    plan: FusionPlan
    solved: IlpSolution
    dropped: tuple[tuple[int, int], ...]
    own: LinearCost

    def notes(self, network: Network) -> tuple[str, ...]:
        """Say what the linear model expects of the plan, and what was given up for it."""
        expected = (
            f"the integer program (gap {self.solved.gap_percent:.4f}%) expects "
            f"{self.own.cycles:,.0f} cycles, {self.own.energy_pj:,.0f} pJ and "
            f"{self.own.dram_words:,} words over DRAM"
        )
        names = [network.layers[one.host].name for one in computations(network)]
        parts = self.plan.sub_batches
        if parts > 1:
            images = network.batch // parts
            expected += f", in {parts} sub-batches of {images} image{'s' * (images > 1)}"
        given_up = (
            f"{names[reader]} reads {names[maker]} from DRAM"
            if maker != reader
            else f"weights of {names[maker]} stream"
            for maker, reader in self.dropped
        )
        return (expected, *(f"{what}: layers beside it found no room" for what in given_up))


class FastPlanner(OneShotPlanner):
    """Evaluates layer by layer, then the plans of the program; the best one stays.

    Args:
        evaluator: evaluates the layers, and the plans.
        form: ``live`` minimises EDP; ``printed`` is FAST's: least latency, steady weights.
        steady_weights: whether the live form, too, may have weights on the chip before the pass
            begins. They are then never read from DRAM, which plans without them cannot match.
        sub_batches: into how many parts the batch is cut, which run one after another; ``auto``
            solves the program for each number that divides the batch, for a plan each. Weights of
            the live form may stay for all parts.

    Raises:
        ValueError: ``sub_batches`` is below 1.
    """

    def __init__(
        self,
        evaluator: MemoizedPlanEvaluator,
        form: Form = "live",
        steady_weights: bool = False,
        sub_batches: SubBatches = 1,
    ) -> None:
        if sub_batches != "auto" and sub_batches < 1:
            raise ValueError(f"sub_batches is {sub_batches}, must be at least 1, or auto")
        self._layers, self._form, self._steady = evaluator, form, steady_weights
        every = divisors(evaluator.network.batch)
        numbers = every if sub_batches == "auto" else (sub_batches,)
        self._answers: dict[int, PinningPlan | Infeasible] = {}
        super().__init__(
            evaluator,
            lambda n: _plan_in(self.answer(numbers[n])),
            lambda n: _notes(self.answer(numbers[n]), evaluator.network),
            len(numbers),
        )

    def answer(self, parts: int) -> PinningPlan | Infeasible:
        """Return the solution for so many sub-batches as a plan, or why nothing can stay
        anywhere."""
        if parts not in self._answers:
            self._answers[parts] = (
                printed_plan(self._layers, parts)
                if self._form == "printed"
                else live_plan(self._layers, self._steady, parts)
            )
        return self._answers[parts]


class LiveFastPlanner(FastPlanner):
    """The planner of least EDP, whose plans fetch all weights in the pass."""

    abilities: ClassVar[Abilities] = Abilities(folds=True)

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, sub_batches: SubBatches | None = None
    ) -> None:
        super().__init__(evaluator, sub_batches=1 if sub_batches is None else sub_batches)


class PrintedFastPlanner(FastPlanner):
    """The planner as FAST prints it: least latency, weights that stay from pass to pass."""

    abilities: ClassVar[Abilities] = Abilities(plans="steady", folds=True)

    def __init__(
        self, evaluator: MemoizedPlanEvaluator, sub_batches: SubBatches | None = None
    ) -> None:
        parts: SubBatches = 1 if sub_batches is None else sub_batches
        super().__init__(evaluator, "printed", sub_batches=parts)


def _plan_in(found: PinningPlan | Infeasible) -> FusionPlan | None:
    return None if isinstance(found, Infeasible) else found.plan


def _notes(found: PinningPlan | Infeasible, network: Network) -> tuple[str, ...]:
    return (str(found),) if isinstance(found, Infeasible) else found.notes(network)


def live_plan(
    evaluator: MemoizedPlanEvaluator, steady_weights: bool = False, sub_batches: int = 1
) -> PinningPlan | Infeasible:
    """Return the plan of least EDP under the live form, or why nothing can stay anywhere."""
    loads = sub_batches > 1 and not steady_weights
    part = _of_part(evaluator, sub_batches)
    if isinstance(part, Infeasible):
        return part
    problem = pinning_problem(part, sub_batches, loads)
    if isinstance(problem, Infeasible):
        return problem
    program = IntegerProgram(problem, "live", steady_weights or loads)

    def hull_vertex(energy: float, latency: float) -> HullVertex[IlpSolution]:
        solved = program.solve(energy, latency)
        return HullVertex(solved, solved.cost.energy_pj, solved.cost.cycles)

    return fitted_plan(part, problem, least_product(hull_vertex).answer, "live")


def printed_plan(
    evaluator: MemoizedPlanEvaluator, sub_batches: int = 1
) -> PinningPlan | Infeasible:
    """Return the plan of least latency under the paper's constraints, or why there is none."""
    part = _of_part(evaluator, sub_batches)
    if isinstance(part, Infeasible):
        return part
    problem = pinning_problem(part, sub_batches)
    if isinstance(problem, Infeasible):
        return problem
    solved = IntegerProgram(problem, "printed", steady_weights=True).solve(0.0, 1.0)
    return fitted_plan(part, problem, solved, "printed")


def _of_part(
    evaluator: MemoizedPlanEvaluator, sub_batches: int
) -> MemoizedPlanEvaluator | Infeasible:
    """Return an evaluator of what one sub-batch runs, or why the batch cannot be cut so."""
    network = evaluator.network
    if sub_batches == 1:
        return evaluator
    if network.batch % sub_batches:
        return uneven_sub_batches(network, sub_batches)
    return MemoizedPlanEvaluator(
        sub_batch(network, sub_batches), evaluator.hardware, evaluator.mapper
    )


def plan_of(network: Network, hardware: Hardware, pinned: PinnedData) -> FusionPlan:
    """Return the plan of a group for each computation in which so much stays in the buffer."""
    found = computations(network)
    kept = {one: frozenset(r for p, r in pinned.reads if p == n) for n, one in enumerate(found)}
    return FusionPlan(
        tuple(
            FusionGroup(
                one.layers,
                pins=tuple(_pins(network, one, kept[one])),
                steady=tuple(
                    sorted(
                        i
                        for owner in pinned.steady
                        for i in steady_layers(network, hardware, one, owner)
                    )
                ),
            )
            for one in found
        )
    )


def _pins(network: Network, found: Computation, readers: frozenset[int]) -> Iterator[Pin]:
    """Results that stay, each to its last reader in one of the computations ``readers``."""
    numbers = computation_numbers(network)
    for i in sorted(found.results):
        last = [r for r in network.consumers[i] if numbers[r] in readers]
        if last:
            yield Pin(i, max(last, key=lambda reader: numbers[reader]))


def fitted_plan(
    evaluator: MemoizedPlanEvaluator, problem: PinningProblem, solved: IlpSolution, form: Form
) -> PinningPlan:
    """Give up, where a layer does not fit, what saves least, until all layers fit.

    The evaluator is of what one sub-batch runs. B_i is of the mapping that streams; what a layer
    needs beside operands that lie there whole may be more.
    """
    pinned, dropped = solved.pinned, []
    while (stuck := _first_unplaceable(evaluator, pinned)) is not None:
        i, residents = stuck
        numbers = computation_numbers(evaluator.network)
        makers = dict.fromkeys(numbers[maker] for maker in (*residents.held, *residents.kept))
        options = [*_without_maps(pinned, tuple(makers), i)]
        options += [((owner, owner), _without_weights(pinned, owner)) for owner in pinned.steady]
        if not options:
            raise AssertionError(f"layer {i} finds no room although nothing is pinned")
        gone, pinned = min(options, key=lambda option: _product(problem, option[1], form))
        dropped.append(gone)
    own = linear_cost(problem, pinned, form)
    plan = plan_of(evaluator.network, evaluator.hardware, pinned)
    if problem.sub_batches > 1:
        plan = _in_sub_batches(plan, problem)
    return PinningPlan(plan, solved, tuple(dropped), own)


def _in_sub_batches(plan: FusionPlan, problem: PinningProblem) -> FusionPlan:
    """Return the plan of a pass from that of one sub-batch, to which weights that stay are
    steady."""
    groups = (replace(group, sub_batches=problem.sub_batches) for group in plan.groups)
    if problem.loads_weights:
        groups = (replace(group, steady=(), loaded_once=group.steady) for group in groups)
    return FusionPlan(tuple(groups))


def _first_unplaceable(
    evaluator: MemoizedPlanEvaluator, pinned: PinnedData
) -> tuple[int, Residents] | None:
    """The first computation that does not fit, and what lies in the buffer beside it."""
    plan = plan_of(evaluator.network, evaluator.hardware, pinned)
    residents = plan_residents(evaluator.network, plan)
    for n, (group, beside) in enumerate(zip(plan.groups, residents, strict=True)):
        if isinstance(evaluator.group(group, beside), Infeasible):
            return n, beside
    return None


def _without_maps(
    pinned: PinnedData, makers: tuple[int, ...], i: int
) -> list[tuple[tuple[int, int], PinnedData]]:
    """What is left if one of the maps that lie there while layer ``i`` runs does so no longer."""
    found = []
    for maker in makers:
        late = frozenset((u, r) for u, r in pinned.reads if u == maker and r >= i)
        first = min(reader for _, reader in late)
        found.append(((maker, first), PinnedData(pinned.reads - late, pinned.steady)))
    return found


def _without_weights(pinned: PinnedData, owner: int) -> PinnedData:
    return PinnedData(pinned.reads, pinned.steady - {owner})


def _product(problem: PinningProblem, pinned: PinnedData, form: Form) -> float:
    cost = linear_cost(problem, pinned, form)
    return cost.energy_pj * cost.cycles
