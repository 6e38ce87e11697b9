"""Lanes of a woven schedule: bars of both engines and curves of both buffers, in microseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.weaving import Npu, Stretch, Ticks, Timeline

#: colours that people with any colour vision can tell apart (Okabe and Ito, Color Universal
#: Design, 2008), without their black and their yellow, which is too light for thin bars
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")

#: steps that a picture shows; more are too thin to see and too many to zoom
MOST_STEPS: Final = 4000

_NS: Final = 10**9

Lane = Literal["array", "weights", "maps"]


@dataclass(frozen=True, eq=False)
class WovenRun:
    """A schedule with its time stamps, ready to be drawn.

    Attributes:
        title: what ran where, and who scheduled it.
        names: of the chains.
        layers: names of the layers of each chain.
        work: the chains in ticks.
        npu: what they ran on.
        timeline: of the schedule.
    """

    title: str
    names: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]
    work: Ticks
    npu: Npu
    timeline: Timeline

    @property
    def steps(self) -> int:
        """Layers, or parts of layers, that run."""
        return len(self.timeline.part)

    def nanoseconds(self, ticks: Ints | Sequence[int]) -> Ints:
        """Return times in whole nanoseconds; a tick is the time of one byte from DRAM."""
        rate = Fraction(self.npu.dram_bytes_per_s)
        scaled = [int(t) * _NS * rate.denominator // rate.numerator for t in ticks]
        return np.array(scaled, np.int64)

    def colour(self, chain: int) -> str:
        """Return the colour of a network."""
        return COLOURS[chain % len(COLOURS)]


@dataclass(frozen=True)
class Bars:
    """What one network does in one lane.

    Attributes:
        lane: which.
        chain: which network.
        start_us, length_us: float64[n].
        labels: what each of them is, in a line.
    """

    lane: Lane
    chain: int
    start_us: list[float]
    length_us: list[float]
    labels: list[str]


def bars_of(run: WovenRun, most: int = MOST_STEPS) -> list[Bars]:
    """Return the bars of the first ``most`` steps, those of a network and a lane together."""
    timeline = run.timeline
    lanes: tuple[tuple[Lane, tuple[Stretch, ...]], ...] = (
        ("array", timeline.computes),
        ("weights", timeline.fetches),
        ("maps", timeline.maps),
    )
    found = []
    for lane, stretches in lanes:
        for chain in range(len(run.names)):
            own = [s for s in stretches if s[2] < most and timeline.chain[s[2]] == chain]
            if own:
                found.append(_bars(run, lane, chain, own))
    return found


def _bars(run: WovenRun, lane: Lane, chain: int, stretches: Sequence[Stretch]) -> Bars:
    start = run.nanoseconds([a for a, _, _ in stretches])
    end = run.nanoseconds([b for _, b, _ in stretches])
    return Bars(
        lane,
        chain,
        (start / 1e3).tolist(),
        ((end - start) / 1e3).tolist(),
        [step_label(run, step, lane) for _, _, step in stretches],
    )


def step_label(run: WovenRun, step: int, lane: Lane) -> str:
    """Return what a step does in a lane: layer, part, and bytes."""
    part = int(run.timeline.part[step])
    text = step_name(run, step)
    if lane == "array":
        return text
    what, moved = ("weights", run.work.fetch) if lane == "weights" else ("maps", run.work.maps)
    return f"{text}, {int(moved[part]):,} bytes of {what}"


def step_name(run: WovenRun, step: int) -> str:
    """Return network and layer of a step; of a layer in parts, which part."""
    part, chain = int(run.timeline.part[step]), int(run.timeline.chain[step])
    first, last = int(run.work.first[chain]), int(run.work.first[chain + 1])
    number = int(run.work.layer[part])
    same = np.flatnonzero(run.work.layer[first:last] == number) + first
    name = f"{run.names[chain]}: {run.layers[chain][number]}"
    return name if len(same) == 1 else f"{name}, part {part - same[0] + 1} of {len(same)}"


def end_us(run: WovenRun, most: int = MOST_STEPS) -> float:
    """Return when the last of the first ``most`` steps is done."""
    ends = [
        b for lane in (run.timeline.computes, run.timeline.fetches) for _, b, s in lane if s < most
    ]
    return float(run.nanoseconds([max(ends, default=0)])[0]) / 1e3


def curve_of(run: WovenRun, curve: Ints, until_us: float) -> tuple[list[float], list[float]]:
    """Return times (us) and KiB of what a buffer holds, up to a time."""
    times = run.nanoseconds(curve[:, 0]) / 1e3
    shown = times <= until_us
    return times[shown].tolist(), (curve[shown, 1] / 1024).tolist()


def shown_text(run: WovenRun, most: int = MOST_STEPS) -> str:
    """Say how much of the schedule is drawn, if not all of it."""
    if run.steps <= most:
        return ""
    return f"the first {most:,} of {run.steps:,} layers"
