"""Online rules."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .strings import deficits as deficits
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
