"""Table of open boxes: some hundred bytes each, so that a long study has room for all of them."""

import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats
from archloom.space.design_space import Box

from ...pareto import dominated_by

#: Rows that a table has room for at first.
_ROOM: Final = 64

#: Least margin of a leaf as the table has it: 0 would be that of no leaf.
_LEAST_MARGIN: Final = 1e-300

#: Most bytes that an array of a state is unpacked to; those of a million boxes fit.
_MOST_BYTES: Final = 128 * 2**20


@dataclass(frozen=True, eq=False)
class OpenBox:
    """A box as the table has it.

    Attributes:
        box: its runs of values.
        slices, bounds: int64[k] and float64[k, m], of :class:`.box_bounds.BoundedBox`.
        tight: whether they are the tightest bounds that there are.
        measured: designs in it that were measured.
        priority: by how much it may be better than the front, for all that was known.
    """

    box: Box
    slices: NDArray[np.int64]
    bounds: Floats
    tight: bool
    measured: int
    priority: float


class BoxTable:
    """Open boxes by priority, and boxes of one design that came to the top: leaves.

    Args:
        parameters: of the space.
        objectives: of the study.

    Attributes:
        pushed: boxes that were ever added; of boxes with one priority the older one is first.
    """

    def __init__(self, parameters: int, objectives: int) -> None:
        self.pushed = 0
        self._boxes = self._rows = 0
        self._runs = np.empty((_ROOM, parameters, 2), np.int32)
        #: below 0 where a box is a leaf, or gone: of a leaf minus a margin that it does not exceed,
        #: -1 where none is known
        self._priority = np.empty(_ROOM)
        self._order = np.empty(_ROOM, np.int64)
        self._points = np.empty(_ROOM, np.int64)
        self._measured = np.empty(_ROOM, np.int64)
        self._tight, self._leaf = np.empty(_ROOM, np.bool_), np.empty(_ROOM, np.bool_)
        self._first, self._count = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int32)
        self._slices = np.empty(_ROOM, np.int32)
        self._bounds = np.empty((_ROOM, objectives))
        #: members of the front that rows were held against, and how many rows were
        self._held: Floats = np.empty((0, objectives))
        self._held_rows = 0
        self._dominated = np.zeros(_ROOM, np.bool_)

    def push(self, found: OpenBox, leaf: bool = False) -> None:
        """Add a box."""
        n, first, count = self._boxes, self._rows, len(found.slices)
        if n == len(self._runs):
            self._grow(_BY_BOX, max(_ROOM, 2 * n))
        if first + count > len(self._slices):
            self._grow(_BY_ROW, 2 * (first + count))
        self.pushed += not leaf
        self._runs[n] = found.box
        self._points[n] = np.prod(self._runs[n, :, 1] - self._runs[n, :, 0], dtype=np.int64)
        self._priority[n] = -found.priority if leaf else found.priority
        self._order[n], self._measured[n] = self.pushed, found.measured
        self._tight[n], self._leaf[n] = found.tight, leaf
        self._first[n], self._count[n] = first, count
        self._slices[first : first + count] = found.slices
        self._bounds[first : first + count] = found.bounds
        self._dominated[first : first + count] = False
        self._boxes, self._rows = n + 1, first + count

    def pop(self) -> OpenBox | None:
        """Take out the box with the largest priority; None if there are only leaves."""
        if not self._boxes:
            return None
        # of equals the first, which is the oldest
        row = int(self._priority[: self._boxes].argmax())
        return self.take(row) if self._priority[row] > 0 else None

    def take(self, row: int) -> OpenBox:
        """Take out a box, no leaf, by its row."""
        found = self.box(row)
        self._priority[row] = -1.0
        return found

    def box(self, row: int) -> OpenBox:
        """Return the box of a row."""
        rows = slice(int(self._first[row]), int(self._first[row] + self._count[row]))
        return OpenBox(
            tuple([(start, stop) for start, stop in self._runs[row].tolist()]),
            self._slices[rows].astype(np.int64),
            self._bounds[rows].copy(),
            bool(self._tight[row]),
            int(self._measured[row]),
            float(self._priority[row]),
        )

    def settle(self, at: NDArray[np.int32]) -> None:
        """Count a design that was measured, at these positions of all parameters."""
        runs = self._runs[: self._boxes]
        self._measured[: self._boxes] += ((runs[..., 0] <= at) & (at < runs[..., 1])).all(axis=1)

    def rows(self) -> NDArray[np.int64]:
        """Return the rows of all boxes: in their order, then leaves, as they came to the top."""
        n = self._boxes
        there = np.flatnonzero((self._priority[:n] > 0) | self._leaf[:n])
        first = np.where(self._leaf[there], 0.0, -self._priority[there])
        order = np.lexsort((self._order[there], first, self._leaf[there]))
        return there[order]

    def by_margin(self) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows of boxes and of leaves that were not measured, and what their margins
        do not exceed: the largest first, of equals as :meth:`rows` has them.
        """
        rows = self.rows()
        rows = rows[self._points[rows] > self._measured[rows]]
        most = np.abs(self._priority[rows])
        most[self._leaf[rows] & (most == 1.0)] = np.inf
        order = np.argsort(-most, kind="stable")
        return rows[order], most[order]

    def lower(self, rows: NDArray[np.int64], margins: Floats) -> None:
        """Take note of the margins of those of the rows that are leaves."""
        leaf = self._leaf[rows]
        self._priority[rows[leaf]] = -np.maximum(margins[leaf], _LEAST_MARGIN)

    def leaves(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows are leaves."""
        return self._leaf[rows]

    def bounds(self, rows: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
        """Return the bounds of these boxes, one below the other, and where those of each begin."""
        places, starts = self._places(rows)
        return self._bounds[places], starts

    def _places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = self._count[rows].astype(np.int64)
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self._first[rows] - starts, counts)
        return places, starts

    def drop(self, front: Floats) -> tuple[int, int, Floats]:
        """Drop the boxes that a front excludes, or whose designs all are measured.

        Args:
            front: [k, m] costs; every member of the front before is one, or is dominated by one.

        Returns:
            How many boxes are left, points in them that were not measured, and bounds [n, m] of all
            designs there.
        """
        self._hold_against(front)
        rows = self.rows()
        left = self._points[rows] - self._measured[rows]
        if not len(rows):
            self._keep(rows)
            return 0, 0, self._bounds[:0].copy()
        places, starts = self._places(rows)
        open_ = ~self._dominated[places]
        kept = np.logical_or.reduceat(open_, starts) & (left > 0)
        bounds = self._bounds[places[open_ & np.repeat(kept, self._count[rows])]]
        self._keep(np.sort(rows[kept]))
        return int(kept.sum()), int(left[kept].sum()), bounds

    def _hold_against(self, front: Floats) -> None:
        """Note which bounds the front dominates: new members count for all, all for new bounds."""
        before = set(map(tuple, self._held.tolist()))
        new = np.array([tuple(member) not in before for member in front.tolist()], np.bool_)
        old, end = self._held_rows, self._rows
        self._dominated[:old] |= dominated_by(front[new], self._bounds[:old])
        self._dominated[old:end] |= dominated_by(front, self._bounds[old:end])
        self._held, self._held_rows = front, end

    def _keep(self, rows: NDArray[np.int64]) -> None:
        """Keep these rows, ascending, and let go of the room of all others."""
        places, starts = self._places(rows)
        self._boxes, self._rows = len(rows), len(places)
        for names, wanted in ((_BY_BOX, rows), (_BY_ROW, places)):
            for name in names:
                kept = getattr(self, name)[wanted]
                setattr(self, name, kept)
        self._first = starts
        self._held_rows = len(places)
        self._grow(_BY_BOX, max(_ROOM, self._boxes + self._boxes // 8))
        self._grow(_BY_ROW, max(_ROOM, self._rows + self._rows // 8))

    def _grow(self, names: tuple[str, ...], size: int) -> None:
        for name in names:
            array = getattr(self, name)
            larger = np.empty((size, *array.shape[1:]), array.dtype)
            larger[: len(array)] = array
            setattr(self, name, larger)

    def state(self) -> dict[str, Any]:
        """Return the table as JSON has it, without what fronts exclude."""
        rows = np.sort(self.rows())
        places, _ = self._places(rows)
        parts = [(name, getattr(self, name)[rows]) for name in _BY_BOX if name != "_first"]
        parts += [(name, getattr(self, name)[places]) for name in _BY_ROW if name != "_dominated"]
        packed = {name[1:]: _packed(part) for name, part in parts}
        return {"pushed": self.pushed, "boxes": len(rows), **packed}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`state` returned.

        Raises:
            KeyError, ValueError, TypeError: it is no such state; nothing was changed. A state of
                more bytes than any study has is none.
        """
        found = BoxTable(self._runs.shape[1], self._bounds.shape[1])
        found.pushed, found._boxes = int(state["pushed"]), int(state["boxes"])
        for name in (*_BY_BOX, *_BY_ROW):
            if name in ("_first", "_dominated"):
                continue
            array = getattr(found, name)
            data = np.frombuffer(_unpacked(state[name[1:]]), array.dtype)
            setattr(found, name, data.reshape(-1, *array.shape[1:]).copy())
        found._rows = int(found._count.sum())
        found._first = np.cumsum(found._count, dtype=np.int64) - found._count
        found._dominated = np.zeros(found._rows, np.bool_)
        boxes = {len(getattr(found, name)) for name in _BY_BOX}
        rows = {len(getattr(found, name)) for name in _BY_ROW}
        if boxes != {found._boxes} or rows != {found._rows}:
            raise ValueError("the arrays of the boxes have unlike lengths")
        self.__dict__.update(found.__dict__)


def _packed(array: NDArray[Any]) -> str:
    """Return the bytes of an array; :func:`_unpacked` is the inverse."""
    return b64encode(zlib.compress(array.tobytes(), 1)).decode()


def _unpacked(text: str) -> bytes:
    expander = zlib.decompressobj()
    try:
        plain = expander.decompress(b64decode(text, validate=True), _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"an array of boxes is damaged: {error}") from None
    if expander.unconsumed_tail or not expander.eof:
        raise ValueError("an array of boxes is cut short, or larger than any is")
    return plain


_BY_BOX: Final = (
    "_runs", "_priority", "_order", "_points", "_measured", "_tight", "_leaf", "_first", "_count",
)  # fmt: skip
_BY_ROW: Final = ("_slices", "_bounds", "_dominated")
