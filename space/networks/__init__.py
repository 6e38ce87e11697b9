"""The catalogue of networks: every workload that a study file can name.

``registry.py`` lists the names, options and sources; the networks themselves stand in ``cnn/`` and
``transformers/``, a family a file. ``figures.py`` has what a list says of each.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .figures import (
        NetworkFigures as NetworkFigures,
        catalogue as catalogue,
        figures_of as figures_of,
        recorded_catalogue as recorded_catalogue,
    )
    from .registry import (
        NETWORKS as NETWORKS,
        Entry as Entry,
        Option as Option,
        entry as entry,
        network as network,
        option_clash as option_clash,
        option_fault as option_fault,
        options as options,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
