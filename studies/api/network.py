"""Networks and their layers, from the catalogue, from files and from PyTorch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from archloom.space import did_you_mean
from archloom.space.fusion import fold as folded
from archloom.space.workload import DIMS, Layer as Operator, Network as Graph
from archloom.studies.config import load_workload, normal
from archloom.studies.rendering import Cell

from ..errors import UserError
from .boundary import mendable
from .cells import cell, short_table

if TYPE_CHECKING:
    from archloom.studies.config import EntryError


class ExportedProgram(Protocol):
    """What ``torch.export.export`` returns, as far as it has to be known to be one."""

    @property
    def graph_signature(self) -> Any:
        """Which of its inputs are learned."""
        ...


@dataclass(frozen=True, repr=False)
class Layer:
    """A layer of a network: ``network["conv1"]``.

    The bound N is the batch; channels of a grouped convolution are those of one group.
    """

    _operator: Operator

    @property
    def name(self) -> str:
        """Name of the layer."""
        return self._operator.name

    @property
    def operator(self) -> str:
        """Operator: ``conv``, ``gemm``, ``matmul``, or one of the vector unit."""
        return self._operator.operator

    @property
    def bounds(self) -> dict[str, int]:
        """Loop bounds by dimension: N, G, K, C, P, Q, R, S."""
        return dict(zip(DIMS, self._operator.bounds, strict=True))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one pass; 0 for operators of the vector unit."""
        return self._operator.macs

    @property
    def params(self) -> int:
        """Number of learned parameters."""
        return self._operator.params

    @property
    def runs_on_macs(self) -> bool:
        """Whether it runs on the MAC array and has a mapping, or on the vector unit."""
        return self._operator.uses_macs

    def __repr__(self) -> str:
        return f"<archloom.Layer {self.name}: {' '.join(str(self._operator).split())}>"


@dataclass(frozen=True, repr=False)
class Network:
    """A network: layers in an order in which they can run.

    ``len(network)`` is the number of layers, and ``network["conv1"]`` or ``network[0]`` a layer.
    """

    _graph: Graph

    @property
    def name(self) -> str:
        """Name in the catalogue, or of the file."""
        return self._graph.name

    @property
    def batch(self) -> int:
        """Inferences of one pass."""
        return self._graph.batch

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers, each after the layers that it reads."""
        return tuple(map(Layer, self._graph.layers))

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one pass."""
        return self._graph.macs

    @property
    def params(self) -> int:
        """Number of learned parameters."""
        return self._graph.params

    def __len__(self) -> int:
        return len(self._graph.layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __getitem__(self, key: str | int) -> Layer:
        layers = self._graph.layers
        if isinstance(key, int):
            if not -len(layers) <= key < len(layers):
                # an IndexError, or a loop that asks for one after the other would not end
                raise IndexError(f"{self.name} has layers 0 to {len(layers) - 1}, no {key}")
            return Layer(layers[key])
        names = [layer.name for layer in layers]
        if key not in names:
            raise UserError(f"{self.name} has no layer {key!r}; {did_you_mean(key, names)}")
        return Layer(layers[names.index(key)])

    def __repr__(self) -> str:
        return (
            f"<archloom.Network {self.name}: {len(self)} layers, batch {self.batch}, "
            f"{self.macs:,} MACs, {self.params:,} parameters>"
        )

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = [
            [
                layer.name,
                layer.operator,
                " ".join(f"{dim}{bound}" for dim, bound in layer.bounds.items() if bound > 1),
                layer.macs,
                layer.params,
                ", ".join(self._graph.reads[at]),
            ]
            for at, layer in enumerate(self.layers)
        ]
        note = (
            f"{len(self)} layers, batch {self.batch}, {self.macs:,} MACs, {self.params:,} "
            "parameters"
        )
        heads = ("layer", "operator", "bounds", "MACs", "parameters", "reads")
        return cell(self.name, [note], short_table(heads, rows, "layers"))


#: what stands for a network wherever one is asked for
NetworkLike: TypeAlias = Network | str | PathLike[str] | ExportedProgram


@mendable
def load_network(
    source: NetworkLike,
    *,
    batch: int | None = None,
    dimensions: Mapping[str, int] | None = None,
    fold: bool = False,
    **options: int | str | bool | Sequence[int],
) -> Network:
    """Load a network from the catalogue, a file or a PyTorch program.

    Args:
        source: name in ``archloom networks``; path of an ONNX file, a network's JSON, a file of
            einsums or a directory of Timeloop problems; or the result of ``torch.export.export``.
        batch: inferences of one pass (default: that of the network).
        dimensions: sizes of named dimensions of an ONNX file, or of ranks of a file of einsums.
        fold: run element-wise layers and pooling with the MAC-array layers beside them.
        options: options of a network of the catalogue, such as ``sequence_length=384``.

    Raises:
        ArchloomError: an unknown network, or mistakes in its options or file (all are listed).
    """
    if isinstance(source, Network | str | PathLike):
        graph = _graph_of(source, dimensions, options)
    else:
        graph = _exported(source)
        _refuse("an exported program", dimensions, options)
    if fold:
        graph = folded(graph)
    if batch is None:
        return Network(graph)
    if type(batch) is not int or batch < 1:
        raise UserError(f"batch: {batch!r} must be a whole number, at least 1")
    return Network(graph.with_batch(batch))


def _graph_of(
    source: "Network | str | PathLike[str]",
    dimensions: Mapping[str, int] | None,
    options: Mapping[str, int | str | bool | Sequence[int]],
) -> Graph:
    from archloom.studies.config import EntryError

    if isinstance(source, Network):
        _refuse("a network that is loaded", dimensions, options)
        return source._graph
    text, here = fspath(source), Path.cwd()
    try:
        # a path of a path's own type is never the name of a network
        known = normal(text if isinstance(source, str) else {"file": text}, here)
        keys: dict[str, Any] = {"network": known} if isinstance(known, str) else dict(known)
        # as a study file has lists
        keys |= {key: list(x) if isinstance(x, tuple) else x for key, x in options.items()}
        if dimensions is not None:
            keys["dimensions"] = dict(dimensions)
        return load_workload(keys, here)
    except EntryError as error:
        raise UserError(_located(text, error)) from None


def _located(source: str, error: "EntryError") -> str:
    """Say of what network faults are; readers of files name the file themselves."""
    return "\n".join(
        f"{source}: {fault}" if fault.place.keys else str(fault) for fault in error.faults
    )


def _exported(program: object) -> Graph:
    from archloom.space.importers import ImportProblem
    from archloom.space.importers.torch import network_of

    try:
        return network_of(program)  # type: ignore[arg-type]
    except ImportProblem as error:
        raise UserError("\n".join(error.problems)) from None


def _refuse(what: str, dimensions: Mapping[str, int] | None, options: Mapping[str, object]) -> None:
    given = [*options, *(["dimensions"] if dimensions is not None else [])]
    if given:
        raise UserError(f"{given[0]}: {what} has its sizes already; choose them where it is made")
