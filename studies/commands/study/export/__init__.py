"""``archloom export``: all trials of a study for other programs.

``cli.py`` declares the options, ``files.py`` writes tables, ``optuna_mirror.py`` keeps the trials
in a storage of Optuna.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import EXPORT_EXAMPLES as EXPORT_EXAMPLES, export as export
    from .files import frame as frame
    from .optuna_mirror import OptunaMirror as OptunaMirror
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
