"""One concrete accelerator: storage levels, meshes, clock, and the effects that are modelled.

Read ``hardware.py``; ``effects.py`` has the switches that are off by default, ``dram.py`` the DRAM
that has rows and banks, ``cores.py`` finds
the parts of a chip that run tiles side by side, ``rooms.py`` where weights of several networks
wait, ``weight_format.py`` how many bits packed weights take, ``validation.py`` says what is wrong
with one.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cores import Cores as Cores, fusion_cores as fusion_cores
    from .dram import (
        DRAM_CHOICES as DRAM_CHOICES,
        DRAM_COUNTS as DRAM_COUNTS,
        DramTiming as DramTiming,
    )
    from .effects import (
        EFFECT_CHOICES as EFFECT_CHOICES,
        PLAIN as PLAIN,
        AccessEnergy as AccessEnergy,
        Effects as Effects,
        TensorEnergy as TensorEnergy,
    )
    from .hardware import (
        Hardware as Hardware,
        Pair as Pair,
        Storage as Storage,
        StorageLevel as StorageLevel,
        packed as packed,
        pass_batch as pass_batch,
    )
    from .rooms import (
        Rooms as Rooms,
        rooms_of as rooms_of,
        weight_instances as weight_instances,
    )
    from .weight_format import (
        BIT_PARTS as BIT_PARTS,
        packed_words as packed_words,
        weight_parts as weight_parts,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
