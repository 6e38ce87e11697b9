"""Reader of networks from files of einsums."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from archloom.space.workload import Network

from ...yaml_reader import Faults, Place
from ..errors import ImportProblem
from .file import EinsumFile, read_file
from .tensors import program_of
from .translation import graph_of

#: faults that one message lists
_TOLD: Final = 50


def read_einsums(path: Path, sizes: Mapping[str, int] | None = None) -> Network:
    """Return the network that a YAML file describes line by line.

    Args:
        path: of the file.
        sizes: of ranks, in place of those in the file.

    Raises:
        ImportProblem: everything that is wrong with the file, each with line and key.
    """
    from archloom.space.importers.lowering import lower

    faults = Faults()
    file = read_file(path, sizes or {}, faults)
    if file is None:
        raise _problem(path, faults)
    program = program_of(file, faults)
    graph = graph_of(program, file, faults)
    if faults:
        raise _problem(path, faults)
    try:
        network = _renamed(lower(graph))
    except ImportProblem as problem:
        for text in problem.problems:
            faults.add(_place_of(text, file), text)
        raise _problem(path, faults) from None
    batch = file.sizes[file.batch] if file.batch else None
    return network.with_batch(batch) if batch else network


def _problem(path: Path, faults: Faults) -> ImportProblem:
    """Return all faults by line; the file's name stands before them all."""
    told = sorted(faults, key=lambda fault: fault.place.line or 0)
    texts = [str(fault).removeprefix(f"{path}: ") for fault in told[:_TOLD]]
    more = [f"and {len(told) - _TOLD} more"] if len(told) > _TOLD else []
    return ImportProblem(str(path), [*texts, *more])


def _place_of(text: str, file: EinsumFile) -> Place:
    """Return the place of the line of which a layer comes out wrong."""
    tensor = text.partition(" ")[0].partition(".")[0]
    return next((line.place for line in file.lines if line.einsum.tensor == tensor), Place())


def _renamed(network: Network) -> Network:
    """Call a layer as the tensor that it makes, where its line is no other layer.

    Others are called as their part of the line; layers that others took up leave gaps in numbers.
    """
    tensors = Counter(layer.name.partition(".")[0] for layer in network.layers)
    parts = Counter(_unnumbered(layer.name) for layer in network.layers)
    names = {}
    for layer in network.layers:
        tensor, part = layer.name.partition(".")[0], _unnumbered(layer.name)
        if tensors[tensor] == 1:
            names[layer.name] = tensor
        elif parts[part] == 1:
            names[layer.name] = part

    def now(name: str) -> str:
        return names.get(name, name)

    layers = tuple(
        replace(layer, name=now(layer.name), weights_of=now(layer.weights_of))
        for layer in network.layers
    )
    reads = tuple(tuple(map(now, sources)) for sources in network.reads)
    return Network(network.name, layers, reads, tuple(map(now, network.outputs)))


def _unnumbered(name: str) -> str:
    return re.sub(r"_\d+$", "", name) if "." in name else name
