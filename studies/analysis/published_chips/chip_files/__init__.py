"""Chip files: a chip, what runs on it, and what was measured there, in YAML.

Read ``chip_file.py`` (the file as a whole), then ``rows.py`` (measured layers), ``remarks.py``
(what is said of a figure), ``hardware_part.py`` and ``mapping_part.py``. ``kinds.py`` computes each
kind of figure from the costs of layers, and ``chapter.py`` puts them beside what was measured.
``chips/`` has the files that come with archloom.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .chapter import Tell as Tell, chip_chapter as chip_chapter
    from .chip_file import own_chips as own_chips, read_chip as read_chip
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
