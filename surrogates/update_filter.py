"""CASCO's high-fidelity update: a filter of the trials that a surrogate is fitted to."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats

#: Weight of the sum in the scalar: ParEGO's value (Knowles 2006, section III); CASCO's
#: equation 1 leaves it open.
RHO: Final = 0.05

#: Percentile of the accepted distances that becomes the next limit (CASCO, section III-A).
_PERCENTILE: Final = 95.0


def high_fidelity(values: Floats, batch: int, seed: int) -> NDArray[np.bool_]:
    """Return which trials pass CASCO's upper update limit (UUL).

    Trials are taken in batches, as they were asked. A batch draws ParEGO weights w; every
    trial so far gets v = max_j(w_j y_j) + rho sum_j(w_j y_j) (CASCO, equation 1) over
    objectives scaled to [0, 1], and d = abs(v - best v). Those of the batch with d below UUL
    are accepted; UUL then becomes the 95th percentile of the accepted distances. The paper
    leaves the start open (ours: UUL = inf) and the weights of old trials (ours: every v is
    taken anew under the weights of the batch). The best trial always stays.

    Args:
        values: [n, m] objectives to minimise, finite, in the order in which they were asked.
        batch: trials of one iteration.
        seed: seed of the weights.

    Returns:
        bool[n].
    """
    accepted = np.zeros(len(values), dtype=np.bool_)
    limit = np.inf
    for iteration, start in enumerate(range(0, len(values), batch)):
        end = min(start + batch, len(values))
        rng = np.random.default_rng([seed, iteration])
        scalars = fidelity_scalars(values[:end], rng.dirichlet(np.ones(values.shape[1])))
        distance = np.abs(scalars - scalars.min())
        accepted[start:end] = distance[start:end] < limit
        accepted[int(np.argmin(scalars))] = True
        limit = float(np.percentile(distance[accepted[:end]], _PERCENTILE))
    return accepted


def fidelity_scalars(values: Floats, weights: Floats) -> Floats:
    """Return CASCO's fidelity scalar v (equation 1) of each row of ``values`` [n, m]."""
    low = values.min(axis=0)
    span = np.maximum(values.max(axis=0) - low, 1e-300)
    weighted = (values - low) / span * weights
    return np.asarray(weighted.max(axis=1) + RHO * weighted.sum(axis=1))
