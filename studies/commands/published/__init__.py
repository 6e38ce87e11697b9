"""Comparisons with published results: ``archloom validate`` and ``archloom reproduce``.

``cli.py`` declares both. ``chips.py`` has figures of chips, those of a user's own file too, and
``all_chips.py`` one table of all; ``recorded_cases.py`` has cases of another tool. ``measuring.py``
measures tables of papers, which ``tables.py`` shows; ``searching.py`` runs their studies.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import (
        REPRODUCE_EXAMPLES as REPRODUCE_EXAMPLES,
        VALIDATE_EXAMPLES as VALIDATE_EXAMPLES,
        reproduce as reproduce,
        validate as validate,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
