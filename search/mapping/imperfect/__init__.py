"""Mappings whose edge tiles are cut: factors of any size (Ruby, Horeni et al., ISPASS 2022).

Read ``search.py``: it begins at the best mapping with exact factors. ``mesh_steps.py`` has the
fewest steps on a mesh, a bound and where to look; ``enumeration.py`` prices all mappings of a small
problem, which is a proof, one after another (``trial.py``). ``nearby.py`` improves a mapping that
is known, whatever found it. ``further.py`` is what a larger budget buys: descents from many starts
(``descents.py``, ``draws.py``), and proofs on designs with one mesh of buffers (``on_mesh``).
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .further import (
        FIRST as FIRST,
        FURTHER as FURTHER,
        best_further as best_further,
        ends as ends,
    )
    from .nearby import NEARBY as NEARBY, best_nearby as best_nearby
    from .on_mesh.settle import LOOKS as LOOKS, load_kernels as load_kernels, settled as settled
    from .search import Imperfect as Imperfect, best_imperfect as best_imperfect
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
