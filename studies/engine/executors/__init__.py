"""Executors: where the tasks of a study are done, in this process or in Ray's workers."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cluster import check_reachable as check_reachable
    from .executor import Executor as Executor
    from .ray_executor import make_executor as make_executor
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
