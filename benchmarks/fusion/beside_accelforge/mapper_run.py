"""One run of AccelForge's fused mapper: a request on standard input, what it found on output.

Its text is handed to an interpreter that has AccelForge and need not have Archloom (``runs.ask``).

The request, in JSON, has ``architecture`` (YAML), ``workload`` and ``imperfect``; an empty one asks
for the versions alone. The mapper minimises EDP in one process. When it evaluates in detail what it
found it also draws a picture, with Graphviz; what is called here evaluates without, and needs no
program beside Python.
"""

import json
import sys
import tempfile
import time
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: packages whose versions may change what is found
PACKAGES = ("accelforge", "hwcomponents", "islpy-barvinok", "numpy", "pandas", "sympy", "symengine")

SEPARATOR = "<SEP>"


def versions() -> dict[str, str]:
    """Return versions of Python and of packages."""
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, **{name: version(name) for name in PACKAGES}}


def found(request: dict[str, Any]) -> dict[str, Any]:
    """Map a workload and return the best mapping, with what it costs and counts."""
    import accelforge
    from accelforge.frontend.mapper.metrics import Metrics
    from accelforge.mapper.FFM.main import map_workload_to_arch
    from accelforge.model.main import evaluate_mapping

    accelforge.set_n_parallel_jobs(1)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("architecture.yaml", "workload.yaml")]
        paths[0].write_text(request["architecture"])
        paths[1].write_text(json.dumps({"workload": request["workload"]}))
        spec = accelforge.Spec.from_yaml(*map(str, paths))
    spec.mapper.metrics = Metrics.ENERGY_DELAY_PRODUCT
    spec.mapper.explore_imperfect_temporal_loops = request["imperfect"]
    spec.mapper.explore_imperfect_spatial_loops = request["imperfect"]
    began = time.process_time()
    best = map_workload_to_arch(spec, print_progress=False, eval_in_detail=False)
    spent = time.process_time() - began
    detailed = deepcopy(spec)
    detailed.model.metrics = Metrics.all_metrics()
    detailed.mapping = best.data.iloc[0][f"Total{SEPARATOR}mapping"](_for_model=True)
    row = evaluate_mapping(
        detailed, flattened_arches=best.flattened_arches, evaluated_specs=best.evaluated_specs
    ).data.iloc[0]
    return {
        "energy_pj": float(row[f"Total{SEPARATOR}energy"]),
        "latency_cycles": float(row[f"Total{SEPARATOR}latency"]),
        "cpu_s": round(spent, 2),
        "counts": counts(row),
        "tree": list(tree(detailed.mapping.nodes, 0)),
        "loops": dict(paths_of(detailed.mapping.nodes, [])),
    }


def counts(row: Any) -> dict[str, dict[str, Any]]:
    """Return words by product, component, tensor and action; computations, and cycles."""
    products: dict[str, dict[str, Any]] = {}
    for column in row.index:
        match column.split(SEPARATOR):
            case [name, "action", component, tensor, action]:
                product = products.setdefault(name, {"words": {}, "computed": {}, "cycles": {}})
                amount = float(row[column])
                if action == "compute":
                    product["computed"][component] = amount
                elif amount:
                    words = product["words"].setdefault(component, {})
                    words.setdefault(tensor, {})[action] = amount
            case [name, "latency", component] if float(row[column]):
                product = products.setdefault(name, {"words": {}, "computed": {}, "cycles": {}})
                product["cycles"][component] = float(row[column])
    return products


def tree(nodes: Any, depth: int) -> Any:
    """Yield the lines of a loop tree; what runs one after another stands below a dash each."""
    indent = "  " * depth
    for node in nodes:
        kind = type(node).__name__
        if hasattr(node, "nodes"):
            for child in node.nodes:
                yield f"{indent}-"
                yield from tree(child.nodes, depth + 1)
        elif kind == "Storage":
            yield f"{indent}{node.component} keeps {', '.join(map(str, node.tensors))}"
        elif kind in ("Temporal", "Spatial"):
            where = f" over {node.name}" if kind == "Spatial" else ""
            yield f"{indent}for {node.rank_variable} in tiles of {node.tile_shape}{where}"
        elif kind == "Compute":
            yield f"{indent}{node.einsum}"


def paths_of(nodes: Any, above: list[list[Any]]) -> Any:
    """Yield each product with its loops, outermost first: rank, tile, and whether unrolled."""
    loops = list(above)
    for node in nodes:
        kind = type(node).__name__
        if hasattr(node, "nodes"):
            for child in node.nodes:
                yield from paths_of(child.nodes, loops)
        elif kind in ("Temporal", "Spatial"):
            loops.append([str(node.rank_variable), float(node.tile_shape), kind == "Spatial"])
        elif kind == "Compute":
            yield str(node.einsum), loops


def main() -> None:
    """Answer the request."""
    asked = json.load(sys.stdin)
    answer = {"versions": versions()}
    if asked:
        answer |= found(asked)
    json.dump(answer, sys.stdout)
