"""Mappings of one layer's loop nest onto one hardware, and constraints on them.

Read ``mapping.py``; ``constraints.py`` has dataflows, unrolling, loop orders and bypass as
architects write them, ``nest_text.py`` prints a mapping as a loop nest.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .constraints import (
        DATAFLOWS as DATAFLOWS,
        UNCONSTRAINED as UNCONSTRAINED,
        Dataflow as Dataflow,
        LevelConstraints as LevelConstraints,
        MappingConstraints as MappingConstraints,
        kept_as as kept_as,
    )
    from .constraints_reader import (
        ConstraintsError as ConstraintsError,
        constraints_data as constraints_data,
        constraints_text as constraints_text,
        read_constraints as read_constraints,
    )
    from .mapping import (
        Factors as Factors,
        LevelMapping as LevelMapping,
        Mapping as Mapping,
        full_order as full_order,
        trimmed as trimmed,
    )
    from .nest_text import loop_nest as loop_nest
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
