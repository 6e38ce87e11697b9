"""What rounding may take off a cost, so that bounds stay below it (lemma 4 of
``docs/explanation/bounds_proofs.md``).

Each energy of a cost is rounded to a multiple of 2**-8 pJ: of every layer, and of every tile of a
fused group. Bounds count exact energies. A layer by itself has few of these energies, and they are
subtracted as they are. A plan may have any number of tiles, but each of them writes results to the
buffer or to DRAM: what rounding takes off a tile is a share of what these accesses cost.
"""

from math import ceil, floor
from typing import Final, NamedTuple

from archloom.space import Infeasible
from archloom.space.hardware import Hardware, fusion_cores
from archloom.space.workload import OUTPUTS, TENSORS

from ..hardware import event_costs

#: half of the grain that energies are rounded to (``evaluators/loopnest/layer_cost.py``)
HALF_GRAIN_PJ: Final = 2.0**-9
#: bounds stay below the truth by this much, against rounding of floating-point numbers
ROUNDING: Final = 1e-11
#: half grains of an operator of the vector unit: three operands in the buffer and in DRAM and the
#: operations, each of them rounded once more if the operator runs several times
_VECTOR_PARTS: Final = 14


def grains_below(energy_pj: float) -> float:
    """Return the largest multiple of the grain that is surely not above an energy, nor below 0."""
    grain = 2 * HALF_GRAIN_PJ
    return max(0.0, floor(energy_pj * (1 - ROUNDING) / grain) * grain)


def whole_cycles(cycles: float) -> float:
    """Return the least whole number that is surely not below cycles: a cost has whole ones."""
    return float(ceil(cycles * (1 - ROUNDING)))


def evaluation_pj(levels: int) -> float:
    """Return the most that rounding takes off one layer, or off one tile of it.

    Of three operands at each level and of the operations; what a folded layer leaves of one of them
    is rounded again.
    """
    return max(3 * levels + 2, _VECTOR_PARTS) * HALF_GRAIN_PJ


class TileRounding(NamedTuple):
    """What rounding leaves of the energies of tiles, at the least.

    Attributes:
        buffer, dram: shares of the energy of accesses to the shared buffer, and to DRAM, by layers
            on MACs.
        vectors: the same of accesses to the buffer by the vector unit.
        mac_pj, vector_op_pj: energies to subtract for each multiply-accumulate, and for each
            operation of the vector unit: 0 unless an access costs less than rounding may take.
    """

    buffer: float
    dram: float
    vectors: float
    mac_pj: float
    vector_op_pj: float


#: where nothing runs in tiles
NO_TILES: Final = TileRounding(1.0, 1.0, 1.0, 0.0, 0.0)


def tile_rounding(hardware: Hardware, served: float) -> TileRounding:
    """Return what rounding leaves of tiles on a chip.

    Args:
        hardware: the chip.
        served: the least share of the MACs' accesses to results that zeros leave.
    """
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return NO_TILES
    *_, (_, _, update_pj), _ = event_costs(cores.one).accesses_pj
    taken, of_results = evaluation_pj(len(hardware.levels)), update_pj[OUTPUTS]
    buffer, dram = of_results, dram_access_pj(hardware)
    if served < 1:
        buffer *= served if serves_macs(cores.one, -2, OUTPUTS) else 1.0
        dram *= served if serves_macs(cores.one, -1, OUTPUTS) else 1.0
    return TileRounding(
        _left(taken, buffer),
        _left(taken, dram),
        _left(taken, of_results),
        max(0.0, taken - min(buffer, dram)),
        max(0.0, taken - of_results),
    )


def _left(taken: float, least: float) -> float:
    """Return what is left of an energy that is at least ``least`` if so much is taken off it."""
    return 1.0 - taken / least if least > taken else 0.0


def serves_macs(hardware: Hardware, level: int, tensor: int) -> bool:
    """Whether MACs may get a tensor from a level without one further inside, so that zeros spare
    accesses there."""
    inside = hardware.levels[: level % len(hardware.levels)]
    return all(one.optional for one in inside if TENSORS[tensor] in one.keeps)


def dram_access_pj(hardware: Hardware) -> float:
    """Energy of an access to DRAM at the least."""
    read_pj, fill_pj, update_pj = event_costs(hardware).accesses_pj[-1]
    # results arrive from inside, operands from outside
    return min(*read_pj, *fill_pj[:OUTPUTS], update_pj[OUTPUTS])
