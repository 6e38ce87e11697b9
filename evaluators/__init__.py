"""Costs of choices: what a mapping, a fused group, a plan and a piece of hardware cost.

Read :mod:`.technology` and ``hardware.py`` (energy per access, area, TDP), then :mod:`.loopnest`
(one layer under one mapping), :mod:`.fusion` (groups and plans), :mod:`.bounds` (what nothing
gets below) and :mod:`.weaving` (several networks that share the engines of one chip).
:mod:`.accuracy` has models on data, pruned and rounded, :mod:`.host` kernels on this machine.
``jit`` compiles the kernels, ``arrays.py`` names array types.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .arrays import (
        Bools as Bools,
        Flags as Flags,
        Floats as Floats,
        Ints as Ints,
        Words as Words,
    )
    from .hardware import (
        AccessCosts as AccessCosts,
        HardwareCost as HardwareCost,
        access_costs as access_costs,
        edp_js as edp_js,
        hardware_cost as hardware_cost,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
