"""One run of the exact search: choices in the order of their bounds."""

from collections.abc import Callable
from math import inf
from threading import local
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.loopnest import VALID, KernelInputs, evaluate_batch

from ..objectives import SCORE_ROUNDING, ln_scores, lowered
from ..protocol import Found, Watch, progress_of
from .annealing import anneal, first_mapping
from .bounds import NO_FAMILIES, Families
from .choices import Choices, Listed, choices_of
from .dp import (
    DONE,
    FOUND,
    FULL,
    NO_ROOM,
    OPEN,
    SEVERAL,
    STOPPED,
    Labels,
    Limits,
    Span,
    alone,
    new_labels,
    new_workspace,
    rebuilt,
    solve,
)
from .keeping import keeping_of
from .proof import Proof
from .spatial import (
    UNWIRED,
    Layouts,
    NocLayout,
    find_noc_layouts,
    guesses_of,
    parts_of,
    touched,
    wired,
    wired_least,
)
from .subproblem import ANY_TENSOR, lattice_of, new_subproblem, wired_bounds

#: mappings that annealing tries first, for something to beat
WARM_UP: Final = 1000

#: mappings annealed between two looks at whether to stop: about a millisecond
SLICE: Final = 1000

#: pairs of factors (and ways to keep tensors) that are all listed at once; of more, those within
#: some ln of the least bound first
FEW: Final = 2**16
WIDER: Final = (0.05, 0.2, 0.5, 1.0, 2.0)

#: room for labels that a search starts with; it grows where that is not enough
LABELS: Final = 2**16

#: subproblems that are solved between two reports to whoever watches
UNWATCHED: Final = 2**30


class MismatchError(ArithmeticError):
    """The closed form of the search and the batch kernel disagree: a fault of the program."""


#: labels of the last search of each thread, which the next one takes over: new ones are megabytes
#: that the system has to clear
_LAST: Final = local()


def _labels(levels: int, ported: bool) -> Labels:
    """Return room for labels; a thread has one search at work at a time."""
    if getattr(_LAST, "kind", None) != (levels, ported):
        _LAST.kind, _LAST.labels = (levels, ported), new_labels(LABELS, levels, ported, False)
    found: Labels = _LAST.labels
    return found


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
        # whether what tables take to fill is likely to pay: not where limits leave few choices
        self.tables = True
        self.spent = 0
        self.best: Found | None = None
        self.touched = touched(setup)
        self.keeping = keeping_of(setup)
        self.subproblem = new_subproblem(self.keeping.near, self.touched)
        self.layouts = Layouts(setup)
        self.wiring = UNWIRED
        self.ported = len(self.keeping.ports.rate) > 0
        self.choices: Choices | None = None
        # the least bound of what was given up, and of all that is left
        self.unsettled = inf
        self.bound = -inf
        labels = _labels(len(setup.fanout), self.ported)
        self.space = new_workspace(labels, len(setup.fanout), self.stop)

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
            known = (self.keeping, self.tables)
            self.choices = choices_of(self.plain, self.touched, self.stop, *known)
        self.warm_up(self.left if self.choices is None else self.warm)
        if self.choices is not None:
            self.solve_all(self.choices)
        bound = min(self.bound, self.unsettled, self.score)
        return Proof(self.best, bound, bound >= self.score, self.spent)

    def solve_all(self, choices: Choices) -> None:
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
        if not bounds:
            return DONE
        families = choices.families(listed)
        while True:
            ended = SEVERAL
            if families is not None:
                at, ended = self.solve_families(choices, families, at)
            if at == len(bounds):
                return DONE
            self.raise_bound(bounds[at])
            if bounds[at] >= self.score:
                return DONE
            if ended == SEVERAL:
                ended = self.solve_choice(choices, *listed.chosen[at])
            elif ended == DONE:
                continue
            if ended != DONE:
                self.unsettled = min(self.unsettled, bounds[at])
            if ended == STOPPED:
                return STOPPED
            at += 1

    def solve_families(self, choices: Choices, families: Families, at: int) -> tuple[int, int]:
        """Solve choices from one on, and some more; return the first that is not DONE."""
        most = 1 if self.watch is not None or choices.outer.size == 0 else UNWATCHED

        def some(at: int) -> tuple[int, int]:
            where = (self.plain, self.subproblem, choices.outer, families)
            at, ended = solve(*where, Span(at, most, False), self.limits, self.space)
            return int(at), int(ended)

        return self.account(choices, some, at)

    def account(
        self, choices: Choices, solve: Callable[[int], tuple[int, int]], at: int
    ) -> tuple[int, int]:
        """Solve subproblems from one on, out of the evaluations that are left; make room for labels
        where that is needed, and take what is found. Return the first subproblem that is not DONE,
        and how it ended.
        """
        outcome = self.space.outcome[0]
        while True:
            outcome["left"] = self.left
            at, ended = solve(at)
            self.spent = self.budget - int(outcome["left"])
            if ended == NO_ROOM:
                self.make_room()
                continue
            if choices.outer.size == 0:
                choices.count(int(outcome["tiles"]))
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
        if self.left:
            self.spent += 1
            first = first_mapping(self.setup)
            self.offer(first.loops, first.keep)
        self.anneal(min(self.left, evaluations))

    def anneal(self, evaluations: int) -> None:
        """Spend evaluations on annealing."""
        if evaluations < 1:
            return
        now, best = first_mapping(self.setup), first_mapping(self.setup)
        rng = np.array([self.seed % 2**64], np.uint64)
        for done in range(0, evaluations, SLICE):
            if self.stop[0]:
                break
            some, before = min(SLICE, evaluations - done), best.score[0]
            anneal(self.setup, now, best, rng, done, some)
            self.spent += some
            if best.score[0] < before:
                self.offer(best.loops.copy(), best.keep.copy())

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

    def solve_choice(self, choices: Choices, way: int, prefix: int, rest: int) -> int:
        """Find the best mapping of a choice, if it is better; return how that ended."""
        subproblem, worst = self.subproblem, DONE
        keep, spread = choices.keeps[way], choices.spread(prefix, rest)
        subproblem.keep[:], subproblem.spread[:] = keep, spread
        subproblem.kind[0] = choices.kinds[way]
        if self.layouts.levels:
            found, complete = find_noc_layouts(self.layouts, keep, spread)
            return max(self.solve_wired(found), DONE if complete else FULL)
        for guess in guesses_of(self.setup, keep, spread):
            subproblem.guess[:] = guess
            ended = self.solve_subproblem(False)
            if ended == STOPPED:
                return STOPPED
            worst = max(worst, ended)
        return worst

    def solve_wired(self, found: list[NocLayout]) -> int:
        """Find the best mapping of a choice under some layouts: in parts, if that may be better."""
        if len(found) == 1:
            self.wiring = found[0]
            self.subproblem = wired(self.subproblem, self.wiring)
            return self.solve_subproblem(False)
        self.subproblem = wired_least(self.subproblem, found)
        if lowered(self.plain, *wired_bounds(self.plain, self.subproblem)) >= self.score:
            return DONE
        worst = self.solve_subproblem(True)
        if worst == OPEN:
            for part in parts_of(found):
                ended = self.solve_wired(part)
                if ended == STOPPED:
                    return STOPPED
                worst = max(worst, ended)
        return worst

    def solve_alone(self) -> int:
        """Try the one mapping of a subproblem of one level, DRAM: no order matters there."""
        if self.left < 1:
            return STOPPED
        self.spent += 1
        subproblem, setup = self.subproblem, self.setup
        self.offer(alone(setup, subproblem, self.wiring), subproblem.keep.copy(), self.wiring)
        return DONE

    def solve_subproblem(self, bound_alone: bool) -> int:
        """Find the best mapping of the subproblem, if it is better; return how that ended, see
        :func:`archloom.search.mapping.exact.dp.solver.solve`.
        """
        if len(self.subproblem.keep) == 1:
            return OPEN if bound_alone else self.solve_alone()
        assert self.choices is not None
        choices = self.choices

        def one(at: int) -> tuple[int, int]:
            where = (self.plain, self.subproblem, choices.outer, NO_FAMILIES)
            at, ended = solve(*where, Span(at, 0, bound_alone), self.limits, self.space)
            return int(at), int(ended)

        return self.account(choices, one, 0)[1]

    @property
    def limits(self) -> Limits:
        """What a better mapping is below."""
        return Limits(float(self.score), float(self.most_cycles))

    def make_room(self) -> None:
        """Let searches have more labels, or labels that carry the words that pass."""
        labels, levels = self.space.labels, len(self.setup.fanout)
        carried = bool(self.subproblem.carries[ANY_TENSOR])
        more = 1 if carried and len(labels.passing) == 1 else 4
        labels = new_labels(more * len(labels.tile), levels, self.ported, carried)
        self.space = self.space._replace(labels=labels)

    def take(self) -> int:
        """Rebuild the mapping that was found from its labels, and have the kernel price it; return
        how the search ended that found it.
        """
        subproblem, best = self.subproblem, self.space.outcome[0]
        lattice = lattice_of(subproblem.steps, self.setup.within)
        loops = rebuilt(self.setup, subproblem, self.wiring, lattice, self.space)
        energy, cycles = self.offer(loops, subproblem.keep.copy(), self.wiring)
        leaked = self.setup.used_leakage_pj @ subproblem.used * cycles
        expected = float(best["energy_pj"] + leaked)
        if not abs(energy - expected) <= SCORE_ROUNDING * expected or cycles != best["cycles"]:
            raise MismatchError(
                f"the search prices {loops.tolist()} at {expected} pJ and {best['cycles']} cycles, "
                f"the kernel at {energy} pJ and {cycles}"
            )
        return int(best["ended"])
