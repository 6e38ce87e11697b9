"""Groups of layers that are pruned alike: by patterns of names, or parts with as many MACs."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from archloom.space.workload import Network

from ...errors import did_you_mean

#: names of parts, by how many there are
_PARTS: Final = {1: ("all",), 2: ("early", "late"), 3: ("early", "middle", "late")}


def part_names(parts: int) -> tuple[str, ...]:
    """Return what parts of a network are called, from the first layers to the last."""
    return _PARTS.get(parts) or tuple(f"part{i}" for i in range(1, parts + 1))


def in_parts(network: Network, layers: Sequence[str], parts: int) -> dict[str, tuple[str, ...]]:
    """Return groups of layers that follow one another, each with about as many MACs.

    A layer is in the part that the middle of its MACs falls into, when the MACs of all these layers
    are laid in a row and cut into equal parts.

    Args:
        network: that the layers are of.
        layers: names, at least one.
        parts: how many groups.

    Raises:
        ValueError: fewer layers than parts, or a part without a layer.
    """
    macs = {layer.name: layer.macs for layer in network.layers if layer.name in layers}
    total, before = sum(macs.values()), 0
    found: dict[str, list[str]] = {name: [] for name in part_names(parts)}
    names = list(found)
    for layer, count in macs.items():
        found[names[min(parts - 1, (2 * before + count) * parts // (2 * total))]].append(layer)
        before += count
    if empty := [name for name, inside in found.items() if not inside]:
        raise ValueError(
            f"{parts} parts with as many MACs leave {empty[0]} without a layer, for {network.name} "
            f"has {len(macs)} layers that can be pruned; say fewer groups, or name them"
        )
    return {name: tuple(inside) for name, inside in found.items()}


def grouped(
    layers: Sequence[str], patterns: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return groups of layers whose names match patterns; layers that match none are in none.

    Args:
        layers: names.
        patterns: of each group, as of file names: ``layer1.*``.

    Raises:
        ValueError: a pattern that no layer matches, or a layer of several groups.
    """
    found: dict[str, tuple[str, ...]] = {}
    for group, wanted in patterns.items():
        for pattern in wanted:
            if not any(fnmatchcase(layer, pattern) for layer in layers):
                hint = did_you_mean(pattern, layers)
                raise ValueError(f"{group}: no prunable layer matches {pattern!r}; {hint}")
        inside = tuple(
            layer for layer in layers if any(fnmatchcase(layer, each) for each in wanted)
        )
        for other, taken in found.items():
            if both := [layer for layer in inside if layer in taken]:
                raise ValueError(f"layer {both[0]} is in {other} and in {group}, must be in one")
        found[group] = inside
    return found
