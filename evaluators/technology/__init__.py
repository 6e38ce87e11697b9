"""Technology tables: energies, areas and leakage at a node, each entry with its source.

``table.py`` is the value, ``reader.py`` reads the YAML files in ``tables/``, ``sram.py``
interpolates CACTI's results and ``node_scaling.py`` goes from one node to another. ``memory.py``
prices the buffers of a level.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .memory import (
        ByKind as ByKind,
        MemoryKind as MemoryKind,
        buffer_cost as buffer_cost,
        by_kind as by_kind,
        memory_cost as memory_cost,
        own_pj as own_pj,
    )
    from .registry import technology as technology, technology_names as technology_names
    from .sram import BufferCost as BufferCost
    from .table import Technology as Technology
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
