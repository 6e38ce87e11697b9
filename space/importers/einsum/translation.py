"""Translation of lines to a graph: each expression by what it is made of."""

from collections.abc import Collection, Sequence
from typing import Final

from archloom.space.workload import ACTIVATIONS

from ...errors import did_you_mean
from ...yaml_reader import Faults
from ..graph import Graph
from .causal import CausalRanks
from .file import EinsumFile
from .graph_builder import GraphBuilder, Value
from .image_ranks import image_ranks
from .product import Factor, Setting, by_value, convolve, multiply
from .syntax import (
    Access,
    Call,
    Einsum,
    EinsumError,
    Expression,
    Number,
    Product,
    Quotient,
    Sum,
    accesses,
    free_ranks,
    ranks_in,
)
from .tensors import Program
from .vectors import POOLS, VECTORS, over_vectors, pooled, reduced

#: functions of one value; the slopes of a PReLU would have to be learned
_OF_VALUES: Final = (*(name for name in ACTIVATIONS if name != "prelu"), "rotary")
FUNCTIONS: Final = (*VECTORS, *POOLS, *_OF_VALUES)


def graph_of(program: Program, file: EinsumFile, faults: Faults) -> Graph:
    """Return what lines compute.

    Args:
        program: the lines.
        file: that they stand in.
        faults: gets what no operator is known for.
    """
    translation = _Translation(program, file.causal)
    for line in program.lines:
        try:
            translation.take(line.einsum)
        except EinsumError as error:
            faults.add(line.place, f"{line.einsum.tensor}: {error}")
            translation.lose(line.einsum)
    read = {access.tensor for line in program.lines for access in accesses(line.einsum.value)}
    made = [line.einsum.tensor for line in program.lines]
    leaving = [tensor for tensor in made if tensor not in read or tensor in file.outputs]
    if file.causal and not translation.build.masks:
        ranks = f"rank {file.causal.queries} with one of rank {file.causal.keys}"
        faults.add(file.causal.place, f"no product of a feature map of {ranks} uses the mask")
    return translation.build.graph(file.name, [translation.made[tensor] for tensor in leaving])


class _Translation:
    """Lines on their way to be a graph."""

    def __init__(self, program: Program, causal: CausalRanks | None) -> None:
        self.build = GraphBuilder(program.sizes)
        self.made: dict[str, str] = {}
        self._tensors = program.tensors
        self._image_ranks = image_ranks([line.einsum for line in program.lines])
        self.causal = causal

    def take(self, einsum: Einsum) -> None:
        """Add the operators of a line."""
        found = _Line(self, einsum).result()
        self.made[einsum.tensor] = self.build.laid(einsum.tensor, found, einsum.ranks)

    def lose(self, einsum: Einsum) -> None:
        """Put an input in the place of what could not be translated, so that what follows can."""
        sizes = [self.build.sizes[rank] for rank in einsum.ranks]
        self.made[einsum.tensor] = self.build.input(f"unknown {einsum.tensor}", sizes)

    def tensor(self, name: str) -> str:
        """Return the graph's tensor of a feature map."""
        if name not in self.made:
            self.made[name] = self.build.input(name, self._tensors[name].sizes)
        return self.made[name]

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return the sizes of a tensor."""
        return self._tensors[name].sizes

    def is_learned(self, name: str) -> bool:
        """Whether a tensor is a weight."""
        return self._tensors[name].kind == "weight"

    def around(self, node: str, kept: Collection[str], einsum: Einsum) -> Setting:
        """Return what a product has around it."""
        return Setting(node, kept, einsum.ranks, self._image_ranks, self.causal)


class _Line:
    """One line on its way."""

    def __init__(self, whole: _Translation, einsum: Einsum) -> None:
        self.whole = whole
        self.build = whole.build
        self.einsum = einsum

    def result(self) -> Value:
        """Return the value of the right side, with the ranks of the left."""
        einsum, left = self.einsum, set(self.einsum.ranks)
        missing = [rank for rank in einsum.ranks if rank not in ranks_in(einsum.value)]
        if missing:
            raise EinsumError(
                f"rank {missing[0]} occurs on the left only; a tensor on the right must have it"
            )
        found = self.value(einsum.value, frozenset(left), einsum.tensor)
        if found.learned:
            raise EinsumError("is computed from weights only; it must read a feature map")
        more = [rank for rank in found.ranks if rank not in left]
        if more and isinstance(_without_numbers(einsum.value), Access):
            return reduced(self.build, einsum.tensor, found, "mean", more)
        if more:
            raise EinsumError(f"rank {more[0]} is not on the left, and no product sums over it")
        lost = [rank for rank in einsum.ranks if rank not in found.ranks]
        if lost:
            raise EinsumError(f"rank {lost[0]} is on the left, but the right side sums over it")
        return found

    def value(self, expression: Expression, kept: frozenset[str], node: str) -> Value:
        """Return the value of an expression of which ``kept`` ranks are needed outside."""
        match expression:
            case Access():
                return self.access(expression)
            case Number():
                raise EinsumError("is only a number; a feature map must be read")
            case Call():
                return self.call(expression, kept, node)
            case Product(factors):
                return self.product(factors, kept, node)
            case Quotient(dividend, divisor):
                return self.quotient(dividend, divisor, kept, node)
            case Sum(terms):
                return self.sum(terms, kept, node)

    def access(self, access: Access) -> Value:
        """Return a tensor whose indices are ranks."""
        for index in access.indices:
            if index.plain is None:
                raise EinsumError(
                    f"index {index} of {access} is a window; use it in a product with a "
                    "weight that has the rank of the kernel, or in max(...) or mean(...)"
                )
        if self.whole.is_learned(access.tensor):
            return Value(access.tensor, access.ranks, learned=True)
        return Value(self.whole.tensor(access.tensor), access.ranks)

    def call(self, call: Call, kept: frozenset[str], node: str) -> Value:
        """Return the value of a function."""
        name = call.function
        if name not in FUNCTIONS:
            raise EinsumError(f"function {name!r} is not known; {did_you_mean(name, FUNCTIONS)}")
        if name in POOLS:
            return self.pool(call, kept, node)
        if name not in VECTORS and call.along:
            raise EinsumError(f"{name} works on single values; remove {', '.join(call.along)}")
        inner = self.value(call.argument, kept | set(call.along), self.part(node, call.argument))
        if inner.learned:
            raise EinsumError(f"{call} reads only a weight; it must read a feature map")
        if name in VECTORS:
            return over_vectors(self.build, node, inner, call, self.whole.causal)
        shape = (1, *(self.build.sizes[rank] for rank in inner.ranks))
        if name == "rotary":
            return Value(self.build.op(node, "rotary", [inner.tensor], shape), inner.ranks)
        made = self.build.op(node, "activation", [inner.tensor], shape, function=name)
        return Value(made, inner.ranks)

    def pool(self, call: Call, kept: frozenset[str], node: str) -> Value:
        """Return the maximum or mean over all ranks that are not needed outside."""
        access = call.argument
        if not isinstance(access, Access) or self.whole.is_learned(access.tensor):
            raise EinsumError(f"{call.function} takes one feature map, such as max(I[c,2*p+r])")
        if call.along:
            raise EinsumError(
                f"{call.function} works over the ranks that are not on the left; do not name ranks"
            )
        if any(index.plain is None for index in access.indices):
            given = Value(self.whole.tensor(access.tensor), ())
            sizes = self.whole.sizes(access.tensor)
            around = self.whole.around(node, kept, self.einsum)
            return pooled(self.build, call.function, access, given, sizes, around)
        given = self.access(access)
        gone = [rank for rank in given.ranks if rank not in kept]
        if not gone:
            raise EinsumError(
                f"{call} works over ranks that are not on the left, and all of them are; give the "
                "result a line of its own, with fewer ranks"
            )
        return reduced(self.build, node, given, call.function, gone)

    def product(self, factors: tuple[Expression, ...], kept: frozenset[str], node: str) -> Value:
        """Return the product of all factors that are no numbers."""
        factors = tuple(factor for factor in factors if not isinstance(factor, Number))
        if not factors:
            raise EinsumError("is only a number; a feature map must be read")
        if len(factors) == 1:
            return self.value(factors[0], kept, node)
        if len(factors) > 2:
            return self.long_product(factors, kept, node)
        around = self.whole.around(node, kept, self.einsum)
        for one, other in (factors, factors[::-1]):
            if isinstance(one, Access) and any(index.plain is None for index in one.indices):
                if self.whole.is_learned(one.tensor):
                    raise EinsumError(f"{one} is a weight, so its indices must be ranks")
                weight = self.factor(other, kept, factors, node)
                given = Value(self.whole.tensor(one.tensor), ())
                sizes = self.whole.sizes(one.tensor)
                return convolve(self.build, one, given, sizes, weight, around)
        first, second = (self.factor(factor, kept, factors, node) for factor in factors)
        return multiply(self.build, first, second, around)

    def long_product(
        self, factors: tuple[Expression, ...], kept: frozenset[str], node: str
    ) -> Value:
        """Return a product of three factors or more, value by value."""
        found = [self.factor(factor, kept, factors, node) for factor in factors]
        ranks = [rank for factor in found for rank in factor.value.ranks]
        summed = [rank for rank in dict.fromkeys(ranks) if rank not in kept]
        if summed:
            raise EinsumError(
                f"has {len(factors)} factors and sums over rank {summed[0]}; put parentheses "
                "around the two that are multiplied first, or give them a line of their own"
            )
        made = found[0]
        around = self.whole.around(node, kept, self.einsum)
        for factor in found[1:]:
            made = Factor(
                multiply(self.build, made, factor, around), f"{made.text} * {factor.text}"
            )
        return made.value

    def factor(
        self, factor: Expression, kept: frozenset[str], factors: tuple[Expression, ...], node: str
    ) -> Factor:
        """Return a factor; what the others do not sum over themselves is needed outside of it."""
        others = (free_ranks(other) for other in factors if other is not factor)
        needed = kept.union(*others)
        return Factor(self.value(factor, needed, self.part(node, factor)), str(factor))

    def quotient(
        self, dividend: Expression, divisor: Expression, kept: frozenset[str], node: str
    ) -> Value:
        """Return a quotient value by value; a number below the line costs nothing."""
        if isinstance(dividend, Number):
            raise EinsumError(f"divides {dividend} by a tensor, which no layer does")
        if isinstance(divisor, Number):
            return self.value(dividend, kept, node)
        one, other = (
            self.factor(side, kept, (dividend, divisor), node).value for side in (dividend, divisor)
        )
        if one.learned:
            raise EinsumError(f"divides the weight {dividend}; multiply by a feature map instead")
        return by_value(self.build, "div", one, other, node)

    def sum(self, terms: tuple[Expression, ...], kept: frozenset[str], node: str) -> Value:
        """Return a sum value by value; numbers in it cost nothing."""
        terms = tuple(term for term in terms if not isinstance(term, Number))
        if not terms:
            raise EinsumError("is only a number; a feature map must be read")
        found = [self.value(term, kept, self.part(node, term)) for term in terms]
        for term, value in zip(terms, found, strict=True):
            more = [rank for rank in value.ranks if rank not in kept]
            if more:
                raise EinsumError(
                    f"rank {more[0]} of {term} is not on the left; sum over it in a line of its own"
                )
        if len(found) > 1 and all(value.learned for value in found):
            raise EinsumError("adds weights only; it must read a feature map")
        total, *others = _in_order(terms, found)
        for other in others:
            total = by_value(self.build, "add", total, other, node)
        return total

    def part(self, node: str, inner: Expression) -> str:
        """Return the name of an expression inside of another."""
        kind = inner.function if isinstance(inner, Call) else type(inner).__name__.lower()
        return f"{node.partition('.')[0]}.{kind}"


def _in_order(terms: Sequence[Expression], values: Sequence[Value]) -> list[Value]:
    """Return terms so that a product takes up its bias: products, weights, other feature maps."""
    products = [v for t, v in zip(terms, values, strict=True) if isinstance(t, Product)]
    learned = [value for value in values if value.learned]
    others = [value for value in values if value not in products and not value.learned]
    return [*products, *learned, *others] if products else [*others, *learned]


def _without_numbers(expression: Expression) -> Expression:
    """Return the one factor of a product with numbers."""
    match expression:
        case Product(factors):
            rest = [factor for factor in factors if not isinstance(factor, Number)]
            return rest[0] if len(rest) == 1 else expression
        case Quotient(dividend, Number()):
            return _without_numbers(dividend)
        case _:
            return expression
