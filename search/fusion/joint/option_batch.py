"""Ways to run groups with estimates of their costs, as arrays.

What a layer costs stands in a column for its kind (``tilings/columns.py``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.space.fusion import FusionGroup, Residents

#: tilings of a group that go on to be evaluated, those of the least estimates
_MOST_OPTIONS: Final = 16


class GroupWay(Protocol):
    """What is evaluated; few are, of those that are listed."""

    @property
    def group(self) -> FusionGroup:
        """The group, its pins lasting to any reader."""

    @property
    def residents(self) -> Residents:
        """What its plan keeps in the buffer."""


class GroupOption(NamedTuple):
    """One way to run the group of an edge.

    Attributes:
        group, residents: what is evaluated.
        columns: int64[c], of its layers, ascending.
        layer_pj, layer_cycles: float64[c], least energy and cycles over all tiles of the layers in
            each column.
        moved_pj: of what moves between DRAM and buffer for the group.
        moved_cycles: of what moves while layers run.
        late_cycles: in which layers wait: the first tile for weights that stay, all of them for
            maps if there is no space to move these ahead.
    """

    group: FusionGroup
    residents: Residents
    columns: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float
    late_cycles: float


@dataclass(frozen=True, eq=False, slots=True)
class OptionBatch:
    """B options of some groups; the fields of each are those of a :class:`GroupOption`.

    Attributes:
        ways: what is evaluated of each.
        starts: int64[B + 1], where the columns of each begin.
        columns: int64[n].
        layer_pj, layer_cycles: float64[n].
        moved: float64[B, 3], energy, cycles and late cycles.
    """

    ways: tuple[GroupWay, ...]
    starts: Ints
    columns: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved: Floats

    def __len__(self) -> int:
        return len(self.ways)

    def __iter__(self) -> Iterator[GroupOption]:
        for n, way in enumerate(self.ways):
            part = slice(self.starts[n], self.starts[n + 1])
            yield GroupOption(
                way.group,
                way.residents,
                self.columns[part],
                self.layer_pj[part],
                self.layer_cycles[part],
                *self.moved[n].tolist(),
            )

    def taken(self, chosen: Sequence[int]) -> "OptionBatch":
        """Return some of them, in another order."""
        if list(chosen) == list(range(len(self.ways))):
            return self
        count = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(count)])
        first = self.starts[np.array(chosen, np.int64)]
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], count)
        return OptionBatch(
            tuple(self.ways[n] for n in chosen),
            starts,
            self.columns[places],
            self.layer_pj[places],
            self.layer_cycles[places],
            self.moved[np.array(chosen, np.int64)],
        )

    @property
    def energies(self) -> Floats:
        """float64[B], pJ at the least, without leakage."""
        return _sums(self.layer_pj, self.starts) + self.moved[:, 0]

    @property
    def latencies(self) -> Floats:
        """float64[B], cycles at the least."""
        busy = _sums(self.layer_cycles, self.starts)
        latencies: Floats = np.maximum(busy, self.moved[:, 1]) + self.moved[:, 2]
        return latencies


def joined(batches: Sequence[OptionBatch]) -> OptionBatch:
    """Return the options of several batches, one after another."""
    ends = np.cumsum([0, *(len(batch.columns) for batch in batches)])
    starts = [batch.starts[:-1] + end for batch, end in zip(batches, ends[:-1], strict=True)]
    return OptionBatch(
        tuple(way for batch in batches for way in batch.ways),
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([batch.columns for batch in batches]),
        np.concatenate([batch.layer_pj for batch in batches]),
        np.concatenate([batch.layer_cycles for batch in batches]),
        np.concatenate([batch.moved for batch in batches]),
    )


def with_others(
    tiled: OptionBatch, counts: Sequence[int], others: Sequence[OptionBatch]
) -> tuple[OptionBatch, list[int]]:
    """Return the tilings of some kinds of edges, each kind's before its other options, and how many
    each then has.

    Args:
        tiled: tilings of all kinds.
        counts: how many of them each kind has.
        others: other options of each kind.
    """
    if not any(map(len, others)):
        return tiled, list(counts)
    batch, order, at, after = joined([tiled, *others]), list[int](), 0, len(tiled)
    for count, some in zip(counts, others, strict=True):
        order += [*range(at, at + count), *range(after, after + len(some))]
        at, after = at + count, after + len(some)
    return batch.taken(order), [n + len(some) for n, some in zip(counts, others, strict=True)]


def listed(options: Sequence[GroupOption]) -> OptionBatch:
    """Return options one by one as arrays."""
    columns = [option.columns for option in options]
    return OptionBatch(
        tuple(options),
        np.cumsum([0, *map(len, columns)]),
        np.concatenate([np.zeros(0, np.int64), *columns]),
        np.concatenate([np.zeros(0), *(option.layer_pj for option in options)]),
        np.concatenate([np.zeros(0), *(option.layer_cycles for option in options)]),
        np.array([option[5:] for option in options], np.float64).reshape(-1, 3),
    )


def best_options(energies: Floats, latencies: Floats) -> list[int]:
    """Return which options have the least products, and which the least energy and latency."""
    found: list[int] = np.argsort(energies * latencies, kind="stable")[:_MOST_OPTIONS].tolist()
    for costs in (energies, latencies):
        best = int(costs.argmin()) if len(costs) else None
        if best is not None and best not in found:
            found.append(best)
    return found


def _sums(figures: Floats, starts: Ints) -> Floats:
    """Sum the figures of each option; each has one at the least."""
    sums: Floats = np.add.reduceat(figures, starts[:-1]) if len(starts) > 1 else np.zeros(0)
    return sums


@dataclass(frozen=True, eq=False)
class RoughOptions:
    """Rough estimates for all tilings of each of K groups.

    Attributes:
        groups, layers: int64[n], group and layer of each member; members of a group follow each
            other.
        members: int64[K], how many each group has.
        layer_pj, layer_cycles: float64[n], least energy and cycles of each member over all tiles.
        moved_pj, moved_cycles: float64[K], as of a :class:`GroupOption`.
    """

    groups: Ints
    layers: Ints
    members: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: Floats
    moved_cycles: Floats
