"""Published or measured figures of chips, each beside ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One figure that somebody published or measured, and ours.

    Attributes:
        name: what it is, with its unit.
        ours, theirs: the values.
        source: where theirs stands.
        band: ratios of ours to theirs that we hold ourselves to; None where the difference is
            only explained.
        reason: why they differ.
        switched: ours with other assumptions, by the name of the switch.
        effect_of: name of the figure that this one shows with a switch; none for most.
    """

    name: str
    ours: float
    theirs: float
    source: str
    band: tuple[float, float] | None
    reason: str
    switched: Mapping[str, float] = field(default_factory=dict)
    effect_of: str = ""

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
    """The figures of one chip, and how ours are made.

    Attributes:
        title: chip and network.
        text: what was run, in Markdown.
        figures: in the order in which they are shown.
        run: the same in sentences that were made from the settings; none where ``text`` says all.
        switches: names of the switches that have a column of their own.
    """

    title: str
    text: str
    figures: tuple[Figure, ...]
    run: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
