"""The mapping that is provably the best, or the best one found with the gap that is left.

docs/explanation/mapping_proofs.md has the theorems that this stands on, with proofs.
"""

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.loopnest import MappingProblem

from ..factorization import least_score
from ..objectives import SCORE_ROUNDING
from ..protocol import BelowLimit, Found, MappedLayer, MappingSearch, PaddedMapping, Watch
from .branch_and_bound import WARM_UP, Search
from .padded import prove_padded
from .proof import Proof, covered


def prove(
    problem: MappingProblem,
    budget: int,
    weights: tuple[float, float] | None = None,
    seed: int = 0,
    warm_up: int = WARM_UP,
    stop: Flags | None = None,
    watch: Watch | None = None,
) -> Proof:
    """Search for the mapping with the least objective, and for a proof that there is no better.

    Args:
        problem: what is mapped; factors multiply to its loop bounds exactly. Where
            :func:`covered` is false the whole budget is annealed and nothing is proven.
        budget: evaluations at most (see :class:`Proof`). A larger one never finds worse.
        weights: exponents of energy (leakage included) and of latency in the objective;
            None for the problem's own.
        seed: of the annealing that finds something to beat.
        warm_up: evaluations of that annealing.
        stop: uint8[1]; once another thread or a handler of a signal sets it, the search returns
            within milliseconds what it has found, with a bound that holds.
        watch: told whenever the best mapping or the bound gets better.

    Raises:
        MismatchError: the batch kernel prices a mapping otherwise than the search did.
    """
    setup = problem.setup
    if weights is not None:
        setup = setup._replace(weights=np.array(weights, np.float64))
    search = Search(setup, budget, seed, warm_up, stop, watch)
    found = search.run(covered(problem))
    if found.bound > -inf:
        return found
    # no choice was looked at; what DRAM's rows and banks add is not in this bound either
    return replace(
        found, bound=min(search.score, least_score(problem, setup.weights) - SCORE_ROUNDING)
    )


@dataclass(frozen=True)
class ExactState:
    """What a budget has brought; arrays are never changed in place.

    ``loops[L, 4, 8]``, ``keep[L, 3]`` and ``across[L, 2, 8]``, the orders of unrolled loops, are
    the best mapping, zeros before there is one; ``numbers`` its score (ln), energy and cycles,
    and a score that no mapping is below. Of the ``evaluations`` that were granted ``spent`` were
    needed.
    """

    evaluations: int
    seed: int
    loops: Ints
    keep: Flags
    across: Ints
    numbers: tuple[float, float, float, float]
    proven: bool
    spent: int = 0

    @property
    def proof(self) -> Proof:
        """What is known, as :func:`archloom.search.mapping.exact.search.prove` returns it."""
        score, energy, cycles, bound = self.numbers
        found = Found(self.loops, self.keep, self.across, score, energy, cycles)
        best = found if self.loops.any() else None
        return Proof(best, bound, self.proven, self.evaluations)


class ExactMapping(MappingSearch[ExactState]):
    """The best mapping, with a proof, as far as the budget goes.

    A budget that is cut in parts is searched from the beginning each time, until there is a
    proof; the result is that of the whole budget. Once proven, more of it costs nothing.
    """

    name: ClassVar[str] = "exact"

    def start(self, problem: MappingProblem, seed: int) -> ExactState:
        """Return the state before anything was evaluated."""
        levels = len(problem.hardware.levels)
        loops, keep = np.zeros((levels, 4, 8), np.int64), np.zeros((levels, 3), np.uint8)
        across, nothing = np.zeros((levels, 2, 8), np.int64), (inf, inf, inf, -inf)
        return ExactState(0, seed % 2**64, loops, keep, across, nothing, False)

    def advance(self, problem: MappingProblem, state: ExactState, budget: int) -> ExactState:
        """Let the search have ``budget`` more evaluations."""
        total = state.evaluations + budget
        if state.proven or budget < 1:
            return replace(state, evaluations=total)
        return replace(_known(state, prove(problem, total, seed=state.seed)), evaluations=total)

    def until(
        self, problem: MappingProblem, seed: int, budget: int, stop: Flags, watch: Watch
    ) -> ExactState:
        """Search until there is a proof, the budget is spent, or ``stop`` is set.

        The state counts what was spent. Arguments are those of
        :func:`archloom.search.mapping.exact.search.prove`.
        """
        found = prove(problem, budget, seed=seed, stop=stop, watch=watch)
        return _known(self.start(problem, seed), found)

    def best_below(
        self,
        problem: MappingProblem,
        budget: int,
        seed: int,
        limit: float,
        most_cycles: float = inf,
    ) -> BelowLimit:
        """Return the best mapping below limits; where nothing can be proven it is annealed."""
        search = Search(problem.setup, budget, seed, 0)
        search.beat, search.most_cycles, search.tables = limit, most_cycles, False
        found = search.run(covered(problem))
        mapping = None if found.best is None else found.best.mapping
        unspent = max(0, budget - found.evaluations) if found.proven else 0
        return BelowLimit(mapping, found.proven, unspent)

    def best_padding(self, problem: MappingProblem, budget: int, seed: int) -> PaddedMapping:
        """Return the best mapping over all paddings that may be worth it."""
        found = prove_padded(problem, budget, seed)
        if found.proof.best is None:
            raise AssertionError(f"no mapping for {problem.key}, though one must exist")
        return PaddedMapping(found.nest, found.proof.best.mapping, found.proof.gap_percent)

    def best(self, problem: MappingProblem, state: ExactState) -> MappedLayer:
        """Return the best mapping, as the batch kernel priced it; infeasible if there is none."""
        found = state.proof
        if found.best is None:
            why = problem.impossible()
            if why is None:
                raise ValueError("best() needs at least one evaluation")
            return MappedLayer(None, inf, inf, state.evaluations, why)
        return MappedLayer(
            found.best.mapping,
            found.best.energy_pj,
            found.best.cycles,
            state.evaluations,
            gap_percent=found.gap_percent,
            unspent=max(0, state.evaluations - state.spent) if found.proven else 0,
        )


def _known(state: ExactState, found: Proof) -> ExactState:
    """Take over what was found."""
    best = found.best
    if best is None:
        numbers = (inf, inf, inf, found.bound)
        return replace(
            state,
            evaluations=found.evaluations,
            numbers=numbers,
            proven=found.proven,
            spent=found.evaluations,
        )
    numbers = (best.score, best.energy_pj, best.cycles, found.bound)
    held = (best.loops, best.keep, best.across)
    spent = found.evaluations
    return ExactState(spent, state.seed, *held, numbers, found.proven, spent)


def joined(one: ExactState, two: ExactState) -> ExactState:
    """Return what two searches of one problem know together; evaluations are those of ``two``."""
    better = two if two.numbers[0] <= one.numbers[0] else one
    bound = max(one.numbers[3], two.numbers[3])
    proven = better.numbers[0] < inf and bound >= better.numbers[0]
    return replace(
        two,
        loops=better.loops,
        keep=better.keep,
        across=better.across,
        numbers=(*better.numbers[:3], bound),
        proven=proven or one.proven or two.proven,
    )
