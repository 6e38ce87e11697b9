"""Every script of benchmarks/ runs: each at its smallest size, in this process.

What they print is not looked at, but for what a script itself compares: those of
``benchmarks/agreement/`` must end with 0. Targets of CPU time are not held against a busy machine.
"""

import json
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from ..source_tree import ROOT, modules

FOLDER = ROOT / "benchmarks"

STUDY = """\
name: smallest
seed: 1
workloads: [tiny_cnn]
validation: [tiny_mlp]
space: casco_edge
constraints: {area_mm2: 20, tdp_w: 2}
optimizer: {name: random}
halving: {name: sh, rounds: 2, first_budget: 2}
trials: 2
batch_size: 2
software: {fusion: casco, population: 4, mapping: local, mapping_evaluations: 60}
"""

SERVING = (
    STUDY.replace("[tiny_cnn]", "[tiny_cnn, tiny_mobile]").replace("validation: [tiny_mlp]\n", "")
    + "tenants: [tiny_cnn, {workload: tiny_mobile, share: 2}]\nobjectives: [goodput, area]\n"
)

INLINE = "--study smallest.yaml --seeds 1 --trials 2 --executor inline --out runs"

#: script: the runs of its smallest size, one after another
RUNS: Final = {
    "agreement/bounds_below_costs": ["--triples 6"],
    "agreement/exact_by_enumeration": ["--problems 2"],
    "agreement/front_by_enumeration": ["--space few.yaml --area 3 --tdp 0.8"],
    "agreement/integer_by_enumeration": ["--problems 2"],
    "agreement/oracle_agreement": ["--cases 20"],
    "agreement/plan_price": ["--groups 4 --rectangles 2 --priced 3 --plans 3 --cores 3"],
    "agreement/plan_by_enumeration": ["--cases 1 --first 12"],
    "agreement/record_simulators": ["scale_sim", "zigzag", "stream"],
    "fusion/accelforge_fusion": [
        "--against --cases attention_1024 --mappings",
        "--against --cases mlp_256 --planner casco",
    ],
    "fusion/deepfrack_experiments": [
        "--networks tiny_cnn --presets eyeriss --objectives energy --search local --evaluations 99"
    ],
    "fusion/fast_fusion": ["--network efficientnet_b0 --preset fast_small --evaluations 10"],
    "fusion/fusion_planners": [
        "results --presets eyeriss --networks alexnet --planners joint --evaluations 50",
        "results --bounds",
        "results --table",
    ],
    "fusion/fusion_search": ["--seeds 1 --cases 1 --plans 2 3 --efforts 1"],
    "fusion/plan_gaps": [
        "gaps --networks tiny_cnn --presets eyeriss edgetpu --plans 2 --steps 20 --mappings 50",
        "gaps --table",
    ],
    "fusion/repeated_blocks": ["--plans 4 --mappings 50 --networks tiny_cnn"],
    "fusion/shared_budget": ["--budgets 8 --first 100 --cases 0"],
    "hardware/bound_ratios": ["--evaluations front.jsonl --told 8 --draws 1"],
    "fusion/planner_work": ["tiny_cnn --hardware eyeriss"],
    "fusion/two_passes": ["--networks tiny_mlp --presets eyeriss --plans 2 --json rows.json"],
    "fusion/weight_formats": ["--networks tiny_cnn --designs eyeriss --densities 0.2 --plans 2"],
    "hardware/dram_accuracy": ["--worst 1"],
    "hardware/fast_convergence": [
        "run random --trials 4 --evaluations 10 --out runs",
        "table --out runs",
    ],
    "hardware/fast_space": [
        "curves random --seeds 1 --evaluations 8 --out runs",
        "gap random --seeds 1 --cuts 2 --out runs",
    ],
    "hardware/hardware_search": [
        "exact --space few.yaml --evaluations 4 --front front.json --out runs",
        "curves --space few.yaml --front front.json --optimizers random --seeds 1 "
        "--evaluations 12 --out runs --picture curves.svg",
    ],
    "hardware/plan_bounds": ["--designs 4,4,32,200 --networks tiny_cnn --plans 2 --mappings 200"],
    "hardware/proven_front": [
        "prove --space few.yaml --designs 3 --workers 1 --front front.json --out runs",
        "around --space few.yaml --designs 2 --workers 1 --front front.json --out runs",
    ],
    "hardware/optimizer_cost": ["--optimizers random --seeds 1 --marks 8"],
    "hardware/untuned_spaces": [
        "--optimizers mobo random --spaces core_cluster --seeds 1 --trials 4 --evaluations 50 "
        "--cuts 20 --out runs",
        "--optimizers --evaluations 50 --out runs",
    ],
    "hardware/spaces_replay": [
        "--spaces core_cluster --optimizers mobo_loose --seeds 1 --trials 4 --evaluations 200 "
        "--out runs"
    ],
    "host/against_onednn": ["--networks vgg16_cifar10 --layers 1 --trials 1 --out runs"],
    "host/rank_agreement": [
        "--most 12 --plot ranks.png",
        "--measure times --layers 1 --trials 1",
        "--read times",
    ],
    "mapping/array_fill": [
        "--repeat 0 --evaluations 500 --designs tpu_v3 --networks tiny_cnn",
        "--repeat 0 --evaluations 500 --designs simba --networks tiny_cnn --factors imperfect",
    ],
    "mapping/bounds_gap": ["--evaluations 64 --seeds 1 --designs 1 --layers 2"],
    "mapping/dram_decisions": ["--evaluations 60"],
    "mapping/dram_pricing": ["--rounds 1 --designs eyeriss"],
    "mapping/exact_mapping": ["cases.jsonl --objective energy"],
    "mapping/further_mappings": ["--designs eyeriss --networks tiny_cnn --every 9"],
    "mapping/proofs_on_mesh": ["--designs eyeriss --networks tiny_cnn --every 3 --looks 10000"],
    "mapping/imperfect_factors": [
        "--repeat 1 --evaluations 64 --designs eyeriss --networks tiny_cnn awkward"
    ],
    "mapping/large_layers": ["--seconds 0.5 --layers 1"],
    "mapping/mapping_search": ["--seeds 1 --problems 1 --searches random local --cpu-ms 1"],
    "mapping/mapping_throughput": ["--seconds 0.01 --threads 1 --without-start"],
    "mapping/network_mapping": ["--designs 1 --evaluations 64 --networks tiny_cnn"],
    "mapping/plan_proofs": ["--networks tiny_cnn --presets eyeriss --evaluations 64"],
    "mapping/shared_problems": ["--designs 2 --around 1 --networks tiny_cnn"],
    "mapping/start_time": ["one"],
    "mapping/zigzag_mapping": ["--layers 1 --lpf-limit 3"],
    "compile_kernels": ["--last 1 --full"],
    "cold_start": ["--installed --study smallest.yaml --json figures.json"],
    "trial_cost": [
        "--networks tiny_cnn --designs eyeriss --warm-up tiny_cnn --json old.json",
        "--networks tiny_cnn --designs eyeriss --warm-up tiny_cnn --against old.json",
        "--networks tiny_cnn --designs eyeriss --warm-up tiny_cnn --fusion deepfrack",
        "--networks tiny_cnn --designs eyeriss --warm-up tiny_cnn --factors exact",
    ],
    "studies/cluster_faults": ["--runs 1 --kinds undisturbed --trials 4"],
    "studies/cluster_simulation": ["--trials 60 --workers 1 4 --per-worker 0 4"],
    "studies/halving_replay": ["casco 6 --study smallest.yaml --seeds 1 --out runs"],
    "studies/killed_tables": ["--tables layerweaver_lengths --kills 1"],
    "studies/logical_workers": [
        "--trials 4 --counts 2 4 --batch-size 2 --seeds 1 --workers 1 2 --out runs",
    ],
    "studies/long_study": ["--workloads tiny_cnn --marks 4"],
    "studies/mobo_vs_random": [INLINE],
    "studies/proposal_share": ["--workloads tiny_cnn --trials 4 --evaluations 4 --seeds 1"],
    "studies/start_time": ["--runs 1 --commands help mistake"],
    "studies/torture": ["--runs 1 --kinds flipped --json figures.json"],
    "studies/two_workers": ["--study smallest.yaml --trials 2"],
    "weaving/schedule_gaps": ["--pairs 1 --effort 1000"],
    "weaving/speed": ["--buffers 2"],
    "weaving/serving": ["--requests 60 --seeds 1 --loads 0.7 --burst-sizes geometric"],
    "weaving/serving_hardware": [
        "compare --study smallest_serving.yaml --trials 2 --out runs",
        "bounds --study smallest_serving.yaml --designs 2",
    ],
    "weaving/serving_speed": ["--requests 60 --times 1"],
}

#: exit codes or messages other than success that say nothing of whether a script runs
MISSES: Final = {
    "host/against_onednn": "how fast one layer is after one schedule",
    "hardware/hardware_search": "a front of four evaluations is not proven",
    "hardware/proven_front": "a front of three designs is not proven",
    "mapping/dram_pricing": "targets of CPU time",
    "mapping/large_layers": "targets of CPU time",
    "mapping/mapping_throughput": "targets of CPU time",
    "mapping/start_time": "targets of CPU time",
    "studies/start_time": "targets of CPU time",
    "studies/mobo_vs_random": "which optimizer is ahead after two trials",
}

SLOW: Final = {
    "hardware/hardware_search": "maps two networks on 16 designs exactly",
    "hardware/proven_front": "proves the mappings of two networks on five designs",
    "mapping/start_time": "compiles in fresh processes",
    "cold_start": "compiles in fresh processes",
    "studies/cluster_faults": "starts a cluster, as tests/studies/engine/test_two_nodes.py does",
    "studies/two_workers": "starts Ray, as tests/studies/engine/test_identical_bytes.py does",
}

NEEDS: Final = {"mapping/zigzag_mapping": "zigzag"}
"""Packages that are no dependency of the tests."""


def scripts() -> set[str]:
    """Return the files of benchmarks/ that can be run; others are parts of these."""
    return {
        str(path.relative_to(FOLDER).with_suffix(""))
        for path in modules("benchmarks")
        if 'if __name__ == "__main__":' in path.read_text()
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a study, a small space, a case and measurements of some designs."""
    (tmp_path / "smallest.yaml").write_text(STUDY)
    (tmp_path / "smallest_serving.yaml").write_text(SERVING)
    space = (FOLDER / "data" / "casco_edge_coarse.yaml").read_text()
    # 64 points: one number of PEs, one clock
    space = space.replace("values: [4, 8, 14, 16, 28, 32]", "values: [8]")
    (tmp_path / "few.yaml").write_text(space.replace("low: 200, high: 800", "low: 400, high: 400"))
    with (ROOT / "tests" / "data" / "timeloop_cases.jsonl").open() as cases:
        (tmp_path / "cases.jsonl").write_text(cases.readline())
    front = json.loads((FOLDER / "data" / "casco_edge_front.json").read_text())["front"][:40]
    rows = [{"key": m["design"], "edps": [m["values"][0]] * 2} for m in front]
    (tmp_path / "front.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_script_has_a_smallest_size() -> None:
    assert scripts() == set(RUNS)


def run(path: Path) -> object:
    """Run a script and return the code that it exits with."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return end.code
    return None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.exhaustive) if n in SLOW else n for n in sorted(RUNS)],
)
def test_a_script_runs(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = FOLDER / f"{name}.py"
    monkeypatch.syspath_prepend(str(path.parent))
    for arguments in RUNS[name]:
        monkeypatch.setattr(sys, "argv", [str(path), *arguments.split()])
        code = run(path)
        if NEEDS.get(name) and find_spec(NEEDS[name]) is None:
            assert code == 2
            pytest.skip(f"needs {NEEDS[name]}")
        assert not code or name in MISSES
        assert capsys.readouterr().out
