"""Conclusions from a study across the stack: the thirteen observations of DLAS, checked.

``record.py`` reads the study's results, ``intervals.py`` says how far figures can be trusted and
``parts.py`` what decides. ``choice.py`` picks the levels and times that are compared, ``gains.py``
has speed-ups. Then the observations: ``accuracy.py``, ``compression.py``, ``algorithms.py``,
``tuning.py``; ``paper.py`` has what the paper found, ``findings.py`` puts both together.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .choice import elbow_level as elbow_level, is_elbow as is_elbow
    from .findings import Finding as Finding, judge as judge
    from .gains import speed_ups as speed_ups
    from .paper import OBSERVATIONS as OBSERVATIONS
    from .parts import SHARE as SHARE, Part as Part, Verdict as Verdict
    from .record import Point as Point, StackRecord as StackRecord, read_record as read_record
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
