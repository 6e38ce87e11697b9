"""One run of the exact search: choices in the order of their bounds, frame by frame."""

from collections.abc import Callable
from math import inf
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.loopnest import VALID, KernelInputs, evaluate_batch

from ..objectives import ln_scores, lowered
from ..protocol import Found, Watch, progress_of
from ..result import reset
from .annealing import anneal
from .bounds import FamilyPruner
from .choices import Choices, Listed, choices_of
from .dp import (
    ASK,
    DONE,
    FOUND,
    FULL,
    MORE,
    ROOM,
    STOPPED,
    alone,
    new_labels,
    new_step,
    rebuilt,
    solve_listed,
    solve_subproblem,
)
from .proof import Proof
from .spatial import (
    UNWIRED,
    Layouts,
    NocLayout,
    distances,
    find_noc_layouts,
    guesses_of,
    parts_of,
    touched,
    wired,
    wired_least,
)
from .subproblem import lattice_of, new_subproblem, ports_of, wired_bounds

#: mappings that annealing tries first, for something to beat
WARM_UP: Final = 1000

#: mappings annealed between two looks at whether to stop: about a millisecond
SLICE: Final = 1000

#: pairs of factors (and ways to keep tensors) that are all listed at once; of more, those within
#: some ln of the least bound first
FEW: Final = 2**16
WIDER: Final = (0.05, 0.2, 0.5, 1.0, 2.0)

#: room for labels that a walk starts with; it grows where that is not enough
LABELS: Final = 2**16

#: frames that are settled between two reports to whoever watches
UNWATCHED: Final = 2**30


class MismatchError(ArithmeticError):
    """The closed form of the search and the batch kernel disagree: a fault of the program."""


class Search:
    """One run: the incumbent, and what has been spent."""

    def __init__(
        self,
        setup: KernelInputs,
        budget: int,
        seed: int,
        warm: int,
        stop: Flags | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.setup = setup
        # what the search reads has one type, with extras or without: it compiles once
        self.plain = setup._replace(extras=None)
        self.budget = budget
        self.seed = seed
        self.warm = warm
        self.stop = np.zeros(1, np.uint8) if stop is None else stop
        self.watch = watch
        # mappings that take more cycles do not count, nor those with no lower score
        self.most_cycles = self.beat = inf
        self.spent = 0
        self.best: Found | None = None
        self.frame = new_subproblem(len(setup.fanout))._replace(near=distances(setup))
        self.layouts = Layouts(setup)
        self.wiring = UNWIRED
        self.step = new_step(len(setup.fanout))
        # of the walk that found a mapping: see exact_settle.solve_subproblem
        self.walked, self.tally = np.empty(3), np.zeros(5, np.int64)
        self.real = touched(setup)
        self.ports = ports_of(setup)
        self.choices: Choices | None = None
        # which way to keep tensors the frame has
        self.kept = 0
        # the least bound of what was given up, and of all that is left
        self.unsettled = inf
        self.bound = -inf
        self.labels = new_labels(LABELS, len(setup.fanout), len(self.ports.rate) > 0, False)

    @property
    def score(self) -> float:
        """Ln of the best objective so far, or of what is to be beaten."""
        return self.beat if self.best is None else self.best.score

    @property
    def left(self) -> int:
        """Evaluations that are left of the budget."""
        return self.budget - self.spent

    def run(self, provable: bool) -> Proof:
        """Anneal, list choices by their bounds, and take the best ones one by one."""
        if provable and self.choices is None:
            self.choices = choices_of(self.plain, self.real, self.stop)
        self.warm_up(self.left if self.choices is None else self.warm)
        if self.choices is not None:
            self.settle_all(self.choices)
        bound = min(self.bound, self.unsettled, self.score)
        return Proof(self.best, bound, bound >= self.score, self.spent)

    def settle_all(self, choices: Choices) -> None:
        """Take choices in ascending order of bounds, some of them at a time."""
        low, tops = -inf, [inf]
        if choices.pairs > FEW:
            if choices.look > self.left:
                return
            least = choices.least()
            if self.stop[0]:
                return
            self.spent += choices.look
            self.raise_bound(least)
            tops = [least + wider for wider in WIDER] + tops
        for top in tops:
            # all that come later have a bound that is no lower
            while low < min(top, self.score):
                high = min(top, self.score)
                listed = choices.between(low, high, self.most_cycles, self.left)
                if listed is None:
                    return
                self.spent += listed.evaluations
                stopped = self.solve_listed(choices, listed) == STOPPED
                if stopped or (listed.below <= low < self.score):
                    return
                low = listed.below
                self.raise_bound(low)
        self.raise_bound(low)

    def solve_listed(self, choices: Choices, listed: Listed) -> int:
        """Take listed choices one by one; return how that ended."""
        bounds, at = listed.bounds.tolist(), 0
        sieve = choices.sieve(listed)
        while True:
            ended = ASK
            if sieve is not None:
                at, ended = self.settle_sieved(choices, sieve, at)
            if at == len(bounds):
                return DONE
            self.raise_bound(bounds[at])
            if bounds[at] >= self.score:
                return DONE
            keep, one, two = listed.chosen[at]
            self.kept = int(keep)
            if ended == ASK:
                ended = self.settle(choices.keeps[keep], choices.spread(one, two))
            elif ended == DONE:
                continue
            if ended != DONE:
                self.unsettled = min(self.unsettled, bounds[at])
            if ended == STOPPED:
                return STOPPED
            at += 1

    def settle_sieved(self, choices: Choices, sieve: FamilyPruner, at: int) -> tuple[int, int]:
        """Settle choices from one on, and some more; return the first that is not DONE."""
        most = 1 if self.watch is not None or choices.outside.size == 0 else UNWATCHED

        def some(at: int, left: Ints) -> tuple[int, int]:
            at, ended = solve_listed(
                self.plain, self.frame, self.real, self.ports, choices.outside, choices.keeps,
                choices.kinds, choices.one, choices.two, sieve, at, most, self.limits, left,
                self.labels, self.step, self.walked, self.tally, self.stop,
            )  # fmt: skip
            return int(at), int(ended)

        return self.settled(choices, some, at)

    def settled(
        self, choices: Choices, settle: Callable[[int, Ints], tuple[int, int]], at: int
    ) -> tuple[int, int]:
        """Settle frames from one on, out of left[0] evaluations; make room for labels where that
        is needed, and take what is found. Return the first frame that is not DONE, and how it
        ended.
        """
        while True:
            left = np.array([self.left])
            at, ended = settle(at, left)
            self.spent = self.budget - int(left[0])
            if ended == ROOM:
                self.make_room()
                continue
            if choices.outside.size == 0:
                choices.count(int(self.tally[4]))
            if ended == FOUND:
                ended = self.take()
                at += ended == DONE
            return at, ended

    def raise_bound(self, left: float) -> None:
        """Report the bound of all mappings where what is left raises it."""
        bound = min(left, self.unsettled, self.score)
        if bound > self.bound:
            self.bound = bound
            self.report()

    def report(self) -> None:
        """Tell whoever watches."""
        if self.watch is not None:
            self.watch(progress_of(self.spent, self.best, self.bound))

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
        """Spend evaluations on annealing."""
        if evaluations < 1:
            return
        levels = len(self.setup.fanout)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(self.setup, loops, keep)
        best_loops, best_keep, scores = loops.copy(), keep.copy(), np.full(2, np.inf)
        rng = np.array([self.seed % 2**64], np.uint64)
        for done in range(0, evaluations, SLICE):
            if self.stop[0]:
                break
            some, before = min(SLICE, evaluations - done), scores[1]
            anneal(self.setup, loops, keep, best_loops, best_keep, scores, rng, done, some)
            self.spent += some
            if scores[1] < before:
                self.offer(best_loops.copy(), best_keep.copy())

    def offer(self, loops: Ints, keep: Flags, wiring: NocLayout = UNWIRED) -> tuple[float, float]:
        """Take a mapping for the best one if it is; return its energy and cycles."""
        across = wiring.across(self.setup.across)
        setup = self.setup._replace(across=across)
        status, energy, chip, dram = evaluate_batch(setup, loops[None], keep[None])
        if status[0] != VALID:
            return inf, inf
        pj, cycles = float(energy[0]), float(max(chip[0], dram[0]))
        score = float(ln_scores(setup.weights, pj + setup.leakage_pj * cycles, cycles))
        if score < self.score and cycles <= self.most_cycles:
            self.best = Found(loops, keep, across, score, pj, cycles)
            self.report()
        return pj, cycles

    def settle(self, keep: Flags, spread: Ints) -> int:
        """Find the best mapping of a choice, if it is better; return how that ended."""
        frame, worst = self.frame, DONE
        frame.keep[:], frame.spread[:] = keep, spread
        if self.layouts.levels:
            found, complete = find_noc_layouts(self.layouts, keep, spread)
            return max(self.settle_wired(found), DONE if complete else FULL)
        for guess in guesses_of(self.setup, keep, spread):
            frame.guess[:] = guess
            ended = self.solve_subproblem(False)
            if ended == STOPPED:
                return STOPPED
            worst = max(worst, ended)
        return worst

    def settle_wired(self, found: list[NocLayout]) -> int:
        """Find the best mapping of a choice under some noc_layouts: in parts, if that may be
        better."""
        if len(found) == 1:
            self.wiring = found[0]
            self.frame = wired(self.frame, self.wiring)
            return self.solve_subproblem(False)
        self.frame = wired_least(self.frame, found)
        if lowered(self.plain, *wired_bounds(self.plain, self.frame, self.real)) >= self.score:
            return DONE
        worst = self.solve_subproblem(True)
        if worst == MORE:
            for part in parts_of(found):
                ended = self.settle_wired(part)
                if ended == STOPPED:
                    return STOPPED
                worst = max(worst, ended)
        return worst

    def settle_alone(self) -> int:
        """Try the one mapping of a frame where MACs stand below DRAM: no order matters there."""
        if self.left < 1:
            return STOPPED
        self.spent += 1
        frame, setup = self.frame, self.setup
        self.offer(alone(setup, frame.spread, self.wiring), frame.keep.copy(), self.wiring)
        return DONE

    def solve_subproblem(self, bound_alone: bool) -> int:
        """Find the best mapping of the frame, if it is better; return how that ended, see
        :func:`archloom.search.mapping.exact.dp.solver.solve_subproblem`.
        """
        if len(self.frame.keep) == 1:
            return MORE if bound_alone else self.settle_alone()
        assert self.choices is not None
        choices, kind = self.choices, int(self.choices.kinds[self.kept])

        def one(at: int, left: Ints) -> tuple[int, int]:
            return at, int(solve_subproblem(
                self.plain, self.frame, self.real, self.ports, choices.outside, kind, self.limits,
                left, bound_alone, self.labels, self.step, self.walked, self.tally, self.stop,
            ))  # fmt: skip

        return self.settled(choices, one, 0)[1]

    @property
    def limits(self) -> Floats:
        """What a better mapping is below: its score, and its cycles."""
        return np.array([self.score, self.most_cycles])

    def make_room(self) -> None:
        """Let walks have more labels, or labels that carry the words that pass."""
        carried = bool(self.frame.carries[0])
        more = 1 if carried and len(self.labels.passing) == 1 else 4
        levels, ported = len(self.setup.fanout), len(self.ports.rate) > 0
        self.labels = new_labels(more * len(self.labels.tile), levels, ported, carried)

    def take(self) -> int:
        """Rebuild the mapping that a walk found from its labels, and have the kernel price it;
        return how the walk ended.
        """
        frame, best = self.frame, self.walked
        lattice = lattice_of(frame.steps, self.setup.within)
        loops = rebuilt(self.setup, frame.spread, self.wiring, lattice, self.labels, self.tally)
        energy, cycles = self.offer(loops, frame.keep.copy(), self.wiring)
        leaked = self.setup.used_leakage_pj @ frame.used * cycles
        expected = float(best[1] + leaked)
        if not abs(energy - expected) <= 1e-9 * expected or cycles != best[2]:
            raise MismatchError(
                f"the search prices {loops.tolist()} at {expected} pJ and {best[2]} cycles, "
                f"the kernel at {energy} pJ and {cycles}"
            )
        return int(self.tally[3])
