"""Buffer capacity of tiled groups: words that they take, and words left for streamed weights."""

from collections.abc import Sequence
from dataclasses import dataclass

from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, Residents
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..core_rounds import Rounds
from .demand import bytes_text, over_capacity


@dataclass(frozen=True, slots=True)
class BufferFit:
    """How a tiled group fits the buffer words that it has.

    Attributes:
        prefetch: whether transfers of neighbouring tiles overlap with compute.
        left: for each layer the words for tiles of weights that stream through the buffer, as a
            mapping sees them; None if it makes no difference how many there are.
        peak: most words in use at once.
    """

    prefetch: bool
    left: tuple[int | None, ...]
    peak: int


@dataclass(frozen=True, slots=True)
class BufferNeeds:
    """Words of the buffer that a tiled group needs, whatever else lies there.

    Attributes:
        prefetching, waiting: most words in use at each layer's step, with transfers of
            neighbouring tiles and without.
        least: for each layer, words that weights need that stream through the buffer.
        enough: for each layer, words beyond which more make no difference to such weights; 0 for
            layers without them.
    """

    prefetching: tuple[int, ...]
    waiting: tuple[int, ...]
    least: tuple[int, ...]
    enough: tuple[int, ...]

    def fit(self, words: int) -> BufferFit | None:
        """Return how the group fits ``words`` of the buffer; None if they are too few."""
        for prefetch, peaks in ((True, self.prefetching), (False, self.waiting)):
            free = [words - peak for peak in peaks]
            if all(f >= n for f, n in zip(free, self.least, strict=True)):
                # a power of two lets tiles and plans share their mappings
                even = [_floor_pow2(f) for f in free]
                left = tuple(
                    f if f < enough else None for f, enough in zip(even, self.enough, strict=True)
                )
                return BufferFit(prefetch, left, max(peaks))
        return None


def buffer_needs(
    network: Network, rounds: Rounds, group: FusionGroup, hardware: Hardware
) -> BufferNeeds:
    """Return what the tiles of a group need of the buffer, that of ``hardware`` or of a core."""
    tiles = rounds.tiles
    resident = sum(resident_loads(network, group).values())
    keeps = "weights" in hardware.levels[-2].keeps
    least, enough = [], []
    for i, layer in zip(group.layers, tiles.layers, strict=True):
        lies_there = i in group.resident or i in group.steady
        # a layer whose weights stream through the buffer needs a word of it for them
        through = keeps and not lies_there and layer.weight_words > 0
        least.append(int(through and not hardware.levels[-2].optional))
        enough.append(layer.weight_words if through and layer.uses_macs else 0)
    waiting, prefetching = (
        tuple(int(step.max()) + resident for step in tiles.activations + extra)
        for extra in (0, rounds.in_flight)
    )
    return BufferNeeds(prefetching, waiting, tuple(least), tuple(enough))


def resident_loads(network: Network, group: FusionGroup) -> dict[int, int]:
    """Words of weights that each resident layer brings in; shared ones come with the first."""
    loads: dict[int, int] = {}
    seen: set[int] = set()
    for i in sorted(group.resident):
        owner = network.weight_owner(i)
        if owner not in seen:
            loads[i] = network.layers[i].weight_words
            seen.add(owner)
    return loads


def _floor_pow2(words: int) -> int:
    return 1 << (words.bit_length() - 1) if words > 0 else 0


def pinned_overflow(
    network: Network,
    where: str,
    residents: Residents,
    needed: int,
    capacity: int,
    hardware: Hardware,
) -> Infeasible:
    """Return that a group would fit, were it not for what its plan keeps in the buffer.

    Args:
        network: where the group is.
        where: the group, and the layer if one is the fullest.
        residents: what lies in the buffer.
        needed: words that the group needs besides.
        capacity: words that the buffer holds.
        hardware: that has the buffer.
    """
    size = hardware.word_bits / 8
    maps = {i: network.layers[i].output_words for i in (*residents.held, *residents.kept)}
    steady = residents.words - sum(maps.values())
    taken = [(network.layers[i].name, words) for i, words in maps.items()]
    taken += [("steady weights", steady)] if steady else []
    parts = [
        f"{name} {bytes_text(words * size)}" for name, words in sorted(taken, key=lambda t: -t[1])
    ]
    more = (residents.words + needed - capacity) * size
    return Infeasible(
        "pinned_overflow",
        f"{hardware.levels[-2].name}, group {where}",
        (residents.words + needed) * size,
        capacity * size,
        "bytes",
        f"{over_capacity(more)}; pin less of {_listed(parts)}, or enlarge the buffer",
    )


def _listed(parts: Sequence[str], most: int = 6) -> str:
    rest = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + rest
