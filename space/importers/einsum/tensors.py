"""Tensors of a file: where each comes from, its size, and whether all lines agree on that."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ...errors import did_you_mean
from ...yaml_reader import Faults, Place
from .batch import inputs_without_batch, without_batch
from .file import EinsumFile, Line
from .syntax import Access, Index, accesses, ranks_in
from .window import reach

Kind = Literal["made", "weight", "input"]
_KIND_TEXTS: Final[dict[Kind, str]] = {
    "made": "is computed",
    "weight": "is a weight",
    "input": "is read",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as it was first said to be.

    Attributes:
        kind: whether a line makes it, or it is learned, or it comes from outside.
        sizes: of its dimensions.
        shown: its indices as they were first written.
        line: of the file in which it was; None if unknown.
    """

    kind: Kind
    sizes: tuple[int, ...]
    shown: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Program:
    """Lines that are right as far as names and sizes go, and their tensors by name."""

    lines: tuple[Line, ...]
    sizes: dict[str, int]
    tensors: dict[str, Tensor]


def program_of(file: EinsumFile, faults: Faults) -> Program:
    """Return the lines of a file, those left out in which a rank or a tensor is wrong.

    Args:
        file: as it was read.
        faults: gets all that is wrong.
    """
    given = inputs_without_batch(file, faults)
    lines = without_batch(file, faults)
    known = {rank: size for rank, size in file.sizes.items() if size is not None}
    found = _Tensors(file, known, faults)
    found.state(given)
    kept = []
    later = Counter(line.einsum.tensor for line in lines)
    lost: set[str] = set()
    for line in lines:
        read = {access.tensor for access in accesses(line.einsum.value)} - set(found.tensors)
        for name in sorted(read - lost):
            if later[name]:
                faults.add(line.place, f"reads {name}, which no earlier line computes")
        if found.take(line, lost.union(later)) and not read & lost:
            kept.append(line)
        if line.einsum.tensor not in found.tensors:
            lost.add(line.einsum.tensor)
        later -= Counter([line.einsum.tensor])
    found.refuse_idle()
    return Program(tuple(kept), known, found.tensors)


class _Tensors:
    """Tensors by name, as far as a file has been read."""

    def __init__(self, file: EinsumFile, sizes: Mapping[str, int], faults: Faults) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._file = file
        self._sizes = sizes
        self._faults = faults
        self._read: set[str] = set()

    def state(self, inputs: Mapping[str, Sequence[str | int]]) -> None:
        """Note the inputs whose sizes are stated."""
        for name, sides in inputs.items():
            place = self._file.places.get(("inputs", name), Place())
            wrong = [side for side in sides if isinstance(side, str) and side not in self._sizes]
            for side in wrong:
                self._unknown(place, side)
            sizes = tuple(s if isinstance(s, int) else self._sizes.get(s, 1) for s in sides)
            if name in self._file.weights:
                self._faults.add(place, "is listed under weights, so it cannot be an input")
            elif not wrong:
                shown = f"{name}[{','.join(map(str, sides))}]"
                self.tensors[name] = Tensor("input", sizes, shown, place.line)

    def take(self, line: Line, missing: Collection[str]) -> bool:
        """Note what a line reads and makes; False if a rank or a tensor in it is wrong.

        Of tensors in ``missing`` nothing can be said yet.
        """
        einsum, place = line.einsum, line.place
        unknown = [
            r for r in sorted({*einsum.ranks, *ranks_in(einsum.value)}) if r not in self._sizes
        ]
        for rank in unknown:
            self._unknown(place, rank)
        messages = [] if unknown else list(self._misread(line, missing))
        self._read |= {access.tensor for access in accesses(einsum.value)}
        if einsum.tensor in self._file.weights:
            messages.append(f"computes {einsum.tensor}, which is listed under weights")
        elif einsum.tensor in self.tensors:
            first = self.tensors[einsum.tensor]
            at = f" on line {first.line}" if first.line else ""
            messages.append(
                f"computes {einsum.tensor}, which {_KIND_TEXTS[first.kind]}{at} already"
            )
        elif set(einsum.ranks) <= set(self._sizes):
            shown = f"{einsum.tensor}[{','.join(einsum.ranks)}]"
            sizes = tuple(self._sizes[rank] for rank in einsum.ranks)
            self.tensors[einsum.tensor] = Tensor("made", sizes, shown, place.line)
        for message in messages:
            self._faults.add(place, message)
        return not (unknown or messages)

    def refuse_idle(self) -> None:
        """Refuse names that mean nothing: weights and inputs without a reader, other outputs."""
        made = sorted({line.einsum.tensor for line in self._file.lines})
        read = sorted(self._read)
        for (key, name), place in self._file.places.items():
            if key != "outputs" and name not in self._read:
                self._faults.add(place, f"no line reads {name}; {did_you_mean(name, read)}")
            elif key == "outputs" and name not in made:
                self._faults.add(place, f"no line computes {name}; {did_you_mean(name, made)}")

    def _unknown(self, place: Place, rank: str) -> None:
        if rank not in self._file.sizes:
            hint = did_you_mean(rank, self._file.sizes)
            self._faults.add(place, f"rank {rank} has no size; add it under ranks; {hint}")

    def _misread(self, line: Line, missing: Collection[str]) -> Iterator[str]:
        """Say what is wrong with the tensors that a line reads."""
        for access in accesses(line.einsum.value):
            ranks = [rank for index in access.indices for rank in index.ranks]
            twice = [rank for rank in access.ranks if ranks.count(rank) > 1]
            if twice:
                yield f"{access} has rank {twice[0]} in two indices"
                continue
            known = self.tensors.get(access.tensor)
            learned = access.tensor in self._file.weights
            if known is None and (learned or access.tensor not in missing):
                sizes = tuple(self._least(index) for index in access.indices)
                kind: Kind = "weight" if learned else "input"
                self.tensors[access.tensor] = Tensor(kind, sizes, str(access), line.place.line)
            elif known is not None:
                yield from self._disagreement(access, known)

    def _least(self, index: Index) -> int:
        """Return the size of a dimension that an index covers, padding at both ends left out."""
        return max(1, reach(index, self._sizes) + 2 * min(0, index.offset))

    def _disagreement(self, access: Access, known: Tensor) -> Iterator[str]:
        said = f"{known.shown} on line {known.line}" if known.line else known.shown
        if len(access.indices) != len(known.sizes):
            yield (
                f"{access} has {len(access.indices)} indices, {access.tensor} has "
                f"{len(known.sizes)}: {said}"
            )
            return
        for i, (index, size) in enumerate(zip(access.indices, known.sizes, strict=True)):
            rank = index.plain
            if rank is not None and self._sizes[rank] != size:
                yield (
                    f"rank {rank} is {self._sizes[rank]}, but index {i + 1} of {access.tensor} is "
                    f"{size}: {said}"
                )
