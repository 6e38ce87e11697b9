"""A frame with what its mappings cost at least, and what a walk through it must stay below."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from ..evaluators.setup import Setup
from ..evaluators.words import Float, Int
from .exact_ahead import Ahead, potentials
from .exact_choices import ROUNDING
from .exact_frame import Flags, Frame
from .exact_goal import Corner
from .exact_labels import Walk
from .exact_lattice import Lattice
from .exact_ports import Ports, binding, moved_at


@dataclass(frozen=True)
class Bounded:
    """A frame, its tiles, and what mappings with less than some score cost at least.

    Attributes:
        ports: those that can decide cycles of such mappings.
        facts: as :func:`archloom.search.exact_outline.outline` returns them.
        prices: float64[J, 1 + K], by which ``found`` is filled.
        corner: energy and cycles that no such mapping is below.
        score: nor is it below this (ln).
    """

    setup: Setup
    frame: Frame
    lattice: Lattice
    ports: Ports
    facts: Float
    found: Ahead
    prices: Float
    corner: Corner
    score: float

    @property
    def base(self) -> Float:
        """Units that all mappings of the frame move at least through each port."""
        return moved_at(self.ports, self.frame.units)

    def live(self, score: float, most_cycles: float) -> Flags:
        """Return which ports can decide cycles of mappings with less than a score."""
        flags = np.ones(len(self.ports.rate), np.uint8)
        if len(flags):
            most = self.corner.ceilings(score, most_cycles, self.ports.rate)[0]
            spare = float(most - self.facts[0] - self.facts[1])
            binding(self.setup, self.frame, self.ports, spare, self.corner.cycles, flags)
        return flags

    def chorded(self, real: Int, stop: Flags) -> "Bounded":
        """Return it with chords (theorem 5d of docs/exact_mapping.md); nothing holds once ``stop``
        is set.
        """
        corner, shape = self.corner, self.found.here.shape
        chords = corner.chords(self.ports.rate)
        more = potentials(
            self.setup, self.frame, real, self.lattice, self.ports, chords, self.found.ahead[0],
            np.full(shape[1], inf), 0, stop,
        )  # fmt: skip
        least = chords[:, 0] * self.facts[0] + (chords[:, 1:] * self.base).sum(axis=1) + more.least
        pairs = zip(self.found, more, strict=True)
        return replace(
            self,
            found=Ahead(*(np.concatenate(pair) for pair in pairs)),
            prices=np.concatenate([self.prices, chords]),
            score=max(self.score, corner.chord_score(float(least.max()))),
        )

    def new_walk(self, score: float, most_cycles: float, stop: Flags) -> Walk:
        """Return a walk over all tiles for mappings with less than a score."""
        live, corner = self.live(score, most_cycles), self.corner
        ceilings = corner.ceilings(score, most_cycles, self.ports.rate)
        chords = np.full(len(self.prices) - len(ceilings), corner.chord_ceiling(score))
        return Walk(
            np.empty(self.lattice.size, np.int64),
            self.ports,
            self.prices,
            np.concatenate([ceilings, chords]),
            np.array([score, corner.cycles, corner.leakage_pj, most_cycles]),
            np.full(3, inf),
            np.array([-1, 0, 0]),
            live,
            bool(live.any()),
            bool(self.frame.carries[0]),
            stop,
        )


def bounded(setup: Setup, frame: Frame, outlined: tuple[Lattice, Ahead, Float, Ports]) -> Bounded:
    """Return an outlined frame of some mappings with what these cost at least."""
    lattice, found, facts, ports = outlined
    least, cycles = 1 - ROUNDING, float(facts[2])
    if len(ports.rate):
        needed = ((moved_at(ports, frame.units) + found.least[1:]) / ports.rate).max()
        cycles = max(cycles, float(np.ceil(least * needed)))
    a, b = setup.weights.tolist()
    leaked = float(facts[3]) + setup.leakage_pj
    corner = Corner((a, b), least * float(facts[0] + found.least[0]), cycles, leaked)
    prices = np.eye(1 + len(ports.rate))
    score = corner.score if found.least[0] < inf else inf
    return Bounded(setup, frame, lattice, ports, facts, found, prices, corner, score)
