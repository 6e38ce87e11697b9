"""Compressed forms of a network: pruned weights, the network that is left, its accuracy.

``groups.py`` puts layers into groups that are pruned alike; ``forms.py`` has all forms of one
network with their accuracies, ``forms_json.py`` their text; ``choices.py`` makes parameters of a
hardware space of them, and gives the networks of a design.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .choices import FormChoices as FormChoices
    from .forms import (
        CompressedForms as CompressedForms,
        PrunedGroup as PrunedGroup,
        Widths as Widths,
    )
    from .forms_json import (
        forms_from_text as forms_from_text,
        forms_to_text as forms_to_text,
        is_forms_text as is_forms_text,
    )
    from .groups import grouped as grouped, in_parts as in_parts, part_names as part_names
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
