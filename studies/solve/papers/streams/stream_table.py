"""Files that ask for a table of streams: chips, sets of networks, schedulers, published figures.

docs/validation/layerweaver.md ("Files") explains the keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Annotated, ClassVar, Final

from archloom.evaluators.weaving import NPUS
from archloom.search import WEAVERS
from archloom.space.networks import NETWORKS
from archloom.studies.config import (
    Section,
    each,
    named_one,
    number,
    text,
    whole,
    word,
)

from ..figures import Metric
from ..heading import Heading

#: figures of a row
METRICS: Final = {
    "bound_gain_percent": Metric("bound (STP*): gain %", "+.1f"),
    "stp_gain_percent": Metric("STP: mean gain %", "+.1f"),
    "most_gain_percent": Metric("largest gain %", "+.1f"),
    "share_percent": Metric("STP / STP* %", ".2f"),
    "least_share_percent": Metric("smallest STP / STP* %", ".2f"),
    "antt": Metric("ANTT", ".2f"),
    "worst_slowdown": Metric("worst slowdown", ".2f"),
    "array_active_percent": Metric("array utilisation %", ".1f"),
    "dram_active_percent": Metric("DRAM utilisation %", ".1f"),
    "over_ai_mt_percent": Metric("gain over AI-MT %", "+.1f"),
    "map_peak_mib": Metric("peak feature maps MiB", ".1f"),
}

_TERMS: Final = """\
STP (system throughput) and ANTT (average normalised turnaround time) are those of Eyerman and
Eeckhout (IEEE Micro 28(3), 2008), relative to running each network alone. A gain is relative to
running one network at a time: a gain of 60% is an STP of 1.6. `STP*` is an upper bound for any
schedule. Means, and the smallest and largest values, are over all sets of networks. Utilisation is
the fraction of time in which the array or DRAM is active. `starved` counts the sets in which a
network is not served."""

#: how feature maps are taken to lie
MAPS: Final = ("unlimited", "fit", "dram")


def _networks() -> list[str]:
    return list(NETWORKS)


def _npus() -> list[str]:
    return list(NPUS)


def _weavers() -> list[str]:
    return list(WEAVERS)


@dataclass(frozen=True, kw_only=True)
class Chip(Section):
    """An NPU with a batch.

    Attributes:
        npu: one of the Layerweaver paper.
        batch: inferences of a query.
        array_layout: where weights of a convolution stand.
    """

    npu: Annotated[str, named_one("NPU", _npus)]
    batch: Annotated[int, whole(1, 4096)]
    array_layout: Annotated[str, word("taps_in_rows", "groups_in_turn", "taps_in_turn")] = (
        "taps_in_rows"
    )


@dataclass(frozen=True, kw_only=True)
class Scheduler(Section):
    """A scheduler.

    Attributes:
        name: it is registered under.
        sweep: ``each``: the best setting of each set of networks; ``together``: one for all sets
            of a row, the one of most STP (geometric mean).
    """

    name: Annotated[str, named_one("scheduler", _weavers)]
    sweep: Annotated[str, word("each", "together")] = "each"

    @property
    def label(self) -> str:
        """As tables name it."""
        return f"{self.name}, one setting" if self.sweep == "together" else self.name


@dataclass(frozen=True, kw_only=True)
class Published(Section):
    """A figure that somebody published, and where its row is.

    Attributes:
        metric: of a row.
        value: theirs.
        source: where it stands.
        npu, batch, scheduler: of the row; of several rows the first.
        why: what makes ours another.
    """

    metric: Annotated[str, word(*METRICS)]
    value: Annotated[float, number(above=-1e9)]
    source: Annotated[str, text()]
    npu: Annotated[str, named_one("NPU", _npus)]
    batch: Annotated[int, whole(1)]
    scheduler: Annotated[str, named_one("scheduler", _weavers)]
    why: Annotated[str, text()] = ""

    @property
    def row(self) -> str:
        """The row, for people."""
        return f"{self.npu}, batch {self.batch}, {self.scheduler}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the row."""
        return {"NPU": self.npu, "batch": str(self.batch), "scheduler": self.scheduler}


@dataclass(frozen=True, kw_only=True)
class StreamTable(Heading):
    """A table of streams.

    Attributes:
        kind: of tables.
        chips: NPUs.
        networks: lists of networks; each set has so many of each list.
        of_each: how many.
        sequence_lengths: of networks that have one.
        weight_buffers_mib: of the NPUs.
        maps: ``unlimited``, the map buffer grows with what runs; ``fit``, it is a limit; ``dram``,
            maps that exceed it cross the pins.
        schedulers: who weaves.
        published: figures to stand beside ours.
    """

    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    terms: ClassVar[str] = _TERMS
    always_shown: ClassVar[tuple[str, ...]] = ("NPU", "scheduler")

    kind: Annotated[str, word("streams")] = "streams"
    chips: Annotated[tuple[Chip, ...], each(Chip)]
    networks: Annotated[
        tuple[tuple[str, ...], ...], each(each(named_one("network", _networks), 1), 1)
    ]
    of_each: Annotated[int, whole(1, 4)] = 1
    sequence_lengths: Annotated[tuple[int, ...], each(whole(1, 4096), 1)] = (16,)
    weight_buffers_mib: Annotated[tuple[int, ...], each(whole(1, 4096), 1)] = (48,)
    maps: Annotated[str, word(*MAPS)] = "unlimited"
    schedulers: Annotated[tuple[Scheduler, ...], each(Scheduler)]
    published: Annotated[tuple[Published, ...], each(Published)] = field(default=())

    @property
    def shown(self) -> tuple[str, ...]:
        """All figures."""
        return tuple(METRICS)

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """All sets of networks."""
        chosen = [list(combinations(names, self.of_each)) for names in self.networks]
        return [tuple(name for part in parts for name in part) for parts in product(*chosen)]

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between entries."""
        for names in self.networks:
            if len(names) < self.of_each:
                yield f"networks: a list of {len(names)} has no {self.of_each} (of_each)"
        if any(len(set(chosen)) < len(chosen) for chosen in self.sets):
            yield "networks: a set would have one network twice; name each once"
        if self.sets and len(self.sets[0]) < 2:
            yield "networks: a set has one network; it needs at least two"
        for key in ("chips", "schedulers", "sequence_lengths", "weight_buffers_mib"):
            entries = getattr(self, key)
            if len(set(entries)) < len(entries):
                yield f"{key}: has an entry that occurs twice"
            if not entries:
                yield f"{key}: needs at least one entry"

    def astray(self) -> Iterator[str]:
        """Yield published figures whose row there is not."""
        for i, theirs in enumerate(self.published):
            if not any((c.npu, c.batch) == (theirs.npu, theirs.batch) for c in self.chips):
                yield f"published[{i}]: no chip is {theirs.npu} with batch {theirs.batch}"
            if theirs.scheduler not in [s.name for s in self.schedulers]:
                yield f"published[{i}]: {theirs.scheduler} is none of the schedulers"
