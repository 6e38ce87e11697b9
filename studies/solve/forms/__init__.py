"""Compressed forms of a study's networks: pruned, fine-tuned, rounded and tested before it begins.

``kept_model.py`` reads what ``archloom compress`` kept, ``measured.py`` finds the accuracy of a
form, each once, ``forms.py`` puts them together for the workloads of a study.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .forms import with_forms as with_forms
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
