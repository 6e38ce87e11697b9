"""Einsum of two operands, as ONNX and PyTorch write it: which product of matrices it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TwoOperands:
    """A sum of products over the indices that the result does not have.

    Attributes:
        operands: the indices of both, in the order of their dimensions.
        result: those of the result.
        sizes: of all indices.
    """

    operands: tuple[str, str]
    result: str
    sizes: Mapping[str, int]

    @property
    def batch(self) -> str:
        """Indices of both operands and of the result: a product for each of them."""
        return self._shared(kept=True)

    @property
    def inner(self) -> str:
        """Indices of both operands over which is summed."""
        return self._shared(kept=False)

    @property
    def rows(self) -> str:
        """Indices of the first operand alone."""
        return self._alone(0)

    @property
    def columns(self) -> str:
        """Indices of the second operand alone."""
        return self._alone(1)

    def shape(self, indices: str) -> tuple[int, ...]:
        """Return the sizes of some indices."""
        return tuple(self.sizes[i] for i in indices)

    def _shared(self, *, kept: bool) -> str:
        first, second = self.operands
        return "".join(i for i in first if i in second and (i in self.result) == kept)

    def _alone(self, which: int) -> str:
        return "".join(i for i in self.operands[which] if i not in self.operands[1 - which])


def two_operands(equation: str, shapes: Sequence[tuple[int, ...]]) -> TwoOperands:
    """Return what an equation says of two operands of known shapes.

    Raises:
        ValueError: an equation that is no product of two operands with indices of their own.
    """
    if len(shapes) != 2:
        raise ValueError("only products of two operands are supported")
    left, arrow, right = equation.replace(" ", "").partition("->")
    first, _, second = left.partition(",")
    sizes = _sizes((first, second), shapes)
    result = right if arrow else _implied(first + second)
    made = TwoOperands((first, second), result, sizes)
    alone = [i for i in made.rows + made.columns if i not in result]
    if alone or set(result) - set(sizes) or len(set(result)) < len(result):
        raise ValueError(
            "an index that only one operand has must be in the result, and the result "
            "may have no other indices"
        )
    return made


def _implied(indices: str) -> str:
    """Return the result's indices if an equation does not say them: those that do not repeat."""
    return "".join(sorted(i for i in set(indices) if indices.count(i) == 1))


def _sizes(operands: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for shape, indices in zip(shapes, operands, strict=True):
        if len(indices) != len(shape) or len(set(indices)) < len(indices):
            raise ValueError(f"indices {indices} must name each dimension of {shape} once")
        for index, size in zip(indices, shape, strict=True):
            if sizes.setdefault(index, size) != size:
                raise ValueError(f"index {index} has two sizes, {sizes[index]} and {size}")
    return sizes
