"""The best stream of several networks in given shares, and the most that any could do.

At the shares s_m, queries of the mix at a rate r take r sum s_m d_m of the time in each row of the
linear program of ``evaluators/weaving/throughput/bound.py``, where d_m are the ticks of a query
(:func:`archloom.evaluators.weaving.steady_rows`). So no schedule's rate is above 1 / max over rows
of sum s_m d_m: that program with the ratios of all rates given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.weaving import Ticks, steady_rows

from .mix_kernel import SERIAL, Mix, stream_order
from .rules import deficits

#: targets that are tried, as shares of the weight buffer (section "strings" of
#: docs/explanation/weaving.md)
TARGETS: Final = (0.02, 0.1, 0.2, 0.35, 0.5, 0.8)

#: queries that a chain may be ahead of its turn; more gain nothing, and wait longer
_AHEAD: Final = 2

#: layers of the stream that counts, and of those that are tried: what starts and ends it is less
#: than a thousandth
_LAYERS: Final = 200_000
_TRIED: Final = 20_000

#: queries of the rarest chain, as far as there are no more layers than that
_QUERIES: Final = 8
_MOST_LAYERS: Final = 4_000_000

#: what all ticks of a stream may add up to
_MOST_TICKS: Final = 2**61

#: relative; demands are sums of whole numbers
_ROUNDING: Final = 1e-12


@dataclass(frozen=True, eq=False)
class MixedStream:
    """A stream of several chains, and what bounds it.

    Attributes:
        rate: queries of the mix per tick, where each chain has at least its share of them.
        bound: no schedule's rate is above it.
        target: of the strings, as a share of the weight buffer; None for one query after another.
        busy: shares of the time in which array and pins work.
    """

    rate: float
    bound: float
    target: float | None
    busy: tuple[float, float]


def mixed_stream(work: Ticks, shares: Sequence[float]) -> MixedStream:
    """Return the best of the streams that are tried.

    Args:
        work: chains.
        shares: of all queries; positive, and they add up to 1.
    """
    mix, rows = np.asarray(shares, np.float64), steady_rows(work)
    bound = 1.0 / (float((mix @ rows).max()) * (1 - _ROUNDING))
    needs = deficits(work, True)
    short = _queries(work, mix, _TRIED)
    targets = [SERIAL, *(int(share * work.buffer) for share in TARGETS)]
    tried = [_done(work, short, needs, target) for target in targets]
    best = int(np.argmin(tried))
    queries = _queries(work, mix, _LAYERS)
    done = _done(work, queries, needs, targets[best])
    compute, pins = (queries @ rows[:, :2]) / done
    return MixedStream(
        float((queries / mix).min() / done),
        bound,
        TARGETS[best - 1] if best else None,
        (float(compute), float(pins)),
    )


def _done(work: Ticks, queries: Ints, needs: Ints, target: int) -> int:
    order = _blank(work, queries)
    return int(stream_order(work, Mix(queries, _AHEAD, needs, target), order))


def _blank(work: Ticks, queries: Ints) -> Ints:
    return np.empty(int(queries @ np.diff(work.first)), np.int64)


def _queries(work: Ticks, mix: Floats, layers: int) -> Ints:
    """Return whole numbers of queries in nearly these shares, of about so many layers.

    More where the rarest chain would have but a few. Of all sums between half as many and as many,
    the one in which the least is wasted.
    """
    mean = float(mix @ np.diff(work.first))
    layers = max(layers, min(_MOST_LAYERS, int(_QUERIES * mean / float(mix.min()))))
    # as far as sums of ticks stay exact
    longest = max(1, *(int(row.max()) for row in (work.fetch, work.compute, work.maps)))
    layers = min(layers, _MOST_TICKS // (3 * longest))
    most = max(1, int(layers / mean))
    sums = np.arange(max(1, most // 2), most + 1)
    counts = np.maximum(1, np.rint(np.outer(sums, mix))).astype(np.int64)
    ratios = counts / mix
    waste = ratios.max(axis=1) / ratios.min(axis=1)
    found: Ints = counts[int(np.argmin(waste - 1e-9 * sums))]
    return found
