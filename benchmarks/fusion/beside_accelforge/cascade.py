"""A cascade of products by their ranks, as a network of Archloom and as a workload of AccelForge.

    QK[m,p,h] = Q[m,h,e] * K[p,h,e]

The second tensor is the one that stands still in the array. Tensors that begin with ``W`` are
learned, others are feature maps: made by an earlier line, or inputs. A tensor's ranks are named by
the first line that has it; later lines may read them by other letters, in the same order. A line in
which every rank is in both tensors and the result runs on the vector unit, and so does
``S[m,p] = softmax(QK[m,p])``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Final

from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import linear, matmul, mul
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.vector_layer_builders import softmax

_TENSOR: Final = r"(\w+)\[([\w,]+)\]"
_PRODUCT: Final = re.compile(rf"{_TENSOR}={_TENSOR}\*{_TENSOR}")
_SOFTMAX: Final = re.compile(rf"{_TENSOR}=softmax\({_TENSOR}\)")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as one line of a cascade has it: its name and the letters of its ranks."""

    name: str
    ranks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """One line: a result of one tensor (softmax) or two."""

    result: Tensor
    operands: tuple[Tensor, ...]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Operands, then the result."""
        return (*self.operands, self.result)

    @property
    def elementwise(self) -> bool:
        """Whether it runs on the vector unit."""
        return len({frozenset(t.ranks) for t in self.tensors}) == 1

    def ranks(self, *where: bool) -> tuple[str, ...]:
        """Return ranks that are in the first operand, the second and the result, or are not."""
        every = dict.fromkeys(r for t in self.tensors for r in t.ranks)
        return tuple(r for r in every if tuple(r in t.ranks for t in self.tensors) == where)


@dataclass(frozen=True)
class Cascade:
    """Products one after another, and the size of every rank.

    Raises:
        ValueError: a line that is no product, or a rank without a size.
    """

    name: str
    lines: tuple[str, ...]
    sizes: Mapping[str, int]

    def __post_init__(self) -> None:
        letters = {r for product in self.products for t in product.tensors for r in t.ranks}
        if lacking := sorted(letters - set(self.sizes)):
            raise ValueError(f"{self.name}: no size of {', '.join(lacking)}")

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """The lines, read."""
        return tuple(_read(line) for line in self.lines)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of products, which are those of their results."""
        return tuple(product.result.name for product in self.products)

    def words(self, tensor: Tensor) -> int:
        """Words of a tensor."""
        return self.size(*tensor.ranks)

    def size(self, *ranks: str) -> int:
        """Product of the sizes of ranks."""
        return prod(self.sizes[rank] for rank in ranks)

    def network(self) -> Network:
        """Return the cascade as a network."""
        made: set[str] = set()
        layers, reads = [], []
        for product in self.products:
            layers.append(self._layer(product))
            maps = [t.name for t in product.operands if not t.name.startswith("W")]
            reads.append(tuple(name if name in made else f"{INPUT}:{name}" for name in maps))
            made.add(product.result.name)
        return Network(self.name, tuple(layers), tuple(reads))

    def _layer(self, product: Product) -> Layer:
        name = product.result.name
        if len(product.operands) == 1:
            # the last rank but heads is the one that softmax sums over
            m, length, *heads = product.result.ranks
            return softmax(name, self.sizes[length], self.sizes[m], self.size(*heads))
        if product.elementwise:
            rows, *features = product.result.ranks
            return mul(name, self.size(*features), (self.sizes[rows], 1))
        heads_of, m, k, n = (
            self.size(*product.ranks(*where))
            for where in (
                (True,) * 3,
                (True, False, True),
                (True, True, False),
                (False, True, True),
            )
        )
        if product.operands[1].name.startswith("W"):
            return linear(name, k, n, m, bias=False)
        return matmul(name, heads_of, m, k, n)

    def accelforge_workload(self) -> dict[str, Any]:
        """Return the cascade as AccelForge's ``workload``, words of 16 bits."""
        named: dict[str, tuple[str, ...]] = {}
        einsums = []
        for product in self.products:
            texts = [_accesses(t, named) for t in product.tensors]
            renames: dict[str, str] = {"input": product.operands[0].name}
            if product.elementwise:
                renames["input"] = " | ".join(t.name for t in product.operands)
            renames["weight"] = "Nothing" if product.elementwise else product.operands[1].name
            renames["output"] = product.result.name
            einsums.append(
                {"einsum": f"{texts[-1]} = {' * '.join(texts[:-1])}", "renames": renames}
            )
        sizes = {rank.upper(): self.sizes[rank] for ranks in named.values() for rank in ranks}
        return {"rank_sizes": sizes, "bits_per_value": {"All": 16}, "einsums": einsums}


def _read(line: str) -> Product:
    bare = line.replace(" ", "")
    found = _PRODUCT.fullmatch(bare) or _SOFTMAX.fullmatch(bare)
    if found is None:
        raise ValueError(f"{line!r} is no product of two tensors and no softmax")
    texts = found.groups()
    pairs = zip(texts[::2], texts[1::2], strict=True)
    result, *operands = (Tensor(name, tuple(ranks.split(","))) for name, ranks in pairs)
    return Product(result, tuple(operands))


def _accesses(tensor: Tensor, named: dict[str, tuple[str, ...]]) -> str:
    """Return a tensor as AccelForge reads it: ``K[M: p, h]`` where its rank M is read by p."""
    own = named.setdefault(tensor.name, tensor.ranks)
    pairs = zip(own, tensor.ranks, strict=True)
    ranks = [read if read == rank else f"{rank.upper()}: {read}" for rank, read in pairs]
    return f"{tensor.name}[{', '.join(ranks)}]"
