"""Results of studies as values: fronts, comparisons, the breakdown of a trial, published chips.

:mod:`.front` and ``study_view.py`` first; nothing here prints. Published chips beside the
model are in :mod:`.published_chips`.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .comparison import (
        LABELS as LABELS,
        MARKS as MARKS,
        Comparison as Comparison,
        band as band,
        compare as compare,
        results as results,
    )
    from .conformance import (
        Agreement as Agreement,
        EvaluatedCase as EvaluatedCase,
        MisfitError as MisfitError,
        agreement as agreement,
        evaluated as evaluated,
    )
    from .design_details import (
        Details as Details,
        fit_details as fit_details,
        hardware_details as hardware_details,
    )
    from .details import (
        TrialReader as TrialReader,
        cost_details as cost_details,
        hardware_of as hardware_of,
        trial_details as trial_details,
        trial_number as trial_number,
    )
    from .excluded_designs import Exclusions as Exclusions, exclusions as exclusions
    from .front.other_objectives import read_other_front as read_other_front
    from .front.pareto_front import (
        FIELD_NAMES as FIELD_NAMES,
        Front as Front,
        each_once as each_once,
        front_of as front_of,
        read_front as read_front,
    )
    from .nest_details import STREAMS as STREAMS, WHOLE_GROUP as WHOLE_GROUP
    from .parameter_importance import importances as importances
    from .study_runs import Run as Run, arms_of as arms_of, read_run as read_run
    from .study_status import StudyStatus as StudyStatus, read_status as read_status
    from .study_view import Design as Design, StudyView as StudyView, load_view as load_view
    from .tabulation import (
        TrialTable as TrialTable,
        read_trial_table as read_trial_table,
        trial_table as trial_table,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
