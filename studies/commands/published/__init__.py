"""Comparisons with published results: ``archloom validate`` and ``archloom reproduce``.

``validate.py`` has recorded cases of a tool and figures of chips. ``measuring.py`` measures tables
of papers, which ``cli.py`` declares and ``tables.py`` shows; ``searching.py`` runs their studies.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import REPRODUCE_EXAMPLES as REPRODUCE_EXAMPLES, reproduce as reproduce
    from .validate import show_published as show_published, validate_cases as validate_cases
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
