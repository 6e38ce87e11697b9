"""Layers of a network by their names, or by patterns of names."""

from fnmatch import fnmatchcase
from typing import Any

from archloom.space import did_you_mean
from archloom.space.workload import Network
from archloom.studies.config import entry_error


def positions(entry: Any, network: Network) -> tuple[int, ...]:
    """Return the layers of the MAC array that names or patterns mean, in the network's order.

    Raises:
        EntryError, ValueError: a name or pattern means none of them; with those that are near.
    """
    patterns = [entry] if isinstance(entry, str) else entry
    if not isinstance(patterns, list) or not patterns:
        raise ValueError(f"{entry!r} must be a name or pattern of layers, or a list of them")
    names = {layer.name: i for i, layer in enumerate(network.layers) if layer.uses_macs}
    found = set[int]()
    for pattern in map(str, patterns):
        meant = (
            [names[pattern]]
            if pattern in names
            else [i for name, i in names.items() if fnmatchcase(name, pattern)]
        )
        if not meant:
            if any(layer.name == pattern for layer in network.layers):
                raise entry_error(
                    f"{pattern} of {network.name} runs on the vector unit; chip files compare "
                    "layers of the MAC array"
                )
            near = did_you_mean(pattern, names)
            raise ValueError(f"no layer of {network.name} is called {pattern!r}; {near}")
        found.update(meant)
    return tuple(sorted(found))
