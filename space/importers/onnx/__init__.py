"""ONNX files, read into the neutral graph of :mod:`archloom.space.importers.graph`.

``reader.py`` is the whole way; ``file.py`` and ``inline_functions.py`` come first,
``translate.py`` walks over the nodes with ``value.py`` and ``constant_folding.py``; each other file
translates one family of operators.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .reader import read_onnx as read_onnx
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
