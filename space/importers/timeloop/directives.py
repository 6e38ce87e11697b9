"""Directives of mappings and constraints: loops at a part, and tensors that it keeps.

The grammar of factors is that of Timeloop's parsers (NVlabs/timeloop, src/mapping/parser.cpp and
constraints.cpp): ``C=4``, ``C4`` or, in constraints, ``C<=4``; 0 stands for the whole bound.
Macros (``factors_only`` and the like) expand as in its front end (timeloopfe,
processors/constraint_macro.py).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ...errors import did_you_mean
from ...yaml_reader import Faults, Place, shown
from .problem import TENSORS, Problem
from .values import Entry, NoValueError, items, refuse_others, section, words

Kind = Literal["temporal", "spatial", "dataspace", "utilization"]

_KINDS: Final[dict[str, Kind]] = {
    "temporal": "temporal",
    "spatial": "spatial",
    **dict.fromkeys(("dataspace", "datatype", "bypass", "bypassing"), "dataspace"),
    **dict.fromkeys(("utilization", "parallelism"), "utilization"),
}
_LOOPS: Final = (
    *("factors", "permutation", "factors_only"),
    *("no_iteration_over_dataspaces", "must_iterate_over_dataspaces"),
    *("default_max_factor", "default_min_factor"),
)
#: tell a search what to prefer; a mapping that is given is taken as it is
_SEARCH_ONLY: Final = ("remainders", "maximize_dims", "maximize_dims_capacity")
_REUSE: Final = ("no_reuse", "no_multicast_no_reduction")
#: by kind: what is read, and what has to be empty because it is not modelled
_KEYS: Final[dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "temporal": (
        _LOOPS,
        ("no_reuse", "no_temporal_reuse", "rmw_first_update", "rmw_on_first_writeback"),
    ),
    "spatial": ((*_LOOPS, "split", *_REUSE, "no_link_transfer"), ()),
    "dataspace": (
        ("keep", "bypass", "keep_only", "bypass_only"),
        ("no_coalesce", "passthrough"),
    ),
    "utilization": (("min",), ()),
}

_FACTOR: Final = re.compile(
    r"(?:(?P<dim>[A-Za-z_]\w*?)\s*(?P<sign><=|>=|==?|<|>)\s*|(?P<short>[A-Za-z_]+)\s*)"
    r"(?P<value>\d{1,18})(?:,(?P<rest>\d{1,18}))?"
)


@dataclass(frozen=True)
class Factor:
    """What one directive says of one dimension: ``=``, ``<=``, ``>=``, ``<`` or ``>`` a number."""

    dim: str
    sign: str
    value: int
    place: Place

    def allows(self, factor: int) -> bool:
        """Whether a loop of that many steps is allowed."""
        return {
            "=": factor == self.value,
            "<=": factor <= self.value,
            ">=": factor >= self.value,
            "<": factor < self.value,
            ">": factor > self.value,
        }[self.sign]


@dataclass(frozen=True)
class Directive:
    """One directive, its macros expanded.

    Attributes:
        kind: what it is about.
        place: where it stands.
        factors: steps of loops.
        permutation: dimensions from the innermost, as far as they are given; None if not at all.
        split: dimensions of the permutation, from its start, that go along x.
        keep, bypass: our names of tensors.
        no_reuse: tensors without multicast and reduction.
        least: smallest share of the multipliers in use.
    """

    kind: Kind
    place: Place
    factors: tuple[Factor, ...] = ()
    permutation: tuple[str, ...] | None = None
    split: int | None = None
    keep: tuple[str, ...] = ()
    bypass: tuple[str, ...] = ()
    no_reuse: tuple[str, ...] = ()
    least: float = 0.0

    def exact(self) -> dict[str, int]:
        """Return the factors that it fixes."""
        return {f.dim: f.value for f in self.factors if f.sign == "="}


def read_directive(entry: Entry, kind: Entry, problem: Problem, faults: Faults) -> Directive | None:
    """Return a directive; None if its kind is not understood.

    Args:
        entry: its keys; ``target`` and ``type`` among them are the caller's.
        kind: its type.
        problem: gives dimensions and data spaces their meaning.
        faults: where to note what is wrong.
    """
    found = section(entry, faults)
    own = {k: v for k, v in found.items() if k not in ("target", "type", "name")}
    if kind.value == "max_overbooked_proportion":
        if any(v.value not in (None, 0, 0.0, {}) for v in own.values()):
            faults.add(entry.place, "overbooking is not modelled")
        return None
    if kind.value is None:
        faults.add(kind.place, f"has no type; valid types: {', '.join(_KINDS)}")
        return None
    if not isinstance(kind.value, str) or kind.value not in _KINDS:
        hint = did_you_mean(str(kind.value), _KINDS)
        faults.add(kind.place, f"{shown(kind.value)} is not a supported directive; {hint}")
        return None
    named = _KINDS[kind.value]
    read, refused = _KEYS[named]
    refuse_others(own, (*read, *refused, *(_SEARCH_ONLY if read[0] == "factors" else ())), faults)
    for key in refused:
        if key in own and own[key].value not in (None, [], {}, False):
            faults.add(own[key].place, f"is {shown(own[key].value)}, which is not modelled")
    return _Reader(own, problem, faults).directive(named, entry.place)


@dataclass(frozen=True)
class _Reader:
    own: Mapping[str, Entry]
    problem: Problem
    faults: Faults

    def directive(self, kind: Kind, place: Place) -> Directive:
        if kind == "dataspace":
            return self._dataspace(place)
        if kind == "utilization":
            return Directive(kind, place, least=self._number("min") or 0.0)
        reuse = [t for key in _REUSE for t in self._tensors(key)] if kind == "spatial" else []
        self._tensors("no_link_transfer")
        split = self._number("split")
        if split is not None and split != int(split):
            self.faults.add(self.own["split"].place, f"must be a whole number, got {shown(split)}")
        return Directive(
            kind,
            place,
            factors=tuple(self._factors()),
            permutation=self._permutation(),
            split=None if split is None else int(split),
            no_reuse=_ordered(reuse),
        )

    def _dataspace(self, place: Place) -> Directive:
        keep, bypass = self._tensors("keep"), self._tensors("bypass")
        only = self._tensors("keep_only")
        if self._given("keep_only"):
            keep, bypass = [*keep, *only], [*bypass, *(t for t in TENSORS if t not in only)]
        passed = self._tensors("bypass_only")
        if self._given("bypass_only"):
            keep, bypass = [*keep, *(t for t in TENSORS if t not in passed)], [*bypass, *passed]
        for tensor in _ordered(t for t in keep if t in bypass):
            self.faults.add(place, f"both keeps and bypasses {tensor}")
        return Directive("dataspace", place, keep=_ordered(keep), bypass=_ordered(bypass))

    def _given(self, key: str) -> bool:
        return key in self.own and self.own[key].value is not None

    def _tensors(self, key: str) -> list[str]:
        """Return our names of data spaces; ``*`` is all of them."""
        return read_tensors(self.own.get(key), self.problem, self.faults)

    def _number(self, key: str) -> int | float | None:
        entry = self.own.get(key)
        if entry is None or entry.value is None:
            return None
        try:
            value = self.problem.scope.number(entry.value)
        except NoValueError as error:
            self.faults.add(entry.place, str(error))
            return None
        if value < 0:
            self.faults.add(entry.place, f"must be 0 or more, got {shown(value)}")
            return None
        return value

    def _factors(self) -> list[Factor]:
        found = [f for key in ("factors", "factors_only") for f in self._listed(key)]
        place = next((e.place for e in self.own.values()), self.problem.place)
        named = {f.dim for f in found}
        dims = list(self.problem.dims)
        ones = [d for d in dims if d not in named] if self._given("factors_only") else []
        still = {d for t in self._tensors("no_iteration_over_dataspaces") for d in self._dims_of(t)}
        if self._given("must_iterate_over_dataspaces"):
            moved = self._tensors("must_iterate_over_dataspaces")
            over = {d for t in moved for d in self._dims_of(t)}
            still |= set(dims) - over
        ones += [d for d in dims if d in still and d not in ones]
        found += [Factor(dim, "=", 1, place) for dim in ones]
        for key, sign in (("default_max_factor", "<="), ("default_min_factor", ">=")):
            limit = self._number(key)
            if limit is not None:
                free = (d for d in dims if d not in named)
                found += [Factor(d, sign, int(limit), self.own[key].place) for d in free]
        return found

    def _dims_of(self, tensor: str) -> set[str]:
        return self.problem.indexes.get(tensor, set())

    def _listed(self, key: str) -> list[Factor]:
        entry = self.own.get(key)
        if entry is None or entry.value is None:
            return []
        texts = [entry] if isinstance(entry.value, str) else items(entry, self.faults)
        return [f for text in texts for f in self._parse(text)]

    def _parse(self, entry: Entry) -> list[Factor]:
        if not isinstance(entry.value, str):
            self.faults.add(entry.place, f"must be factors such as C=4, got {shown(entry.value)}")
            return []
        # Timeloop cuts comments off itself, inside quoted texts too
        text = entry.value.partition("#")[0]
        found, end = [], 0
        while rest := text[end:].lstrip(" \t\n,"):
            end = len(text) - len(rest)
            match = _FACTOR.match(text, end)
            if match is None:
                self.faults.add(
                    entry.place, f"{shown(rest)} must be a list of factors, such as C=4 K=1"
                )
                break
            end = match.end()
            found += self._factor(match, entry.place)
        return found

    def _factor(self, match: re.Match[str], place: Place) -> list[Factor]:
        dim, value, rest = match["dim"] or match["short"], match["value"], match["rest"]
        sign = (match["sign"] or "=").replace("==", "=")
        if dim not in self.problem.dims:
            hint = did_you_mean(dim, self.problem.dims)
            self.faults.add(place, f"{shown(dim)} is not a dimension; {hint}")
            return []
        if rest is not None and rest != value:
            self.faults.add(place, f"{match[0]}: imperfect factors are not supported")
            return []
        if sign == "=" and int(value) == 0:
            return [Factor(dim, sign, self.problem.dims[dim], place)]
        return [Factor(dim, sign, int(value), place)]

    def _permutation(self) -> tuple[str, ...] | None:
        entry = self.own.get("permutation")
        if entry is None or entry.value is None:
            return None
        named = words(entry, self.faults)
        dims = self.problem.dims
        joined = isinstance(entry.value, str) and "," not in entry.value
        if joined and not all(name.value in dims for name in named):
            # letters may stand side by side, with or without gaps between groups of them
            named = [Entry(n.place, letter) for n in named for letter in n.value]
        good: list[str] = []
        for name in named:
            if name.value not in dims:
                hint = did_you_mean(name.value, dims)
                self.faults.add(name.place, f"{shown(name.value)} is not a dimension; {hint}")
            elif name.value in good:
                self.faults.add(name.place, f"names {name.value} twice")
            else:
                good.append(name.value)
        return tuple(good)


def read_tensors(entry: Entry | None, problem: Problem, faults: Faults) -> list[str]:
    """Return our names of the data spaces that a list names; ``*`` is all of them."""
    found: list[str] = []
    for name in words(entry, faults):
        if name.value == "*":
            found += TENSORS
        elif name.value in problem.tensors:
            found.append(problem.tensors[name.value])
        elif problem.tensors:
            hint = did_you_mean(name.value, problem.tensors)
            faults.add(name.place, f"{shown(name.value)} is not a data space; {hint}")
    return found


def _ordered(tensors: Iterable[str]) -> tuple[str, ...]:
    given = set(tensors)
    return tuple(tensor for tensor in TENSORS if tensor in given)
