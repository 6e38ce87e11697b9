"""Case records: an architecture, a problem and a mapping in one JSON object.

``record.py`` defines the format; ``reader.py`` turns a record into hardware, layer and mapping,
with ``problem.py`` and ``mapping.py`` for its parts.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .mapping import loops_of as loops_of, written_mapping as written_mapping
    from .problem import CASE_TENSORS as CASE_TENSORS, case_layer as case_layer
    from .reader import (
        BadCase as BadCase,
        Case as Case,
        case_of as case_of,
        read_cases as read_cases,
    )
    from .record import (
        Problem as Problem,
        RecordError as RecordError,
        parse_problem as parse_problem,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
