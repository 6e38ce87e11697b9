"""EinsumFile: what a YAML file of einsums says, read without looking at what it means."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...errors import did_you_mean
from ...yaml_reader import Document, Faults, Place, read_yaml, shown
from .causal import CausalRanks, read_causal
from .parser import parse_einsum
from .ranks import Sizes, is_rank, sizes_of
from .syntax import Einsum, EinsumError

KEYS: Final = ("name", "ranks", "batch", "causal", "inputs", "weights", "einsums", "outputs")


@dataclass(frozen=True, slots=True)
class Line:
    """A line and where it stands."""

    place: Place
    einsum: Einsum


@dataclass(frozen=True, slots=True)
class EinsumFile:
    """Content of a file.

    Attributes:
        name: of the network.
        sizes: of ranks; None of one whose size is wrong.
        lines: those that could be read.
        batch: rank that counts images.
        causal: ranks that a causal mask is along.
        inputs: for each tensor that is stated to come from outside its indices, ranks or sizes.
        weights: tensors that are learned.
        outputs: tensors that leave although lines read them.
        places: where each name of ``inputs``, ``weights`` and ``outputs`` stands.
    """

    name: str
    sizes: Sizes
    lines: tuple[Line, ...]
    batch: str | None
    causal: CausalRanks | None
    inputs: dict[str, tuple[str | int, ...]]
    weights: tuple[str, ...]
    outputs: tuple[str, ...]
    places: dict[tuple[str, str], Place] = field(default_factory=dict)


def read_file(path: Path, sizes: Mapping[str, int], faults: Faults) -> EinsumFile | None:
    """Return what a file says; None if it is no file of einsums at all.

    Args:
        path: of the file.
        sizes: of ranks, in place of the file's.
        faults: gets what is wrong.
    """
    document = read_yaml(path, faults)
    data = document.data
    if not isinstance(data, dict) or "einsums" not in data:
        if not faults:
            has = (
                f"keys {', '.join(map(str, data))}"
                if isinstance(data, dict) and data
                else "no keys"
            )
            faults.add(Place(str(path)), f"must have the key einsums, but it has {has}")
        return None
    for key in data:
        if key not in KEYS:
            faults.add(document.place((str(key),)), f"is not known; {did_you_mean(str(key), KEYS)}")
    reading = _Reading(document, data, faults)
    name = data.get("name", path.stem)
    if not isinstance(name, str) or not name:
        faults.add(document.place(("name",)), f"{shown(name)} must be a text")
        name = path.stem
    known = sizes_of(document, sizes, faults)
    return EinsumFile(
        name,
        known,
        tuple(reading.lines()),
        reading.batch(known),
        read_causal(document, known, faults),
        reading.inputs(),
        reading.names("weights"),
        reading.names("outputs"),
        reading.places,
    )


class _Reading:
    """One file while it is read."""

    def __init__(self, document: Document, data: Mapping[str, Any], faults: Faults) -> None:
        self.document = document
        self.data = data
        self.faults = faults
        self.places: dict[tuple[str, str], Place] = {}

    def lines(self) -> Iterator[Line]:
        for i, text in enumerate(self._list("einsums")):
            place = self.document.place(("einsums", i))
            if not isinstance(text, str):
                self.faults.add(
                    place, f"{shown(text)} must be a line such as Y[m,f] = X[m,d] * W[d,f]"
                )
                continue
            try:
                yield Line(place, parse_einsum(text))
            except EinsumError as error:
                self.faults.add(place, f"{shown(text, 100)}: {error}")

    def batch(self, sizes: Sizes) -> str | None:
        name = self.data.get("batch")
        if name is None or (isinstance(name, str) and name in sizes):
            return name
        hint = did_you_mean(str(name), sizes)
        self.faults.add(self.document.place(("batch",)), f"{shown(name)} is not a rank; {hint}")
        return None

    def names(self, key: str) -> tuple[str, ...]:
        """Read a list of tensors."""
        found: dict[str, None] = {}
        for i, name in enumerate(self._list(key) if key in self.data else ()):
            place = self.document.place((key, i))
            if not isinstance(name, str) or not is_rank(name):
                self.faults.add(place, f"{shown(name)} must be the name of a tensor")
            elif name in found:
                self.faults.add(place, f"names {name} twice")
            else:
                found[name] = None
                self.places[key, name] = place
        return tuple(found)

    def inputs(self) -> dict[str, tuple[str | int, ...]]:
        given = self.data.get("inputs", {})
        place = self.document.place(("inputs",))
        if not isinstance(given, Mapping):
            rule = "must be a mapping of tensors to their indices, such as {I: [c, 224, 224]}"
            self.faults.add(place, f"{shown(given)} {rule}")
            return {}
        found = {}
        for name, indices in given.items():
            at = self.places["inputs", str(name)] = self.document.place(("inputs", str(name)))
            sides = indices if isinstance(indices, list) else [indices]
            if not is_rank(name):
                self.faults.add(at, f"{name!r} must be the name of a tensor")
            elif not isinstance(indices, list) or not all(map(_is_side, sides)):
                self.faults.add(
                    at, f"{shown(indices)} must be a list of ranks and sizes, such as [c, 224]"
                )
            else:
                found[name] = tuple(sides)
        return found

    def _list(self, key: str) -> Iterable[object]:
        given = self.data[key]
        if isinstance(given, list) and (given or key != "einsums"):
            return given
        rule = "must be a list of lines" if key == "einsums" else "must be a list of tensors"
        self.faults.add(self.document.place((key,)), f"{shown(given)} {rule}")
        return ()


def _is_side(side: object) -> bool:
    return is_rank(side) or (type(side) is int and side >= 1)
