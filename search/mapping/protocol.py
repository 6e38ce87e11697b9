"""Protocol of mapping searches, and the progress that they report."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log1p
from time import process_time
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from archloom.evaluators import Flags, Ints
from archloom.evaluators.loopnest import MappingProblem
from archloom.space import Infeasible
from archloom.space.mapping import LevelMapping, Mapping

from .objectives import ln_scores

#: evaluations between two looks at whether to stop, at first, and CPU seconds that they grow to
_SLICE: Final = 1000
_SLICE_S: Final = 0.1


@dataclass(frozen=True)
class Found:
    """A mapping as the kernel reads it, its score (ln), and energy and cycles from it.

    ``across[L, 2, 8]`` are the orders of its unrolled loops.
    """

    loops: Ints
    keep: Flags
    across: Ints
    score: float
    energy_pj: float
    cycles: float

    @property
    def mapping(self) -> Mapping:
        """The mapping as reports hold it."""
        rows = zip(self.loops.tolist(), self.keep.tolist(), self.across.tolist(), strict=True)
        return Mapping(
            tuple(
                LevelMapping(
                    tuple(steps),
                    tuple(order),
                    tuple(x),
                    tuple(y),
                    (bool(weights), bool(inputs), bool(outputs)),
                    tuple(order_x),
                    tuple(order_y),
                )
                for (steps, x, y, order), (weights, inputs, outputs), (order_x, order_y) in rows
            )
        )


@dataclass(frozen=True)
class Progress:
    """Where a search stands: reported whenever its best mapping or its bound gets better.

    Attributes:
        evaluations: as of :class:`Proof`, spent so far.
        score, energy_pj, cycles: of the best mapping so far; infinite before there is one.
        bound: no mapping has a lower score; minus infinity if nothing is known.
    """

    evaluations: int
    score: float
    bound: float
    energy_pj: float
    cycles: float


def progress_of(evaluations: int, best: Found | None, bound: float) -> Progress:
    """Return where a search stands."""
    if best is None:
        return Progress(evaluations, inf, bound, inf, inf)
    return Progress(evaluations, best.score, min(bound, best.score), best.energy_pj, best.cycles)


#: what is told of progress, and called between compiled parts of a search
Watch: TypeAlias = Callable[[Progress], None]


State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class MappedLayer:
    """The best mapping found for a problem, or why there is none.

    ``energy_pj`` and ``latency_cycles`` are the kernel's, for the problem's own traffic. The
    objective is at most ``gap_percent`` above the least there can be: 0 where that is proven,
    infinite where nothing is known. ``unspent`` of the evaluations that were granted were not
    needed, as the mapping was proven.
    """

    mapping: Mapping | None
    energy_pj: float
    latency_cycles: float
    evaluations: int
    infeasible: Infeasible | None = None
    gap_percent: float = inf
    unspent: int = 0


def progress_with(problem: MappingProblem, found: MappedLayer) -> Progress:
    """Return where a search stands that has found so much."""
    setup, energy, cycles = problem.setup, found.energy_pj, found.latency_cycles
    if found.mapping is None:
        return Progress(found.evaluations, inf, -inf, inf, inf)
    score = float(ln_scores(setup.weights, energy + setup.leakage_pj * cycles, cycles))
    bound = score - log1p(found.gap_percent / 100) if found.gap_percent < inf else -inf
    return Progress(found.evaluations, score, bound, energy, cycles)


@dataclass(frozen=True)
class PaddedMapping:
    """The best mapping over all bounds that the loops might be padded to.

    Attributes:
        nest: the problem with the bounds that its factors multiply to.
        mapping: the mapping.
        gap_percent: as of :class:`MappedLayer`, over all paddings.
    """

    nest: MappingProblem
    mapping: Mapping
    gap_percent: float


@dataclass(frozen=True)
class BelowLimit:
    """What a search found below a score: the mapping, whether more evaluations would bring
    nothing, and how many it had no need of.
    """

    mapping: Mapping | None
    settled: bool
    unspent: int = 0


class MappingSearch(Protocol[State]):
    """Searches the mapping of one problem; the state is a value and can be stored.

    Advancing by a and then b evaluations gives the state that advancing by a + b gives. Searches
    inherit from this class: they define the first three methods, and the others where they can do
    better than what stands here.
    """

    @abstractmethod
    def start(self, problem: MappingProblem, seed: int) -> State:
        """Return the state before anything was evaluated."""
        ...

    @abstractmethod
    def advance(self, problem: MappingProblem, state: State, budget: int) -> State:
        """Evaluate up to ``budget`` more mappings."""
        ...

    @abstractmethod
    def best(self, problem: MappingProblem, state: State) -> MappedLayer:
        """Return the best mapping found so far, re-scored by the batch kernel."""
        ...

    def until(
        self, problem: MappingProblem, seed: int, budget: int, stop: Flags, watch: Watch
    ) -> State:
        """Search until nothing better can be found, the budget is spent, or ``stop`` is set.

        By default it advances by slices, and looks at ``stop`` between them.

        Args:
            problem: what is mapped.
            seed: as of ``start``.
            budget: evaluations at most; the state says how many were spent.
            stop: uint8[1], which another thread may set.
            watch: told whenever the best mapping or the bound gets better.
        """
        state, done, size = self.start(problem, seed), 0, _SLICE
        while True:
            before, size = process_time(), min(size, budget - done)
            state = self.advance(problem, state, size)
            done += size
            found = self.best(problem, state)
            watch(progress_with(problem, found))
            if stop[0] or done >= budget or found.gap_percent == 0:
                return state
            if process_time() - before < _SLICE_S:
                size *= 2

    def best_below(
        self,
        problem: MappingProblem,
        budget: int,
        seed: int,
        limit: float,
        most_cycles: float = inf,
    ) -> BelowLimit:
        """Return the best mapping, if its score (ln of the objective) is below a limit and it takes
        no more than so many cycles.

        By default limits spare no evaluations, and the best of all mappings must be within them.
        """
        state = self.advance(problem, self.start(problem, seed), budget)
        found = self.best(problem, state)
        stands = progress_with(problem, found)
        within = stands.score < limit and stands.cycles <= most_cycles
        return BelowLimit(found.mapping if within else None, found.gap_percent == 0, found.unspent)

    def best_padding(self, problem: MappingProblem, budget: int, seed: int) -> PaddedMapping | None:
        """Return the best mapping over all paddings of the loop bounds, as far as the budget goes.

        None, the default, if the search looks at one nest at a time.
        """
        del problem, budget, seed
        return None


#: a search whose states only it looks into
AnyMappingSearch: TypeAlias = MappingSearch[Any]


class MappingFactory(Protocol):
    """Makes a mapping search; what is registered as one."""

    def __call__(self, **options: Any) -> AnyMappingSearch:
        """Return a search; ValueError says what is wrong with an option."""
        ...
