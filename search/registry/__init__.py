"""Registry of the interchangeable parts of a search, by the names that users write.

``families.py`` has the families and their parts, ``source_parameters.py`` reads the options of a
part without importing it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .families import (
        BUDGET_ALLOCATORS as BUDGET_ALLOCATORS,
        FUSION_SEARCHES as FUSION_SEARCHES,
        HARDWARE_OPTIMIZERS as HARDWARE_OPTIMIZERS,
        MAPPING_SEARCHES as MAPPING_SEARCHES,
        RENAMED as RENAMED,
        WEAVERS as WEAVERS,
        Family as Family,
        first_name as first_name,
        renamed as renamed,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
