"""Commands that list designs, networks of the catalogue, and technology tables."""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .cli import (
        HARDWARE_EXAMPLES as HARDWARE_EXAMPLES,
        NETWORKS_EXAMPLES as NETWORKS_EXAMPLES,
        TECHNOLOGY_EXAMPLES as TECHNOLOGY_EXAMPLES,
        hardware_ as hardware_,
        networks_ as networks_,
        technology_ as technology_,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
