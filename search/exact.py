"""The mapping that is provably the best, or the best one found with the gap that is left.

docs/exact_mapping.md has the theorems that this stands on, with proofs.
"""

from dataclasses import dataclass
from math import exp, inf, log, prod
from typing import Any, Final, TypeAlias

import numpy as np

from ..evaluators.kernel import VALID, Float, Int, Setup, evaluate_batch
from ..evaluators.problem import MappingProblem
from ..evaluators.setup import NO_FILL
from .annealing import anneal, reset
from .exact_frame import Flags, first_bounds, new_frame
from .exact_lattice import Lattice, outline
from .exact_spread import axes_of, divisors, guesses_of, keeps_of, spreads_of, touched, unmirrored
from .exact_walk import DONE, FULL, STOPPED, Labels, Walk, new_labels, new_step, walk_outwards

#: relative error that sums of energies in different orders may make; bounds are lowered by it
ROUNDING: Final = 1e-11

#: mappings that annealing tries first, for something to beat
WARM_UP: Final = 1000

#: shares of energy above the bound within which the best mapping of a choice is looked for first
LADDER: Final = (0.002, 0.02, 0.2, inf)

#: room for labels that a walk starts with; it grows where that is not enough
ROOM: Final = 2**16


#: most tiles of a frame, and most labels of a walk: about a gigabyte each at five levels
MOST_TILES: Final = 2**22
MOST_LABELS: Final = 2**22

#: tiles of a frame, and least energies from them outwards
Tiles: TypeAlias = tuple[Lattice, Float, Float]


class MismatchError(ArithmeticError):
    """The closed form of the search and the batch kernel disagree: a fault of the program."""


@dataclass(frozen=True)
class Choices:
    """Ways to keep tensors and to unroll loops, by what their mappings cost at least.

    Attributes:
        keeps, spreads: uint8[A, L, 3] and int64[B, L, 8].
        pairs: int64[C, 2], one of each, by ascending bound.
        bounds: float64[C], a score (ln) that no mapping of the pair is below.
    """

    keeps: Flags
    spreads: Int
    pairs: Int
    bounds: Float


@dataclass(frozen=True)
class Found:
    """A mapping as the kernel reads it, its score (ln), and energy and cycles from it."""

    loops: Int
    keep: Flags
    score: float
    energy_pj: float
    cycles: float


@dataclass(frozen=True)
class Proof:
    """What is known of a problem after some search.

    Attributes:
        best: the best mapping found, None if none fits (or nothing was tried).
        bound: no mapping has a lower score (ln of the objective); minus infinity if nothing is
            known.
        proven: whether ``best`` is as good as any mapping, but for rounding.
        evaluations: mappings annealed, choices and tiles bounded and labels tried.
    """

    best: Found | None
    bound: float
    proven: bool
    evaluations: int

    @property
    def gap_percent(self) -> float:
        """How far above the least possible objective the best may be; 0 if proven."""
        if self.proven:
            return 0.0
        return inf if self.best is None else 100.0 * (exp(self.best.score - self.bound) - 1.0)


def ln_scores(weights: Float, energy_pj: Any, cycles: Any) -> Any:
    """Ln of objectives, of numbers or arrays; what has no weight may be nothing."""
    pairs = zip(weights, (energy_pj, cycles), strict=True)
    return sum(weight * np.log(value) for weight, value in pairs if weight)


def covered(problem: MappingProblem) -> bool:
    """Whether the search can prove anything: hops and array fill are not in its closed form."""
    setup = problem.setup
    hops = bool(np.any(setup.hop_pj > 0) or np.any(setup.router_pj > 0))
    return not hops and setup.fill_drain == NO_FILL


def prove(
    problem: MappingProblem,
    budget: int,
    keep: Flags | None = None,
    both_axes: bool = True,
    weights: tuple[float, float] | None = None,
    seed: int = 0,
    warm_up: int = WARM_UP,
) -> Proof:
    """Search for the mapping with the least objective, and for a proof that there is no better.

    Args:
        problem: what is mapped; factors multiply to its loop bounds exactly. Where
            :func:`covered` is false the whole budget is annealed and nothing is proven.
        budget: evaluations at most (see :class:`Proof`). A larger one never finds worse.
        keep: uint8[L, 3], which level keeps which tensor; None for the best way that the
            hardware lets a mapping choose.
        both_axes: whether a dimension may be unrolled along x and y of one mesh at once.
        weights: exponents of energy (leakage included) and of latency in the objective;
            None for the problem's own.
        seed: of the annealing that finds something to beat.
        warm_up: evaluations of that annealing.

    Raises:
        MismatchError: the batch kernel prices a mapping otherwise than the search did.
    """
    setup = problem.setup
    if weights is not None:
        setup = setup._replace(weights=np.array(weights, np.float64))
    if keep is not None:
        setup = setup._replace(allowed=keep, optional=np.zeros_like(keep))
    return Search(setup, budget, both_axes, seed, warm_up).run(covered(problem))


class Search:
    """One run: the incumbent, and what has been spent."""

    def __init__(self, setup: Setup, budget: int, both_axes: bool, seed: int, warm: int) -> None:
        self.setup = setup
        # what the search reads has one type, with extras or without: it compiles once
        self.plain = setup._replace(extras=None)
        self.budget = budget
        self.both_axes = both_axes
        self.seed = seed
        self.warm = warm
        # mappings that take more cycles do not count
        self.most_cycles = inf
        self.spent = 0
        self.best: Found | None = None
        self.frame = new_frame(len(setup.fanout))
        self.step = new_step(len(setup.fanout))
        self.real = touched(setup)
        slow = setup.bandwidth < inf
        self.bounded = bool(slow.any())
        # the least bound of what was given up
        self.unsettled = inf
        self.labels = new_labels(ROOM, len(setup.fanout), self.bounded)

    @property
    def score(self) -> float:
        """Ln of the best objective so far."""
        return inf if self.best is None else self.best.score

    @property
    def left(self) -> int:
        """Evaluations that are left of the budget."""
        return self.budget - self.spent

    def run(self, provable: bool) -> Proof:
        """Anneal, list all choices with their bounds, and take the best ones one by one."""
        spreads = spreads_of(self.setup, self.both_axes) if provable else None
        self.warm_up(self.left if spreads is None else self.warm)
        choices = None if spreads is None else self.choices(unmirrored(self.setup, spreads))
        if choices is None:
            return Proof(self.best, -inf, False, self.spent)
        for (i, j), bound in zip(choices.pairs, choices.bounds.tolist(), strict=True):
            # all that come later have a bound that is no lower
            if bound >= self.score:
                break
            ended = self.settle(choices.keeps[i], choices.spreads[j])
            if ended != DONE:
                self.unsettled = min(self.unsettled, bound)
            if ended == STOPPED:
                self.spent = self.budget
                break
        bound = min(self.unsettled, self.score)
        return Proof(self.best, bound, bound >= self.score, self.spent)

    def warm_up(self, evaluations: int) -> None:
        """Try the mapping that fits wherever any does, then some annealing."""
        levels = len(self.setup.fanout)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(self.setup, loops, keep)
        if self.left:
            self.spent += 1
            self.offer(loops, keep)
        self.anneal(min(self.left, evaluations))

    def anneal(self, evaluations: int) -> None:
        """Spend evaluations on annealing; it unrolls along both axes, where that is allowed."""
        if evaluations < 1 or not self.both_axes:
            return
        levels = len(self.setup.fanout)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(self.setup, loops, keep)
        best_loops, best_keep, scores = loops.copy(), keep.copy(), np.full(2, np.inf)
        rng = np.array([self.seed % 2**64], np.uint64)
        anneal(self.setup, loops, keep, best_loops, best_keep, scores, rng, 0, evaluations)
        self.spent += evaluations
        if scores[1] < inf:
            self.offer(best_loops, best_keep)

    def offer(self, loops: Int, keep: Flags) -> tuple[float, float]:
        """Take a mapping for the best one if it is; return its energy and cycles."""
        setup = self.setup
        status, energy, chip, dram = evaluate_batch(setup, loops[None], keep[None])
        if status[0] != VALID:
            return inf, inf
        pj, cycles = float(energy[0]), float(max(chip[0], dram[0]))
        with np.errstate(divide="ignore"):
            score = float(ln_scores(setup.weights, pj + setup.leakage_pj * cycles, cycles))
        if score < self.score and cycles <= self.most_cycles:
            self.best = Found(loops, keep, score, pj, cycles)
        return pj, cycles

    def choices(self, spreads: Int) -> Choices | None:
        """Return all choices with their bounds; None if there are too many for the budget."""
        keeps = keeps_of(self.setup)
        if len(spreads) * len(keeps) > self.left:
            return None
        self.spent += len(spreads) * len(keeps)
        bounds = np.empty((len(spreads), 3))
        parts: list[Int] = []
        scores: list[Float] = []
        for i, keep in enumerate(keeps):
            first_bounds(self.plain, self.frame, self.real, keep, spreads, bounds)
            lowest = self.lowered(*bounds.T)
            (open_ones,) = np.nonzero((lowest < self.score) & (bounds[:, 1] <= self.most_cycles))
            parts.append(np.stack([np.full(len(open_ones), i), open_ones], axis=1))
            scores.append(lowest[open_ones])
        pairs, lowest = np.concatenate(parts), np.concatenate(scores)
        order = np.argsort(lowest, kind="stable")
        return Choices(keeps, spreads, pairs[order], lowest[order])

    def lowered(self, energy_pj: Any, cycles: Any, leakage_pj: Any) -> Any:
        """Scores of bounds, numbers or arrays, below what rounding can do to them."""
        least = 1 - ROUNDING
        with np.errstate(divide="ignore"):
            leaked = leakage_pj + self.setup.leakage_pj
            # steps are whole numbers; what ports need is a quotient
            exact = least if self.bounded else 1.0
            return ln_scores(
                self.setup.weights, least * (energy_pj + leaked * cycles), exact * cycles
            )

    def settle(self, keep: Flags, spread: Int) -> int:
        """Find the best mapping of a choice, if it is better; return how that ended."""
        frame, worst = self.frame, DONE
        for guess in guesses_of(self.setup, keep, spread):
            frame.keep[:], frame.spread[:], frame.guess[:] = keep, spread, guess
            ended = self.settle_frame()
            if ended == STOPPED:
                return STOPPED
            worst = max(worst, ended)
        return worst

    def settle_frame(self) -> int:
        """Find the best mapping of the frame, if it is better; return how that ended.

        STOPPED says that the budget ran out, FULL that there are more tiles or labels than any
        budget buys.
        """
        inner = len(self.setup.fanout) - 1
        steps = self.setup.bounds // self.frame.spread.prod(axis=0)
        size = prod(len(divisors(int(n))) for n in steps)
        if size > MOST_TILES:
            return FULL
        if size * inner > self.left:
            return STOPPED
        self.spent += size * inner
        lattice, here, ahead, (fixed, above, cycles, leakage) = outline(
            self.plain, self.frame, self.real
        )
        bound = self.lowered(fixed + above, cycles, leakage)
        # infinite where nothing fits
        for share in LADDER:
            if bound >= self.score or bound == inf:
                return DONE
            most = inf if share == inf else (fixed + above) * (1 + share)
            walk = self.new_walk(size, most, cycles, leakage)
            ended = self.walk((lattice, here, ahead), fixed, walk)
            if ended != DONE:
                return ended
            bound = self.lowered(walk.limits[0], cycles, leakage)
        return DONE

    def new_walk(self, size: int, energy_pj: float, cycles: float, leakage_pj: float) -> Walk:
        """Return a walk that stays below an energy and below the best mapping."""
        leaked = leakage_pj + self.setup.leakage_pj
        limits = np.array([energy_pj, self.score, cycles, leaked, self.most_cycles])
        a, b = self.setup.weights
        if a > 0 and self.score < inf:
            most = exp((self.score - b * log(cycles)) / a) - leaked * cycles
            limits[0] = min(limits[0], most)
        heads = np.empty(size, np.int64)
        return Walk(heads, limits, np.full(3, inf), np.array([-1, 0, 0]), self.bounded)

    def walk(self, tiles: Tiles, fixed: float, walk: Walk) -> int:
        """Walk, with more room where that is needed, and offer what was found."""
        lattice, here, ahead = tiles
        levels = len(self.setup.fanout)
        while True:
            labels = self.labels
            walk.tally[:], walk.best[:] = (-1, 0, 0), inf
            ended = int(
                walk_outwards(
                    self.plain,
                    self.frame,
                    self.real,
                    lattice,
                    here,
                    ahead,
                    labels,
                    walk,
                    self.step,
                    fixed,
                    self.left,
                )
            )
            if ended != FULL or len(labels.tile) >= MOST_LABELS:
                break
            self.labels = new_labels(4 * len(labels.tile), levels, self.bounded)
        self.spent += min(int(walk.tally[2]), self.left)
        if walk.best[0] < inf:
            self.take(labels, walk, lattice)
        return ended

    def take(self, labels: Labels, walk: Walk, lattice: Lattice) -> None:
        """Rebuild a mapping from its labels, and have the kernel price it."""
        frame, levels = self.frame, len(self.setup.fanout)
        tiles, choices = [lattice.size - 1], [int(walk.tally[1])]
        label = int(walk.tally[0])
        while label >= 0:
            tiles.append(int(labels.tile[label]))
            choices.append(int(labels.how[label]))
            label = int(labels.parent[label])
        loops = np.ones((levels, 4, 8), np.int64)
        inner = np.ones(8, np.int64)
        for level, (tile, how) in enumerate(zip(reversed(tiles), reversed(choices), strict=True)):
            positions = tile // lattice.places % lattice.counts
            tau = lattice.values[np.arange(8), positions]
            loops[level, 0] = tau // inner
            loops[level, 1], loops[level, 2] = axes_of(
                self.setup, level, frame.spread[level], self.both_axes
            )
            loops[level, 3] = order_of(how)
            inner = tau
        energy, cycles = self.offer(loops, frame.keep.copy())
        leaked = self.setup.used_leakage_pj @ frame.used * cycles
        expected = walk.best[1] + leaked
        if not abs(energy - expected) <= 1e-9 * expected or cycles != walk.best[2]:
            raise MismatchError(
                f"the search prices {loops.tolist()} at {expected} pJ and {walk.best[2]} cycles, "
                f"the kernel at {energy} pJ and {cycles}"
            )


def order_of(how: int) -> Int:
    """Return the loop order, innermost first, of a packed choice of what stays and is first."""
    stays, first = how // 16, how % 16 - 1
    idle = ((0, 4, 5), (2,), (3, 6, 7), ())[stays]
    leading = [d for d in (first,) if d in idle]
    leading += [d for d in idle if d != first]
    if first >= 0 and first not in idle:
        leading.append(first)
    return np.array([*leading, *(d for d in range(8) if d not in leading)], np.int64)
