"""Mapping searches: the best loop nest of one layer on one hardware.

Read ``protocol.py``, then ``mapper.py``, which gives every problem the same effort. ``auto.py``
chooses between the proof of :mod:`.exact` and the annealing of :mod:`.simd`;
``random_sampling.py`` is to compare with. ``objectives.py`` has the one score that all of them
minimise, ``factorization.py`` the nests that are searched.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .factorization import (
        FACTORS as FACTORS,
        gap_percent as gap_percent,
        objective as objective,
    )
    from .improved_mapper import Effort as Effort, ImprovedMapper as ImprovedMapper
    from .mapper import (
        Mapper as Mapper,
        RecordedMapper as RecordedMapper,
        Recorder as Recorder,
        short_key as short_key,
    )
    from .protocol import (
        Found as Found,
        MappedLayer as MappedLayer,
        MappingFactory as MappingFactory,
        MappingSearch as MappingSearch,
        Progress as Progress,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
