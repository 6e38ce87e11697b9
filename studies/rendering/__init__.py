"""Results for people: text for terminals, pictures, and HTML.

:mod:`.text` and :mod:`.pictures` draw single things, ``html.py`` has the pieces of a page and
:mod:`.report` puts a study's page together.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .html import (
        Cell as Cell,
        card as card,
        document as document,
        plot as plot,
        render as render,
        table as table,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
