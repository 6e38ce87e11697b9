"""Published chips and the model: published figures, modelled figures, and why they differ.

``figures.py`` says what a figure is. :mod:`.chip_files` reads files of measured chips, those of users
too; chips without zeros are such files. Chips that skip zeros are compared in Python, for their
figures are ratios of several runs, or take zeros at random places into account, which the model
spreads evenly: ``eyeriss_v2_networks.py``, ``scnn_networks.py``, ``dual_side_products.py``, with
``random_zeros.py``. ``built_in.py`` lists all that come with archloom.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .built_in import PAGE as PAGE, built_in as built_in
    from .figures import Chapter as Chapter, Figure as Figure
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
