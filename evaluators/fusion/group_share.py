"""What a fused group costs, and what each of its layers adds to that."""

from dataclasses import dataclass
from functools import cached_property

from archloom.evaluators.loopnest import Counts, Energies, LayerCost
from archloom.space.fusion import ALONE, FusionGroup, Residents


@dataclass(frozen=True)
class LayerShare:
    """What one layer contributes to its group over a whole pass.

    Attributes:
        layer: position in the network.
        words, energy_pj: [L, 3], as in LayerCost, over all tiles and with the transfers
            between DRAM and buffer that serve the layer.
        compute_pj: of its operations.
        latency_cycles: time that it holds the array.
        operations: multiply-accumulates or vector operations, repeated ones included.
        evaluations: the distinct tiles, as (how many, cost of one).
    """

    layer: int
    words: Counts
    energy_pj: Energies
    compute_pj: float
    latency_cycles: int
    operations: int
    evaluations: tuple[tuple[int, LayerCost], ...]

    def beside(self, other: "LayerShare") -> "LayerShare":
        """Return the share of a layer of which this and the other one are parts."""
        return LayerShare(
            self.layer,
            self.words + other.words,
            self.energy_pj + other.energy_pj,
            self.compute_pj + other.compute_pj,
            self.latency_cycles + other.latency_cycles,
            self.operations + other.operations,
            self.evaluations + other.evaluations,
        )


@dataclass(frozen=True)
class GroupCost:
    """Cost of one group over a whole pass.

    Attributes:
        group: what was evaluated.
        layers: a share for each layer, in order.
        wait_cycles: time in which the array waits for DRAM or the buffer's ports.
        dram_reads, dram_writes: words.
        own_words: most words of the shared buffer (of one core's) that the group itself has in
            use; 0 if it streams.
        tiles: tiles of one image.
        prefetch: whether transfers of neighbouring tiles overlap with compute.
        residents: what else its plan keeps in the buffer.
        cores: on which tiles run side by side; 1 if they share one buffer.
        part: cost on one sub-batch that finds all weights that stay in the buffer; None if the
            batch is not cut and no weights are loaded once.
    """

    group: FusionGroup
    layers: tuple[LayerShare, ...]
    wait_cycles: int
    dram_reads: int
    dram_writes: int
    own_words: int
    tiles: int
    prefetch: bool
    residents: Residents = ALONE
    cores: int = 1
    part: "GroupCost | None" = None

    @property
    def peak_words(self) -> int:
        """Most words of the shared buffer in use, pinned maps and steady weights with them."""
        return self.own_words + self.residents.words

    # every plan with the group adds these up

    @cached_property
    def latency_cycles(self) -> int:
        """Time of the group."""
        return sum(s.latency_cycles for s in self.layers) + self.wait_cycles

    @cached_property
    def dynamic_pj(self) -> float:
        """Energy without leakage."""
        return float(sum(s.energy_pj.sum() + s.compute_pj for s in self.layers))
