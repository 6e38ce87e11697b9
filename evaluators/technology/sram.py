"""Energy, leakage and area of on-chip SRAM, interpolated in a table of CACTI 7 runs."""

import csv
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, exp2, isfinite, log2
from pathlib import Path
from statistics import median
from typing import Final, Literal, NamedTuple, get_args

_COLUMNS: Final = ("read_pj", "write_pj", "leakage_mw", "area_mm2")
_KEYS: Final = ("node_nm", "cell", "size_bytes", "width_bytes", *_COLUMNS)
Row = tuple[float, float, float, float]
Axis = Literal["size", "width"]
Node = tuple[int, int]


class BufferCost(NamedTuple):
    """Price of one buffer.

    Attributes:
        read_pj, write_pj: energy of one access of the full width.
        leakage_mw: power while it stands idle.
        area_mm2: area of all its banks.
    """

    read_pj: float
    write_pj: float
    leakage_mw: float
    area_mm2: float

    def times(self, count: float) -> "BufferCost":
        """Return ``count`` such buffers that are accessed together."""
        return BufferCost(*(count * value for value in self))


class FitError(NamedTuple):
    """How far interpolation is off where a run is left out, as shares (0.05 is 5%).

    Attributes:
        median, most, worst: half, 90% and all of the runs are off by no more.
    """

    median: float
    most: float
    worst: float


@dataclass(frozen=True, slots=True)
class SramTable:
    """A full grid of CACTI runs: sizes x widths, four quantities each.

    Attributes:
        sizes_bytes, widths_bytes: ascending grid lines.
        log_cost: log2 of (read_pj, write_pj, leakage_mw, area_mm2), as
            ``log_cost[size][width]``.
        guessed: places (size, width) in the grid for which CACTI finds no layout.

    Raises:
        ValueError: fewer than two grid lines, lines that do not ascend, a ragged grid, or a
            quantity that falls where the size grows.
    """

    sizes_bytes: tuple[int, ...]
    widths_bytes: tuple[int, ...]
    log_cost: tuple[tuple[Row, ...], ...]
    guessed: frozenset[Node] = frozenset()

    def __post_init__(self) -> None:
        for name, lines in (("sizes", self.sizes_bytes), ("widths", self.widths_bytes)):
            if len(lines) < 2 or any(b <= a for a, b in pairwise(lines)):
                raise ValueError(
                    f"SRAM {name} must be at least two in ascending order, got {lines}"
                )
        shape = [len(row) for row in self.log_cost]
        if shape != [len(self.widths_bytes)] * len(self.sizes_bytes):
            raise ValueError(f"SRAM grid has rows of {shape}, needs {len(self.widths_bytes)} each")
        for i, (small, large) in enumerate(pairwise(self.log_cost)):
            for width, low, high in zip(self.widths_bytes, small, large, strict=True):
                falling = [c for c, a, b in zip(_COLUMNS, low, high, strict=True) if b < a]
                if falling:
                    raise ValueError(
                        f"SRAM {falling[0]} falls from {self.sizes_bytes[i]} to "
                        f"{self.sizes_bytes[i + 1]} bytes at width {width}; it must not fall"
                    )

    def cost(self, size_bytes: float, width_bytes: float) -> BufferCost:
        """Return the price of one SRAM of any size and access width.

        Inside the grid: bilinear in log2(size) and log2(width). Outside it nothing is
        extrapolated:

        - below the smallest size or width: the smallest macro, a full access of it;
        - above the largest width: banks side by side, each with its share of the size and an
          access of the largest width;
        - above the largest size: banks of that size of which one is accessed; area and leakage
          count all, the energy of the wires between banks is left out.

        All four values rise with size. ``read_pj`` and ``write_pj`` rise with width.

        Raises:
            ValueError: a size or width that is not positive.
        """
        if not (size_bytes > 0 and width_bytes > 0):
            raise ValueError(
                f"SRAM of {size_bytes} bytes with accesses of {width_bytes} bytes: both must be "
                "positive"
            )
        beside = max(1.0, width_bytes / self.widths_bytes[-1])
        share = size_bytes / beside
        stacked = max(1.0, share / self.sizes_bytes[-1])
        read, write, leakage, area = self._inside(share / stacked, width_bytes / beside)
        bank = BufferCost(read, write, leakage * stacked, area * stacked)
        return bank if beside == 1.0 else bank.times(beside)

    def scaled(self, read: float, write: float, leakage: float, area: float) -> "SramTable":
        """Return the table of another technology: each quantity times its factor."""
        if read == write == leakage == area == 1:
            return self
        r, w, k, a = (log2(factor) for factor in (read, write, leakage, area))
        grid = tuple(
            tuple((p + r, q + w, m + k, n + a) for p, q, m, n in row) for row in self.log_cost
        )
        return replace(self, log_cost=grid)

    def fit_errors(self, axis: Axis) -> dict[str, FitError]:
        """Return how well the table guesses its own runs, by quantity.

        Each run with a neighbour on either side along ``axis`` is left out and interpolated
        between them: over twice the distance of real use.

        Raises:
            ValueError: an axis that is not there, or no run with two neighbours.
        """
        if axis not in get_args(Axis):
            raise ValueError(f"axis must be one of {', '.join(get_args(Axis))}, got {axis!r}")
        off = [
            [abs(exp2(g - t) - 1) for g, t in zip(*pair, strict=True)]
            for pair in self._guesses(axis)
        ]
        if not off:
            raise ValueError(f"the SRAM table has no {axis} with neighbours on both sides")
        return {name: _fit_error([row[i] for row in off]) for i, name in enumerate(_COLUMNS)}

    def _guesses(self, axis: Axis) -> Iterator[tuple[Row, Row]]:
        """Yield (guess, truth) in log2 for each run that can be left out."""
        along_size = axis == "size"
        lines = self.sizes_bytes if along_size else self.widths_bytes
        for i in range(len(self.sizes_bytes)):
            for j in range(len(self.widths_bytes)):
                at = i if along_size else j
                if not 0 < at < len(lines) - 1:
                    continue
                before, after = ((i - 1, j), (i + 1, j)) if along_size else ((i, j - 1), (i, j + 1))
                if self.guessed & {before, (i, j), after}:
                    continue
                x = log2(lines[at] / lines[at - 1]) / log2(lines[at + 1] / lines[at - 1])
                low, high = self.log_cost[before[0]][before[1]], self.log_cost[after[0]][after[1]]
                a, b, c, d = ((1 - x) * p + x * q for p, q in zip(low, high, strict=True))
                yield (a, b, c, d), self.log_cost[i][j]

    def _inside(self, size: float, width: float) -> Row:
        i, x = _cell(self.sizes_bytes, size)
        j, y = _cell(self.widths_bytes, width)
        near, far = self.log_cost[i], self.log_cost[i + 1]
        a, b, c, d = (1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y
        corners = zip(near[j], near[j + 1], far[j], far[j + 1], strict=True)
        read, write, leakage, area = (exp2(a * p + b * q + c * r + d * s) for p, q, r, s in corners)
        return read, write, leakage, area


def _fit_error(errors: list[float]) -> FitError:
    ranked = sorted(errors)
    return FitError(median(ranked), ranked[ceil(0.9 * len(ranked)) - 1], ranked[-1])


def _cell(lines: tuple[int, ...], value: float) -> tuple[int, float]:
    """Return the grid cell that holds ``value`` and the place in it, 0..1 on a log scale."""
    value = min(max(value, lines[0]), lines[-1])
    i = min(bisect_right(lines, value), len(lines) - 1) - 1
    return i, log2(value / lines[i]) / log2(lines[i + 1] / lines[i])


def load_sram_table(path: Path, node_nm: int, cell: str) -> SramTable:
    """Read the rows of one node and cell type from a CSV file of CACTI runs.

    CACTI finds no layout for accesses that are wide for the size (64 bytes out of 512). Such
    a corner of the grid takes the widest access that CACTI lays out at this size, with energy
    and area in proportion to the width, and the same leakage since the cells are as many.
    CACTI itself steps so beside the corner (1024 bytes, 16 to 32 bytes wide: 2.5 times the read
    energy, 2.0 times the area, 1.0 times the leakage).

    Args:
        path: columns node_nm, cell, size_bytes, width_bytes, read_pj, write_pj, leakage_mw,
            area_mm2; others are ignored.
        node_nm: technology node to take.
        cell: CACTI's cell type to take, such as ``itrs-lop``.

    Raises:
        ValueError: no such rows, a value that is not positive, or a grid that
            :class:`SramTable` refuses.
    """
    runs = _read_runs(path, node_nm, cell)
    sizes = tuple(sorted({size for size, _ in runs}))
    widths = tuple(sorted({width for _, width in runs}))
    grid = tuple(tuple(_node(runs, size, width, widths) for width in widths) for size in sizes)
    guessed = frozenset(
        (i, j)
        for i, size in enumerate(sizes)
        for j, width in enumerate(widths)
        if (size, width) not in runs
    )
    return SramTable(sizes, widths, grid, guessed)


def _read_runs(path: Path, node_nm: int, cell: str) -> dict[Node, Row]:
    """Return (read_pj, write_pj, leakage_mw, area_mm2) by (size_bytes, width_bytes)."""
    runs: dict[Node, Row] = {}
    known = set()
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            missing = [key for key in _KEYS if key not in (reader.fieldnames or ())]
            if missing:
                raise ValueError(f"{path.name}: must have the columns {', '.join(missing)}")
            for row in reader:
                known.add(f"{row['node_nm']} {row['cell']}")
                if row["node_nm"] == str(node_nm) and row["cell"] == cell:
                    place, values = _run(row, f"{path.name} line {reader.line_num}")
                    runs[place] = values
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not runs:
        raise ValueError(
            f"{path.name} has no rows for {node_nm} nm and {cell!r}; it has {sorted(known)}"
        )
    return runs


def _run(row: dict[str, str], where: str) -> tuple[Node, Row]:
    try:
        place = int(row["size_bytes"]), int(row["width_bytes"])
        read, write, leakage, area = (float(row[column]) for column in _COLUMNS)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {[row[key] for key in _KEYS]} must be numbers") from None
    values = (read, write, leakage, area)
    if min(place) < 1 or not all(isfinite(v) and v > 0 for v in values):
        raise ValueError(f"{where}: {[*place, *values]} must be positive")
    return place, values


def _node(runs: dict[Node, Row], size: int, width: int, widths: tuple[int, ...]) -> Row:
    widest = max(w for w in widths if (size, w) in runs)
    taken = min(width, widest)
    if (size, taken) not in runs:
        raise ValueError(
            f"SRAM table has no entry for {size} bytes at width {taken}, but for {widest}"
        )
    read, write, leakage, area = runs[size, taken]
    wider = width / taken
    return log2(read * wider), log2(write * wider), log2(leakage), log2(area * wider)
