"""Runs of both sides: AccelForge in an interpreter of its own, recorded; Archloom here."""

import hashlib
import json
import time
from math import exp
from pathlib import Path
from typing import Any, Final

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.planners import fusion_search
from archloom.space.hardware.effects import DrainReads
from benchmarks import other_interpreter

from .cases import Case
from .nest import as_nest, no_slower
from .translation import Price, archloom_price

#: what was found to be needed: the wheels that pip takes are enough
NEEDED: Final = (
    "pip install accelforge==1.0.467 into an interpreter of its own (Python 3.12 was used); "
    "wheels bring all that the mapper needs, and it needs no system package"
)

_RUNNER: Final = Path(__file__).with_name("mapper_run.py")

#: plans that a planner may price, as in fusion_planners.py
_PLANS: Final = 60
_EVALUATIONS: Final = 100_000


def request(case: Case) -> dict[str, Any]:
    """Return what AccelForge is asked for a case."""
    return {
        "architecture": case.design.accelforge_architecture(vector_operations(case)),
        "workload": case.cascade.accelforge_workload(),
        "imperfect": case.imperfect,
    }


def vector_operations(case: Case) -> int:
    """Return the operations for a word of what runs on the vector unit; 0 if nothing does."""
    layers = zip(case.cascade.products, case.cascade.network().layers, strict=True)
    return max((layer.vector_ops_per_word for p, layer in layers if p.elementwise), default=0)


def digest(case: Case) -> str:
    """Return what tells apart cases of other designs, products or settings."""
    text = json.dumps(request(case), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ask(python: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Run AccelForge in its interpreter; an empty request returns versions.

    Ends the program with a message if it cannot run.
    """
    program = f"{_RUNNER.read_text()}\nmain()\n"
    answer: dict[str, Any] = other_interpreter.ask(
        "--accelforge-python", python, "AccelForge", NEEDED, program, asked
    )
    return answer


def recorded(file: Path) -> dict[str, Any]:
    """Return recorded figures, empty ones if there is no such file yet."""
    if not file.exists():
        return {"versions": {}, "cases": {}}
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def record(file: Path, figures: dict[str, Any]) -> None:
    """Write figures, a line for each case."""
    lines = [f'  "{name}": {json.dumps(row)}' for name, row in figures["cases"].items()]
    cases = ",\n".join(lines)
    file.write_text(
        f'{{"versions": {json.dumps(figures["versions"])},\n"cases": {{\n{cases}\n}}}}\n'
    )


def evaluator_of(case: Case, drain_reads: DrainReads = "free") -> MemoizedPlanEvaluator:
    """Return what evaluates plans of a case, with nothing known before."""
    hardware, network = case.design.hardware(drain_reads), case.cascade.network()
    factors = "imperfect" if case.imperfect else "exact"
    mapper = Mapper(MAPPING_SEARCHES["auto"](), _EVALUATIONS, 1, factors)
    return MemoizedPlanEvaluator(network, hardware, mapper)


def theirs_here(case: Case, found: dict[str, Any]) -> Price:
    """Return the price of AccelForge's best mapping in Archloom's terms, waits included.

    Where an operator differs it is that of AccelForge's loops with Archloom's operator.
    """
    counted = archloom_price(found, case.cascade, case.design)
    cost = as_nest(found, case.cascade, evaluator_of(case))
    if cost is None:
        return counted
    if case.unequal:
        return Price(cost.dynamic_pj, cost.latency_cycles)
    if not no_slower(cost, found, case.cascade):
        return counted
    return Price(counted.energy_pj, max(counted.latency_cycles, cost.latency_cycles))


def plan(case: Case, planner: str, drain_reads: DrainReads = "free") -> dict[str, Any]:
    """Return what a planner of Archloom finds, with nothing known before, and layer by layer."""
    evaluator = evaluator_of(case, drain_reads)
    network = evaluator.network
    search = fusion_search(planner, evaluator)
    began = time.process_time()
    state = search.advance(search.start(1), _PLANS)
    spent = time.process_time() - began
    cost = evaluator.plan(state.best)
    assert isinstance(cost, NetworkCost)
    return {
        "layer_by_layer_js": exp(state.history[0]),
        "price": Price(cost.energy_pj, cost.latency_cycles),
        "dram_reads": cost.dram_reads,
        "dram_writes": cost.dram_writes,
        "groups": [[network.layers[i].name for i in g.layers] for g in state.best.groups],
        "cpu_s": spent,
    }
