"""Batch: a rank that counts images, taken out of every line before the rest is looked at."""

from collections.abc import Iterator

from ...yaml_reader import Faults, Place
from .file import EinsumFile, Line
from .syntax import Access, Call, Einsum, Expression, Product, Quotient, Sum, accesses, calls


def without_batch(file: EinsumFile, faults: Faults) -> tuple[Line, ...]:
    """Return the lines of one image; what cannot work on images one by one is a fault."""
    batch = file.batch
    if batch is None:
        return file.lines
    places: dict[str, int] = {}
    for line in file.lines:
        for message in _faults(line, batch, file.weights, places):
            faults.add(line.place, message)
    return tuple(Line(line.place, _stripped(line.einsum, batch)) for line in file.lines)


def inputs_without_batch(file: EinsumFile, faults: Faults) -> dict[str, tuple[str | int, ...]]:
    """Return the indices of stated inputs without the batch."""
    for name, sides in file.inputs.items():
        if file.batch is not None and sides.count(file.batch) != 1:
            place = file.places.get(("inputs", name), Place())
            faults.add(place, f"must have the batch rank {file.batch} exactly once")
    return {
        name: tuple(side for side in sides if side != file.batch)
        for name, sides in file.inputs.items()
    }


def _faults(
    line: Line, batch: str, weights: tuple[str, ...], places: dict[str, int]
) -> Iterator[str]:
    einsum = line.einsum
    named = f"the batch rank {batch}"
    if batch not in einsum.ranks:
        yield f"{einsum.tensor} must have {named}; a layer may not mix the images of a batch"
    else:
        places.setdefault(einsum.tensor, einsum.ranks.index(batch))
    for access in accesses(einsum.value):
        plain = [i for i, index in enumerate(access.indices) if index.plain == batch]
        used = batch in access.ranks
        if access.tensor in weights:
            if used:
                yield (
                    f"{access} is a weight, so it may not have {named}; all images use the "
                    "same weights"
                )
        elif not plain:
            how = "as an index by itself" if used else "too"
            yield f"{access} must have {named} {how}"
        elif places.setdefault(access.tensor, plain[0]) != plain[0]:
            yield (
                f"{access} has {named} as index {plain[0] + 1}, elsewhere {access.tensor} has it "
                f"as index {places[access.tensor] + 1}"
            )
    if any(batch in call.along for call in calls(einsum.value)):
        yield f"works over {named}; a layer may not mix the images of a batch"


def _stripped(einsum: Einsum, batch: str) -> Einsum:
    ranks = tuple(rank for rank in einsum.ranks if rank != batch)
    return Einsum(einsum.tensor, ranks, _without(einsum.value, batch))


def _without(expression: Expression, batch: str) -> Expression:
    match expression:
        case Access(tensor, indices):
            return Access(tensor, tuple(index for index in indices if batch not in index.ranks))
        case Call(function, argument, along):
            return Call(function, _without(argument, batch), along)
        case Product(factors):
            return Product(tuple(_without(factor, batch) for factor in factors))
        case Quotient(dividend, divisor):
            return Quotient(_without(dividend, batch), _without(divisor, batch))
        case Sum(terms):
            return Sum(tuple(_without(term, batch) for term in terms))
        case _:
            return expression
