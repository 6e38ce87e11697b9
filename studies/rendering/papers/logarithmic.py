"""Logarithmic axes with plain numbers."""

from math import floor, log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axis import Axis

#: greatest over least value of an axis up to which numbers between powers of ten are labelled
_NARROW: Final = 150


def label_plainly(axis: "Axis") -> None:
    """Label a logarithmic axis with 20 and 0.5 instead of powers of ten and multiples of them."""

    def between(value: float, _: float) -> str:
        least, most = sorted(axis.get_view_interval())
        if most > _NARROW * least:
            return ""
        first = round(value / 10 ** floor(log10(value)))
        return f"{value:g}" if first in (2, 5) else ""

    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(between)
