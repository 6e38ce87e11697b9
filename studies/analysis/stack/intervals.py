"""How far figures can be trusted: ratios of noisy times, means over models, rank correlations."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan, prod, sqrt
from statistics import fmean, variance
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.host import Ratio

#: share of what a 95% interval leaves out at each end
_TAIL: Final = 0.025

_RESAMPLES: Final = 2000

Interval = tuple[float, float]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Time:
    """A time, and how far it can be trusted.

    Attributes:
        us: median, in microseconds; not a number if there are kernels and all were refused.
        noise: as a share.
        at_most: whether it is the fastest of several of which some were refused: one of those may
            be faster.
    """

    us: float
    noise: float
    at_most: bool = False


#: the time of kernels that were all refused
REFUSED: Final = Time(nan, 0.0, at_most=True)


@dataclass(frozen=True, slots=True)
class Quotient:
    """A ratio and where it may lie.

    Attributes:
        value: the ratio; not a number if one side was refused.
        low, high: ends of its interval; 0 or infinite where a refused row leaves it open.
    """

    value: float
    low: float
    high: float

    def over(self, other: "Quotient") -> "Quotient":
        """Return this ratio divided by another one, as if their noises added up."""
        return Quotient(
            self.value / other.value,
            self.low / other.high,
            self.high / other.low if other.low else inf,
        )

    def scaled(self, factor: float) -> "Quotient":
        """Return the ratio times an exact number."""
        return Quotient(self.value * factor, self.low * factor, self.high * factor)

    def below(self, bound: float) -> bool | None:
        """Whether the ratio is below a bound; None if that is not resolved."""
        if self.high < bound:
            return True
        return False if self.low > bound else None

    @property
    def closed(self) -> bool:
        """Whether no refused row leaves an end open."""
        return self.low > 0 and self.high < inf

    def __str__(self) -> str:
        """Return the ratio with its interval."""
        if isnan(self.value):
            return "refused"
        high = "unbounded" if self.high == inf else f"{self.high:.2f}"
        return f"{self.value:.2f} ({self.low:.2f} to {high})"


def quotient(one: Time, other: Time) -> Quotient:
    """Return how many times as long one takes as the other.

    The interval is that of :class:`archloom.evaluators.host.Ratio`: one plus twice the noise of the
    noisier time, to either side.
    """
    if isnan(one.us) or isnan(other.us):
        return Quotient(nan, 0.0, inf)
    found = Ratio(one.us / other.us, max(one.noise, other.noise))
    low, high = found.interval
    return Quotient(found.value, 0.0 if one.at_most else low, inf if other.at_most else high)


def geometric_mean(quotients: Sequence[Quotient]) -> Quotient:
    """Return the geometric mean of ratios, of one at least; its ends are those of their ends.

    That is as if all noise went one way: the widest interval there can be.
    """
    share = 1 / len(quotients)
    return Quotient(
        prod(each.value**share for each in quotients),
        prod(each.low**share for each in quotients),
        prod(each.high**share for each in quotients),
    )


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95% interval of a mean by Student's t; None for fewer than two values."""
    if len(values) < 2:
        return None
    half = _student(len(values) - 1) * sqrt(variance(values) / len(values))
    return fmean(values) - half, fmean(values) + half


def difference_interval(ones: Sequence[float], others: Sequence[float]) -> Interval | None:
    """Return the 95% interval of a difference of two means; None if one has fewer than two values.

    Welch's standard error (Biometrika 34, 1947), with the smaller of the two degrees of freedom,
    which is never too narrow.
    """
    least = min(len(ones), len(others))
    if least < 2:
        return None
    error = sqrt(variance(ones) / len(ones) + variance(others) / len(others))
    middle, half = fmean(ones) - fmean(others), _student(least - 1) * error
    return middle - half, middle + half


def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - _TAIL))


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, ties by their mean rank; None if one never changes."""
    found = _correlations(_ranks(np.array([xs], float)), _ranks(np.array([ys], float)))[0]
    return None if np.isnan(found) else float(found)


def correlation_interval(xs: Sequence[float], ys: Sequence[float]) -> Interval | None:
    """Return the 95% interval of a rank correlation by the bootstrap; None if there is none.

    Pairs are drawn again with replacement; the ends are percentiles of the resamples' correlations
    (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13). Samples in which
    one of the two never changes are left out.
    """
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, len(xs), (_RESAMPLES, len(xs)))
    found = _correlations(_ranks(np.array(xs, float)[drawn]), _ranks(np.array(ys, float)[drawn]))
    found = found[~np.isnan(found)]
    if not len(found):
        return None
    low, high = np.quantile(found, (_TAIL, 1 - _TAIL))
    return float(low), float(high)


def _ranks(values: Floats) -> Floats:
    """Return ranks along the last axis, ties by their mean."""
    one, other = values[:, :, None], values[:, None, :]
    ranks: Floats = (one > other).sum(axis=2) + 0.5 * (one == other).sum(axis=2)
    return ranks


def _correlations(xs: Floats, ys: Floats) -> Floats:
    """Return the correlation of each pair of rows; not a number where one does not change."""
    xs = xs - xs.mean(axis=1, keepdims=True)
    ys = ys - ys.mean(axis=1, keepdims=True)
    length = np.sqrt((xs**2).sum(axis=1) * (ys**2).sum(axis=1))
    products = (xs * ys).sum(axis=1)
    found: Floats = np.full(len(xs), np.nan)
    np.divide(products, length, out=found, where=length > 0)
    return found
