"""ResNet-18 on one design, mapped by ZigZag and by the default search: times, and prices of both.

    python benchmarks/mapping/zigzag_mapping.py [--layers 12] [--lpf-limit 6]

Needs zigzag-dse (Mei et al., IEEE TC 2021; pip install zigzag-dse six). The design is one of the
edge space with 16 x 16 PEs; ZigZag gets the same array, memories, energies of an access and
bandwidths. Its LOMA engine (Symons et al., AICAS 2021) enumerates orders of up to ``lpf-limit``
loop factors, larger products of primes left whole, under three spatial mappings that it generates,
and allots loops to memories bottom-up: a slice of all mappings. Both minimise EDP, each on its own
model: that of ZigZag has no leakage, and counts filling and draining. What compares are the
mappings, both priced on our model. One whose tensors share loops in a way that our model has no
words for is left out.
"""

import argparse
import logging
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mapping_search import designs

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.mapping import Mapping
from archloom.space.networks.registry import network
from archloom.space.workload.dims import DIMS, TENSORS
from archloom.space.workload.layer import Layer

#: ZigZag's operands in our order of tensors: in memories, and in layers
OPERANDS, LAYER_OPERANDS = ("I2", "I1", "O"), ("W", "I", "O")

#: directions of a port's transfers: inputs and weights come and go inwards, outputs both ways
MOVES = {"I1": ("fh", "tl"), "I2": ("fh", "tl"), "O": ("fh", "tl", "fl", "th")}

#: dimensions that move weights, inputs, outputs
RELEVANT = ("GKCRS", "NGCPQRS", "NGKPQ")

EVALUATIONS = 10_000_000


@dataclass(frozen=True)
class Mapped:
    """What ZigZag found for a layer; ``ours`` is the EDP on our model, infinite if it has none."""

    layer: str
    cpu_s: float
    energy_pj: float
    cycles: float
    ours: float


def architecture(hardware: Hardware) -> dict[str, Any]:
    """The hardware as ZigZag reads it: registers of each PE, a buffer, DRAM.

    ZigZag prices an access of a port's whole width, so that energies are those of as many of our
    accesses as a port makes in a cycle.
    """
    costs, bits = access_costs(hardware), hardware.word_bits
    spad, buffer, dram = hardware.levels
    memories: dict[str, Any] = {}
    for t, tensor in enumerate(TENSORS):
        size = (spad.buffer_bytes(tensor) or 0) * 8
        energy = (float(costs.read_pj[0, t]), float(costs.write_pj[0, t]))
        memories[f"{spad.name}_{tensor}"] = memory([t], [], size, energy, bits)
    for level, name in ((1, buffer), (2, dram)):
        accesses = name.bandwidth_words / name.width_words
        energy = (
            float(costs.read_pj[level].max()) * accesses,
            float(costs.write_pj[level].max()) * accesses,
        )
        size = name.total_bytes * 8 if name.capacity_bytes else 10**12
        tensors = [t for t in range(3) if TENSORS[t] in name.keeps]
        width = round(name.bandwidth_words * bits)
        memories[name.name] = memory(tensors, ["D1", "D2"], size, energy, width, bits)
    array = {
        "unit_energy": costs.mac_pj,
        "unit_area": 0.0,
        "dimensions": ["D1", "D2"],
        "sizes": list(hardware.pe_mesh),
    }
    return {"name": "drawn", "memories": memories, "operational_array": array}


def memory(
    tensors: list[int],
    served: list[str],
    size: int,
    energy_pj: tuple[float, float],
    width: int,
    least: int | None = None,
) -> dict[str, Any]:
    """A memory: registers have a port to read and one to write, others one for both."""
    moves = [f"{OPERANDS[t]}, {move}" for t in tensors for move in MOVES[OPERANDS[t]]]
    ports = {"rw_port_1": moves}
    if not served:
        ports = {
            "r_port_1": [move for move in moves if move[-2] == "t"],
            "w_port_1": [move for move in moves if move[-2] == "f"],
        }
    kinds = {"rw_port_1": "read_write", "r_port_1": "read", "w_port_1": "write"}
    return {
        "size": size,
        "r_cost": energy_pj[0],
        "w_cost": energy_pj[1],
        "area": 0.0,
        "latency": 1,
        "operands": [OPERANDS[t] for t in tensors],
        "ports": [
            {
                "name": name,
                "type": kinds[name],
                "bandwidth_min": least or width,
                "bandwidth_max": width,
                "allocation": allotted,
            }
            for name, allotted in ports.items()
        ],
        "served_dimensions": served,
    }


def layer_record(layer: Layer, bits: int) -> dict[str, Any]:
    """The layer as ZigZag reads it; our letters of dimensions are its letters of dimensions."""
    (sy, sx), (dy, dx) = layer.stride, layer.dilation
    return {
        "id": 0,
        "name": layer.name,
        "operator_type": "Conv",
        "equation": "O[n][g][k][p][q]+=W[g][k][c][r][s]*I[n][g][c][y][x]",
        "dimension_relations": [f"y={sy}*p+{dy}*r", f"x={sx}*q+{dx}*s"],
        "loop_dims": list(DIMS),
        "loop_sizes": list(layer.bounds),
        "operand_precision": {"W": bits, "I": bits, "O": bits, "O_final": bits},
        "pr_loop_dims": ["Y", "X"],
        "pr_loop_sizes": list(layer.input_size),
        "padding": [[pad, pad] for pad in layer.padding],
    }


def zigzag(layer: Layer, hardware: Hardware, options: argparse.Namespace) -> Mapped:
    """Let ZigZag map a layer for EDP, and price its mapping on our model if it can be."""
    from zigzag.api import get_hardware_performance_zigzag

    links = {"O": "O", "W": "I2", "I": "I1"}
    with tempfile.TemporaryDirectory() as folder:
        inputs = {
            "accelerator": architecture(hardware),
            "workload": [layer_record(layer, hardware.word_bits)],
            "mapping": [{"name": "default", "memory_operand_links": links}],
        }
        paths = {name: str(Path(folder, f"{name}.yaml")) for name in inputs}
        for name, content in inputs.items():
            Path(paths[name]).write_text(yaml.safe_dump(content, sort_keys=False))
        began = time.process_time()
        energy, cycles, found = get_hardware_performance_zigzag(
            **paths,
            opt="EDP",
            temporal_mapping_type="even",
            lpf_limit=options.lpf_limit,
            dump_folder=folder,
            loma_show_progress_bar=False,
        )
        spent = time.process_time() - began
    best = found[0][1][0][0]
    ours = priced(best, MappingProblem.of_layer(layer, hardware))
    return Mapped(layer.name, spent, energy, cycles, ours)


def priced(found: Any, problem: MappingProblem) -> float:
    """Our EDP (pJ cycles, leakage included) of a mapping of ZigZag; infinite if it has none."""
    prices = []
    for swapped in (False, True):
        try:
            mapping = translated(found, swapped)
            prices.append(objective(problem, mapped_cost(problem, mapping)))
        except ValueError:
            prices.append(inf)
    return min(prices)


def translated(found: Any, swapped: bool) -> Mapping:
    """Return a mapping of ZigZag as ours, with its two dimensions of the array along x and y.

    Raises:
        ValueError: factors are no whole numbers, or a tensor's own loops change its transfers.
    """
    kept = {str(op): levels for op, levels in found.temporal_mapping.mapping_dic_origin.items()}
    whole = [loop for level in kept["W"] for loop in level]
    cuts = [[sum(map(len, kept[op][:i])) for op in LAYER_OPERANDS] for i in (1, 2)]
    ends = [min(cut) for cut in cuts]
    for cut, end in zip(cuts, ends, strict=True):
        for t, own in enumerate(cut):
            check_own(t, [str(d) for d, _ in whole[end:own]])
    spread = {str(op): levels for op, levels in found.spatial_mapping.mapping_dict_origin.items()}
    side = [pair for level in spread["O"] for pair in level]
    meshes = [[1] * 8, [1] * 8]
    for i, (d, size) in enumerate(side):
        meshes[(i + swapped) % 2][DIMS.index(str(d))] *= natural(size)
    parts = [whole[: ends[0]], whole[ends[0] : ends[1]], whole[ends[1] :]]
    levels = []
    for i, loops in enumerate(parts):
        factors, order = [1] * 8, []
        for d, size in loops:
            factors[DIMS.index(str(d))] *= natural(size)
            order.append(DIMS.index(str(d)))
        if len(set(order)) != len(order):
            raise ValueError("a dimension has two loops at a level")
        order += [d for d in range(8) if d not in order]
        # the buffer feeds the array
        x, y = meshes if i == 1 else ([1] * 8, [1] * 8)
        levels.append([factors, order, x, y, [1, 1, 1]])
    return Mapping.from_rows(levels)


def check_own(tensor: int, dims: list[str]) -> None:
    """Refuse loops that one tensor holds alone where that saves it transfers.

    Loops that do not move it, then loops that do, cost the same at the level outside.
    """
    moved = [d in RELEVANT[tensor] for d in dims]
    if moved != sorted(moved):
        raise ValueError(f"{TENSORS[tensor]} alone hold the loops {dims}")


def natural(size: float) -> int:
    if size != int(size):
        raise ValueError(f"a factor of {size}")
    return int(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--lpf-limit", type=int, default=6)
    options = parser.parse_args()
    if find_spec("zigzag") is None:
        print("zigzag is not installed: pip install zigzag-dse six")
        sys.exit(2)
    logging.disable(logging.WARNING)
    hardware = designs()["edge 16x16, 512 KiB"]
    layers: dict[str, Layer] = {}
    for layer in network("resnet18").layers:
        if layer.uses_macs:
            layers.setdefault(MappingProblem.of_layer(layer, hardware).key, layer)
    mapper = Mapper(MAPPING_SEARCHES["auto"](), EVALUATIONS, 1)
    mapper(MappingProblem.of_layer(network("tiny_cnn").layers[0], hardware))  # compile
    print("EDP in pJ cycles              ZigZag  its model  on ours       ours  ratio  gap  ours")
    print("layer                          CPU-s        EDP      EDP        EDP           %  CPU-s")
    times = np.zeros(2)
    for layer in list(layers.values())[: options.layers]:
        row, problem = zigzag(layer, hardware, options), MappingProblem.of_layer(layer, hardware)
        began = time.process_time()
        cost = mapper(problem)
        spent = time.process_time() - began
        assert isinstance(cost, LayerCost)
        best = objective(problem, cost)
        times += row.cpu_s, spent
        print(
            f"{row.layer:28}  {row.cpu_s:6.2f}  {row.energy_pj * row.cycles:9.3e}  {row.ours:8.3e}"
            f"  {best:8.3e}  {row.ours / best:5.2f}  {cost.gap_percent:.2g}  {spent:.3f}",
            flush=True,
        )
    print(f"all{'':25}  {times[0]:6.2f}{'':44}{times[1]:.3f}")


if __name__ == "__main__":
    main()
