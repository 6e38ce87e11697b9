"""A whole network on this machine: its kernels one after the other, on the maps between them.

Pools and sums run between the kernels, in torch where it has the type, else in numpy. Every layer
is checked against float64 on the very map that it read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from archloom.space import Infeasible
from archloom.space.workload import Layer, Network, is_input

from .executable import Binder, binder
from .kernel import KernelSpec
from .library import convolver
from .operands import STORED, Operands, StoredWeights, random_operands, stored_operands
from .reference import reference
from .schedules import Code, Library, Schedule
from .shape import ConvShape, shape_of_layer

#: operators between kernels
_BETWEEN: Final = ("add", "maxpool", "avgpool")

#: where a network's layers get their weights from, by kernel
WeightSource = Callable[[KernelSpec], Operands]


@dataclass(frozen=True)
class ChainSpec:
    """A network, and the kernel of each of its shapes.

    Attributes:
        network: its layers; one image is run.
        kernels: kernel and schedule of each shape.
        stored: weights of layers that have their own, by name; those of others are random.
    """

    network: Network
    kernels: Mapping[ConvShape, tuple[KernelSpec, Schedule]]
    stored: Mapping[str, StoredWeights] = field(default_factory=dict)


def missing_chain(network: Network) -> Infeasible | None:
    """Return why a network cannot be run as a whole; None if it can."""
    for layer in network.layers:
        wrong: Infeasible | None = None
        if layer.uses_macs:
            found = shape_of_layer(layer)
            wrong = found if isinstance(found, Infeasible) else None
        elif layer.operator not in _BETWEEN or layer.broadcast or layer.slices:
            hint = (
                f"whole networks may have convolutions, gemms, {', '.join(_BETWEEN)}, without "
                "slices and broadcasts"
            )
            where = f"layer {layer.name}: {layer.operator}"
            wrong = Infeasible("no_whole_network", where, 1, 0, "", hint)
        elif layer.activation not in ("", "relu", "relu6"):
            where = f"layer {layer.name}: activation {layer.activation}"
            wrong = Infeasible(
                "no_whole_network",
                where,
                1,
                0,
                "",
                "whole networks may have the activations relu and relu6",
            )
        if wrong is not None:
            return wrong
    return None


class Chain:
    """A network whose kernels are compiled and bound to the maps between them.

    Args:
        spec: the network, which :func:`missing_chain` finds nothing wrong with; all its kernels are
            of one type.
        threads: of each kernel.
        weights: operands of each kernel whose weights are not stored.
        code: what was compiled before with as many threads; what is compiled now is added.

    Raises:
        CompileError: a schedule that the compiler refuses.
        WrongResultError: a layer's result differs from the reference.
    """

    def __init__(
        self,
        spec: ChainSpec,
        threads: int,
        weights: WeightSource = random_operands,
        code: Code | None = None,
    ) -> None:
        self._code: Code = {} if code is None else code
        self._spec, self._threads, self._weights = spec, threads, weights
        self._steps: list[Callable[[], object]] = []
        self.maps: dict[str, NDArray[Any]] = {}
        self._binders: dict[ConvShape, tuple[Binder, Operands]] = {}
        network = spec.network
        first = next(iter(spec.kernels.values()))[0]
        self._dtype = first.dtype
        for layer, sources in zip(network.layers, network.reads, strict=True):
            for source in sources:
                if is_input(source) and source not in self.maps:
                    self.maps[source] = random_map(layer, self._dtype)
            result: NDArray[Any] = np.zeros(layer.map_shape, STORED[self._dtype])
            if layer.uses_macs:
                self._add_kernel(layer, sources, result)
            else:
                self._add(_between(layer, [self.maps[s] for s in sources], result))
            self.maps[layer.name] = result

    def __call__(self) -> None:
        """Run all layers."""
        for step in self._steps:
            step()

    def _add(self, step: Callable[[], object]) -> None:
        """Add a step, and take it once, so that the next one reads what it will read."""
        step()
        self._steps.append(step)

    def _add_kernel(self, layer: Layer, sources: tuple[str, ...], result: NDArray[Any]) -> None:
        shape = shape_of_layer(layer)
        assert isinstance(shape, ConvShape), "missing_chain has looked"
        kernel = self._spec.kernels[shape][0]
        bind, operands = self._bound(layer, shape)
        image = self.maps[sources[0]]
        if len(sources) > 1:
            parts = [self.maps[source] for source in sources]
            joined = np.concatenate(parts)
            self._add(lambda: np.concatenate(parts, out=joined))
            image = joined
        image = image.reshape(shape.c, shape.h, shape.w)
        made = bind(image, result.reshape(shape.k, shape.p, shape.q))
        made.checked(reference(kernel, replace(operands, image=image)))
        self._steps.append(made.call)

    def _bound(self, layer: Layer, shape: ConvShape) -> tuple[Binder, Operands]:
        """Return the compiled kernel of a layer with its weights, and these."""
        kernel, schedule = self._spec.kernels[shape]
        if layer.name in self._spec.stored:
            operands = stored_operands(kernel, self._spec.stored[layer.name])
            return binder(kernel, schedule, operands, self._threads, self._code), operands
        if shape not in self._binders:
            operands = self._weights(kernel)
            made = binder(kernel, schedule, operands, self._threads, self._code)
            self._binders[shape] = made, operands
        return self._binders[shape]


class LibraryChain:
    """A network as torch runs it: the library's kernels on torch's own maps, in its own layouts.

    Args:
        spec: the network, whose kernels are all the library's.
        weights: operands of each kernel.

    Raises:
        WrongResultError: a layer's result differs from the reference.
    """

    def __init__(self, spec: ChainSpec, weights: WeightSource = random_operands) -> None:
        import torch

        self.maps: dict[str, Any] = {}
        self._steps: list[tuple[str, tuple[str, ...], Callable[..., Any]]] = []
        made: dict[ConvShape, tuple[Callable[..., Any], Operands]] = {}
        network = spec.network
        for layer, sources in zip(network.layers, network.reads, strict=True):
            for source in sources:
                if is_input(source) and source not in self.maps:
                    image = random_map(layer, "float32")
                    self.maps[source] = torch.from_numpy(image).unsqueeze(0)
            if layer.uses_macs:
                shape = shape_of_layer(layer)
                assert isinstance(shape, ConvShape), "missing_chain has looked"
                kernel, schedule = spec.kernels[shape]
                assert isinstance(schedule, Library), "the library's kernels have such schedules"
                if shape not in made:
                    operands = weights(kernel)
                    made[shape] = convolver(kernel, schedule, operands), operands
                convolve, operands = made[shape]
                size = (1, shape.c, shape.h, shape.w)
                step = _joined(convolve, size, len(sources))
                found = step(*(self.maps[s] for s in sources))
                read = np.concatenate([self.maps[s][0].numpy() for s in sources])
                image = np.ascontiguousarray(read).reshape(size[1:])
                result = found[0].numpy().reshape(shape.k, shape.p, shape.q)
                reference(kernel, replace(operands, image=image)).check(result)
            else:
                step = partial(_pooled_or_summed, layer)
                found = step(*(self.maps[s] for s in sources))
            self.maps[layer.name] = found
            self._steps.append((layer.name, sources, step))

    def __call__(self) -> None:
        """Run all layers."""
        maps = self.maps
        for name, sources, step in self._steps:
            maps[name] = step(*(maps[source] for source in sources))


def _joined(
    convolve: Callable[..., Any], size: tuple[int, ...], sources: int
) -> Callable[..., Any]:
    """Return a convolution of maps laid side by side."""
    import torch

    if sources == 1:
        return lambda x: convolve(x if x.shape == size else x.reshape(size))
    return lambda *maps: convolve(torch.cat(maps, 1))


def random_map(layer: Layer, dtype: str) -> NDArray[Any]:
    """Return an input of a network: normal random numbers, the same for equal layers."""
    shape = (layer.input_channels, *layer.input_size)
    values = np.random.default_rng(1).standard_normal(shape)
    if dtype == "int8":
        values = np.clip(np.rint(values * 32), -127, 127)
    return values.astype(STORED[dtype])


def _between(layer: Layer, maps: list[NDArray[Any]], result: NDArray[Any]) -> Callable[[], object]:
    """Return an operator between kernels, bound to its maps."""
    if result.dtype == np.int8:
        return lambda: np.copyto(result, _whole(layer, maps), casting="unsafe")
    import torch

    tensors, out = [torch.from_numpy(m).unsqueeze(0) for m in maps], torch.from_numpy(result)
    return lambda: out.copy_(_pooled_or_summed(layer, *tensors)[0])


def _pooled_or_summed(layer: Layer, *maps: Any) -> Any:
    """Return a sum or pool of torch's maps."""
    import torch

    if layer.operator == "add":
        found = maps[0] + maps[1]
        for more in maps[2:]:
            found.add_(more)
    else:
        rows, columns = layer.padding
        bottom = (layer.p - 1) * layer.stride[0] + layer.r - rows - layer.input_size[0]
        right = (layer.q - 1) * layer.stride[1] + layer.s - columns - layer.input_size[1]
        frame = (columns, max(right, 0), rows, max(bottom, 0))
        pools = layer.operator == "maxpool"
        fill = float("-inf") if pools else 0.0
        x = torch.nn.functional.pad(maps[0], frame, value=fill) if any(frame) else maps[0]
        pool = torch.nn.functional.max_pool2d if pools else torch.nn.functional.avg_pool2d
        found = pool(x, (layer.r, layer.s), layer.stride)[:, :, : layer.p, : layer.q]
    if not layer.activation:
        return found
    return found.clamp_(0, 6) if layer.activation == "relu6" else found.relu_()


def _whole(layer: Layer, maps: list[NDArray[Any]]) -> NDArray[Any]:
    """Return a sum or pool of int8 maps, cut off at the ends of the type."""
    low = 0 if layer.activation else -128
    if layer.operator == "add":
        total = maps[0].astype(np.int16)
        for more in maps[1:]:
            total += more
        return np.clip(total, low, 127)
    rows, columns = layer.padding
    sides = (
        (layer.p - 1) * layer.stride[0] + layer.r,
        (layer.q - 1) * layer.stride[1] + layer.s,
    )
    pools = layer.operator == "maxpool"
    size = [
        max(s, m + pad) for s, m, pad in zip(sides, layer.input_size, layer.padding, strict=True)
    ]
    frame = np.full((len(maps[0]), *size), -128 if pools else 0, np.int8)
    frame[:, rows : rows + maps[0].shape[1], columns : columns + maps[0].shape[2]] = maps[0]
    windows = sliding_window_view(frame[:, : sides[0], : sides[1]], (layer.r, layer.s), axis=(1, 2))
    windows = windows[:, :: layer.stride[0], :: layer.stride[1]]
    if pools:
        return np.asarray(windows.max(axis=(3, 4)))
    return np.rint(windows.mean(axis=(3, 4), dtype=np.float32))
