"""Times in blocks, their noise, and the rules of what may be said of them.

Runs of a block follow each other; blocks of all kernels take turns, with a control kernel before
and after each turn. Where the control moves, somebody else used the machine, and the turn is done
again. Times are microseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from archloom.space import Infeasible

#: share by which the control may move within a turn
MOST_MOVED: Final = 0.10

#: turns that are done again before the rows are refused
MOST_REPEATS: Final = 3

#: noise of a row that is refused
MOST_NOISE: Final = 0.25

_AGAIN: Final = "measure again on a machine that is less busy"

#: blocks of a kernel
BLOCKS: Final = 5


@dataclass(frozen=True, slots=True)
class Block:
    """Quartiles of runs that followed each other.

    Attributes:
        low, middle, high: quartiles, in microseconds.
        runs: how many.
    """

    low: float
    middle: float
    high: float
    runs: int


def block_of(times_us: Sequence[float]) -> Block:
    """Return the quartiles of times, of one at least."""
    ordered = sorted(times_us)
    last = len(ordered) - 1
    low, middle, high = (ordered[round(last * share)] for share in (0.25, 0.5, 0.75))
    return Block(low, middle, high, len(ordered))


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of a kernel.

    Attributes:
        blocks: one at least.
    """

    blocks: tuple[Block, ...]

    @property
    def median_us(self) -> float:
        """Median of the blocks' medians."""
        return median(block.middle for block in self.blocks)

    @property
    def quartiles_us(self) -> tuple[float, float]:
        """Medians of the blocks' lower and upper quartiles."""
        return (
            median(block.low for block in self.blocks),
            median(block.high for block in self.blocks),
        )

    @property
    def spread(self) -> float:
        """Distance between the blocks' medians, as a share of the median."""
        middles = [block.middle for block in self.blocks]
        return (max(middles) - min(middles)) / self.median_us

    @property
    def noise(self) -> float:
        """The larger of the quartiles' distance and of the spread, as a share of the median."""
        low, high = self.quartiles_us
        return max((high - low) / self.median_us, self.spread)

    @property
    def refusal(self) -> Infeasible | None:
        """Why nothing is said of this time; None if it is good enough."""
        if self.noise <= MOST_NOISE:
            return None
        hint = (
            f"its samples spread over {self.noise:.0%} of the median, at most {MOST_NOISE:.0%} is "
            f"accepted; {_AGAIN}"
        )
        return Infeasible("noisy", "run time", 1, 0, "", hint)

    @property
    def record(self) -> dict[str, Any]:
        """The time as JSON."""
        low, high = self.quartiles_us
        return {
            "median_us": self.median_us,
            "low_us": low,
            "high_us": high,
            "noise": self.noise,
            "blocks": [[b.low, b.middle, b.high, b.runs] for b in self.blocks],
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long one kernel takes as another.

    Attributes:
        value: of the medians.
        noise: of the noisier one.
    """

    value: float
    noise: float

    @property
    def resolved(self) -> bool:
        """Whether the difference is larger than twice the noise."""
        return max(self.value, 1 / self.value) > 1 + 2 * self.noise

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio may lie; it is resolved where 1 lies outside."""
        factor = 1 + 2 * self.noise
        return self.value / factor, self.value * factor

    def __str__(self) -> str:
        """Return the ratio, or that it is not resolved."""
        if self.resolved:
            return f"{self.value:.2f}"
        return f"not resolved (within {1 + 2 * self.noise:.2f}x)"


def ratio(one: Timing, other: Timing) -> Ratio:
    """Return the ratio of two times that were measured in the same turns."""
    return Ratio(one.median_us / other.median_us, max(one.noise, other.noise))


def moved(before_us: float, after_us: float) -> float:
    """Return by what share the control moved within a turn."""
    return max(before_us, after_us) / min(before_us, after_us) - 1


def control_moved(shares: Sequence[float]) -> Infeasible:
    """Return the refusal of rows whose turns were disturbed again and again."""
    hint = (
        f"its time changed by at least {min(shares):.0%} during each measurement, at most "
        f"{MOST_MOVED:.0%} is accepted; {_AGAIN}"
    )
    return Infeasible("control_moved", "control kernel", 1, 0, "", hint)
