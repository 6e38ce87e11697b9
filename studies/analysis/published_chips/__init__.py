"""Published chips and the model: published figures, modelled figures, and why they differ.

``figures.py`` says what a figure is. :mod:`.chip_files` reads files of measured chips, those of
users too; chips without zeros are such files. Chips that skip zeros are compared in Python, for
their figures are ratios of several runs, or count zeros at random places, which the model spreads
evenly: ``eyeriss_v2_networks.py``, ``scnn_networks.py`` and ``dual_side_products.py``, with
``random_zeros.py``. :mod:`.simulators` compares what other tools compute for the same layers, and
``nvdla_networks.py`` runs NVDLA's convolution. ``vector_unit.py`` adds to the file of TPU v3 what
its vector unit would do. ``catalogue.py`` lists all chips that come with archloom.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .catalogue import PAGE as PAGE, built_in as built_in
    from .chip_files import chip_chapter as chip_chapter, read_chip as read_chip
    from .chip_files.chip_file import ChipFile as ChipFile
    from .figures import Chapter as Chapter, Figure as Figure
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
