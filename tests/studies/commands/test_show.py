"""``archloom show``: every figure adds up, and is the one that the study recorded."""

import json
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from math import prod
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.mapping.nest_text import loop_nest
from archloom.space.networks.registry import network
from archloom.space.workload.dims import DIMS
from archloom.studies.analysis.details import cost_details, trial_details, trial_number
from archloom.studies.commands.cli import app
from archloom.studies.commands.study.show import _mappings, renderables
from archloom.studies.errors import UserError
from archloom.studies.rendering.text.design import (
    group_layers,
    halo_text,
    kept_columns,
    tiling_text,
)
from archloom.studies.storage.records import read_baseline, read_trials

from ...cases.small_designs import casco_edge, chain
from ...cases.studies import without_breakdowns

ALL = ("weights", "inputs", "outputs")


@pytest.fixture(scope="module", params=[0, 3, 5, None])
def trial(request: pytest.FixtureRequest, finished_study: Path) -> tuple[Any, Any]:
    """A trial's record (None: the baseline's), and the trial taken apart."""
    number = request.param
    found = read_baseline(finished_study) if number is None else read_trials(finished_study)[number]
    assert found is not None
    return found.to_dict(), trial_details(finished_study, number)


def test_levels_sum_to_layers_and_layers_to_the_network(trial: tuple[Any, Any]) -> None:
    for net in trial[1]["networks"]:
        for layer in net["layers"]:
            assert sum(layer["levels_pj"].values()) + layer["compute_pj"] == layer["energy_pj"]
        for level, energy in net["levels_pj"].items():
            assert sum(layer["levels_pj"][level] for layer in net["layers"]) == energy
        assert sum(layer["compute_pj"] for layer in net["layers"]) == net["compute_pj"]
        layers = sum(layer["energy_pj"] for layer in net["layers"])
        assert layers + net["leakage_pj"] == net["energy_pj"]


def test_layers_and_groups_sum_to_latency_and_traffic(trial: tuple[Any, Any]) -> None:
    for net in trial[1]["networks"]:
        for number, group in enumerate(net["groups"]):
            members = [layer for layer in net["layers"] if layer["group"] == number]
            assert [layer["name"] for layer in members] == group["layers"]
            cycles = sum(layer["latency_cycles"] for layer in members)
            assert cycles + group["wait_cycles"] == group["latency_cycles"]
            assert sum(layer["energy_pj"] for layer in members) == group["dynamic_pj"]
        for key in ("latency_cycles", "dram_read_bytes", "dram_write_bytes", "dram_bytes"):
            assert sum(group[key] for group in net["groups"]) == net[key]
        unfused = sum(group["dram_bytes_unfused"] for group in net["groups"])
        assert unfused == net["unfused"]["dram_bytes"]


def test_area_and_tdp_are_the_sums_of_their_parts(trial: tuple[Any, Any]) -> None:
    record, details = trial
    for key in ("area_mm2", "tdp_w"):
        assert sum(details["hardware"][key].values()) == record[key] == details[key]


def test_figures_are_those_of_the_record(trial: tuple[Any, Any]) -> None:
    record, details = trial
    assert record["edp_js"] == details["edp_js"]
    assert [net["name"] for net in details["networks"]] == list(record["networks"])
    for net in details["networks"]:
        known = record["networks"][net["name"]]
        for key in ("edp_js", "energy_pj", "latency_cycles", "dram_bytes"):
            assert net[key] == known[key]
            assert net["unfused"][key] == known[f"baseline_{key}"]


def test_dram_energy_is_bits_times_the_price_of_a_bit(trial: tuple[Any, Any]) -> None:
    details = trial[1]
    for net in details["networks"]:
        expected = net["dram_bytes"] * 8 * details["hardware"]["dram_pj_per_bit"]
        assert net["levels_pj"]["dram"] == pytest.approx(expected, rel=1e-9)


def test_every_layer_is_shown_once_and_mapped_if_it_uses_macs(trial: tuple[Any, Any]) -> None:
    for net in trial[1]["networks"]:
        shown = {layer["name"]: bool(layer["mappings"]) for layer in net["layers"]}
        assert shown == {layer.name: layer.uses_macs for layer in network(net["name"]).layers}
        assert len(shown) == len(net["layers"])


def test_mappings_cover_the_operations_of_their_layer(trial: tuple[Any, Any]) -> None:
    for layer in (layer for net in trial[1]["networks"] for layer in net["layers"]):
        covered = sum(m["tiles"] * prod(m["covers"].values()) for m in layer["mappings"])
        # factors of any size cover a layer or more, of which only the layer runs
        assert covered >= layer["operations"] if layer["mappings"] else covered == 0


def test_the_text_names_levels_layers_groups_and_their_traffic(trial: tuple[Any, Any]) -> None:
    details = trial[1]
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        for part in renderables(details):
            console.print(part, markup=False)
    text = printed.get()
    for net in details["networks"]:
        names = [layer["name"] for layer in net["layers"]]
        for word in (*names, *net["levels_pj"], f"{net['dram_bytes'] / 1024:,.1f}"):
            assert word in text
        assert f"{net['unfused']['dram_bytes'] / 1024:,.1f}" in text
        assert f"{net['latency_cycles']:,}" in text
    assert details["hardware"]["technology"] in text
    assert f"{details['hardware']['dram_pj_per_bit']:g} pJ/bit" in text


def test_the_command_prints_json(finished_study: Path) -> None:
    done = CliRunner().invoke(app, ["show", str(finished_study), "3", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == json.loads(json.dumps(trial_details(finished_study, 3)))


def test_what_is_recorded_is_what_a_new_evaluation_gives(
    finished_study: Path, tmp_path: Path
) -> None:
    old = without_breakdowns(finished_study, tmp_path / "old")
    for number in (*range(6), None):
        recorded, again = (trial_details(folder, number) for folder in (finished_study, old))
        # to the last digit, and in this order
        assert json.dumps(recorded) == json.dumps(again)


def test_showing_a_trial_loads_nothing_that_prices(finished_study: Path) -> None:
    code = (
        "import sys; from archloom.studies.commands.cli import app;"
        f"app(['show', {str(finished_study)!r}, '3'], standalone_mode=False);"
        "sys.exit(bool({'numba', 'numpy', 'pydantic', 'scipy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Energy by level" in done.stdout


def test_figures_that_another_version_recorded_are_refused(
    finished_study: Path, tmp_path: Path
) -> None:
    copytree(finished_study, tmp_path / "study")
    records = [trial.to_dict() for trial in read_trials(finished_study)]
    records[2]["networks"]["tiny_cnn"]["latency_cycles"] += 1
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "study" / "trials.jsonl").write_text(lines)
    assert trial_details(tmp_path / "study", 1)["trial"] == 1
    with pytest.raises(UserError, match=r"trial 2: .* recorded mappings of tiny_cnn"):
        trial_details(tmp_path / "study", 2)


def test_a_damaged_record_is_named_with_what_mends_it(finished_study: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    copytree(finished_study, folder)
    lines = (folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text(lines[0] + lines[1][:40] + "\n" + "".join(lines[2:]))
    with pytest.raises(UserError, match=r"trials\.jsonl: line 2 is damaged; .*'archloom resume "):
        trial_details(folder, 0)


def test_a_trial_that_is_not_there_is_named(finished_study: Path) -> None:
    with pytest.raises(UserError, match="no finished trial 6; finished trials: 0 to 5"):
        trial_details(finished_study, 6)
    with pytest.raises(UserError, match="'x' must be a number from 0, or 'baseline'"):
        trial_number("x")
    assert trial_number("12") == (12, 0)
    assert trial_number("12.3") == (12, 3)
    assert trial_number("baseline") == (None, 0)


def test_a_nest_reads_from_the_outside_in() -> None:
    def level(name: str, mesh: tuple[int, int], capacity: int | None) -> StorageLevel:
        storage = "sram" if capacity else "dram"
        return StorageLevel(name, storage, ALL, mesh, capacity, 4)  # type: ignore[arg-type]

    levels = (level("pe", (4, 2), 64), level("buffer", (1, 1), 4096), level("dram", (1, 1), None))
    hardware = Hardware("h", "cacti_45nm", 100, 8, (4, 2), (1, 1), levels, "lpddr4", 1)

    def loops(
        keeps: tuple[bool, bool, bool], order: str = "NGKCPQRS", **sizes: int
    ) -> LevelMapping:
        def factors(prefix: str) -> tuple[int, ...]:
            return tuple(sizes.get(f"{prefix}{dim.lower()}", 1) for dim in DIMS)

        innermost_first = tuple(DIMS.index(dim) for dim in order)
        return LevelMapping(factors(""), innermost_first, factors("x"), factors("y"), keeps)

    mapping = Mapping(
        (
            loops((True, True, True), r=3, s=3),
            loops((False, True, True), "QPKCNGRS", q=7, p=2, xk=4, yc=2),
            loops((True, True, True)),
        )
    )
    assert loop_nest(mapping, hardware) == [
        "dram    [WIO] once",
        "buffer  [-IO] for P:2 Q:7 | x K:4 | y C:2",
        "pe      [WIO] for S:3 R:3",
    ]


def test_groups_and_tiles_are_put_in_a_few_words() -> None:
    assert group_layers(["a", "b"]) == "a, b"
    assert group_layers(list("abcdef")) == "a .. f (6 layers)"
    group = {"tile": [4, 56], "tiles": 14, "halo": "keep_all"}
    assert tiling_text(group) == "4x56 (14 tiles)"
    assert halo_text(group) == "keep all"
    assert tiling_text(group | {"tiles": 1}) == "4x56 (1 tile)"
    assert halo_text(group | {"tiles": 1}) == ""
    assert tiling_text(group | {"tile": None}) == "unfused"


def test_a_plan_that_keeps_maps_and_weights_is_taken_apart_like_others() -> None:
    groups = (
        FusionGroup((0,), pins=(Pin(0, 2),), steady=(0,)),
        FusionGroup((1,)),
        FusionGroup((2, 3), (4, 8)),
    )
    net = replace(chain(4), reads=(("input",), ("c0",), ("c0",), ("c2",)))
    evaluator = MemoizedPlanEvaluator(net, casco_edge(64), Mapper(RandomMapping(), 20, 1))
    cost, unfused = evaluator.plan(FusionPlan(groups)), evaluator.plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    assert isinstance(unfused, NetworkCost)
    details = cost_details(cost, unfused)
    test_layers_and_groups_sum_to_latency_and_traffic((None, {"networks": [details]}))
    test_levels_sum_to_layers_and_layers_to_the_network((None, {"networks": [details]}))
    assert kept_columns(details["groups"]) == {
        "pinned feature maps": ["c0 until c2", "", ""],
        "pinned weights": ["c0", "", ""],
    }
    assert kept_columns(cost_details(unfused, unfused)["groups"]) == {}
    words = cost.network.layers[0].output_words
    assert [group["peak_bytes"] >= words for group in details["groups"]] == [True] * 3


def test_tiles_that_begin_sums_come_before_those_that_add_to_them() -> None:
    """The expanded channels of a block of MobileNetV2 are made and added up a few at a time."""
    net = network("mobilenetv2")
    names = [layer.name for layer in net.layers]
    block = tuple(names.index(f"stage4.1.{part}") for part in ("expand", "depthwise", "project"))
    evaluator = MemoizedPlanEvaluator(net, casco_edge(32), Mapper(RandomMapping(), 20, 1))
    nest = evaluator.nests(block)[0].nest
    alone = [(i,) for i in range(len(names)) if i not in block]
    groups = sorted([FusionGroup(block, nest=nest), *map(FusionGroup, alone)], key=_first)
    cost, unfused = evaluator.plan(FusionPlan(tuple(groups))), evaluator.plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    assert isinstance(unfused, NetworkCost)
    details, without = cost_details(cost, unfused), cost_details(unfused, unfused)
    begins, adds = details["layers"][block[2]]["mappings"]
    assert begins["covers"] == adds["covers"]
    assert (begins["tiles"], adds["tiles"] > 1) == (1, True)
    said = "the first mapping of a size of tiles begins them,\nand the second one adds to them"
    assert said in "\n".join(_mappings(details))
    assert said not in "\n".join(_mappings(without))


def _first(group: FusionGroup) -> int:
    return group.layers[0]
