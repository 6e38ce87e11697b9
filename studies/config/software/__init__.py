"""Parts of a study file about searches: which ones, their options, and what mappings obey.

``section.py`` is the section ``software``; ``component_choice.py`` checks the options of searches
against their registered factories, ``mapping_constraints.py`` reads what mappings satisfy,
``exact_mode.py`` and ``trade_offs.py`` have what mode ``exact`` and trade-offs ask of other keys.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .component_choice import (
        CHOICE as CHOICE,
        Choice as Choice,
        choice_faults as choice_faults,
        choice_form as choice_form,
        complete as complete,
    )
    from .exact_mode import (
        of_plans as of_plans,
        of_proofs as of_proofs,
        to_the_end as to_the_end,
    )
    from .section import (
        SOFTWARE as SOFTWARE,
        Software as Software,
        complete_software as complete_software,
    )
    from .trade_offs import tradable as tradable
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
