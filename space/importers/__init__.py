"""Networks, architectures and mappings from files of other tools.

``graph.py`` is the form in which :mod:`.onnx`, :mod:`.torch` and :mod:`.einsum` hand over what they
read;
:mod:`.patterns` simplifies it and :mod:`.lowering` turns it into a
:class:`~archloom.space.workload.Network`. :mod:`.timeloop` reads Timeloop's files as case records,
the format of :mod:`.cases`.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .errors import ImportProblem as ImportProblem
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
