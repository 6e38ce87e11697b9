"""A loop nest around a fused group in names: its loops, what stays how long, and what runs when."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from archloom.evaluators.fusion.nest import NestCores, NestWalk
    from archloom.space.fusion import FusionGroup, Residents
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Network

#: how long an operand stays that no loop ends the stay of, and one that does not stay
WHOLE_GROUP: Final = "group"
STREAMS: Final = "streams"


def nest_details(
    network: "Network", group: "FusionGroup", hardware: "Hardware", residents: "Residents"
) -> dict[str, Any]:
    """Return the nest of a group as plain JSON values, with the names that a plan file has.

    ``loops``, outermost first, each with its rank and that one's size, how much of it one iteration
    covers, and the number of iterations; where the nest is ``dealt``, the outermost one with the
    number of ``cores`` that share these out, ``in_turn`` if they take one after another.
    ``operands``, each with how long it stays: for the
    whole ``group``, for one iteration of a loop, which its rank names, or not at all (``streams``);
    and with the bytes of a core's buffer that it takes at most. ``layers``, each with the loops of
    which it runs in some iterations only. ``in_parts`` names layers of the network that run as a
    layer for each part of their result, if there are any. ``masked`` says how many ``tiles`` of
    ``all_tiles`` along two ranks (that of the outer loop first) run, if a ``mask`` drops others.
    """
    from archloom.evaluators.fusion.nest import nest_on, operand_names, rank_names
    from archloom.space import Infeasible
    from archloom.space.fusion import STREAMED

    cores, nest = nest_on(network, group, hardware, residents), group.nest
    assert not isinstance(cores, Infeasible), "the group was evaluated there"
    assert nest is not None, "the group is in a nest"
    walk = cores.first
    names, sizes = rank_names(network, group.layers, nest.split), cores.group.ranks.sizes
    looped = [names[loop.rank] for loop in nest.loops]
    stays = {STREAMED: STREAMS, 0: WHOLE_GROUP, **dict(enumerate(looped, 1))}
    split = [network.layers[group.layers[place]].name for place in nest.split]
    called = operand_names(network, walk.group)
    shared = {"cores": cores.working} if nest.dealt else {}
    shared |= {"in_turn": True} if nest.in_turn else {}
    return {
        **({"dealt": True} if nest.dealt else {}),
        **({"in_turn": True} if nest.in_turn else {}),
        **({"in_parts": split} if split else {}),
        "loops": [
            {
                "rank": names[loop.rank],
                "size": sizes[loop.rank],
                "tile": loop.tile,
                "iterations": -(-sizes[loop.rank] // loop.tile),
                **(shared if not at else {}),
            }
            for at, loop in enumerate(nest.loops)
        ],
        "operands": [
            {
                "name": called[t],
                "kind": operand.kind,
                "stays": stays[nest.depth[t]],
                "bytes": _most_words(walk, t) * hardware.word_bits / 8,
            }
            for t, operand in enumerate(walk.group.operands)
        ],
        "layers": [
            {"name": layer.name, "only": _only(walk, m, looped)}
            for m, layer in enumerate(walk.group.layers)
        ],
        **({"masked": _masked(cores, looped)} if walk.masked else {}),
    }


def _masked(cores: "NestCores", looped: list[str]) -> dict[str, Any]:
    """Which tiles of queries and keys run, on all cores if these share out queries."""
    walk = cores.first
    assert walk.masked, "a mask drops some"
    grids = [one.masked.grid.live for one in cores.walks if one.masked]
    apart = walk.nest.in_turn and 0 in walk.masked.places
    counts = cores.counts if apart else (1, *(0 for _ in grids[1:]))
    return {
        "mask": str(next(layer.mask for layer in walk.group.layers if layer.mask)),
        "ranks": [looped[at] for at in sorted(walk.masked.places)],
        "tiles": sum(n * int(live.sum()) for n, live in zip(counts, grids, strict=True)),
        "all_tiles": sum(n * live.size for n, live in zip(counts, grids, strict=True)),
    }


def _most_words(walk: "NestWalk", t: int) -> int:
    """Words of the buffer that an operand takes at most."""
    return max((int(words.max()) for _, words in walk.taken(t)), default=0)


def _only(walk: "NestWalk", m: int, looped: list[str]) -> dict[str, str]:
    """Iterations of loops in which a member runs, for loops of which it does not run in all."""
    from archloom.evaluators.fusion.nest import ALL, BOTH

    said = {1: "first", 2: "last", BOTH: "first and last"}
    uses = zip(looped, walk.uses.members[m], strict=True)
    return {rank: said[use] for rank, use in uses if use != ALL}
