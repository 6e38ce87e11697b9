"""Loop nests of fused groups in words: loops in a line, and the tree of loops."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from archloom.studies.analysis import STREAMS, WHOLE_GROUP, Details

_KIB: Final = 1024


def loops_text(nest: Details) -> str:
    """Return the loops of a nest, outermost first: rank, how much of it at a time, and cores."""
    return ", ".join(
        f"{loop['rank']} {loop['tile']}{_on_cores(loop, ' on {}')}" for loop in nest["loops"]
    )


def _on_cores(loop: Details, text: str) -> str:
    """Say how many cores share out a loop; nothing if none do."""
    count, in_turn = loop.get("cores", 0), " in turn" if loop.get("in_turn") else ""
    return text.format(f"{count} core{'s' * (count > 1)}{in_turn}") if count else ""


def resident_weights(nest: Details) -> list[str]:
    """Return the layers whose weights stay for the whole group."""
    return [
        operand["name"].removeprefix("weights of ")
        for operand in nest["operands"]
        if operand["kind"] == "weights" and operand["stays"] == WHOLE_GROUP
    ]


def loop_tree(nest: Details) -> Iterator[tuple[int, str]]:
    """Yield the lines of a nest as a tree of loops, with how far each is indented.

    Under each loop stands what stays in the buffer for one of its iterations, innermost what runs.
    """
    stays = [WHOLE_GROUP, *(loop["rank"] for loop in nest["loops"])]
    for depth, stay in enumerate(stays):
        if depth:
            yield from ((depth - 1, line) for line in loop_lines(nest, depth - 1))
        if lying := operand_texts(nest, stay):
            yield depth, f"in the buffer: {', '.join(lying)}"
    for only, layers in groupby(nest["layers"], key=lambda layer: layer["only"]):
        names = ", ".join(layer["name"] for layer in layers)
        when = f" ({only_text(only)})" if only else ""
        yield len(nest["loops"]), f"run {names}{when}"
    if passing := operand_texts(nest, STREAMS):
        yield len(nest["loops"]), f"streamed through the buffer: {', '.join(passing)}"


def loop_lines(nest: Details, place: int) -> list[str]:
    """Return a loop in a line; of the inner one of two of which a mask drops iterations another
    line says how many of them run."""
    loop, masked = nest["loops"][place], nest.get("masked")
    count = loop["iterations"]
    times = f"{count} iteration{'' if count == 1 else 's'}{_on_cores(loop, ' on {}')}"
    line = f"for {loop['rank']}: {loop['tile']} of {loop['size']} ({times})"
    if not masked or loop["rank"] != masked["ranks"][-1]:
        return [line]
    tiles = f"{masked['tiles']:,} of {masked['all_tiles']:,} tiles"
    return [line, f"{masked['mask']} mask: {tiles} of {' x '.join(masked['ranks'])} are computed"]


def operand_texts(nest: Details, stay: str) -> list[str]:
    """Return the operands that stay so long, each with the KiB that it takes at most."""
    return [
        operand["name"] + (f" {operand['bytes'] / _KIB:,.1f} KiB" if operand["bytes"] else "")
        for operand in nest["operands"]
        if operand["stays"] == stay
    ]


def only_text(only: dict[str, str]) -> str:
    """Say in which iterations of loops a layer runs, if not in all."""
    parts = [f"the {which} of {rank}" for rank, which in only.items()]
    return f"only in {', '.join(parts)}" if parts else ""


def nests_of(groups: Sequence[Details]) -> list[tuple[str, Details]]:
    """Return the groups in nests, of those that differ in nothing but names the first, with a line
    that says which they are."""
    found: dict[str, tuple[list[int], Details]] = {}
    for number, group in enumerate(groups):
        if "nest" in group:
            found.setdefault(_shape(group["nest"]), ([], group))[0].append(number)
    return [(_title(numbers), group) for numbers, group in found.values()]


def _title(numbers: Sequence[int]) -> str:
    first, *others = map(str, numbers)
    alike = f" (the same for {'groups' if len(others) > 1 else 'group'} {', '.join(others)})"
    return f"Loop nest of group {first}{alike if others else ''}"


def nest_lines(groups: Sequence[Details]) -> Iterator[str]:
    """Yield the trees of a plan's nests as lines of text, equal ones once."""
    for title, group in nests_of(groups):
        yield title
        yield from (f"{'  ' * (indent + 1)}{line}" for indent, line in loop_tree(group["nest"]))
        yield ""


def _shape(nest: Details) -> str:
    """Return all of a nest but names, as a key."""
    loops = [
        [loop.get(k) for k in ("size", "tile", "iterations", "cores", "in_turn")]
        for loop in nest["loops"]
    ]
    place = {loop["rank"]: at for at, loop in enumerate(nest["loops"])}
    operands: list[Any] = [
        (x["kind"], place.get(x["stays"], x["stays"]), x["bytes"]) for x in nest["operands"]
    ]
    layers = [
        [(place[rank], which) for rank, which in layer["only"].items()] for layer in nest["layers"]
    ]
    return repr((loops, operands, layers, nest.get("masked", {}).get("tiles")))
