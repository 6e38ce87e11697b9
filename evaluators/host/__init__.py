"""Kernels of convolutions on this machine: compiled, checked against float64, and timed.

Read ``shape.py`` and ``kernel.py`` (what is computed), ``schedules.py`` (how its loops run) and
``samples.py`` (what may be said of a time). :mod:`.halide`, ``portable.py`` and ``library.py`` make
kernels, ``executable.py`` any of them; ``operands.py`` and ``csr.py`` are what they read,
``reference.py`` is what they must compute. ``chain.py`` runs whole networks. :mod:`.worker` does it
in a process that can be killed, and times kernels in turns; :mod:`.machine` says on what, and what
the cost model expects of it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .chain import ChainSpec as ChainSpec, missing_chain as missing_chain
    from .kernel import (
        ALGORITHMS as ALGORITHMS,
        COMPILED as COMPILED,
        DTYPES as DTYPES,
        KernelSpec as KernelSpec,
        missing_kernel as missing_kernel,
    )
    from .operands import StoredWeights as StoredWeights
    from .samples import Ratio as Ratio, Timing as Timing, ratio as ratio
    from .schedules import (
        Library as Library,
        Schedule as Schedule,
        Untuned as Untuned,
        curated as curated,
        read_schedule as read_schedule,
        schedule_kind as schedule_kind,
        schedule_record as schedule_record,
        tunable as tunable,
    )
    from .shape import (
        ConvShape as ConvShape,
        read_shape as read_shape,
        shape_of_layer as shape_of_layer,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
