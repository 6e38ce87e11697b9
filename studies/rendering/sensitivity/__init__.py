"""What the assumed values of a design decide, for people: words, tables, a picture, JSON.

``words.py`` says changes and what decides; ``tables.py`` prints, ``tornado.py`` draws, and
``record.py`` has what ``--json`` prints.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .record import sensitivity_record as sensitivity_record
    from .tables import print_sensitivity as print_sensitivity
    from .tornado import draw_tornado as draw_tornado
    from .words import deciding_texts as deciding_texts, largest_text as largest_text
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
