"""Transformers and other networks over sequences, one file per family.

``transformer.py`` has the blocks that encoders and decoders share; read it first.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .transformer import SequenceBuilder as SequenceBuilder, check_option as check_option
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
