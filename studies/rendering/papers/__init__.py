"""Pictures of tables of papers: ``picture.py`` draws a table, by the kind that it is of."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .picture import draw_table as draw_table
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
