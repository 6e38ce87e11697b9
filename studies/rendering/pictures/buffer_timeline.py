"""Picture of the contents of the shared buffer while a plan runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from archloom.evaluators.fusion import (
    WEIGHTS_OF,
    HeldWords,
    Kind,
    NetworkCost,
    TimelineSegment,
    buffer_timeline,
)
from archloom.evaluators.fusion.buffer import buffer_words

from ...errors import choosing
from .files import save_figure
from .network import GROUP_COLOURS
from .style import ACCENT, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KIB: Final = 1024
_SIZE: Final = (15.0, 6.2)
_DPI: Final = 150
_HATCHED: Final[dict[str, Any]] = {"hatch": "////", "edgecolor": "#ffffff80"}
_SEGMENTS: Final = 900
"""Of a picture: the eye tells no more apart."""
_LETTER: Final = 0.0042
"""Width of a letter of a label, of the axes' width."""
_LINE: Final = 0.03
"""Height of a label, of the axes' height."""
_LOW: Final = 0.35
"""Below that share of the capacity, the axis ends above what the buffer holds."""
_EDGED: Final = 0.004
"""Boxes of that share of the axes' width have edges."""
_VECTORS: Final = 3000
"""Most boxes that an SVG draws one by one."""
_ROOM: Final = 1.08
"""The axis ends so much above the highest of what it shows."""
_KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "pinned": ("#475569", "pinned for several groups (hatched)"),
    "weights": ("#94a3b8", "resident weights"),
    "map": (SERIES[0], "feature maps (one colour each)"),
    "streamed": ("#e2e8f0", "tiles of streamed operands"),
    "in flight": ("#f8e3a1", "transfers from and to DRAM"),
}
"""Colours and names, from the bottom of a stack to its top."""


@dataclass(frozen=True, slots=True)
class _Box:
    """One thing in the buffer for some time: cycles and KiB."""

    held: HeldWords
    left: float
    right: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class BufferContents:
    """What the shared buffer holds over one pass of a plan.

    Attributes:
        level: name of the buffer.
        capacity_kib: of it.
        cycles: of the pass, or of one of its sub-batches.
        boxes: (name, kind, colour, first cycle, last cycle, lowest KiB, highest KiB).
    """

    level: str
    capacity_kib: float
    cycles: int
    boxes: tuple[tuple[str, str, str, float, float, float, float], ...]


def buffer_contents(cost: NetworkCost, most: int) -> BufferContents:
    """Return what is drawn of a plan.

    Args:
        cost: of the plan, on hardware with a buffer that layers share.
        most: segments of time, about.

    Raises:
        ValueError: several cores have a buffer each.
    """
    size = cost.hardware.word_bits / 8 / _KIB
    boxes = boxes_of(buffer_timeline(cost, most), size, _order(cost))
    colours = _colours(boxes)
    return BufferContents(
        cost.hardware.levels[-2].name,
        buffer_words(cost.hardware) * size,
        cost.one_part.latency_cycles,
        tuple(
            (name, _KINDS[kind][1], colours[name, kind], b.left, b.right, b.bottom, b.top)
            for b in boxes
            for name, kind in [(b.held.name, b.held.kind)]
        ),
    )


def save_memory(cost: NetworkCost, path: Path, option: str = "--memory") -> None:
    """Draw what the buffer holds over one pass, as ``.png`` or ``.svg``.

    Args:
        cost: of a plan on hardware with a buffer that layers share.
        path: of the file.
        option: that asked for it, for messages.

    Raises:
        UserError: a file that cannot be written.
    """
    from matplotlib.figure import Figure

    parts, cost = cost.plan.sub_batches, cost.one_part
    segments = buffer_timeline(cost, _SEGMENTS)
    # without pyplot: no global state, no window, and nothing to close
    figure = Figure(figsize=_SIZE, layout="constrained", dpi=_DPI)
    strip, axes = figure.subplots(2, 1, sharex=True, height_ratios=(1, 24))
    _draw(axes, segments, cost)
    _groups(strip, axes, cost)
    figure.suptitle(_title(cost, segments, parts), fontsize=11, parse_math=False)
    with choosing(path, option):
        save_figure(figure, path)


def _title(cost: NetworkCost, segments: Sequence[TimelineSegment], parts: int) -> str:
    capacity = buffer_words(cost.hardware)
    peak = max(segment.words for segment in segments)
    level = cost.hardware.levels[-2].name
    what = "pass" if parts == 1 else f"of {parts} sub-batches"
    return (
        f"{cost.network.name} on {cost.hardware.name}: contents of {level} during one {what} "
        f"({cost.latency_cycles:,} cycles); peak use {peak / capacity:.0%}"
    )


def _draw(axes: "Axes", segments: Sequence[TimelineSegment], cost: NetworkCost) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.ticker import EngFormatter

    capacity = buffer_words(cost.hardware) * cost.hardware.word_bits / 8 / _KIB
    unit, scale = ("MiB", 1 / _KIB) if capacity >= 10 * _KIB else ("KiB", 1.0)
    capacity *= scale
    size = cost.hardware.word_bits / 8 / _KIB * scale
    boxes = boxes_of(segments, size, _order(cost))
    peak = max((box.top for box in boxes), default=0.0)
    # a buffer that is nearly empty all the time is no reason to see nothing
    low = peak < _LOW * capacity
    width, height = float(cost.latency_cycles), (peak or capacity) if low else capacity
    colours = _colours(boxes)
    corners = [
        [(b.left, b.bottom), (b.right, b.bottom), (b.right, b.top), (b.left, b.top)] for b in boxes
    ]
    fills = [colours[b.held.name, b.held.kind] for b in boxes]
    wide = [box.right - box.left > _EDGED * width for box in boxes]
    edges = ["white" if w else fill for w, fill in zip(wide, fills, strict=True)]
    drawn = PolyCollection(corners, facecolors=fills, edgecolors=edges, linewidths=0.25)
    kept = [c for b, c in zip(boxes, corners, strict=True) if b.held.kind == "pinned"]
    marks = PolyCollection(kept, facecolors="none", **_HATCHED, linewidths=0)
    for part in (drawn, marks):
        part.set_rasterized(len(boxes) > _VECTORS)
        axes.add_collection(part)
    said = f"capacity {capacity:,.1f} {unit}"
    if low:
        axes.text(0.995, 0.985, f"{said} (above the axis)", color=ACCENT, fontsize=8.5, ha="right",
                  va="top", transform=axes.transAxes)  # fmt: skip
    else:
        axes.axhline(capacity, color=ACCENT, lw=1.4, ls="--")
        axes.text(0.003, capacity, said, color=ACCENT, fontsize=8.5, va="bottom",
                  transform=axes.get_yaxis_transform())  # fmt: skip
    axes.set(xlim=(0, width), ylim=(0, height * _ROOM))
    axes.set(xlabel="time (cycles)", ylabel=f"buffer contents ({unit})")
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    _labels(axes, boxes, colours, (width, height * _ROOM))
    _legend(axes, {box.held.kind for box in boxes})


def _legend(axes: "Axes", there: set[Kind]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=c, label=name, **(_HATCHED if kind == "pinned" else {}))
        for kind, (c, name) in _KINDS.items()
        if kind in there
    ]
    if handles:
        axes.legend(handles=handles, ncols=len(handles), fontsize=8.5, frameon=False,
                    loc="upper center", bbox_to_anchor=(0.5, -0.09))  # fmt: skip


def _order(cost: NetworkCost) -> dict[str, int]:
    """Places of names in a stack: what the network makes first lies lowest."""
    names = [source for reads in cost.network.reads for source in reads]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def boxes_of(segments: Iterable[TimelineSegment], size: float, order: dict[str, int]) -> list[_Box]:
    """Return what is drawn, ``size`` KiB a word; what stays as it is, is one box."""
    kinds = list(_KINDS)
    found: list[_Box] = []
    last: dict[tuple[str, Kind, float, float], int] = {}
    for segment in segments:
        bottom = 0.0
        now: dict[tuple[str, Kind, float, float], int] = {}
        stack = sorted(
            segment.held, key=lambda h: (kinds.index(h.kind), order.get(h.name, len(order)))
        )
        for held in stack if segment.end_cycle > segment.start_cycle else ():
            top = bottom + held.words * size
            key = (held.name, held.kind, bottom, top)
            begin = float(segment.start_cycle)
            if key in last:
                begin = found[last[key]].left
                now[key] = last[key]
                found[last[key]] = _Box(held, begin, float(segment.end_cycle), bottom, top)
            else:
                now[key] = len(found)
                found.append(_Box(held, begin, float(segment.end_cycle), bottom, top))
            bottom = top
        last = now if segment.end_cycle > segment.start_cycle else last
    return found


def _colours(boxes: Iterable[_Box]) -> dict[tuple[str, Kind], str]:
    """Return a colour for each map, and one for each other kind; neighbours in time differ."""
    things = dict.fromkeys((box.held.name, box.held.kind) for box in boxes)
    maps = [
        name
        for name, kind in things
        if kind == "map" or (kind == "pinned" and not name.startswith(WEIGHTS_OF))
    ]
    turn = {name: SERIES[i % len(SERIES)] for i, name in enumerate(dict.fromkeys(maps))}
    coloured = ("map", "pinned")
    return {
        (name, kind): turn[name] if kind in coloured and name in turn else _KINDS[kind][0]
        for name, kind in things
    }


def _labels(
    axes: "Axes",
    boxes: Iterable[_Box],
    colours: dict[tuple[str, Kind], str],
    size: tuple[float, float],
) -> None:
    """Name what is wide and high enough, each thing where it has most room."""
    width, height = size
    roomiest: dict[tuple[str, Kind], _Box] = {}
    for stretch in stretches(boxes, _LINE * height):
        key = (stretch.held.name, stretch.held.kind)
        if key not in roomiest or _area(stretch) > _area(roomiest[key]):
            roomiest[key] = stretch
    for key, box in roomiest.items():
        weights = box.held.kind == "weights"
        # the colour says that they are
        name = box.held.name.removeprefix(WEIGHTS_OF) if weights else box.held.name
        if name and box.right - box.left > _LETTER * len(name) * width:
            middle = ((box.left + box.right) / 2, (box.bottom + box.top) / 2)
            axes.text(*middle, name, ha="center", va="center", fontsize=7,
                      color=_ink(colours[key]), parse_math=False)  # fmt: skip


def stretches(boxes: Iterable[_Box], least: float) -> Iterator[_Box]:
    """Yield what lies within all boxes of one thing that follow each other, if ``least`` high."""
    open_: dict[tuple[str, Kind], _Box] = {}
    for box in sorted(boxes, key=lambda b: (b.left, b.right)):
        if box.top - box.bottom < least:
            continue
        key = (box.held.name, box.held.kind)
        now = open_.get(key)
        if now is not None and now.right == box.left:
            bottom, top = max(now.bottom, box.bottom), min(now.top, box.top)
            if top - bottom >= least:
                open_[key] = _Box(box.held, now.left, box.right, bottom, top)
                continue
        if now is not None:
            yield now
        open_[key] = box
    yield from open_.values()


def _ink(fill: str) -> str:
    """Return what can be read on a colour (luma of ITU-R BT.601)."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 160 else "white"


def _area(box: _Box) -> float:
    return (box.right - box.left) * (box.top - box.bottom)


def _groups(strip: "Axes", axes: "Axes", cost: NetworkCost) -> None:
    """Draw the groups as a strip above, fused ones in their colour, and their borders below."""
    begin, fused = 0, 0
    for number, group in enumerate(cost.groups):
        end = begin + group.latency_cycles
        fill, edge, ink = "#f1f5f9", "#cbd5e1", "#64748b"
        if len(group.group.layers) > 1:
            fill, edge, ink = GROUP_COLOURS[fused % len(GROUP_COLOURS)]
            fused += 1
        strip.axvspan(begin, end, facecolor=fill, edgecolor=edge, lw=0.6)
        if end - begin > _LETTER * 1.6 * len(str(number)) * cost.latency_cycles:
            strip.text((begin + end) / 2, 0.5, str(number), ha="center", va="center",
                       fontsize=7.5, color=ink)  # fmt: skip
        if end - begin > _EDGED * cost.latency_cycles:
            axes.axvline(end, color="#cbd5e1", lw=0.5, zorder=0)
        begin = end
    strip.set(ylim=(0, 1), yticks=[])
    strip.set_ylabel("group", rotation=0, ha="right", va="center", fontsize=8.5)
    strip.tick_params(bottom=False, labelbottom=False)
    for side in strip.spines.values():
        side.set_visible(False)
