"""Timeloop's architectures, in all formats from v0.2 to v0.4.

``reader.py`` makes the levels of a case record from ``parts.py``, which ``tree.py`` and
``nodes.py`` fill from the two families of formats; ``energy_table.py`` adds Accelergy's energies.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .energy_table import apply_energies as apply_energies
    from .parts import (
        Constraint as Constraint,
        Context as Context,
        Fanout as Fanout,
        Memory as Memory,
    )
    from .reader import (
        Architecture as Architecture,
        Level as Level,
        read_architecture as read_architecture,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
