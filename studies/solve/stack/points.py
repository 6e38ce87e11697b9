"""Points of a stack study, and the kernels that each of them runs, layer by layer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from archloom.evaluators.host import (
    ConvShape,
    KernelSpec,
    StoredWeights,
    missing_chain,
    missing_kernel,
    shape_of_layer,
)
from archloom.space import Infeasible
from archloom.space.workload import Network, read_network

from .compression import Compression
from .settings import StackConfig
from .training import folded_file, step_file

#: a shape of a network: for each of its layers the name and the kernel
Shapes = Mapping[ConvShape, tuple[tuple[str, "Kernel"], ...]]


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of the axes."""

    model: str
    compression: Compression
    algorithm: str
    tuned: bool

    def __str__(self) -> str:
        """Return its name: every point has one of its own."""
        schedules = "tuned" if self.tuned else "untuned"
        return f"{self.model}, {self.compression.label}, {self.algorithm}, {schedules}"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its weights.

    Attributes:
        spec: what it computes.
        stored: its weights; None for random ones, on which no time of a dense kernel depends.
        owner: whose they are, in words.
    """

    spec: KernelSpec
    stored: StoredWeights | None = None
    owner: str = ""

    @property
    def name(self) -> str:
        """Its name; that of a dense kernel is the same in every network."""
        return f"{self.spec} of {self.owner}" if self.owner else str(self.spec)

    @property
    def code(self) -> KernelSpec:
        """What its schedule is searched for: code serves weights of every density."""
        return replace(self.spec, density=1.0)


def points_of(config: StackConfig) -> Iterator[Point]:
    """Yield all combinations, in the order of the axes."""
    for model in config.models:
        for compression in config.compression:
            for algorithm in config.algorithms:
                for schedules in ("untuned", "tuned"):
                    if schedules in config.tuning.schedules:
                        yield Point(model, compression, algorithm, schedules == "tuned")


def never(compression: Compression, algorithm: str) -> Infeasible | None:
    """Return why no network has such kernels; None if there are some."""
    sparse = compression.method == "weights"
    any_shape = ConvShape(1, 1, 1, 1, 1, 1, 1, 1)
    return missing_kernel(KernelSpec(any_shape, algorithm, compression.dtype, sparse))


class Networks:
    """Networks of trained models, and the kernels of their layers.

    Args:
        config: of the study.
        folder: of the study, where the models are trained.
    """

    def __init__(self, config: StackConfig, folder: Path) -> None:
        self._config, self._folder = config, folder

    @cache  # noqa: B019
    def network(self, model: str, compression: Compression) -> Network:
        """Return the network of a trained model."""
        step = step_file(self._config, self._folder, model, compression)
        return read_network(step.with_name(f"{step.name}.network.json"))

    def missing(self, point: Point) -> Infeasible | None:
        """Return why a point has no time, whatever is measured; None if it may have one."""
        found = never(point.compression, point.algorithm)
        return found or missing_chain(self.network(point.model, point.compression))

    @cache  # noqa: B019
    def shapes(self, model: str, compression: Compression, algorithm: str) -> Shapes:
        """Return the kernels of a network's layers; layers without kernels are left out.

        Layers of one shape have the same code: in CSR if any of them has weights that are zero.
        """
        layers: dict[ConvShape, list[tuple[str, float]]] = {}
        for layer in self.network(model, compression).layers:
            shape = shape_of_layer(layer) if layer.uses_macs else None
            if isinstance(shape, ConvShape):
                layers.setdefault(shape, []).append((layer.name, layer.density[0]))
        return {
            shape: tuple(self._kernels(shape, named, (model, compression, algorithm)))
            for shape, named in layers.items()
        }

    def _kernels(
        self,
        shape: ConvShape,
        layers: list[tuple[str, float]],
        where: tuple[str, Compression, str],
    ) -> Iterator[tuple[str, Kernel]]:
        model, compression, algorithm = where
        sparse = compression.method == "weights" and any(share < 1 for _, share in layers)
        spec = KernelSpec(shape, algorithm, compression.dtype, sparse)
        path = str(folded_file(step_file(self._config, self._folder, model, compression)))
        for name, density in layers:
            if sparse:
                owner = f"{model} {compression.label} {name}"
                stored = StoredWeights(path, name)
                yield name, Kernel(replace(spec, density=density), stored, owner)
            else:
                yield name, Kernel(spec)

    def searched(self, point: Point) -> set[ConvShape]:
        """Return the shapes with the most MACs that together have the share that is searched."""
        shapes = self.shapes(point.model, point.compression, point.algorithm)
        macs = {shape: shape.macs * len(layers) for shape, layers in shapes.items()}
        found, covered = set[ConvShape](), 0
        for shape in sorted(macs, key=lambda s: (-macs[s], str(s))):
            if covered >= self._config.tuning.share * sum(macs.values()):
                break
            found.add(shape)
            covered += macs[shape]
        return found
