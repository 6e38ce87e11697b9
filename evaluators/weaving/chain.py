"""Chains of layers that share one accelerator, and the engines and buffers that they share."""

from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from archloom.space import Infeasible, is_whole

from ..arrays import Ints

#: no amount of a layer is larger, so that sums of a thousand layers stay exact in int64
MOST = 2**50


@dataclass(frozen=True, eq=False)
class Chain:
    """What a network's layers (or fused groups) cost, in order of execution: one row a layer.

    Attributes:
        name: of the network, in tables and messages.
        weight_bytes: int64[n], fetched before the layer starts, held in the weight buffer until
            it ends.
        cycles: int64[n], of the array, at the design's clock.
        map_bytes: int64[n], feature maps that cross the pins for the layer; 0 if they stay on chip.
        footprint_bytes: int64[n], maps on chip while the layer runs: inputs and outputs, or the
            tiles of a group.
        live_bytes: int64[n], maps still to be read after the layer: what a paused network keeps;
            0 after the last layer.
        layers: names of the layers.

    Raises:
        ValueError: no layers, lengths that differ, amounts that are negative, not whole or beyond
            2**50, maps that live after the last layer, or no layer with weights or cycles.
    """

    name: str
    weight_bytes: Ints
    cycles: Ints
    map_bytes: Ints
    footprint_bytes: Ints
    live_bytes: Ints
    layers: tuple[str, ...]

    def __post_init__(self) -> None:
        count = len(self.layers)
        if count == 0:
            raise ValueError(f"chain {self.name}: it has no layers; a chain needs at least one")
        for column in COLUMNS:
            values = self._whole(column)
            if values.shape != (count,):
                many = f" in {values.ndim} dimensions" if values.ndim > 1 else ""
                raise ValueError(
                    f"chain {self.name}: {column} has {values.size} values for {count} layers{many}"
                )
            wrong = np.flatnonzero((values < 0) | (values > MOST))
            if wrong.size:
                raise ValueError(
                    f"chain {self.name}: {column} of layer {self.layers[wrong[0]]} must be a whole "
                    f"number from 0 up to 2**50, got {values[wrong[0]]}"
                )
            values.setflags(write=False)
            object.__setattr__(self, column, values)
        if self.live_bytes[-1]:
            raise ValueError(
                f"chain {self.name}: live_bytes of the last layer, {self.layers[-1]}, must be 0, "
                f"got {self.live_bytes[-1]}, because no feature map is read after it"
            )
        if not (self.weight_bytes.any() or self.cycles.any()):
            raise ValueError(
                f"chain {self.name}: none of its {count} layers has weights or cycles; "
                "a network without MACs cannot be scheduled"
            )

    def _whole(self, column: str) -> Ints:
        given = np.asarray(getattr(self, column))
        if given.dtype.kind not in "iu":
            real = given.dtype.kind == "f"
            odd = next((v for v in given.ravel().tolist() if not real or v % 1 != 0), None)
            if odd is not None:
                raise ValueError(f"chain {self.name}: {column} must be whole numbers, got {odd!r}")
        return given.astype(np.int64)

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)


COLUMNS = tuple(f.name for f in fields(Chain) if f.name not in ("name", "layers"))


@dataclass(frozen=True)
class Npu:
    """The two engines and the buffers that chains share.

    Attributes:
        name: in tables and messages.
        dram_bytes_per_s: of the fetch engine, exact.
        clock_hz: of the array.
        weight_buffer_bytes: room for weights that are fetched, waiting or in use.
        map_buffer_bytes: room for feature maps of all chains.

    Raises:
        ValueError: a rate or a weight buffer that is not positive, a map buffer that is negative.
    """

    name: str
    dram_bytes_per_s: Fraction | int
    clock_hz: int
    weight_buffer_bytes: int
    map_buffer_bytes: int

    def __post_init__(self) -> None:
        rate = self.dram_bytes_per_s
        exact = isinstance(rate, Fraction) or is_whole(rate, 1, MOST)
        if not exact or not 0 < rate <= MOST:
            raise ValueError(
                f"NPU {self.name}: dram_bytes_per_s must be a whole number or a Fraction "
                f"from above 0 up to 2**50, got {rate!r}"
            )
        for field, least in (("clock_hz", 1), ("weight_buffer_bytes", 1), ("map_buffer_bytes", 0)):
            value = getattr(self, field)
            if not is_whole(value, least, MOST):
                raise ValueError(
                    f"NPU {self.name}: {field} must be a whole number from {least} up to 2**50, "
                    f"got {value!r}"
                )


def unfit_layer(chain: Chain, npu: Npu) -> Infeasible | None:
    """Return the layer whose maps alone are too many for the map buffer; None if all fit."""
    room = np.maximum(chain.footprint_bytes, chain.live_bytes)
    widest = int(np.argmax(room))
    needed = int(room[widest])
    if needed <= npu.map_buffer_bytes:
        return None
    hint = "use a smaller batch, or hardware with a larger feature map buffer"
    where = f"{chain.name}, layer {chain.layers[widest]} on {npu.name}"
    return Infeasible("map_overflow", where, needed, npu.map_buffer_bytes, "bytes", hint)
