"""What is to be measured: layers, variants of kernels, effort of the search, threads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from archloom.evaluators.host import ConvShape, KernelSpec, shape_of_layer
from archloom.search.hardware.schedules import Effort
from archloom.space import Infeasible
from archloom.space.workload import Network

#: a name and why it is left out
Skipped = tuple[str, Infeasible]


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of kernel that every layer gets.

    Attributes:
        algorithm, dtype: as of a kernel.
        density: share of weights that are not zero; below 1 weights are in CSR.
    """

    algorithm: str
    dtype: str = "float32"
    density: float = 1.0

    def spec(self, shape: ConvShape) -> KernelSpec:
        """Return the kernel of a shape."""
        return KernelSpec(shape, self.algorithm, self.dtype, self.density < 1, self.density)

    @property
    def label(self) -> str:
        """Its name in records and pictures."""
        return f"{self.algorithm} {self.dtype}" + f" csr {self.density:g}" * (self.density < 1)


#: what others are compared with
LIBRARY = Variant("library")


@dataclass(frozen=True)
class Wanted:
    """What is to be measured.

    Attributes:
        name: of the network, or of the shapes.
        network: that is also timed as a whole; None for shapes alone.
        layers: names of the layers of each shape.
        variants: of kernels, each once.
        effort: of the search of schedules; 0 trials for none.
        threads: of each kernel.
        skipped: layers that are no convolutions that kernels compute.
    """

    name: str
    network: Network | None
    layers: Mapping[ConvShape, tuple[str, ...]]
    variants: tuple[Variant, ...]
    effort: Effort = field(default_factory=Effort)
    threads: int = 1
    skipped: tuple[Skipped, ...] = ()

    @property
    def record(self) -> dict[str, Any]:
        """What tells it from other measurements, as JSON."""
        return {
            "name": self.name,
            "whole_network": self.network is not None,
            "shapes": {str(shape): list(names) for shape, names in self.layers.items()},
            "variants": [variant.label for variant in self.variants],
            "trials": self.effort.trials,
            "patience": self.effort.patience,
            "optimizer": self.effort.optimizer,
            "seed": self.effort.seed,
            "threads": self.threads,
        }


def layers_of(network: Network) -> tuple[dict[ConvShape, tuple[str, ...]], tuple[Skipped, ...]]:
    """Return the layers of each shape of a network, and those that kernels do not compute."""
    found: dict[ConvShape, tuple[str, ...]] = {}
    skipped = []
    for layer in network.layers:
        if not layer.uses_macs:
            continue
        shape = shape_of_layer(layer)
        if isinstance(shape, Infeasible):
            skipped.append((layer.name, shape))
        else:
            found[shape] = (*found.get(shape, ()), layer.name)
    return found, tuple(skipped)


def variants_of(
    algorithms: Sequence[str], dtypes: Sequence[str], densities: Sequence[float]
) -> Iterator[Variant]:
    """Yield all combinations; what has no kernel becomes a row with the reason."""
    for density in densities:
        for dtype in dtypes:
            for algorithm in algorithms:
                yield Variant(algorithm, dtype, density)
