"""Unrollings: which factors of the loops run in parallel, and where they stand on the meshes.

``unrollings.py`` first; ``mesh_packing.py`` says what fits a mesh, ``array_shapes.py`` how
many rows and columns of an array that takes, ``mesh_layouts.py`` and
``noc_layouts.py`` are for hardware whose words take hops.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .array_shapes import array_of as array_of, set_array_axes as set_array_axes
    from .mesh_layouts import Layouts as Layouts, distances as distances
    from .noc_layouts import (
        UNWIRED as UNWIRED,
        NocLayout as NocLayout,
        find_noc_layouts as find_noc_layouts,
        parts_of as parts_of,
        wired as wired,
        wired_least as wired_least,
    )
    from .unrollings import (
        axes_of as axes_of,
        guesses_of as guesses_of,
        is_mirrored as is_mirrored,
        keeps_of as keeps_of,
        sides_of as sides_of,
        touched as touched,
        unrolled_by as unrolled_by,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
