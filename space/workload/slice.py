"""What a layer needs not all of: boxes of feature maps, and pairs of a query and a key."""

from dataclasses import dataclass
from math import prod
from typing import Literal

#: Channels, rows and columns of a feature map.
Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Slice:
    """A box of a feature map; each attribute is (channels, rows, columns).

    Attributes:
        start: where the box begins.
        size: how large it is.
        of: the whole map, as others read it.

    Raises:
        ValueError: no three whole numbers, or a box that does not lie in the map.
    """

    start: Shape
    size: Shape
    of: Shape

    def __post_init__(self) -> None:
        for what, least in (("start", 0), ("size", 1), ("of", 1)):
            values: object = getattr(self, what)
            three = isinstance(values, tuple) and len(values) == 3
            if not three or any(type(v) is not int or v < least for v in values):  # type: ignore[attr-defined]
                raise ValueError(
                    f"{what} of a slice is {values!r}, must be three whole numbers, "
                    f"at least {least}"
                )
        if any(a + n > whole for a, n, whole in zip(self.start, self.size, self.of, strict=True)):
            raise ValueError(
                f"a slice from {self.start} of size {self.size} is outside a map of {self.of}"
            )

    @property
    def words(self) -> int:
        """Words in the box, of one image."""
        return prod(self.size)

    def __str__(self) -> str:
        """Return ``[start:end, ...]`` by axis, ``:`` where all of an axis is read."""
        sides = [
            ":" if n == whole else f"{a}:{a + n}"
            for a, n, whole in zip(self.start, self.size, self.of, strict=True)
        ]
        return f"[{', '.join(sides)}]"


def no_causal_mask(queries: int, keys: int, window: int) -> str:
    """Return why so many queries and keys have no causal mask with a window of so many keys (0 for
    none): each query must see a key, and each key be seen; nothing if they have one."""
    if queries > keys:
        return (
            f"{queries} queries see {keys} keys; the last key is the last query's own, so there "
            "must be at least as many keys as queries"
        )
    if 0 < window <= keys - queries:
        least = keys - queries + 1
        return f"with a window of {window} no query sees the first key; least: {least}"
    return ""


@dataclass(frozen=True, slots=True)
class Mask:
    """Causal mask of attention: a query sees its own key and those before it.

    The last query's own key is the last one: keys that are more than queries come before the first
    query (a cache). Rows of a layer lie along P, ``rows`` of them for each query, one query after
    the other.

    Attributes:
        keys: loop of the layer along which its keys lie.
        rows: of each query: heads of queries that share keys.
        window: keys that a query sees at the most, its own among them; 0 for all before it.

    Raises:
        ValueError: no such loop, or numbers that are not whole or too small.
    """

    keys: Literal["k", "c"]
    rows: int = 1
    window: int = 0

    def __post_init__(self) -> None:
        if self.keys not in ("k", "c"):
            raise ValueError(f"keys of a mask is {self.keys!r}, must be 'k' or 'c'")
        for what, least in (("rows", 1), ("window", 0)):
            value: object = getattr(self, what)
            if type(value) is not int or value < least:
                raise ValueError(
                    f"{what} of a mask is {value!r}, must be a whole number, at least {least}"
                )

    def pairs(self, queries: int, keys: int) -> int:
        """Pairs of a query and a key that it sees."""
        before = keys - queries
        seen = _sum_clipped(before + 1, queries, keys)
        return seen - _sum_clipped(before + 1 - self.window, queries, keys) * bool(self.window)

    def __str__(self) -> str:
        """Return what people call it."""
        return f"causal, window of {self.window}" if self.window else "causal"


def _sum_clipped(first: int, count: int, most: int) -> int:
    """Sum of ``count`` whole numbers from ``first`` on, each from 0 to ``most`` at the least and
    the most."""
    # of those up to n, the sum of what is above 0, less that of what is above ``most``
    last = first + count - 1
    return _sum_to(last) - _sum_to(first - 1) - _sum_to(last - most) + _sum_to(first - 1 - most)


def _sum_to(last: int) -> int:
    return last * (last + 1) // 2 if last > 0 else 0
