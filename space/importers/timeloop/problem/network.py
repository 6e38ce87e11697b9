"""Networks from directories of Timeloop problems: one file a layer.

docs/reference/timeloop.md says what is read, and what is assumed where the files leave something
out.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Final

from archloom.space.workload import (
    INPUT,
    Layer,
    Network,
    Shape,
    add,
    avg_pool2d,
    is_input,
    max_pool2d,
    with_last_windows,
)

from ....yaml_reader import Faults, Place
from ..values import Entry, Scope, nearest, section
from ..yaml_dialect import TimeloopError, load
from .layer import UnconnectedLayer, laid, pool_between, read_layer, with_one_batch
from .layer_order import ORDER, SUFFIXES, Edge, Plan, Pool, Step, Sum, natural, read_plan

__all__ = ["TimeloopError", "read_network"]

_READ: Final = ("problem", "variables")


def read_network(folder: Path) -> Network:
    """Return the network whose layers are the Timeloop problems of a directory.

    Each ``*.yaml`` or ``*.yml`` file is a layer called as the file is. ``order.yaml`` says in
    which order, which layers read which, and which add their results to others; or else
    ``Problem-structure.txt`` does as DeepFrack has it. Without both, layers stand in the natural
    order of their names, and each reads what the one before it makes.

    What the files leave out is assumed, and shows in the network:

    - Padding: where windows reach further than the feature map that a layer reads, the rest is
    zeros
      (:func:`archloom.space.importers.timeloop.problem.layer.laid`). The network's input has no
      padding unless ``order.yaml`` gives its shape.
    - Pools: where a map is larger than what its reader reaches, a layer ``READER.pool`` makes it
      smaller (:func:`archloom.space.importers.timeloop.problem.layer.pool_between`).
    - Where neither makes the words match and no edge was stated, the layer reads
      ``"input:READER"``: a map from outside. A stated edge that does not match is a fault.

    Layers have no bias and no activation: problems carry neither.

    Raises:
        TimeloopError: a ValueError whose message has one line for each fault of all files, with
            file, key path, the rule and the nearest choice.
    """
    faults = Faults()
    files, documents = _files(folder, faults)
    if not files:
        _raise(faults)
    plan = read_plan(folder, files, faults)
    found = [
        loose
        for stem, path in files.items()
        if (loose := _read_file(stem, path, documents[stem], faults)) is not None
    ]
    layers = with_one_batch(found, faults)
    _raise(faults)
    assembly = _Assembly(plan, layers, faults)
    assembly.run()
    _raise(faults)
    try:
        return Network(plan.name, tuple(assembly.layers), tuple(assembly.reads))
    except ValueError as error:
        raise TimeloopError([f"{folder}: {error}"]) from None


def _raise(faults: Faults) -> None:
    if faults:
        raise TimeloopError(faults.sentences)


def _files(folder: Path, faults: Faults) -> tuple[dict[str, Path], dict[str, dict[str, Any]]]:
    """Return the files of layers by name in natural order, and what they hold.

    Files with nothing but a shape that a problem beside them names are no layers.
    """
    place = Place(str(folder))
    try:
        listed = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        faults.add(place, f"cannot be read as a directory: {reason}")
        return {}, {}
    listed = [path for path in listed if path.name != ORDER and not path.name.startswith(".")]
    held = {
        path: load(path, faults)
        for path in sorted(listed, key=lambda p: (natural(p.stem), p.suffix))
    }
    shapes = {name for document in held.values() if (name := _shape_file(document))}
    files: dict[str, Path] = {}
    for path, document in held.items():
        if set(document) == {"shape"} and path.name in shapes:
            continue
        if path.stem in files:
            faults.add(
                Place(str(path)),
                f"is layer {path.stem!r}, as is {files[path.stem].name}; rename one of the files",
            )
        files.setdefault(path.stem, path)
    if not files:
        faults.add(place, "holds no layers; it must have .yaml files, each with a problem")
    return files, {stem: held[path] for stem, path in files.items()}


def _shape_file(document: Mapping[str, Any]) -> str:
    problem = document.get("problem")
    shape = problem.get("shape") if isinstance(problem, dict) else None
    return shape if isinstance(shape, str) else ""


def _read_file(
    stem: str, path: Path, document: dict[str, Any], faults: Faults
) -> UnconnectedLayer | None:
    place = Place(str(path))
    if faults.about(str(path)):  # it could not be loaded
        return None
    keys = section(Entry(place, document), faults)
    for name, entry in keys.items():
        if name not in _READ:
            faults.add(entry.place, f"is not a part of a layer; {nearest(name, _READ)}")
    if "problem" not in keys:
        faults.add(place, "has no problem; every .yaml file of a directory of layers must have one")
        return None
    variables = keys.get("variables", Entry(place, None))
    return read_layer(stem, keys["problem"], Scope(section(variables, faults)), faults)


class _Assembly:
    """Lays layers on the feature maps that they read, in the order of a plan.

    After a fault it goes on as well as it can, to find the next.
    """

    def __init__(self, plan: Plan, layers: Mapping[str, UnconnectedLayer], faults: Faults) -> None:
        self.layers: list[Layer] = []
        self.reads: list[tuple[str, ...]] = []
        self._plan = plan
        self._given = layers
        self._faults = faults
        self._shapes: dict[str, Shape] = {INPUT: plan.input} if plan.input else {}
        self._waiting = dict(plan.sums)
        self._lost: set[str] = set()
        self._batch = next(iter(layers.values())).layer.n
        self._names = {*(step.name for step in plan.steps), *(s.name for s in plan.sums.values())}

    def run(self) -> None:
        """Add the layers of all steps; what is wrong with them are faults."""
        for step in self._plan.steps:
            last = self.layers[-1].name if self.layers else INPUT
            edge = self._plan.edges.get(step.name, Edge((last,), None))
            try:
                if step.pool is not None:
                    self._add_pool(step, step.pool, edge)
                else:
                    self._add_layer(step, edge)
            except ValueError as error:  # of Layer, which names the number and its rule
                self._faults.add(step.place, str(error))
                self._lost.add(step.name)
            self._add_sums()
        if self._plan.input and not any(INPUT in sources for sources in self.reads):
            self._faults.add(
                self._plan.place.key("input"), f"no layer reads {INPUT!r}, the input of the network"
            )
        for total in self._waiting.values() if not self._faults else ():
            added = " and ".join(map(repr, total.added))
            self._faults.add(
                total.place,
                f"{added} and {total.base!r} read each other, a cycle; remove one of the edges",
            )

    def _append(self, layer: Layer, sources: tuple[str, ...]) -> None:
        self.layers.append(layer)
        self.reads.append(sources)
        self._shapes[layer.name] = layer.map_shape

    def _maps(self, edge: Edge, step: Step) -> tuple[str, ...]:
        """Return the feature maps that an edge names, results or sums; those without fault."""
        place = edge.place or step.place
        found = (self._map(name, place, step.name) for name in edge.sources)
        return tuple(name for name in found if name)

    def _map(self, name: str, place: Place, reader: str) -> str:
        if is_input(name):
            return name
        total = self._plan.sums.get(name)
        if name not in self._shapes:
            if name not in self._lost:
                self._faults.add(
                    place,
                    f"{reader!r} cannot read {name!r}, which is not before it in the "
                    "order; change the order, or remove the cycle",
                )
            return ""
        if total is None or name not in self._waiting:
            return total.name if total else name
        added = " and ".join(map(repr, total.added))
        self._faults.add(
            total.place,
            f"{reader!r} reads {name!r} before {added} can be added to it: a cycle; "
            f"place {reader!r} behind, or let the sum be at another layer",
        )
        return ""

    def _joined(self, sources: tuple[str, ...], step: Step) -> Shape | None:
        """Return the shape of feature maps side by side; None after a fault."""
        unknown = [source for source in sources if source not in self._shapes]
        if unknown:
            self._faults.add(step.place, f"reads {unknown[0]!r}, whose shape is not given")
        if unknown or not sources:
            return None
        shapes = [self._shapes[source] for source in sources]
        if len({shape[1:] for shape in shapes}) > 1:
            maps = " and ".join(map(_described, shapes, sources))
            self._faults.add(step.place, f"{step.name!r} cannot read {maps} concatenated")
            return None
        return (sum(shape[0] for shape in shapes), *shapes[0][1:])

    def _parted(self, layer: Layer, sources: tuple[str, ...]) -> Layer:
        """Return the layer that reads feature maps side by side, if they are several."""
        if len(sources) == 1:
            return layer
        channels = tuple(self._shapes[source][0] for source in sources)
        return replace(layer, parts=channels, operands=len(sources))

    def _add_pool(self, step: Step, pool: Pool, edge: Edge) -> None:
        sources = self._maps(edge, step)
        shape = self._joined(sources, step)
        if shape is None:
            self._lost.add(step.name)
            return
        make = avg_pool2d if pool.mean else max_pool2d
        kernel, stride = (pool.kernel, pool.stride) if pool.kernel else (shape[1:], 1)
        layer = make(step.name, shape[0], shape[1:], kernel, stride, pool.padding)
        layer = with_last_windows(layer) if pool.ceil else layer
        self._append(self._parted(layer.with_batch(self._batch), sources), sources)

    def _add_layer(self, step: Step, edge: Edge) -> None:
        loose = self._given[step.file]
        layer = replace(loose.layer, name=step.name)
        sources = self._maps(edge, step)
        if len(sources) == 1 and is_input(sources[0]):
            self._shapes.setdefault(sources[0], (layer.input_channels, *layer.input_size))
        shape = self._joined(sources, step)
        fitted = self._fitted(step, layer, sources, shape) if shape else None
        # the shape of the input is stated, so that its reader has to fit
        stated = edge.place or (self._plan.place if INPUT in sources else None)
        if fitted is None:
            if stated and shape:
                self._faults.add(stated, _misfit(layer, sources, shape))
            fitted = layer, (f"{INPUT}:{step.name}",)
        if step.name in self._plan.factors:
            fitted = self._product(step, *fitted)
        self._append(*fitted)

    def _fitted(
        self, step: Step, layer: Layer, sources: tuple[str, ...], shape: Shape
    ) -> tuple[Layer, tuple[str, ...]] | None:
        """Return the layer on feature maps of this shape, and what it reads; None if it is
        unfit."""
        if len(sources) > 1 and layer.input_channels != shape[0]:
            return None
        found = laid(layer, shape)
        if found is not None:
            return self._parted(found, sources), sources
        pool = pool_between(layer, shape) if len(sources) == 1 else None
        found = laid(layer, pool.map_shape) if pool else None
        if pool is None or found is None:
            return None
        if pool.name in self._names:
            self._faults.add(
                step.place,
                f"needs a pool {pool.name!r} before it, but another layer has that name",
            )
        self._append(pool, sources)
        return found, (pool.name,)

    def _product(
        self, step: Step, layer: Layer, sources: tuple[str, ...]
    ) -> tuple[Layer, tuple[str, ...]]:
        """Return the layer as a product of two feature maps, and both."""
        edge = self._plan.factors[step.name]
        place = edge.place or step.place
        if not self._given[step.file].product or len(sources) > 1:
            self._faults.add(
                place, f"{step.name!r} has weights, so it is not a product of two feature maps"
            )
            return layer, sources
        words = layer.weight_words
        for factor in self._maps(edge, step):
            shape = self._shapes.setdefault(factor, (words, 1, 1))
            if prod(shape) != words:
                self._faults.add(
                    place,
                    f"{step.name!r} needs {words} words there, not {_described(shape, factor)}",
                )
            sources = (*sources, factor)
        # after a fault there may be no factor
        return replace(layer, operator="matmul", operands=2), sources

    def _add_sums(self) -> None:
        """Add the sums of which all feature maps are known, which may make others known."""
        ready = True
        while ready:
            ready = False
            for total in tuple(self._waiting.values()):
                if self._is_known(total):
                    del self._waiting[total.base]
                    self._add_sum(total)
                    ready = True

    def _is_known(self, total: Sum) -> bool:
        return total.base in self._shapes and all(
            is_input(name) or (name in self._shapes and name not in self._waiting)
            for name in total.added
        )

    def _add_sum(self, total: Sum) -> None:
        shape = self._shapes[total.base]
        added = [self._map(name, total.place, total.name) for name in total.added]
        for name in added:
            if self._shapes.setdefault(name, shape) != shape:
                self._faults.add(
                    total.place,
                    f"adds {_described(self._shapes[name], name)} to "
                    f"{_described(shape, total.base)}; both must have one shape",
                )
        try:
            layer = add(total.name, shape[0], shape[1:], operands=1 + len(added))
        except ValueError as error:
            self._faults.add(total.place, str(error))
        else:
            self._append(layer.with_batch(self._batch), (total.base, *added))


def _described(shape: Shape, name: str) -> str:
    channels, rows, columns = shape
    return f"{channels} x {rows} x {columns} of {name!r}"


def _misfit(layer: Layer, sources: tuple[str, ...], shape: Shape) -> str:
    channels, (rows, columns) = layer.input_channels, layer.input_size
    return (
        f"{layer.name!r} reads {channels} x {rows} x {columns}, less its padding; it gets "
        f"{_described(shape, ' and '.join(sources))}, and no pool between makes that fit"
    )
