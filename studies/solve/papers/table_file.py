"""Files that ask for a table of streams: chips, sets of networks, schedulers, published figures.

docs/validation/layerweaver.md ("Files") explains the keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Final

from archloom.evaluators.weaving import NPUS
from archloom.search import WEAVERS
from archloom.space import Faults, bounded_text
from archloom.space.networks import NETWORKS
from archloom.studies.config import (
    ConfigError,
    Reading,
    Section,
    collecting,
    each,
    named_one,
    number,
    read_document,
    text,
    whole,
    word,
)

from ...errors import UserError

#: figures of a row, with their headings
METRICS: Final = {
    "bound_gain_percent": "bound (STP*): gain %",
    "stp_gain_percent": "STP: mean gain %",
    "most_gain_percent": "largest gain %",
    "share_percent": "STP / STP* %",
    "least_share_percent": "smallest STP / STP* %",
    "antt": "ANTT",
    "worst_slowdown": "worst slowdown",
    "array_active_percent": "array utilisation %",
    "dram_active_percent": "DRAM utilisation %",
    "over_ai_mt_percent": "gain over AI-MT %",
    "map_peak_mib": "peak feature maps MiB",
}

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


@dataclass(frozen=True, kw_only=True)
class StreamTable(Section):
    """A table of streams.

    Attributes:
        title: of the table.
        note: what a reader must know.
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

    title: Annotated[str, text()]
    note: Annotated[str, text()] = ""
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
    def sets(self) -> list[tuple[str, ...]]:
        """All sets of networks."""
        chosen = [list(combinations(names, self.of_each)) for names in self.networks]
        return [tuple(name for part in parts for name in part) for parts in product(*chosen)]


def own_tables() -> dict[str, Path]:
    """Return the files that come with archloom, by name."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


def read_table(path: Path) -> StreamTable:
    """Return what a file asks for.

    Raises:
        ConfigError: everything that is wrong in it.
        UserError: it cannot be read.
    """
    try:
        content = bounded_text(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    faults = Faults()
    document = read_document(path, content, faults)
    table, wrong = None, Faults()
    with collecting(wrong):
        table = StreamTable.read(document.data, Reading(path.parent))
    for fault in wrong:
        faults.add(document.place(fault.place.keys), fault.message)
    if table is not None:
        for message in _contradictions(table):
            faults.add(document.place(()), message)
    if faults or table is None:
        raise ConfigError(path, faults)
    return table


def _contradictions(table: StreamTable) -> Iterator[str]:
    for names in table.networks:
        if len(names) < table.of_each:
            yield f"networks: a list of {len(names)} has no {table.of_each} (of_each)"
    if any(len(set(chosen)) < len(chosen) for chosen in table.sets):
        yield "networks: a set would have one network twice; name each once"
    if table.sets and len(table.sets[0]) < 2:
        yield "networks: a set has one network; it needs at least two"
    for key in ("chips", "schedulers", "sequence_lengths", "weight_buffers_mib"):
        entries = getattr(table, key)
        if len(set(entries)) < len(entries):
            yield f"{key}: has an entry that occurs twice"
        if not entries:
            yield f"{key}: needs at least one entry"
    for i, theirs in enumerate(table.published):
        if not any((c.npu, c.batch) == (theirs.npu, theirs.batch) for c in table.chips):
            yield f"published[{i}]: no chip is {theirs.npu} with batch {theirs.batch}"
        if theirs.scheduler not in [s.name for s in table.schedulers]:
            yield f"published[{i}]: {theirs.scheduler} is none of the schedulers"
