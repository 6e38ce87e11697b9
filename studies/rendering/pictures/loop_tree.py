"""Trees of loops: what stays in the buffer at each loop around a fused group, and what runs inside.

As papers draw them (LoopTree: Gilbert et al., IEEE TCASAI 2024): from the top down loops, with what
is kept for one of their iterations before them, and layers as leaves.
"""

from collections.abc import Sequence
from typing import Final

from archloom.studies.analysis import STREAMS, WHOLE_GROUP, Details
from archloom.studies.rendering.text import loop_lines, only_text, operand_texts

from .scene import Areas, Lines, Scene, Texts, box
from .style import INK

_SIZE: Final = 10.0
_TITLE: Final = 12.0
_LETTER: Final = 0.6
"""Width of a letter in heights; that of wide fonts (DejaVu Sans has 0.6)."""
_LINE: Final = 13.0
_GAP: Final = 14.0
_APART: Final = 40.0
"""Between trees, and above them."""
_KEPT: Final = ("#d9ecd2", "#3d752f")
_LOOP: Final = ("#d6e5f8", "#2c62a3")
_LEAF: Final = ("#fde3cc", "#a8511a")
_PASSING: Final = ("#f1f5f9", "#64748b")
"""Fills and letters."""

_Box = tuple[list[str], tuple[str, str]]


def with_trees(scene: Scene, trees: Sequence[tuple[str, Details]]) -> Scene:
    """Return a picture with the trees of nests below it, each with its title."""
    left, width, top = 0.0, scene.width, scene.height + _APART
    parts, lowest = list(scene.parts), top
    for title, nest in trees:
        across, down, drawn = _tree(title, nest, left, top)
        if left and left + across > max(scene.width, _WIDEST):
            left, top = 0.0, lowest + _APART
            across, down, drawn = _tree(title, nest, left, top)
        parts += drawn
        width, lowest = max(width, left + across), max(lowest, top + down)
        left += across + _APART
    return Scene(width, lowest, tuple(parts), scene.tips) if trees else scene


_WIDEST: Final = 1200.0
"""Trees stand beside each other up to that width, or that of the picture above."""


def _chain(nest: Details) -> list[_Box]:
    """Return loops, and what stays, from the top down."""
    found: list[_Box] = []
    stays = [WHOLE_GROUP, *(loop["rank"] for loop in nest["loops"])]
    for depth, stay in enumerate(stays):
        if depth:
            found.append((loop_lines(nest, depth - 1), _LOOP))
        if lying := operand_texts(nest, stay):
            found.append((lying, _KEPT))
    return found


def _leaves(nest: Details) -> list[_Box]:
    """Return layers in running order, and what passes through the buffer."""
    found = [
        ([layer["name"], *filter(None, [only_text(layer["only"])])], _LEAF)
        for layer in nest["layers"]
    ]
    passing = operand_texts(nest, STREAMS)
    return [*found, (["streamed through the buffer:", *passing], _PASSING)] if passing else found


def _tree(
    title: str, nest: Details, left: float, top: float
) -> tuple[float, float, list[Areas | Lines | Texts]]:
    """Return width, height and parts of a tree."""
    chain, leaves = _chain(nest), _leaves(nest)
    widths = [_width(lines) for lines, _ in leaves]
    row = sum(widths) + _GAP * (len(widths) - 1)
    across = max([row, len(title) * _TITLE * _LETTER, *(_width(lines) for lines, _ in chain)])
    middle, down = left + across / 2, top + _TITLE + _GAP
    boxes: list[tuple[float, float, _Box]] = []
    lines: list[list[tuple[float, float]]] = []
    for one in chain:
        height = _height(one[0])
        if boxes:
            lines.append([(middle, down - _GAP), (middle, down)])
        boxes.append((middle, down + height / 2, one))
        down += height + _GAP
    x, deepest = middle - row / 2, max(_height(text) for text, _ in leaves)
    for leaf, width in zip(leaves, widths, strict=True):
        at, (text, style) = x + width / 2, leaf
        if style is not _PASSING:
            lines.append([(middle, down - _GAP), (at, down + _GAP)])
        boxes.append((at, down + _GAP + _height(text) / 2, leaf))
        x += width + _GAP
    parts: list[Areas | Lines | Texts] = [
        Texts([(left, top + _TITLE / 2)], [title], _TITLE, INK, begins=True),
        Lines(lines, INK, 1.0),
    ]
    for at, centre, (text, (fill, ink)) in boxes:
        shape = box((at, centre), _width(text), _height(text))
        parts.append(Areas([shape], fill, edge=ink))
        first = centre - (len(text) - 1) * _LINE / 2
        places = [(at, first + i * _LINE) for i in range(len(text))]
        parts.append(Texts(places, text, _SIZE, ink))
    return across, down + _GAP + deepest - top, parts


def _width(lines: Sequence[str]) -> float:
    return max(map(len, lines)) * _SIZE * _LETTER + 12


def _height(lines: Sequence[str]) -> float:
    return len(lines) * _LINE + 8
