"""``archloom schedule``: what of a network runs fused on one hardware.

``cli.py`` declares the options, ``command.py`` does it, ``plan_file.py`` reads a plan of the user's
own, ``tables.py`` shows the result.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import SCHEDULE_EXAMPLES as SCHEDULE_EXAMPLES, schedule as schedule
    from .plan_file import plan_of as plan_of, read_plan as read_plan
    from .tables import schedule_record as schedule_record
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
