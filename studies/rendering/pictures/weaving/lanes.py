"""Lanes of a woven schedule: bars of both engines and curves of both buffers, in microseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.weaving import Npu, Stretch, Ticks, Timeline

#: colours that people with any colour vision can tell apart (Okabe and Ito, Color Universal
#: Design, 2008), without their black and their yellow, which is too light for thin bars
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")

#: steps that a picture shows; more are too thin to see and too many to zoom
MOST_STEPS: Final = 4000

_NS: Final = 10**9

#: bytes of a buffer from which MiB are shown
_LARGE: Final = 10 * 2**20
#: below that share of the capacity an axis ends above what is held
_LOW: Final = 0.35
#: an axis ends so much above the highest of what it shows
_ROOM: Final = 1.15

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
        timeline: of the schedule, or of its first steps.
        steps: of the whole schedule: layers, or parts of layers.
    """

    title: str
    names: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]
    work: Ticks
    npu: Npu
    timeline: Timeline
    steps: int

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
    what, moved = (
        ("weights", run.work.fetch) if lane == "weights" else ("feature maps", run.work.maps)
    )
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


@dataclass(frozen=True, eq=False)
class Content:
    """What a buffer holds over time.

    Attributes:
        name: of the buffer.
        unit: of amounts.
        times_us: float64[k].
        held: float64[chains, k], of each network.
        capacity: of the buffer.
        top: where an axis ends: above the capacity, or above what is held where that is little.
    """

    name: str
    unit: str
    times_us: Floats
    held: Floats
    capacity: float
    top: float

    @property
    def capacity_text(self) -> str:
        """Say the capacity, and that it is out of sight if so."""
        text = f"capacity {self.capacity:,.4g} {self.unit}"
        return text if self.capacity <= self.top else f"{text} (above the axis)"


def contents_of(run: WovenRun, most: int = MOST_STEPS) -> list[Content]:
    """Return what the buffers hold while the first ``most`` steps run; nothing of an empty one."""
    until = end_us(run, most)
    kinds = (
        ("weight buffer", run.timeline.weights, run.npu.weight_buffer_bytes),
        ("feature map buffer", run.timeline.on_chip_maps, run.npu.map_buffer_bytes),
    )
    return [
        _content(run, name, curve, capacity, until)
        for name, curve, capacity in kinds
        if curve[:, 1:].any()
    ]


def _content(run: WovenRun, name: str, curve: Ints, capacity: int, until_us: float) -> Content:
    unit, size = ("MiB", 2**20) if capacity >= _LARGE else ("KiB", 2**10)
    times = run.nanoseconds(curve[:, 0].tolist()) / 1e3
    shown = times <= until_us
    held = curve[shown, 1:].T / size
    peak, whole = float(held.sum(axis=0).max(initial=0.0)), capacity / size
    # a buffer that is nearly empty all the time is no reason to see nothing
    top = _ROOM * (peak if 0 < peak < _LOW * whole else max(peak, whole))
    return Content(name, unit, times[shown], held, whole, top)


def shown_text(run: WovenRun, most: int = MOST_STEPS) -> str:
    """Say how much of the schedule is shown, if not all of it."""
    shown = min(most, len(run.timeline.part))
    return "" if shown >= run.steps else f"the first {shown:,} of {run.steps:,} layers"
