"""The elbow: how far a model can be compressed before its accuracy drops."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class LevelAccuracy:
    """Accuracies of one level of compression.

    Attributes:
        level: how much is gone, from 0 to 1.
        percent: top-1 accuracy of each seed, in the order of seeds.
    """

    level: float
    percent: tuple[float, ...]


def allowed_drop(dense: Sequence[float], tolerance_points: float) -> float:
    """Return by how many points the mean may fall: the tolerance, or the noise if that is more.

    The noise is the standard deviation of the dense model over seeds; 0 with one seed.
    """
    return max(tolerance_points, stdev(dense) if len(dense) > 1 else 0.0)


def elbow_of(
    dense: Sequence[float], levels: Sequence[LevelAccuracy], tolerance_points: float = 1.0
) -> LevelAccuracy | None:
    """Return the most compressed level before the first drop; None if already the first one drops.

    A level drops if its mean accuracy lies more than :func:`allowed_drop` below that of the dense
    model. DLAS (Gibson et al., ACM TACO 2024, section 4.2) takes "the highest compression ratio
    before a significant accuracy drop"; what is significant it leaves open, so that is a parameter
    here.

    Args:
        dense: accuracy of the dense model for each seed, in percent.
        levels: in any order.
        tolerance_points: in points of a percent.
    """
    least = fmean(dense) - allowed_drop(dense, tolerance_points)
    found = None
    for level in sorted(levels, key=lambda each: each.level):
        # what differs by rounding alone is equal
        if fmean(level.percent) < least - 1e-9:
            break
        found = level
    return found
