"""Parts of a Timeloop architecture, whichever of its formats it is written in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from ....yaml_reader import Faults, Place, shown
from ..values import Entry, NoValueError, Scope
from .attributes import MESH, Attributes

Mesh = tuple[int, int]

_RANGE: Final = re.compile(r"(?P<name>[^\[\]]+)\[(?P<first>[^\[\]]+?)\.\.(?P<last>[^\[\]]+)\]")

Kind = Literal["memory", "compute", "network", "loose", "unknown"]

#: parts of class names, in Timeloop's order of asking (NVlabs/timeloop, model/topology.hpp)
_KINDS: Final[tuple[tuple[Kind, tuple[str, ...]], ...]] = (
    ("memory", ("DRAM", "SRAM", "regfile", "smartbuffer", "storage")),
    ("compute", ("mac", "compute")),
    ("network", ("XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast")),
)
#: classes that declare nothing of their own
_PLAIN: Final = """
    DRAM SRAM regfile storage dummy_storage intmac fpmac mac compute Legacy
"""
#: parts without loops or tensors of their own, as in Accelergy's library of primitives
_LOOSE: Final = """
    adder and_gate bitwise comparator counter crossbar decoder fifo fpadder fpmultiplier intadder
    intmultiplier multiplexer multiplier mux reg register wire aladdin_adder aladdin_comparator
    aladdin_counter aladdin_multiplier aladdin_register
"""


@dataclass(frozen=True)
class Memory:
    """A storage level as one record has it, and where it stands.

    Attributes:
        name: without a range.
        mesh: instances along x and y.
        fields: the record's fields, but for name and mesh.
        place: of the component.
    """

    name: str
    mesh: Mesh
    fields: Mapping[str, Any]
    place: Place

    @property
    def hollow(self) -> bool:
        """Whether it holds nothing: Timeloop's users place such levels to get a fan-out."""
        return bool(self.fields["size_words"] == 0)


@dataclass(frozen=True)
class Fanout:
    """A point where one instance feeds several.

    Attributes:
        names: what a spatial directive may call it.
        mesh: children along x and y.
        network: energies of the network to the children; empty if the memory above has them.
        place: where it stands.
    """

    names: tuple[str, ...]
    mesh: Mesh
    network: Mapping[str, float | None]
    place: Place


@dataclass(frozen=True)
class Compute:
    """The multipliers."""

    mesh: Mesh
    energy_pj: float | None
    place: Place
    name: str = "mac"


@dataclass(frozen=True)
class Constraint:
    """A constraint as it stands in a file.

    Attributes:
        target: name of the part that it is about, or its number from the innermost.
        kind: spatial, temporal, and so on.
        entry: its keys.
    """

    target: Entry
    kind: Entry
    entry: Entry


@dataclass(frozen=True)
class Branch:
    """One branch of a parallel node: its memories, and tensors that pass it by a direct path."""

    memories: tuple[str, ...]
    direct: tuple[Entry, ...]
    place: Place


@dataclass
class Parts:
    """An architecture on the way in.

    Attributes:
        name: of the whole.
        chain: memories and fan-outs from the outermost to the innermost.
        compute: the multipliers, once they are found.
        networks: names of network components.
        constraints: those that stand at the parts.
        parallels: for each parallel node its branches.
        constraints_complete: whether constraints say what the mapping leaves open (v0.4).
    """

    name: str = ""
    chain: list[Memory | Fanout] = field(default_factory=list)
    compute: Compute | None = None
    networks: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    parallels: list[tuple[Branch, ...]] = field(default_factory=list)
    constraints_complete: bool = False

    def add_compute(self, found: Compute, faults: Faults) -> None:
        """Take the multipliers; there is one kind of them."""
        if self.compute is not None:
            faults.add(found.place, f"is a second compute unit, besides {self.compute.place.path}")
        self.compute = found


@dataclass(frozen=True)
class Context:
    """What a whole set of files says, for the readers of its parts.

    Attributes:
        variables: values that expressions may read anywhere.
        mentioned: words in attribute values anywhere, which may be names of attributes.
        classes: names of attributes that a compound component class declares.
        faults: where to note what is wrong.
        hint: what an attribute that nothing knows may be, besides a slip.
        unread: files of which something could not be read, so that what they lack may be there.
    """

    variables: Scope
    mentioned: set[str]
    classes: Mapping[str, set[str]]
    faults: Faults
    hint: str = ""
    unread: frozenset[Path] = frozenset()

    def miss(self, part: str, paths: Sequence[Path]) -> None:
        """Note that files lack a part, unless it may stand in what could not be read."""
        if self.unread.isdisjoint(paths):
            self.faults.add(Place(", ".join(map(str, paths)) or "files"), f"has no {part}; add it")

    def of_classes(self, *kinds: Entry | None) -> "Context":
        """Return the context of a component, in which its classes declare attributes."""
        names = [str(kind.value) for kind in kinds if kind is not None]
        declared = set().union(*(self.classes.get(name, set()) for name in names))
        plain = all(name in self.classes or name in _PLAIN.split() for name in names)
        hint = "" if plain else f"; or give --component with what {names[-1]} declares"
        return replace(self, mentioned=self.mentioned | declared, hint=hint)


def kind_of(class_name: str) -> Kind:
    """Return what Timeloop takes a component for, going by a part of its class."""
    if class_name in _LOOSE.split():
        return "loose"
    for kind, parts in _KINDS:
        if any(part in class_name for part in parts):
            return kind
    return "unknown"


def name_and_count(text: str, place: Place, scope: Scope, faults: Faults) -> tuple[str, int]:
    """Return name and number of instances of ``PE[0..15]``; without a range there is one."""
    if "[" not in text and "]" not in text:
        return text, 1
    match = _RANGE.fullmatch(text)
    if match is None:
        faults.add(place, f"{shown(text)} must be a name with a range, such as PE[0..15]")
        return text.partition("[")[0] or "?", 1
    try:
        first, last = scope.number(match["first"]), scope.number(match["last"])
    except NoValueError as error:
        faults.add(place, str(error))
        return match["name"], 1
    count = last - first + 1
    if count < 1 or count != int(count):
        faults.add(
            place, f"{shown(text)} has no instances; its last index must not be below its first"
        )
        return match["name"], 1
    return match["name"].strip(), int(count)


def mesh_of(attributes: Attributes, count: int, faults: Faults) -> Mesh:
    """Return instances along x and y, of ``count`` unless the attributes say otherwise.

    Source: BufferLevel::ValidateTopology: all along x, unless one side is given.
    """
    count = attributes.whole(MESH[:1], faults) or count
    x, y = attributes.whole(MESH[1:2], faults), attributes.whole(MESH[2:], faults)
    if x is None and y is None:
        return count, 1
    x = x or max(1, count // (y or 1))
    y = y or max(1, count // x)
    if x * y != count:
        faults.add(attributes.at.place, f"has {count} instances, but a mesh of {x} x {y}")
    return x, y
