"""The roofline of a design: what its MACs and its DRAM let a layer or a network reach.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009: attainable operations per second
are the lesser of the peak and of DRAM bandwidth times operations per byte.
"""

from dataclasses import dataclass

from ..space.hardware import Hardware
from ..space.layer import Layer
from ..space.network import Network
from .layer_bounds import layer_bound, word_bytes


@dataclass(frozen=True)
class Roofline:
    """Where a layer, or a network that runs layer by layer, stands under the roof of a design.

    A multiply-accumulate (MAC) is two operations (FLOP).

    Attributes:
        hardware: gives peak, bandwidth and clock.
        macs: multiply-accumulates.
        compute_cycles: least cycles on the MACs that its loops can occupy.
        compulsory_bytes: over DRAM, each word once.
        least_bytes: over DRAM, given the room on the chip.
    """

    hardware: Hardware
    macs: int
    compute_cycles: float
    compulsory_bytes: float
    least_bytes: float

    @property
    def peak_macs_per_cycle(self) -> int:
        """MACs on the chip."""
        return self.hardware.macs

    @property
    def peak_flop_per_s(self) -> float:
        """The flat part of the roof."""
        return 2 * self.hardware.macs * self.hardware.frequency_mhz * 1e6

    @property
    def bytes_per_cycle(self) -> float:
        """Peak DRAM bandwidth."""
        return dram_bytes_per_cycle(self.hardware)

    @property
    def macs_per_byte(self) -> float:
        """Operational intensity with every word moved once."""
        return self.macs / self.compulsory_bytes

    @property
    def flop_per_byte(self) -> float:
        """Operational intensity in FLOP per byte."""
        return 2 * self.macs_per_byte

    @property
    def reachable_macs_per_byte(self) -> float:
        """The most that any mapping reaches, given the room on the chip."""
        return self.macs / self.least_bytes

    @property
    def ridge_macs_per_byte(self) -> float:
        """Intensity at which DRAM just keeps all MACs busy; 0 if it is infinitely fast."""
        return self.hardware.macs / self.bytes_per_cycle

    @property
    def ridge_flop_per_byte(self) -> float:
        """The ridge in FLOP per byte."""
        return 2 * self.ridge_macs_per_byte

    @property
    def attainable_macs_per_cycle(self) -> float:
        """The classic roofline: the lesser of the peak and of what compulsory traffic allows."""
        return min(self.hardware.macs, self.macs_per_byte * self.bytes_per_cycle)

    @property
    def reachable_macs_per_cycle(self) -> float:
        """With the MACs that the loops can occupy, and the traffic that the room demands."""
        occupied = self.macs / self.compute_cycles if self.compute_cycles else 0.0
        return min(occupied, self.reachable_macs_per_byte * self.bytes_per_cycle)

    @property
    def bound_by(self) -> str:
        """``compute``, or ``memory`` if compulsory traffic leaves MACs idle."""
        return "memory" if self.macs_per_byte < self.ridge_macs_per_byte else "compute"


def dram_bytes_per_cycle(hardware: Hardware) -> float:
    """Return the bytes that DRAM moves in a cycle at most."""
    dram = hardware.levels[-1]
    both = dram.read_bandwidth_words + dram.write_bandwidth_words
    return min(dram.bandwidth_words, both) * hardware.word_bits / 8


def roofline(layer: Layer, hardware: Hardware) -> Roofline:
    """Return the roofline of one layer with its operands in DRAM.

    Raises:
        ValueError: a layer of the vector unit, which has no MACs.
    """
    if not layer.uses_macs:
        raise ValueError(f"layer {layer.name}: {layer.operator} runs on the vector unit, not MACs")
    bound = layer_bound(layer, hardware)
    compulsory = sum(
        words * size
        for words, size in zip(bound.compulsory_words, word_bytes(hardware), strict=True)
    )
    return Roofline(hardware, layer.macs, bound.compute_cycles, float(compulsory), bound.dram_bytes)


def network_roofline(network: Network, hardware: Hardware) -> Roofline:
    """Return the roofline of a network that runs layer by layer, on MACs and vector unit."""
    bounds = [layer_bound(layer, hardware) for layer in network.layers]
    compulsory = sum(
        words * size
        for bound in bounds
        for words, size in zip(bound.compulsory_words, word_bytes(hardware), strict=True)
    )
    return Roofline(
        hardware,
        sum(layer.macs for layer in network.layers),
        sum(bound.compute_cycles for bound in bounds),
        float(compulsory),
        sum(bound.dram_bytes for bound in bounds),
    )
