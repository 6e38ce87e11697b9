"""Surrogate models: what software search would find for designs that were not evaluated.

Read ``features.py`` and ``gp.py`` (a Gaussian process; fitted in ``gp_fit.py``), then
``posterior.py`` (all objectives of a design together) and ``ehvi.py`` with
``box_decomposition.py`` (expected hypervolume improvement in closed form). ``update_filter.py`` is
CASCO's high-fidelity filter, ``subset_of_data.py`` keeps long histories cheap.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .botorch_partitioning import cell_partitioning as cell_partitioning
    from .box_decomposition import DominatedRegion as DominatedRegion
    from .features import FEATURES as FEATURES, domain_features as domain_features
    from .gp import GaussianProcess as GaussianProcess, Prior as Prior, Surrogate as Surrogate
    from .gp_fit import (
        ROUGH_NOISE_PRIOR as ROUGH_NOISE_PRIOR,
        HyperparameterCache as HyperparameterCache,
        fitted_rows as fitted_rows,
        single_threaded_torch as single_threaded_torch,
    )
    from .posterior import EncodedDesigns as EncodedDesigns, Posterior as Posterior
    from .subset_of_data import (
        MOST_ROWS as MOST_ROWS,
        farthest_points as farthest_points,
        informative_rows as informative_rows,
        last_refresh as last_refresh,
    )
    from .threads import one_thread as one_thread
    from .update_filter import high_fidelity as high_fidelity
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
