"""Published figures of chips, each beside ours."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure that somebody published, and ours.

    Attributes:
        name: what it is, with its unit.
        ours, theirs: the values.
        source: where theirs stands.
        band: ratios of ours to theirs that we hold ourselves to; None where the difference is
            only explained.
        reason: why they differ.
    """

    name: str
    ours: float
    theirs: float
    source: str
    band: tuple[float, float] | None
    reason: str

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool:
        """Whether the ratio lies in the band, if there is one."""
        return self.band is None or self.band[0] <= self.ratio <= self.band[1]


@dataclass(frozen=True)
class Chapter:
    """The figures of one chip, and how ours are made."""

    title: str
    text: str
    figures: tuple[Figure, ...]
