"""Timeloop problems as layers of a network, and their place on the feature maps they read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isqrt, prod
from typing import Final

from archloom.space.importers.cases import (
    CASE_TENSORS,
    Problem,
    RecordError,
    case_layer,
    parse_problem,
)
from archloom.space.workload import Layer, Shape, global_pool, max_pool2d

from ....yaml_reader import Faults, Place
from ..values import Entry, Scope
from .reader import read_problem

#: dimensions that count images, if they index inputs and results but no weights
_IMAGES: Final = ("N", "B")
#: stands in for them where a problem has none
_ONE_IMAGE: Final = "(images)"


@dataclass(frozen=True, slots=True)
class UnconnectedLayer:
    """A layer of which is not known yet what it reads.

    Attributes:
        layer: its input feature map is what its windows reach, without padding.
        place: where its problem stands.
        product: whether it is a product of matrices, whose second factor may be a map.
        images: whether it tells images from positions.
    """

    layer: Layer
    place: Place
    product: bool
    images: bool


def read_layer(name: str, entry: Entry, scope: Scope, faults: Faults) -> UnconnectedLayer | None:
    """Return the layer that stands under ``problem`` in a file; None after a fault."""
    found = Faults()
    record = read_problem(entry, scope, found).record
    faults.include(found)
    if found:
        return None
    try:
        return _loose(parse_problem({**record, "name": name}), entry.place)
    except RecordError as error:
        for fault in error.faults:
            faults.add(Place(entry.place.file), fault)
    except ValueError as error:  # of Layer, which names the number and its rule
        faults.add(entry.place, str(error))
    return None


def _loose(problem: Problem, place: Place) -> UnconnectedLayer:
    ranks = problem.projections["Inputs"]
    windows = sum(len(rank) > 1 or len(rank[0]) > 1 for rank in ranks)
    problem, images = _images_first(problem, windows)
    layer = case_layer(problem).layer
    flat = (layer.q, layer.r, layer.s) == (1, 1, 1)
    product = flat and not windows
    # a convolution of one position with a window of one is a fully connected layer
    if layer.g == 1 and (product or (flat and layer.p == 1)):
        layer = Layer(
            layer.name, "gemm", n=layer.n, k=layer.k, c=layer.c, p=layer.p, input_size=(layer.p, 1)
        )
    return UnconnectedLayer(layer, place, product, images)


def _images_first(problem: Problem, windows: int) -> tuple[Problem, bool]:
    """Return the problem with its images as first dimension, and whether it had them.

    :func:`archloom.space.importers.cases.problem.case_layer` takes the first dimension that may be
    images for them. A product of matrices that has one such dimension counts positions with it,
    whatever its name is.
    """
    ranks = {t: {d for rank in problem.projections[t] for d, *_ in rank} for t in CASE_TENSORS}
    positions = (ranks["Inputs"] & ranks["Outputs"]) - ranks["Weights"]
    named = [d for d in _IMAGES if d in positions and (windows or len(positions) > 1)]
    if named or windows > 1:
        dims = {d: problem.dims[d] for d in (*named[:1], *problem.dims)}
        return problem.model_copy(update={"dims": dims}), True
    projections = {
        t: [*of, [[_ONE_IMAGE]]] if t != "Weights" else of for t, of in problem.projections.items()
    }
    dims = {_ONE_IMAGE: 1, **problem.dims}
    changed = {"dims": dims, "projections": projections}
    return problem.model_copy(update=changed), bool(windows)


def with_one_batch(
    layers: Iterable[UnconnectedLayer], faults: Faults
) -> dict[str, UnconnectedLayer]:
    """Return the layers by name, all over one batch.

    It is the one of those that tell images from positions, else 1. Others have images and
    positions in one dimension.
    """
    given = list(layers)
    first = next((loose for loose in given if loose.images), None)
    batch = first.layer.n if first else 1
    found = {}
    for loose in given:
        layer = loose.layer
        if layer.n != batch and first:
            rows = layer.p // batch
            if loose.images or layer.q > 1 or layer.p % batch:
                what = f"{layer.n} images" if loose.images else f"{layer.p * layer.q} positions"
                faults.add(
                    loose.place,
                    f"has {what}, {first.place.file} has {batch} images; all layers of a network "
                    "have one batch",
                )
                continue
            layer = replace(layer, n=batch, p=rows, input_size=(rows, 1))
        found[layer.name] = replace(loose, layer=layer)
    return found


def laid(layer: Layer, shape: Shape) -> Layer | None:
    """Return the layer on a feature map of this shape; None if it cannot read all of it.

    Timeloop's problems carry no padding. Where the windows reach further than the map, the rest
    is zeros, of which the top and left get the larger half: so it comes out as in a convolution
    with the same padding on all sides if its stride is 1 or 2. Padding of a window or more on one
    side makes no sense, so a map that is smaller still does not fit. Rows and columns behind the
    last window may be left over, but fewer than the stride. A map of as many words as the windows
    reach fits in any case: reshaping is free.
    """
    if layer.input_channels == shape[0]:
        y, x = (_padding(layer, axis, shape[axis + 1]) for axis in (0, 1))
        if y is not None and x is not None:
            return replace(layer, input_size=shape[1:], padding=(y, x))
    return layer if layer.map_words[0] == prod(shape) else None


def _padding(layer: Layer, axis: int, size: int) -> int | None:
    missing = layer.input_size[axis] - size
    if -layer.stride[axis] < missing <= 0:
        return 0
    return (missing + 1) // 2 if 0 < missing <= 2 * (_window(layer, axis) - 1) else None


def _window(layer: Layer, axis: int) -> int:
    return ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis] + 1


def pool_between(layer: Layer, shape: Shape) -> Layer | None:
    """Return the pool ``NAME.pool`` that makes what the layer reads of this feature map, or None.

    Files of layers leave pools out. The one assumed here takes patches side by side: its kernel
    is its stride, the smallest that fits. If one value of each channel is left, it is the mean.
    """
    name = f"{layer.name}.pool"
    if layer.input_channels == shape[0]:
        factors = [_factor(layer, axis, shape[axis + 1]) for axis in (0, 1)]
        kernel = (factors[0] or 0, factors[1] or 0)
    else:
        kernel = _flattened(layer, shape)
    if 0 in kernel:
        return None
    if kernel == shape[1:]:
        return global_pool(name, shape[0], kernel).with_batch(layer.n)
    return max_pool2d(name, shape[0], shape[1:], kernel).with_batch(layer.n)


def _factor(layer: Layer, axis: int, size: int) -> int | None:
    """Return the smallest factor that makes one side small enough, if it is not too small then."""
    reach = layer.input_size[axis]
    most = reach + layer.stride[axis] - 1
    least = max(1, reach - 2 * (_window(layer, axis) - 1))
    factor = size if most == 1 else size // (most + 1) + 1
    return factor if size // factor >= least else None


def _flattened(layer: Layer, shape: Shape) -> tuple[int, int]:
    """Return the factors after which a feature map's words are all channels of one position."""
    positions, left = divmod(layer.input_channels, shape[0])
    if layer.input_size != (1, 1) or left or positions < 1:
        return 0, 0
    near = isqrt(shape[1] * shape[2] // positions)
    for factor in (near - 1, near, near + 1):
        if factor > 1 and (shape[1] // factor) * (shape[2] // factor) == positions:
            return factor, factor
    return 0, 0
