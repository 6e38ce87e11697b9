"""Compression of models in steps that are stored: trained, pruned, fine-tuned, rounded.

``settings.py`` says what is done, ``steps.py`` does it, a step after the other; ``kept.py`` keeps
each when it is done.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .kept import Kept as Kept, StepFigures as StepFigures
    from .settings import METHODS as METHODS, Settings as Settings, shared_epochs as shared_epochs
    from .steps import Steps as Steps
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
