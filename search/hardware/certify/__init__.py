"""Certificates of fronts: lower bounds exclude designs that were never run.

``pruning.py`` follows a space that is enumerated, ``branch_and_bound.py`` with ``box_bounds.py``
one that is too large for that. ``certificate.py`` is what is proven in the end, at this budget and,
with the ``intervals.py`` of measured costs, at any other. Once no trials follow, ``sharpening.py``
cuts boxes further, and ``design_groups.py`` bounds plans on open designs of an enumerated space;
``missing_volume.py`` says where first.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .certificate import (
        Certificate as Certificate,
        LastEffort as LastEffort,
        certificate_text as certificate_text,
    )
    from .pruning import DominancePruner as DominancePruner
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
