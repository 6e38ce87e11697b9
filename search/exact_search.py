"""One run of the exact search: choices in the order of their bounds, frame by frame."""

from math import inf, log1p, prod
from typing import Final

import numpy as np

from ..evaluators.kernel import VALID, Float, Int, Setup, evaluate_batch
from .annealing import anneal, reset
from .exact_ahead import Ahead, outline, potentials
from .exact_choices import ROUNDING, Choices, Listed, choices_of, lowered
from .exact_frame import Flags, new_frame
from .exact_goal import Corner
from .exact_hops import wired_bounds
from .exact_labels import Labels, Walk, new_labels
from .exact_lattice import Lattice
from .exact_layouts import Layouts, distances
from .exact_ports import binding, moved_at, ports_of
from .exact_proof import Found, Proof, Watch, ln_scores, progress_of
from .exact_rebuild import alone, rebuilt
from .exact_spread import divisors, guesses_of, touched
from .exact_walk import DONE, FULL, STOPPED, new_step, walk_outwards
from .exact_wiring import UNWIRED, Wiring, parts_of, wired, wired_least, wirings

#: mappings that annealing tries first, for something to beat
WARM_UP: Final = 1000

#: mappings annealed between two looks at whether to stop: about a millisecond
SLICE: Final = 1000

#: shares above the bound within which the best mapping of a frame is looked for first
LADDER: Final = (0.002, 0.02, 0.2, inf)

#: how a bound of a frame ended that leaves it open, beside DONE, FULL and STOPPED
MORE: Final = -1

#: pairs of factors (and ways to keep tensors) that are all listed at once; of more, those within
#: some ln of the least bound first
FEW: Final = 2**16
WIDER: Final = (0.05, 0.2, 0.5, 1.0, 2.0)

#: room for labels that a walk starts with; it grows where that is not enough
ROOM: Final = 2**16

#: most tiles of a frame, and most labels of a walk: about a gigabyte each at five levels
MOST_TILES: Final = 2**22
MOST_LABELS: Final = 2**22


class MismatchError(ArithmeticError):
    """The closed form of the search and the batch kernel disagree: a fault of the program."""


class Search:
    """One run: the incumbent, and what has been spent."""

    def __init__(
        self,
        setup: Setup,
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
        self.frame = new_frame(len(setup.fanout))._replace(near=distances(setup))
        self.layouts = Layouts(setup)
        self.wiring = UNWIRED
        self.step = new_step(len(setup.fanout))
        self.real = touched(setup)
        self.all_ports = ports_of(setup)
        # those that can decide cycles of better mappings of the frame
        self.ports = self.all_ports
        self.choices: Choices | None = None
        # the least bound of what was given up, and of all that is left
        self.unsettled = inf
        self.bound = -inf
        self.labels = new_labels(ROOM, len(setup.fanout), len(self.ports.rate) > 0, False)

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
                stopped = self.settle_listed(choices, listed) == STOPPED
                if stopped or (listed.below <= low < self.score):
                    return
                low = listed.below
                self.raise_bound(low)
        self.raise_bound(low)

    def settle_listed(self, choices: Choices, listed: Listed) -> int:
        """Take listed choices one by one; return how that ended."""
        for (keep, one, two), bound in zip(listed.chosen, listed.bounds.tolist(), strict=True):
            self.raise_bound(bound)
            if bound >= self.score:
                break
            ended = self.settle(choices.keeps[keep], choices.spread(one, two))
            if ended != DONE:
                self.unsettled = min(self.unsettled, bound)
            if ended == STOPPED:
                return STOPPED
        return DONE

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

    def offer(self, loops: Int, keep: Flags, wiring: Wiring = UNWIRED) -> tuple[float, float]:
        """Take a mapping for the best one if it is; return its energy and cycles."""
        across = wiring.across(self.setup.across)
        setup = self.setup._replace(across=across)
        status, energy, chip, dram = evaluate_batch(setup, loops[None], keep[None])
        if status[0] != VALID:
            return inf, inf
        pj, cycles = float(energy[0]), float(max(chip[0], dram[0]))
        with np.errstate(divide="ignore"):
            score = float(ln_scores(setup.weights, pj + setup.leakage_pj * cycles, cycles))
        if score < self.score and cycles <= self.most_cycles:
            self.best = Found(loops, keep, across, score, pj, cycles)
            self.report()
        return pj, cycles

    def settle(self, keep: Flags, spread: Int) -> int:
        """Find the best mapping of a choice, if it is better; return how that ended."""
        frame, worst = self.frame, DONE
        frame.keep[:], frame.spread[:] = keep, spread
        if self.layouts.levels:
            found, complete = wirings(self.layouts, keep, spread)
            return max(self.settle_wired(found), DONE if complete else FULL)
        if len(spread) == 1:
            return self.settle_alone()
        for guess in guesses_of(self.setup, keep, spread):
            frame.guess[:] = guess
            ended = self.settle_frame(False)
            if ended == STOPPED:
                return STOPPED
            worst = max(worst, ended)
        return worst

    def settle_wired(self, found: list[Wiring]) -> int:
        """Find the best mapping of a choice under some wirings: in parts, if that may be better."""
        if len(found) == 1:
            self.wiring = found[0]
            self.frame = wired(self.frame, self.wiring)
            return self.settle_alone() if len(self.frame.keep) == 1 else self.settle_frame(False)
        self.frame = wired_least(self.frame, found)
        if lowered(self.plain, *wired_bounds(self.plain, self.frame, self.real)) >= self.score:
            return DONE
        worst = MORE if len(self.frame.keep) == 1 else self.settle_frame(True)
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

    def settle_frame(self, bound_alone: bool) -> int:
        """Find the best mapping of the frame, if it is better; return how that ended.

        STOPPED says that the budget ran out or that the flag was set, FULL that there are more
        tiles or labels than any budget buys. With ``bound_alone``, a frame that may hold a better
        one is left, and MORE returned.
        """
        inner = len(self.setup.fanout) - 1
        steps = self.setup.bounds // self.frame.spread.prod(axis=0)
        free = steps[self.setup.within == 0]
        size = prod(len(divisors(int(n))) for n in free)
        if size > MOST_TILES:
            return FULL
        if size * inner > self.left:
            return STOPPED
        self.spent += size * inner
        lattice, found, facts, self.ports = outline(
            self.plain, self.frame, self.real, self.all_ports, self.score, self.stop
        )
        if self.stop[0]:
            return STOPPED
        # infinite where nothing fits
        if found.least[0] == inf:
            return DONE
        corner = self.corner(found, facts)
        bound = corner.score
        prices = np.eye(1 + len(self.ports.rate))
        if bound < self.score and self.live(corner, facts, self.score).any() and corner.convex:
            chords = corner.chords(self.ports.rate)
            more = potentials(
                self.plain, self.frame, self.real, lattice, self.ports, chords, 0, self.stop
            )
            least = chords[:, 0] * facts[0] + (chords[:, 1:] * self.base).sum(axis=1) + more.least
            bound = max(bound, corner.chord_score(float(least.max())))
            found = Ahead(*(np.concatenate(pair) for pair in zip(found, more, strict=True)))
            prices = np.concatenate([prices, chords])
        settled = DONE
        for share in LADDER:
            if self.stop[0]:
                return STOPPED
            if bound >= self.score:
                return settled
            if bound_alone:
                return MORE
            target = min(self.score, bound + log1p(share))
            walk = self.new_walk(lattice.size, corner, facts, prices, target)
            ended = self.walk(lattice, found, float(facts[0]), walk)
            if ended != DONE:
                return ended
            if self.frame.carries[1] and self.setup.ranks.shape[1]:
                # where words of inputs that pass are carried, permitted orders are not all tried
                settled = FULL
            bound = target
        return settled

    @property
    def base(self) -> Float:
        """Units that all mappings of the frame move at least through each port."""
        return moved_at(self.ports, self.frame.units)

    def corner(self, found: Ahead, facts: Float) -> Corner:
        """Return what no mapping of the frame is below."""
        least, cycles = 1 - ROUNDING, float(facts[2])
        if len(self.ports.rate):
            needed = ((self.base + found.least[1:]) / self.ports.rate).max()
            cycles = max(cycles, float(np.ceil(least * needed)))
        a, b = self.setup.weights.tolist()
        leaked = float(facts[3]) + self.setup.leakage_pj
        return Corner((a, b), least * float(facts[0] + found.least[0]), cycles, leaked)

    def live(self, corner: Corner, facts: Float, score: float) -> Flags:
        """Return which ports can decide cycles of mappings with less than a score."""
        flags = np.ones(len(self.ports.rate), np.uint8)
        if len(flags):
            most = corner.ceilings(score, self.most_cycles, self.ports.rate)[0]
            spare = float(most - facts[0] - facts[1])
            binding(self.plain, self.frame, self.ports, spare, corner.cycles, flags)
        return flags

    def new_walk(
        self, size: int, corner: Corner, facts: Float, prices: Float, score: float
    ) -> Walk:
        """Return a walk over so many tiles for mappings with less than a score."""
        live = self.live(corner, facts, score)
        ceilings = corner.ceilings(score, self.most_cycles, self.ports.rate)
        chords = np.full(len(prices) - len(ceilings), corner.chord_ceiling(score))
        limits = np.array([score, corner.cycles, corner.leakage_pj, self.most_cycles])
        return Walk(
            np.empty(size, np.int64),
            self.ports,
            prices,
            np.concatenate([ceilings, chords]),
            limits,
            np.full(3, inf),
            np.array([-1, 0, 0]),
            live,
            bool(live.any()),
            bool(self.frame.carries[0]),
            self.stop,
        )

    def walk(self, lattice: Lattice, found: Ahead, fixed: float, walk: Walk) -> int:
        """Walk, with more room where that is needed, and offer what was found."""
        levels, ported = len(self.setup.fanout), len(self.all_ports.rate) > 0
        if walk.carried and len(self.labels.passing) == 1:
            self.labels = new_labels(len(self.labels.tile), levels, ported, True)
        while True:
            labels = self.labels
            walk.tally[:], walk.best[:] = (-1, 0, 0), inf
            ended = int(walk_outwards(
                self.plain, self.frame, self.real, lattice, found, labels, walk, self.step, fixed,
                self.left,
            ))  # fmt: skip
            if ended != FULL or len(labels.tile) >= MOST_LABELS:
                break
            self.labels = new_labels(4 * len(labels.tile), levels, ported, walk.carried)
        self.spent += min(int(walk.tally[2]), self.left)
        if walk.best[0] < inf:
            self.take(labels, walk, lattice)
        return ended

    def take(self, labels: Labels, walk: Walk, lattice: Lattice) -> None:
        """Rebuild a mapping from its labels, and have the kernel price it."""
        frame = self.frame
        loops = rebuilt(self.setup, frame.spread, self.wiring, lattice, labels, walk)
        energy, cycles = self.offer(loops, frame.keep.copy(), self.wiring)
        leaked = self.setup.used_leakage_pj @ frame.used * cycles
        expected = walk.best[1] + leaked
        if not abs(energy - expected) <= 1e-9 * expected or cycles != walk.best[2]:
            raise MismatchError(
                f"the search prices {loops.tolist()} at {expected} pJ and {walk.best[2]} cycles, "
                f"the kernel at {energy} pJ and {cycles}"
            )
