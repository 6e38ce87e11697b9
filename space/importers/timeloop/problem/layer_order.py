"""Order of a directory of Timeloop layers, and the edges between them.

``order.yaml`` is our format; ``Problem-structure.txt`` the one of DeepFrack's repository
(github.com/PechimuthuMithil/DeepFrack, BERT_Simba). docs/reference/timeloop.md describes both.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from archloom.space.workload import Pair, Shape, is_input

from ....errors import did_you_mean
from ....yaml_reader import Faults, Place, read_text, shown
from ..values import Entry, items, refuse_others, section, truth, word
from ..yaml_dialect import load

ORDER: Final = "order.yaml"
_STRUCTURE: Final = "Problem-structure.txt"
_KEYS: Final = ("name", "input", "order", "edges", "residual")
_POOLS: Final = ("max", "average")
#: files of layers end so
SUFFIXES: Final = (".yaml", ".yml")
#: sizes beyond this are slips, as in :mod:`archloom.space.importers.cases.record`
_LARGEST: Final = 2**40
#: copies beyond this are slips
_MOST_COPIES: Final = 256


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool that the order states; without a kernel it takes the whole feature map.

    With ``ceil`` it has windows that begin in the map and reach beyond it, too.
    """

    mean: bool
    kernel: Pair | None
    stride: Pair | None
    padding: Pair
    ceil: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One layer in the order: of the problem of a file, or a pool."""

    name: str
    place: Place
    file: str = ""
    pool: Pool | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """Feature maps that a layer reads side by side; without a place nobody stated it."""

    sources: tuple[str, ...]
    place: Place | None


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the result of layer ``base`` and other feature maps, for readers of ``base``."""

    name: str
    base: str
    added: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Plan:
    """Layers in their order.

    Attributes:
        name: of the network.
        place: what the order stands in.
        steps: the layers.
        edges: what layers read, by their names; others read what the one before them makes.
        factors: feature maps that stand where a product of matrices has weights, by its name.
        sums: residual edges, by the layer whose result they add to.
        input: shape of the map that is called ``"input"``, if it is stated.
    """

    name: str
    place: Place
    steps: tuple[Step, ...] = ()
    edges: Mapping[str, Edge] = field(default_factory=dict)
    factors: Mapping[str, Edge] = field(default_factory=dict)
    sums: Mapping[str, Sum] = field(default_factory=dict)
    input: Shape | None = None


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers in names by their value: conv2 before conv10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), part) if part[0] in "0123456789" else (1, 0, part) for part in parts]


def read_plan(folder: Path, files: Mapping[str, Path], faults: Faults) -> Plan:
    """Return the plan of a directory; ``files`` are those of its layers, by name."""
    name = folder.resolve().name
    order, structure = folder / ORDER, folder / _STRUCTURE
    present = {path.name for path in folder.iterdir()} & {ORDER, _STRUCTURE}
    if len(present) > 1:
        faults.add(Place(str(order)), f"excludes {structure}; give the order in one of them only")
    if ORDER in present:
        return _read_order(name, order, files, faults)
    if present:
        return _read_structure(name, structure, files, faults)
    steps = _in_files(files)
    _refuse_twice(steps, faults)
    return Plan(name, Place(str(folder)), steps)


def _in_files(files: Mapping[str, Path]) -> tuple[Step, ...]:
    return tuple(Step(stem, Place(str(path)), stem) for stem, path in files.items())


def _read_order(name: str, path: Path, files: Mapping[str, Path], faults: Faults) -> Plan:
    top = Entry(Place(str(path)), load(path, faults))
    if faults.about(str(path)):
        return Plan(name, top.place)
    keys = section(top, faults)
    refuse_others(keys, _KEYS, faults)
    if "name" in keys:
        name = word(keys["name"], top.place, "name", faults)
    steps = _in_files(files)
    if "order" in keys:
        listed = [_step(item, files, faults) for item in items(keys["order"], faults)]
        steps = tuple(step for step in listed if step)
        # a slip in one name is no second fault
        if None not in listed:
            _refuse_unused(files, steps, keys["order"].place, faults)
    _refuse_twice(steps, faults)
    sums = _sums(keys.get("residual"), [step.name for step in steps], faults)
    names = [*(step.name for step in steps), *(s.name for s in sums.values())]
    uses = Counter(names)
    for total in sums.values():
        if uses[total.name] > 1:
            faults.add(
                total.place, f"adds a second layer called {total.name!r}; give it another name"
            )
        for source in total.added:
            _refuse_unknown(source, total.place.key("from"), names, faults)
    edges, factors = _edges(keys.get("edges"), names, faults)
    return Plan(name, top.place, steps, edges, factors, sums, _input(keys.get("input"), faults))


def _refuse_unused(
    files: Mapping[str, Path], steps: tuple[Step, ...], place: Place, faults: Faults
) -> None:
    used = {step.file for step in steps}
    unused = [stem for stem in files if stem not in used]
    if unused:
        faults.add(place, f"leaves out {', '.join(unused)}; name every layer")


def _refuse_twice(steps: tuple[Step, ...], faults: Faults) -> None:
    seen: dict[str, Place] = {}
    for step in steps:
        if step.name in seen:
            again = f"{{{step.name}_2: {step.file}}}" if step.file else "another one"
            faults.add(
                step.place,
                f"{step.name!r} is also the name of {seen[step.name].path}; name it {again}",
            )
        seen.setdefault(step.name, step.place)
        if is_input(step.name):
            faults.add(
                step.place, f"no layer may be called {step.name!r}, which is the network's input"
            )


def _step(item: Entry, files: Mapping[str, Path], faults: Faults) -> Step | None:
    """Return the step of ``NAME``, ``{NAME: FILE}`` or ``{NAME: {pool: ...}}``."""
    value = item.value
    if not isinstance(value, dict):
        name = word(item, item.place, "name", faults)
        stem = "" if name == "?" else _file(name, item.place, files, faults)
        return Step(stem, item.place, stem) if stem else None
    if len(value) != 1:
        faults.add(
            item.place, f"must be NAME, {{NAME: FILE}} or {{NAME: {{pool: ...}}}}, got {value}"
        )
        return None
    [(name, of)] = value.items()
    entry = Entry(item.place.key(name), of)
    if isinstance(of, dict):
        return Step(name, entry.place, pool=_pool(entry, faults))
    file = word(entry, entry.place, "file", faults)
    stem = "" if file == "?" else _file(file, entry.place, files, faults)
    return Step(name, entry.place, stem) if stem else None


def _file(name: str, place: Place, files: Mapping[str, Path], faults: Faults) -> str:
    stem = name
    for suffix in SUFFIXES:
        if name not in files:
            stem = stem.removesuffix(suffix)
    if stem in files:
        return stem
    faults.add(place, f"no file holds a layer {shown(name)}; {did_you_mean(stem, files)}")
    return ""


def _pool(entry: Entry, faults: Faults) -> Pool:
    keys = section(entry, faults)
    refuse_others(keys, ("pool", "kernel", "stride", "padding", "ceil"), faults)
    kind = word(keys.get("pool"), entry.place, "pool", faults)
    if kind not in (*_POOLS, "?"):
        faults.add(
            keys["pool"].place, f"{shown(kind)} is not a pooling; {did_you_mean(kind, _POOLS)}"
        )
    kernel = _pair(keys["kernel"], 1, faults) if "kernel" in keys else None
    stride = _pair(keys["stride"], 1, faults) if "stride" in keys else None
    padding = _pair(keys["padding"], 0, faults) if "padding" in keys else (0, 0)
    if kernel is None and len(keys) > 1:
        faults.add(
            entry.place,
            "has no kernel; only a pooling over the whole map may leave it out, and has "
            "no other key",
        )
    ceil = truth(keys["ceil"].value) if "ceil" in keys else False
    if ceil is None:
        faults.add(keys["ceil"].place, f"must be true or false, got {shown(keys['ceil'].value)}")
    return Pool(kind == "average", kernel, stride, padding, bool(ceil))


def _pair(entry: Entry, least: int, faults: Faults) -> Pair:
    """Return rows and columns, of one number for both or a list of two."""
    both = entry.value if isinstance(entry.value, list) else [entry.value, entry.value]
    if len(both) == 2 and all(type(v) is int and least <= v <= _LARGEST for v in both):
        return both[0], both[1]
    faults.add(
        entry.place,
        f"must be a whole number of at least {least}, or [rows, columns], got {shown(entry.value)}",
    )
    return 1, 1


def _input(entry: Entry | None, faults: Faults) -> Shape | None:
    if entry is None:
        return None
    shape = entry.value
    if (
        isinstance(shape, list)
        and len(shape) == 3
        and all(type(v) is int and 1 <= v <= _LARGEST for v in shape)
    ):
        return shape[0], shape[1], shape[2]
    faults.add(entry.place, f"must be [channels, rows, columns], got {shown(shape)}")
    return None


def _sums(entry: Entry | None, layers: list[str], faults: Faults) -> dict[str, Sum]:
    """Return the sums that residual edges make; several edges to one layer make one."""
    found: dict[str, Sum] = {}
    for item in items(entry, faults):
        keys = section(item, faults)
        refuse_others(keys, ("from", "to", "name"), faults)
        source = word(keys.get("from"), item.place, "from", faults)
        base = word(keys.get("to"), item.place, "to", faults)
        if "?" in (source, base):
            continue
        _refuse_unknown(base, item.place.key("to"), layers, faults)
        before = found.get(base, Sum(f"{base}.add", base, (), item.place))
        name = word(keys["name"], item.place, "name", faults) if "name" in keys else before.name
        if source in before.added:
            faults.add(item.place, f"adds {source!r} to {base!r} a second time")
        elif source == base:
            faults.add(item.place, f"adds {base!r} to itself")
        elif before.added and name != before.name:
            faults.add(item.place, f"calls the sum at {base!r} {name!r}, {before.place} does not")
        if is_input(name):
            faults.add(item.place, f"no layer may be called {name!r}, which is the network's input")
        found[base] = Sum(name, base, (*before.added, source), before.place)
    return found


def _edges(
    entry: Entry | None, names: list[str], faults: Faults
) -> tuple[dict[str, Edge], dict[str, Edge]]:
    """Return what layers read, and what they read in the place of weights."""
    edges: dict[str, Edge] = {}
    factors: dict[str, Edge] = {}
    for item in items(entry, faults):
        keys = section(item, faults)
        refuse_others(keys, ("from", "to", "as"), faults)
        source = word(keys.get("from"), item.place, "from", faults)
        reader = word(keys.get("to"), item.place, "to", faults)
        kind = word(keys["as"], item.place, "as", faults) if "as" in keys else "input"
        if kind not in ("input", "weights", "?"):
            hint = did_you_mean(kind, ("input", "weights"))
            faults.add(keys["as"].place, f"{shown(kind)} is not a part of a layer; {hint}")
        if "?" in (source, reader):
            continue
        _refuse_unknown(source, item.place.key("from"), names, faults)
        _refuse_unknown(reader, item.place.key("to"), names, faults, outside=False)
        known = factors if kind == "weights" else edges
        before = known.get(reader, Edge((), item.place))
        if known is factors and before.sources:
            faults.add(item.place, f"{reader!r} already reads {before.sources[0]!r} as weights")
        elif source in before.sources:
            faults.add(item.place, f"is given twice: {reader!r} already reads {source!r}")
        known[reader] = Edge((*before.sources, source), before.place)
    return edges, factors


def _refuse_unknown(
    name: str, place: Place, names: list[str], faults: Faults, outside: bool = True
) -> None:
    if name not in names and not (outside and is_input(name)):
        faults.add(place, f"{shown(name)} is not a layer; {did_you_mean(name, names)}")


def _read_structure(name: str, path: Path, files: Mapping[str, Path], faults: Faults) -> Plan:
    """Return the plan of lines ``LAYER COUNT``: so many copies of a layer, side by side."""
    lines = [line.split() for line in (read_text(path, faults) or "").splitlines()]
    counts: list[tuple[str, int, Place]] = []
    for number, line in enumerate(lines, start=1):
        place = Place(str(path), line=number)
        if not line:
            continue
        copies = int(line[1]) if len(line) == 2 and re.fullmatch("[0-9]{1,9}", line[1]) else 0
        if not 1 <= copies <= _MOST_COPIES:
            faults.add(
                place,
                f"must be a layer and its copies, 1 to {_MOST_COPIES}, got {shown(' '.join(line))}",
            )
        elif stem := _file(line[0], place, files, faults):
            counts.append((stem, copies, place))
    plan = _copied(name, Place(str(path)), counts)
    if not faults.about(str(path)):
        _refuse_unused(files, plan.steps, Place(str(path)), faults)
    _refuse_twice(plan.steps, faults)
    return plan


def _copied(name: str, place: Place, counts: list[tuple[str, int, Place]]) -> Plan:
    total: dict[str, int] = {}
    for stem, copies, _ in counts:
        total[stem] = total.get(stem, 0) + copies
    made = dict.fromkeys(total, 0)
    steps: list[Step] = []
    edges: dict[str, Edge] = {}
    before: tuple[str, ...] = ("input",)
    for stem, copies, at in counts:
        numbers = range(made[stem] + 1, made[stem] + copies + 1)
        made[stem] += copies
        group = tuple(f"{stem}.{i}" if total[stem] > 1 else stem for i in numbers)
        steps += [Step(own, at, stem) for own in group]
        # as many copies as before read one each, others read all side by side
        paired = len(group) == len(before)
        edges |= {
            o: Edge(before[i : i + 1] if paired else before, None) for i, o in enumerate(group)
        }
        before = group
    return Plan(name, place, tuple(steps), edges)
