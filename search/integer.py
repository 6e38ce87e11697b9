"""FAST's fusion planner: layers run one by one, and an integer program says what stays on chip."""

from dataclasses import dataclass
from functools import cached_property

from ..space.fusion import FusionGroup, FusionPlan, Pin
from ..space.infeasible import Infeasible
from ..space.network import Network
from ..space.surroundings import Surroundings, surroundings
from .least_product import Corner, least_product
from .pinning import Form, OwnCost, Pinned, PinProblem, own_cost
from .pinning_facts import pin_problem
from .pinning_ilp import Program, Solved
from .planned import Planned
from .pricing import PlanPricer


@dataclass(frozen=True)
class IntegerPlan:
    """What the program found, as a plan.

    Attributes:
        plan: one-layer groups with pins.
        solved: the program's answer, with its own cost and gap.
        dropped: what was given up since the layers beside it found no room: (maker, first reader
            from DRAM) of maps, (layer, layer) of weights.
        own: what the linear model says of what is left; the common price may say otherwise.
    """

    plan: FusionPlan
    solved: Solved
    dropped: tuple[tuple[int, int], ...]
    own: OwnCost

    def notes(self, network: Network) -> tuple[str, ...]:
        """Say what the linear model expects of the plan, and what was given up for it."""
        expected = (
            f"the integer program (gap {self.solved.gap_percent:.4f}%) expects "
            f"{self.own.cycles:,.0f} cycles, {self.own.energy_pj:,.0f} pJ and "
            f"{self.own.dram_words:,} words over DRAM"
        )
        names = [layer.name for layer in network.layers]
        given_up = (
            f"{names[reader]} reads {names[maker]} from DRAM"
            if maker != reader
            else f"weights of {names[maker]} stream"
            for maker, reader in self.dropped
        )
        return (expected, *(f"{what}: layers beside it found no room" for what in given_up))


class IntegerFusion(Planned):
    """Prices layer by layer, then the program's plan; the better one stays.

    Args:
        pricer: prices the layers, and the plan.
        form: ``live`` minimises EDP; ``printed`` is FAST's: least latency, steady weights.
        steady_weights: whether the live form, too, may have weights on the chip before the pass
            begins. They are then never read from DRAM, which plans without them cannot match.
    """

    def __init__(
        self, pricer: PlanPricer, form: Form = "live", steady_weights: bool = False
    ) -> None:
        super().__init__(
            pricer,
            lambda: None if isinstance(self.found, Infeasible) else self.found.plan,
            lambda: _notes(self.found, pricer.network),
        )
        self._pricer, self._form, self._steady = pricer, form, steady_weights

    @cached_property
    def found(self) -> IntegerPlan | Infeasible:
        """What the program found, or why nothing can stay anywhere."""
        if self._form == "printed":
            return printed_plan(self._pricer)
        return live_plan(self._pricer, self._steady)


def _notes(found: IntegerPlan | Infeasible, network: Network) -> tuple[str, ...]:
    return (str(found),) if isinstance(found, Infeasible) else found.notes(network)


def live_plan(pricer: PlanPricer, steady_weights: bool = False) -> IntegerPlan | Infeasible:
    """Return the plan of least EDP under the live form, or why nothing can stay anywhere."""
    problem = pin_problem(pricer)
    if isinstance(problem, Infeasible):
        return problem
    program = Program(problem, "live", steady_weights)

    def corner(energy: float, latency: float) -> Corner[Solved]:
        solved = program.solve(energy, latency)
        return Corner(solved, solved.cost.energy_pj, solved.cost.cycles)

    return repaired(pricer, problem, least_product(corner).answer, "live")


def printed_plan(pricer: PlanPricer) -> IntegerPlan | Infeasible:
    """Return the plan of least latency under the paper's constraints, or why there is none."""
    problem = pin_problem(pricer)
    if isinstance(problem, Infeasible):
        return problem
    solved = Program(problem, "printed", steady_weights=True).solve(0.0, 1.0)
    return repaired(pricer, problem, solved, "printed")


def plan_of(network: Network, pinned: Pinned) -> FusionPlan:
    """Return the plan of one-layer groups in which so much stays in the buffer."""
    last: dict[int, int] = {}
    for producer, reader in pinned.reads:
        last[producer] = max(reader, last.get(producer, 0))
    return FusionPlan(
        tuple(
            FusionGroup(
                (i,),
                pins=(Pin(i, last[i]),) if i in last else (),
                steady=(i,) if network.weight_owner(i) in pinned.steady else (),
            )
            for i in range(len(network.layers))
        )
    )


def repaired(pricer: PlanPricer, problem: PinProblem, solved: Solved, form: Form) -> IntegerPlan:
    """Give up, where a layer finds no room, what saves least, until all of them find some.

    B_i is of the mapping that streams; what a layer needs beside operands that lie there whole
    may be more.
    """
    pinned, dropped = solved.pinned, []
    while (stuck := _stuck(pricer, pinned)) is not None:
        i, around = stuck
        options = [*_without_maps(pinned, (*around.held, *around.kept), i)]
        options += [((owner, owner), _without_weights(pinned, owner)) for owner in pinned.steady]
        if not options:
            raise AssertionError(f"layer {i} finds no room although nothing is pinned")
        gone, pinned = min(options, key=lambda option: _product(problem, option[1], form))
        dropped.append(gone)
    own = own_cost(problem, pinned, form)
    return IntegerPlan(plan_of(pricer.network, pinned), solved, tuple(dropped), own)


def _stuck(pricer: PlanPricer, pinned: Pinned) -> tuple[int, Surroundings] | None:
    """The first layer that has no price, and what lies in the buffer around it."""
    plan = plan_of(pricer.network, pinned)
    for group, around in zip(plan.groups, surroundings(pricer.network, plan), strict=True):
        if isinstance(pricer.group(group, around), Infeasible):
            return group.layers[0], around
    return None


def _without_maps(
    pinned: Pinned, makers: tuple[int, ...], i: int
) -> list[tuple[tuple[int, int], Pinned]]:
    """What is left if one of the maps that lie there while layer ``i`` runs does so no longer."""
    found = []
    for maker in makers:
        late = frozenset((u, r) for u, r in pinned.reads if u == maker and r >= i)
        first = min(reader for _, reader in late)
        found.append(((maker, first), Pinned(pinned.reads - late, pinned.steady)))
    return found


def _without_weights(pinned: Pinned, owner: int) -> Pinned:
    return Pinned(pinned.reads, pinned.steady - {owner})


def _product(problem: PinProblem, pinned: Pinned, form: Form) -> float:
    cost = own_cost(problem, pinned, form)
    return cost.energy_pj * cost.cycles
