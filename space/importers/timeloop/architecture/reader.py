"""Timeloop architectures as the levels of a case record."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from ....yaml_reader import Faults, Place, shown
from ..values import Entry, section
from .nodes import read_nodes
from .parts import Context, Fanout, Memory, Parts
from .tree import read_list, read_tree

_VERSIONS: Final = ("0.2", "0.3", "0.4")
_NETWORK: Final = ("net_energy_per_hop_pJ", "net_router_energy_pJ")


@dataclass(frozen=True)
class Level:
    """One storage level.

    Attributes:
        name: of the memory.
        record: its fields in a case record.
        fans: fan-outs below it, from the innermost.
        place: where the memory stands.
        hollow: whether it holds nothing, and is there for its fan-out only.
    """

    name: str
    record: dict[str, Any]
    fans: tuple[Fanout, ...]
    place: Place
    hollow: bool = False

    @property
    def fanout(self) -> tuple[int, int]:
        """Children along x and y."""
        return prod(fan.mesh[0] for fan in self.fans), prod(fan.mesh[1] for fan in self.fans)


@dataclass(frozen=True)
class Architecture:
    """An architecture as mappings need it.

    Attributes:
        record: as a case record has it.
        levels: storage from the innermost.
        memories: every memory from the innermost, also those that hold nothing.
        parts: what it was made of.
        place: where it stands.
    """

    record: dict[str, Any]
    levels: tuple[Level, ...]
    memories: tuple[Memory, ...]
    parts: Parts
    place: Place

    @property
    def fans(self) -> tuple[Fanout, ...]:
        """Every fan-out, from the innermost."""
        return tuple(fan for level in self.levels for fan in level.fans)

    @property
    def multipliers(self) -> int:
        """Number of multiply-accumulate units."""
        return int(self.record["mac"]["instances"])


def read_architecture(entry: Entry, context: Context) -> Architecture:
    """Return the architecture that stands under ``architecture`` or ``arch``."""
    keys = section(entry, context.faults)
    version = keys.get("version")
    if version is not None and str(version.value) not in _VERSIONS:
        context.faults.add(
            version.place,
            f"{shown(version.value)} is not supported; supported: {', '.join(_VERSIONS)}",
        )
    if "nodes" in keys:
        parts = read_nodes(entry, context)
    elif "storage" in keys:
        parts = read_list(entry, context)
    else:
        if "subtree" not in keys:
            context.faults.add(entry.place, "has neither subtree nor nodes")
        parts = read_tree(entry, context)
    return _assemble(parts, entry.place, context.faults)


def _assemble(parts: Parts, place: Place, faults: Faults) -> Architecture:
    levels: list[tuple[Memory, list[Fanout]]] = []
    for part in parts.chain:
        if isinstance(part, Fanout):
            if levels:
                levels[-1][1].insert(0, part)
            elif part.mesh != (1, 1):
                faults.add(part.place, "is a fan-out above every memory")
        elif not part.hollow:
            levels.append((part, []))
    memories = [part for part in parts.chain if isinstance(part, Memory)]
    _check_names(parts, memories, faults)
    if not levels and not faults:
        faults.add(place, "has no memory; the outermost component must be one")
    if parts.compute is None:
        faults.add(place, "has no multipliers; add a component of a compute class such as intmac")
    inner = [_level(memory, fans, faults) for memory, fans in reversed(levels)]
    mesh = parts.compute.mesh if parts.compute else (1, 1)
    record = {
        "name": parts.name or "timeloop",
        "levels": [level.record for level in inner],
        "mac": {
            "instances": prod(mesh),
            "meshX": mesh[0],
            "meshY": mesh[1],
            "energy_pJ": parts.compute.energy_pj if parts.compute else None,
        },
    }
    return Architecture(record, tuple(inner), tuple(reversed(memories)), parts, place)


def _check_names(parts: Parts, memories: list[Memory], faults: Faults) -> None:
    seen: dict[str, Place] = {}
    for memory in memories:
        if memory.name in seen:
            faults.add(memory.place, f"is called {memory.name}, as {seen[memory.name].path} is")
        seen[memory.name] = memory.place
    fans: dict[str, Place] = {}
    for fan in (part for part in parts.chain if isinstance(part, Fanout)):
        if fan.names[0] in fans:
            faults.add(fan.place, f"is called {fan.names[0]}, as {fans[fan.names[0]].path} is")
        fans[fan.names[0]] = fan.place


def _level(memory: Memory, fans: list[Fanout], faults: Faults) -> Level:
    fields = dict(memory.fields)
    x, y = memory.mesh
    if x * y % fields["cluster_size"]:
        faults.add(
            memory.place,
            f"has {x * y} instances, which clusters of {fields['cluster_size']} do not divide",
        )
    fields.update(_network(memory, fans, faults))
    record = {
        "name": memory.name,
        "size_words": fields.pop("size_words"),
        "word_bits": fields.pop("word_bits"),
        "instances": x * y,
        "meshX": x,
        "meshY": y,
        **fields,
    }
    return Level(memory.name, record, tuple(fans), memory.place)


def _network(memory: Memory, fans: list[Fanout], faults: Faults) -> Mapping[str, float | None]:
    """Return the energies of the one network from a level to its children.

    Between two memories Timeloop has one network for each fan-out, and one more to the first of
    them in v0.4. A case has one for all, so only one may cost anything, and it must have the
    whole fan-out.
    """
    own = {name: memory.fields[name] for name in _NETWORK}
    wide = [fan for fan in fans if fan.mesh != (1, 1)]
    costly = [(fan.names[0], fan.network) for fan in fans if any(fan.network.values())]
    if any(own.values()) and memory.name not in (name for name, _ in costly):
        # in v0.4 the network of a memory ends at the first fan-out
        costly.append((memory.name, own))
        wide = [*wide, *fans] if wide else wide
    if len(costly) > 1 or (costly and [fan.names[0] for fan in wide] not in ([], [costly[0][0]])):
        faults.add(
            memory.place,
            f"has network energies at {', '.join(name for name, _ in costly)}, and fan-outs at "
            f"{', '.join(fan.names[0] for fan in wide)}; a case has one network at a level: give "
            "energies at the one fan-out, and 0 elsewhere",
        )
    return costly[0][1] if costly else own
