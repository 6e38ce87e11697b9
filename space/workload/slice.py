"""Slice: the box of a feature map that a layer reads if it does not read all of it."""

from dataclasses import dataclass
from math import prod

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
                    f"{what} of a slice is {values!r}, it must be three whole numbers, "
                    f"at least {least}"
                )
        if any(a + n > whole for a, n, whole in zip(self.start, self.size, self.of, strict=True)):
            raise ValueError(
                f"a slice from {self.start} of size {self.size} does not lie in a map of {self.of}"
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
