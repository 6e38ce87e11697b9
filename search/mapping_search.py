"""All mapping searches by name, each behind the same protocol."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .auto_mapping import AutoMapping
from .exact_mapping import ExactMapping
from .lane_mapping import GeneticMapping, LocalMapping
from .protocols import MappingSearch
from .random_mapping import RandomMapping

__all__ = [
    "MAPPING_SEARCHES",
    "AnySearch",
    "AutoMapping",
    "ExactMapping",
    "GeneticMapping",
    "LocalMapping",
    "RandomMapping",
]

#: a search whose states only it looks into
AnySearch: TypeAlias = MappingSearch[Any]

MAPPING_SEARCHES: Final[dict[str, Callable[[], AnySearch]]] = {
    AutoMapping.name: lambda: AutoMapping(LocalMapping()),
    LocalMapping.name: LocalMapping,
    GeneticMapping.name: GeneticMapping,
    RandomMapping.name: RandomMapping,
    ExactMapping.name: ExactMapping,
}
