"""Training: stochastic gradient descent that can stop after any epoch, and accuracy on test images.

``recipe.py`` has the settings with their source, ``trainer.py`` the loop, ``determinism.py`` what
makes it repeatable, ``scoring.py`` what it came to.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .determinism import deterministic as deterministic
    from .recipe import Recipe as Recipe, recipe_for as recipe_for
    from .scoring import accuracy_percent as accuracy_percent
    from .trainer import Trainer as Trainer
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
