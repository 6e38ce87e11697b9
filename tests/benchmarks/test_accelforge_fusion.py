"""AccelForge beside Archloom: one description on both sides, prices put into each other's terms."""

import importlib
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import TENSORS

from ..source_tree import ROOT

sys.path.insert(0, str(ROOT))

PARTS = "benchmarks.fusion.beside_accelforge"
script: Any = importlib.import_module("benchmarks.fusion.accelforge_fusion")
cases: Any = importlib.import_module(f"{PARTS}.cases")
cascade: Any = importlib.import_module(f"{PARTS}.cascade")
nest: Any = importlib.import_module(f"{PARTS}.nest")
runs: Any = importlib.import_module(f"{PARTS}.runs")
translation: Any = importlib.import_module(f"{PARTS}.translation")

CASES = {case.name: case for case in cases.CASES}
RECORDED = json.loads((ROOT / "benchmarks" / "data" / "accelforge_fusion.json").read_text())

#: loops that AccelForge chose for one product, written as a mapping of Archloom
NESTS = {
    ("attention_256", "QK"): "W--:P256// WIO:C2/K32/C32 WIO:K8.G12//",
    ("attention_256", "AV"): "W--:P256// WIO:K2/K32/C32 WIO:C8.G12//",
    ("mlp_256", "T1"): "W--:P256// WIO:C24/K32/C32 WIO:K96//",
}


def level(counts: dict[str, Any], name: str, tensor: str) -> float:
    return sum(counts["words"].get(name, {}).get(tensor, {}).values())


def test_every_case_is_recorded_as_it_is_described() -> None:
    recorded = {name: row["digest"] for name, row in RECORDED["cases"].items()}
    assert recorded == {name: runs.digest(case) for name, case in CASES.items()}
    assert RECORDED["versions"]["accelforge"] == "1.0.467"


@pytest.mark.parametrize(("name", "made"), NESTS)
def test_the_same_loops_move_the_same_words(name: str, made: str) -> None:
    """Below DRAM, to which a result that is used on the spot does not go."""
    case, found = CASES[name], RECORDED["cases"][name]
    position = case.cascade.results.index(made)
    layer, hardware = case.cascade.network().layers[position], case.design.hardware()
    problem = MappingProblem.of_layer(layer, hardware)
    cost = mapped_cost(problem, Mapping.from_text(NESTS[name, made]))
    counts = found["counts"][made]
    line = case.cascade.products[position]
    names = dict(zip(TENSORS, (line.operands[1].name, line.operands[0].name, made), strict=True))
    pj = translation.drained_pj(
        line, counts["words"], found["loops"][made], case.cascade, case.design
    )
    drained = pj / case.design.buffer_pj
    for tensor, own in names.items():
        t = TENSORS.index(tensor)
        leaves = drained if tensor == "outputs" else 0
        assert level(counts, "spad_weights", own) == cost.words[0, t]
        arrived = 0 if own in case.cascade.results and tensor == "inputs" else cost.words[1, t]
        if arrived:
            assert level(counts, "buffer", own) - leaves == arrived
    assert counts["computed"]["MAC"] == cost.operations
    assert max(counts["cycles"]["MAC"], counts["cycles"]["buffer"]) == cost.chip_cycles


@pytest.mark.parametrize("name", CASES)
def test_energies_are_those_of_the_description(name: str) -> None:
    case, found = CASES[name], RECORDED["cases"][name]
    access: Any = importlib.import_module("archloom.evaluators.hardware")
    each = access.access_costs(case.design.hardware()).vector_op_pj
    vector_pj = runs.vector_operations(case) * each
    counted = translation.counted_pj(found, case.design, vector_pj)
    # AccelForge adds up in single precision
    assert counted == pytest.approx(found["energy_pj"], rel=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_bounds_of_the_translation(name: str) -> None:
    """Multiply-accumulates take a step each at best, and what leaves last is never read for it."""
    case, found = CASES[name], RECORDED["cases"][name]
    own = translation.own_price(found)
    price = translation.archloom_price(found, case.cascade, case.design)
    macs = sum(row["computed"].get("MAC", 0) for row in found["counts"].values())
    assert macs == sum(layer.macs for layer in case.cascade.network().layers)
    assert macs / (case.design.columns * case.design.rows) <= price.latency_cycles
    results = case.cascade.words(case.cascade.products[-1].result)
    least = own.energy_pj - case.design.buffer_pj * results
    if case.imperfect:
        assert own.latency_cycles <= price.latency_cycles
    else:
        assert own.latency_cycles == pytest.approx(price.latency_cycles)
    assert price.energy_pj <= least * (1 + 1e-12)


@pytest.mark.parametrize("products", [1, 2, 3, 4])
def test_fused_chains_cost_what_accelforge_says_if_drains_are_counted(products: int) -> None:
    """Golden figures of AccelForge, with ``drain_reads: counted``; without, those it takes out."""
    case = CASES[f"chain_of_{products}_128"]
    found = RECORDED["cases"][case.name]
    counted = runs.plan(case, "joint", "counted")["price"]
    # AccelForge adds up in single precision
    assert counted.energy_pj == pytest.approx(found["energy_pj"], rel=1e-6)
    assert counted.latency_cycles == found["latency_cycles"]
    free = runs.plan(case, "joint")["price"]
    assert counted.energy_pj - free.energy_pj == case.design.buffer_pj * 128 * 128
    theirs = translation.archloom_price(found, case.cascade, case.design)
    assert free.energy_pj == pytest.approx(theirs.energy_pj, rel=1e-6)


def test_results_of_pes_are_read_once_more_as_they_leave() -> None:
    """The same loops on a design whose PEs hold inputs and results too."""
    name, made = "edge_decode_512", "QK"
    case, found = CASES[name], RECORDED["cases"][name]
    problem = MappingProblem.of_layer(case.cascade.network().layers[0], case.design.hardware())
    cost = mapped_cost(
        problem, Mapping.from_text("--O:C4// -I-:// W--:K32// WIO://C16 WIO:K16.G8//")
    )
    line, counts = case.cascade.products[0], found["counts"][made]
    assert translation.added_up(line, found["loops"][made], case.cascade) == 16
    arguments = (line, counts["words"], found["loops"][made], case.cascade, case.design)
    # 512 scores of 8 heads, each a sum over 16 PEs, that never go to DRAM
    assert translation.drained_pj(*arguments) == 8 * 512 * 16 * case.design.spad_pj
    assert level(counts, "spad_weights", "K") == cost.words[2, 0]
    # AccelForge fills queries into PEs anew for each of 16 tiles of keys, Archloom once
    assert level(counts, "spad_inputs", "Q") - 8 * 64 * 15 == cost.words[1, 1]
    assert level(counts, "spad_outputs", made) - 8 * 512 * 16 == cost.words[0, 2]
    assert counts["cycles"]["MAC"] == 8 * 512 * 4


@pytest.mark.parametrize("name", ["edge_attention_256", "mlp_256", "multi_query_512"])
def test_loops_of_accelforge_are_a_nest_that_costs_the_same(name: str) -> None:
    """With Archloom's mappings inside; only waits come on top of AccelForge's cycles."""
    case, found = CASES[name], RECORDED["cases"][name]
    cost = nest.as_nest(found, case.cascade, runs.evaluator_of(case))
    counted = translation.archloom_price(found, case.cascade, case.design)
    # AccelForge adds up in single precision
    assert cost.dynamic_pj == pytest.approx(counted.energy_pj, rel=1e-6)
    busy = sum(share.latency_cycles for share in cost.layers)
    assert busy == counted.latency_cycles
    theirs = runs.theirs_here(case, found)
    assert theirs.energy_pj == counted.energy_pj
    assert theirs.latency_cycles == busy + cost.wait_cycles > busy
    # a mapping inside that takes longer than AccelForge's says nothing of its time
    faster = json.loads(json.dumps(found))
    for counts in faster["counts"].values():
        counts["cycles"] = dict.fromkeys(counts["cycles"], 1)
    assert not nest.no_slower(cost, faster, case.cascade)


def test_another_operator_is_priced_as_archloom_has_it() -> None:
    case, found = CASES["softmax_256"], RECORDED["cases"]["softmax_256"]
    cost = nest.as_nest(found, case.cascade, runs.evaluator_of(case))
    assert runs.theirs_here(case, found) == translation.Price(cost.dynamic_pj, cost.latency_cycles)
    assert runs.plan(case, "joint")["price"].edp_js < cost.dynamic_pj * cost.latency_cycles * 1e-21


def test_loops_that_are_no_nest_around_all_products_are_none() -> None:
    for name in ("projected_256", "chain_of_1_128", "large_reduction"):
        case, found = CASES[name], RECORDED["cases"][name]
        assert nest.loop_nest(found["tree"], case.cascade) is None
        counted = translation.archloom_price(found, case.cascade, case.design)
        assert runs.theirs_here(case, found) == counted


def test_heads_that_share_keys_are_one_loop_with_their_queries() -> None:
    """Of 512 x 16 rows 256 x 8 at once; keys and values stay for all of them."""
    case, found = CASES["multi_query_512"], RECORDED["cases"]["multi_query_512"]
    loops = nest.loop_nest(found["tree"], case.cascade)
    assert [loop.tile for loop in loops.loops] == [2048, 32]
    # queries, keys, scores, values, results
    assert loops.depth == (1, 0, 2, 0, 1)


def test_a_price_goes_there_and_back() -> None:
    design = CASES["attention_256"].design
    price = translation.Price(1.0e6, 10)
    assert price.edp_js == pytest.approx(1e-14)
    there = translation.accelforge_price(price, 100, design)
    assert there.energy_pj == 1.0e6 + 40 * 100
    assert translation.accelforge_price(price, 100, CASES["edge_mlp_128"].design) is None


@st.composite
def loops(draw: st.DrawFn) -> tuple[int, list[tuple[float, bool]]]:
    size = draw(st.integers(1, 40))
    tiles, tile = [], size
    for _ in range(draw(st.integers(0, 3))):
        tile = draw(st.integers(1, tile))
        tiles.append((float(tile), draw(st.booleans())))
    return size, tiles


@given(loops())
def test_steps_are_those_in_which_a_pe_works(drawn: tuple[int, list[tuple[float, bool]]]) -> None:
    size, tiles = drawn
    steps = set()
    for index in range(size):
        step, offset = [], index
        for tile, unrolled in tiles:
            if not unrolled:
                step.append(offset // int(tile))
            offset %= int(tile)
        steps.add(tuple(step))
    found = [("a", tile, unrolled) for tile, unrolled in tiles]
    whole = cascade.Cascade("one", ("B[a,c] = I[a,b] * W[b,c]",), {"a": size, "b": 1, "c": 1})
    assert translation.whole_steps(found, whole) == len(steps)


def test_one_description_of_products() -> None:
    grouped = cases.attention("grouped", 6, 8, 2, 4, sharing=3)
    scores, context = grouped.network().layers
    shapes = [(x.g, x.p, x.c, x.k) for x in (scores, context)]
    assert shapes == [(2, 18, 4, 8), (2, 18, 8, 4)]
    assert grouped.network().reads[1] == ("QK", "input:V")
    projected = cases.projected_attention("projected", 8, 2, 4)
    workload = projected.accelforge_workload()
    assert workload["einsums"][3]["einsum"] == "QK[m, p, h] = Q[m, h, e] * K[M: p, h, e]"
    assert workload["einsums"][4]["einsum"] == "AV[m, h, f] = QK[m, p, h] * V[M: p, h, E: f]"
    assert [x.params for x in projected.network().layers] == [64, 64, 64, 0, 0, 64]
    sizes = workload["rank_sizes"]
    for line in projected.products:
        ranks = dict.fromkeys(rank for t in line.tensors for rank in t.ranks)
        layer = projected.network().layers[projected.results.index(line.result.name)]
        assert layer.macs == projected.size(*ranks)
    assert sizes == {"M": 8, "D": 8, "H": 2, "E": 4, "P": 8, "F": 4, "G": 8}


@pytest.mark.parametrize(
    ("lines", "message"),
    [(("A[m] = B[m]",), "is no product"), (("A[m,n] = B[m,k] * W[k,n]",), "no size of k")],
)
def test_what_is_no_cascade_is_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cascade.Cascade("wrong", lines, {"m": 2, "n": 2})


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """Run the script and return the message that it ends with."""
    monkeypatch.setattr(sys, "argv", ["accelforge_fusion.py", *arguments])
    with pytest.raises(SystemExit) as end:
        script.main()
    return str(end.value.code)


def test_a_missing_accelforge_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, none = tmp_path / "figures.json", tmp_path / "none"
    message = called(monkeypatch, "--accelforge-python", sys.executable, "--record", str(file))
    assert "AccelForge does not run" in message
    assert "accelforge" in message.partition("does not run")[2].partition("pip")[0]
    assert "pip install accelforge" in message
    message = called(monkeypatch, "--accelforge-python", str(none), "--record", str(file))
    assert message.startswith(f"--accelforge-python {none}: No such file")
    assert called(monkeypatch) == "2"
    assert "pip install accelforge" in capsys.readouterr().err
    assert called(monkeypatch, "--accelforge-python", sys.executable) == "2"
    assert called(monkeypatch, "--against", str(none)) == "2"
    assert not file.exists()


def test_figures_of_another_description_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "figures.json"
    rows = {"attention_256": RECORDED["cases"]["attention_256"] | {"digest": "other"}}
    runs.record(file, {"versions": {}, "cases": rows})
    arguments = ("--against", str(file), "--cases")
    message = called(monkeypatch, *arguments, "attention_256")
    assert "figures of another description of attention_256" in message
    assert "no figures of mlp_197" in called(monkeypatch, *arguments, "mlp_197")


def test_runs_are_kept_and_not_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interpreter that answers with a recorded run stands for one that has AccelForge."""
    file, answer = tmp_path / "figures.json", tmp_path / "answer.json"
    row = RECORDED["cases"]["attention_256"]
    answer.write_text(json.dumps({"versions": RECORDED["versions"], **row}))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho run >> "{tmp_path}/log"\ncat "{answer}"\n')
    python.chmod(0o755)
    arguments = ["--accelforge-python", str(python), "--record", str(file)]
    for _ in range(2):
        chosen = ["accelforge_fusion.py", *arguments, "--cases", "attention_256"]
        monkeypatch.setattr(sys, "argv", chosen)
        script.main()
    assert "attention_256: EDP 1.206e-07" in capsys.readouterr().out
    assert runs.recorded(file)["cases"] == {"attention_256": row}
    # versions are asked for each time, the case once
    assert (tmp_path / "log").read_text().split() == ["run"] * 3
    answer.write_text(json.dumps({"versions": {"accelforge": "2"}}))
    assert "name another --record" in called(monkeypatch, *arguments)


def test_a_loop_tree_and_counts_are_read_from_what_accelforge_returns() -> None:
    run: Any = importlib.import_module(f"{PARTS}.mapper_run")

    def node(kind: str, **fields: Any) -> Any:
        return type(kind, (), fields)()

    inner = [
        node("Nested", nodes=[node("Temporal", rank_variable="e", tile_shape=2), made])
        for made in (node("Compute", einsum="A"), node("Compute", einsum="B"))
    ]
    nodes = [
        node("Storage", component="DRAM", tensors=["Q"]),
        node("Reservation"),
        node("Spatial", rank_variable="p", tile_shape=1, name="columns"),
        node("Sequential", nodes=inner),
    ]
    assert list(run.tree(nodes, 0)) == [
        *("DRAM keeps Q", "for p in tiles of 1 over columns"),
        *("-", "  for e in tiles of 2", "  A", "-", "  for e in tiles of 2", "  B"),
    ]
    loops = [["p", 1.0, True], ["e", 2.0, False]]
    assert list(run.paths_of(nodes, [])) == [("A", loops), ("B", loops)]
    keys = product(["A"], ["action"], ["DRAM"], ["Q"], ["read", "write"])
    row = dict(zip(map("<SEP>".join, keys), (5, 0), strict=True))
    row |= {"A<SEP>action<SEP>MAC<SEP>None<SEP>compute": 7, "A<SEP>latency<SEP>MAC": 3}
    found = run.counts(type("Row", (dict,), {"index": property(lambda self: list(self))})(row))
    assert found == {
        "A": {
            "words": {"DRAM": {"Q": {"read": 5.0}}},
            "computed": {"MAC": 7.0},
            "cycles": {"MAC": 3},
        }
    }
