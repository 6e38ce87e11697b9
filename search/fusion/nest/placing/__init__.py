"""Kernels that place one nest in the buffer of one core.

As ``evaluators/fusion/nest`` has it (``walk.py``, ``fit.py``, ``latency.py``), and to the last bit,
where no mask drops tiles and no cores share out a loop: a search places some thousand nests.
``group_loops.py`` has what kernels are given, ``iterations.py`` who runs when, ``transfers.py``
what comes, leaves and stays, ``room.py`` what is left of the buffer, ``times.py`` when iterations
end, and ``place.py`` all of it.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .place import cycles_of as cycles_of, placed as placed
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
