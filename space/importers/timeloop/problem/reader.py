"""Timeloop problems: a shape with dimensions, data spaces and coefficients, and its bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ....yaml_reader import Faults, Place, shown
from ..values import (
    Entry,
    NoValueError,
    Scope,
    items,
    nearest,
    refuse_others,
    section,
    truth,
    word,
    words,
)
from .shape import read_shape

TENSORS: Final[tuple[str, ...]] = ("Weights", "Inputs", "Outputs")
Terms = list[list[str]]
Projection = list[Terms]

_ALIASES: Final = {
    "Weights": ("weights", "weight", "filters", "filter"),
    "Inputs": ("inputs", "input", "ifmaps", "ifmap", "activations"),
}
#: sizes of feature maps and padding that files of layers carry along; Timeloop does not read them
_CARRIED: Final = ("H", "W", "Hpad", "Wpad", "name", "type")


@dataclass(frozen=True)
class Problem:
    """A problem as mappings need it.

    Attributes:
        record: as a case record has it.
        dims: bounds, in the order of the shape.
        tensors: our name of each data space, by its own name.
        indexes: dimensions that index each tensor.
        scope: variables that expressions may read.
        place: where the bounds stand.
    """

    record: dict[str, Any]
    dims: Mapping[str, int]
    tensors: Mapping[str, str]
    indexes: Mapping[str, set[str]]
    scope: Scope
    place: Place


@dataclass(frozen=True)
class _Space:
    name: str
    place: Place
    projection: Projection
    written: bool

    def dims(self) -> list[str]:
        return [term[0] for rank in self.projection for term in rank]


def read_problem(entry: Entry, scope: Scope, faults: Faults) -> Problem:
    """Return the problem that stands under ``problem``."""
    top = section(entry, faults)
    shape, shape_place = read_shape(top.get("shape"), entry.place, faults)
    names = [item.value for item in words(shape.get("dimensions"), faults)]
    if not names:
        faults.add(shape_place, "has no dimensions")
    for name in dict.fromkeys(n for n in names if names.count(n) > 1):
        faults.add(shape_place.key("dimensions"), f"names {name} twice")
    defaults = _coefficients(shape.get("coefficients"), scope, faults)
    bounds = top.get("instance", entry)
    own = section(bounds, faults)
    if "instance" in top:
        refuse_others(top, ("version", "shape", "instance", "name"), faults)
    else:
        own = {k: v for k, v in own.items() if k not in ("version", "shape")}
    refuse_others(own, (*names, *defaults, "densities", "commonDensity", *_CARRIED), faults)
    dims = {n: _count(own.get(n), bounds.place, f"bound of {n}", scope, faults) for n in names}
    coefficients = {
        n: _count(own[n], bounds.place, n, scope, faults) if n in own else default
        for n, default in defaults.items()
    }
    spaces = [
        _space(item, names, coefficients, faults)
        for item in items(shape.get("data_spaces"), faults)
    ]
    _refuse_sparse(own, [space.name for space in spaces], scope, faults)
    ours = _assign(spaces, shape_place, faults)
    _refuse_idle(dims, spaces, bounds.place, faults)
    name = str(shape["name"].value) if "name" in shape else "problem"
    by_tensor = {ours[space.name]: space for space in spaces if space.name in ours}
    projections = {t: by_tensor[t].projection for t in TENSORS if t in by_tensor}
    indexes = {t: set(space.dims()) for t, space in by_tensor.items()}
    record = _record(name, dims, coefficients, projections, indexes)
    return Problem(record, dims, ours, indexes, scope, bounds.place)


def _count(entry: Entry | None, place: Place, what: str, scope: Scope, faults: Faults) -> int:
    """Return a whole number from 1 up; 1 after a fault."""
    if entry is None or entry.value is None:
        faults.add(place, f"has no {what}")
        return 1
    try:
        value = scope.number(entry.value)
    except NoValueError as error:
        faults.add(entry.place, str(error))
        return 1
    if value < 1 or value != int(value):
        faults.add(entry.place, f"{what} must be 1, 2, 3, ..., got {shown(value)}")
        return 1
    return int(value)


def _coefficients(entry: Entry | None, scope: Scope, faults: Faults) -> dict[str, int]:
    found = {}
    for item in items(entry, faults):
        keys = section(item, faults)
        refuse_others(keys, ("name", "default"), faults)
        name = word(keys.get("name"), item.place, "name", faults)
        found[name] = _count(keys.get("default"), item.place, "default", scope, faults)
    return found


def _space(item: Entry, dims: list[str], coefficients: Mapping[str, int], faults: Faults) -> _Space:
    keys = section(item, faults)
    refuse_others(keys, ("name", "projection", "read_write"), faults)
    name = word(keys.get("name"), item.place, "name", faults)
    projection: Projection = []
    if "projection" not in keys:
        faults.add(item.place, "has no projection")
    for rank in items(keys.get("projection"), faults):
        # a flat list of dimensions, or sums of products
        terms = (
            [Entry(rank.place, [rank.value])]
            if isinstance(rank.value, str)
            else items(rank, faults)
        )
        projection.append([t for term in terms if (t := _term(term, dims, coefficients, faults))])
    written = truth(keys["read_write"].value) if "read_write" in keys else False
    if written is None:
        faults.add(
            keys["read_write"].place,
            f"must be true or false, got {shown(keys['read_write'].value)}",
        )
    return _Space(name, item.place, [rank for rank in projection if rank], bool(written))


def _term(
    term: Entry, dims: list[str], coefficients: Mapping[str, int], faults: Faults
) -> list[str]:
    """Return ``[dimension]`` or ``[dimension, coefficient]``; nothing after a fault."""
    parts = term.value
    if not isinstance(parts, list) or not 1 <= len(parts) <= 2:
        faults.add(
            term.place, f"must be [dimension] or [dimension, coefficient], got {shown(parts)}"
        )
        return []
    texts = [str(part) for part in parts]
    for text, known in zip(texts, (dims, list(coefficients)), strict=False):
        if text not in known:
            what = "dimension" if known is dims else "coefficient"
            hint = f"; {nearest(text, known)}" if known else ""
            faults.add(term.place, f"{shown(text)} is not a {what}{hint}")
            return []
    return texts


def _refuse_sparse(
    own: Mapping[str, Entry], spaces: list[str], scope: Scope, faults: Faults
) -> None:
    """Accept densities of 1, and name all others."""
    given = dict(section(own["densities"], faults)) if "densities" in own else {}
    refuse_others(given, spaces, faults)
    if "commonDensity" in own:
        given["commonDensity"] = own["commonDensity"]
    for name, entry in given.items():
        value = entry.value
        if isinstance(value, dict):
            value = value.get("density", value)
        try:
            dense = scope.number(value) == 1
        except NoValueError:
            dense = False
        if not dense:
            faults.add(entry.place, f"{shown(value)} of {name}: only dense cases are supported")


def _assign(spaces: list[_Space], place: Place, faults: Faults) -> dict[str, str]:
    """Return our name of each data space.

    The one that is written is Outputs. Of the others, Inputs is the one called so, or the one
    with a window, or the second.
    """
    written = [space for space in spaces if space.written]
    read = [space for space in spaces if not space.written]
    if len({space.name for space in spaces}) < len(spaces):
        faults.add(place, "has two data spaces of the same name")
    if len(written) != 1 or len(read) != 2:
        faults.add(
            place,
            f"must have two data spaces without and one with read_write, got "
            f"{len(read)} and {len(written)}",
        )
        return {}
    first, second = read
    turned = _is_called(first, "Inputs") or _is_called(second, "Weights")
    straight = _is_called(second, "Inputs") or _is_called(first, "Weights")
    if turned == straight:
        # their names do not tell; the tensor with a window is the inputs
        turned = [any(len(rank) > 1 for rank in s.projection) for s in read] == [True, False]
    if turned:
        first, second = second, first
    return {first.name: "Weights", second.name: "Inputs", written[0].name: "Outputs"}


def _is_called(space: _Space, tensor: str) -> bool:
    return space.name.lower() in _ALIASES[tensor]


def _refuse_idle(
    dims: Mapping[str, int], spaces: list[_Space], place: Place, faults: Faults
) -> None:
    used = {dim for space in spaces for dim in space.dims()}
    for dim, bound in dims.items():
        if dim not in used and bound > 1:
            faults.add(place.key(dim), f"is {bound}, but no data space has the dimension {dim}")


def _record(
    name: str,
    dims: Mapping[str, int],
    coefficients: Mapping[str, int],
    projections: Mapping[str, Projection],
    indexes: Mapping[str, set[str]],
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": _kind(dims, indexes, projections),
        "dims": dict(dims),
        **_roles(projections, coefficients, indexes),
        "coefficients": dict(coefficients),
        "projections": dict(projections),
    }


def _roles(
    projections: Mapping[str, Projection],
    coefficients: Mapping[str, int],
    indexes: Mapping[str, set[str]],
) -> dict[str, int]:
    """Return strides and dilations by axis: W pairs R with P, H pairs S with Q.

    Other names take the axes in turn.
    """
    roles = {"Wstride": 1, "Hstride": 1, "Wdilation": 1, "Hdilation": 1}
    windows = [rank for rank in projections.get("Inputs", []) if len(rank) > 1]
    free = ["W", "H"]
    for rank in windows[:2]:
        named = {term[0] for term in rank}
        wish = "H" if named & {"S", "Q"} and not named & {"R", "P"} else free[0]
        axis = wish if wish in free else free[0]
        free.remove(axis)
        for dim, *coefficient in rank:
            role = "stride" if dim in indexes.get("Outputs", set()) else "dilation"
            roles[axis + role] = coefficients[coefficient[0]] if coefficient else 1
    return roles


def _kind(
    dims: Mapping[str, int],
    indexes: Mapping[str, set[str]],
    projections: Mapping[str, Projection],
) -> str:
    """Return what people call such a nest; nothing depends on it."""
    if len(indexes) < len(TENSORS):
        return "other"
    weights, inputs, outputs = (indexes[t] for t in TENSORS)
    if not any(len(rank) > 1 for rank in projections["Inputs"]):
        return "gemm"
    shared = [d for d in dims if d in weights & inputs & outputs]
    if not shared:
        return "conv"
    return "grouped" if (weights & outputs) - inputs else "depthwise"
