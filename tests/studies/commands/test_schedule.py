"""``archloom schedule``: what it prints, that it adds up, where it stops, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path
from signal import SIGINT, raise_signal

import pytest
from click.testing import CliRunner

from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.search.registry import FUSION_SEARCHES
from archloom.search.software.search import SoftwareTask, advance
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import to_text
from archloom.studies.commands.cli import app, main
from archloom.studies.commands.schedule.command import effort_of, network_of
from archloom.studies.commands.schedule.tables import progress_text
from archloom.studies.errors import UserError
from archloom.studies.rendering.text.design import tiling_text
from archloom.studies.solve.fusion import FusionProgress, Schedule, search_plan

from ...cases.designs import edge
from ...cases.pages import everything

KEYS = {
    "planner",
    "edp_js",
    "energy_pj",
    "latency_cycles",
    "dram_bytes",
    "baseline",
    "lower_bound",
    "cpu_s",
    "groups",
}
FIGURES = ["edp_js", "energy_pj", "latency_cycles", "dram_bytes"]
QUICK = ("--mapping", "local", "--mapping-evaluations", "60", "--evaluations", "12")


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["schedule", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def said(*arguments: str) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, ["schedule", *arguments])
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def test_json_has_the_promised_keys_and_adds_up() -> None:
    text = shown("tiny_cnn", "--hardware", "eyeriss", "--json", *QUICK)
    found = json.loads(text)
    assert set(found) >= KEYS
    assert list(found["baseline"]) == list(found["lower_bound"]) == FIGURES
    assert (
        sum(group["dynamic_pj"] for group in found["groups"]) + found["leakage_pj"]
        == (found["energy_pj"])
    )
    for figure in ("latency_cycles", "dram_bytes"):
        assert sum(group[figure] for group in found["groups"]) == found[figure]
    assert (
        sum(group["dram_bytes_unfused"] for group in found["groups"])
        == (found["baseline"]["dram_bytes"])
    )
    layers = [name for group in found["groups"] for name in group["layers"]]
    assert sorted(layers) == sorted(layer.name for layer in network("tiny_cnn").layers)
    for figure in FIGURES:
        assert found["lower_bound"][figure] <= found[figure]
    assert found["edp_js"] < found["baseline"]["edp_js"]
    # J s: pJ of the pass, over its images, times its seconds
    hardware = preset("eyeriss")
    seconds = found["latency_cycles"] / (hardware.frequency_mhz * 1e6)
    assert found["edp_js"] == pytest.approx(found["energy_pj"] * 1e-12 / found["batch"] * seconds)
    ratio = found["edp_js"] / found["lower_bound"]["edp_js"]
    assert found["gap_percent"] == pytest.approx(100 * (ratio - 1))
    assert found["cpu_s"] >= 0


def test_it_finds_what_a_trial_of_a_study_finds() -> None:
    effort = effort_of("casco", 12, "local", 60, 7)
    hardware = preset("eyeriss")
    found = search_plan(network("tiny_cnn"), hardware, effort)
    task = SoftwareTask(hardware, (network("tiny_cnn"),), effort.settings, 7)
    trial = advance(task, None, 12).networks["tiny_cnn"]
    assert isinstance(found, Schedule)
    assert (found.cost.edp_js, found.unfused.edp_js) == (trial.edp_js, trial.baseline_edp_js)
    assert found.cost.plan.to_list() == trial.plan


@pytest.mark.parametrize("planner", FUSION_SEARCHES)
def test_every_planner_has_a_price_not_above_layer_by_layer(planner: str) -> None:
    text = shown("tiny_cnn", "--hardware", "eyeriss", "--json", "--fusion", planner, *QUICK)
    found = json.loads(text)
    assert found["planner"] == planner
    assert found["edp_js"] <= found["baseline"]["edp_js"]
    # the proof of the planner joint may find one plan more
    assert found["evaluations"] <= 13
    bound = found["planner_bound"]
    assert bound is None or bound <= found["edp_js"] * (1 + 1e-9)


def test_factors_are_of_any_size_unless_said() -> None:
    def edp(*options: str) -> float:
        options = ("--fusion", "none", "--mapping-evaluations", "20000", *options)
        found = json.loads(shown("tiny_mlp", "--hardware", "eyeriss", "--json", *options))
        return float(found["edp_js"])

    assert edp() == edp("--factors", "imperfect") < edp("--factors", "exact")


def test_the_same_seed_gives_the_same_plan() -> None:
    def plan() -> object:
        record = json.loads(shown("tiny_cnn", "--hardware", "eyeriss", "--json", *QUICK))
        return {key: value for key, value in record.items() if key != "cpu_s"}

    assert plan() == plan()


def test_tables_show_groups_sums_and_what_is_proven() -> None:
    text = shown("tiny_cnn", "--hardware", "eyeriss", *QUICK)
    parts = ("tiny_cnn (7 layers, batch 1)", "unfused", "lower bound", "EDP (J s)", "halo")
    for part in (*parts, "resident weights", "peak KiB", "leakage", "mapping problems", "CPU time"):
        assert part in text
    alone = shown("tiny_cnn", "--hardware", "eyeriss", "--fusion", "none", *QUICK)
    assert "7 groups, none of them fused" in alone
    assert "unfused" in alone
    assert "1 plan evaluated," in alone


def test_hardware_and_networks_are_named_as_other_commands_name_them(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(to_text(network("tiny_mlp")))
    path = str(tmp_path / "net.json")
    text = shown(path, "--hardware", "eyeriss", "--technology", "n7", "--batch", "3", *QUICK)
    assert "batch 3" in text
    native = replace(preset("eyeriss"), native_batch=5)
    assert network_of("tiny_mlp", [], None, native).batch == 5
    assert network_of("tiny_mlp", [], 1, native).batch == 1
    sized = network_of("bert_base", ["sequence_length=16"], None, native)
    assert max(layer.p for layer in sized.layers) == 16


def test_pictures_show_the_groups(tmp_path: Path) -> None:
    for ending in ("png", "svg", "html"):
        shown("tiny_cnn", "--hardware", "eyeriss", "--plot", f"{tmp_path}/a.{ending}", *QUICK)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "group 3" in (tmp_path / "a.svg").read_text()
    shown("tiny_cnn", "--hardware", "eyeriss", "--memory", f"{tmp_path}/m.png", *QUICK)
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert "fused" in everything((tmp_path / "a.html").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("resnt18", "--hardware", "eyeriss"), "did you mean resnet18"),
        (("tiny_cnn", "--hardware", "eyeris"), "did you mean eyeriss"),
        (("tiny_cnn", "--hardware", "eyeriss", "--fusion", "genetics"), "--fusion 'genetics'"),
        (("tiny_cnn", "--hardware", "eyeriss", "--mapping", "exacts"), "--mapping 'exacts'"),
        (("tiny_cnn", "--hardware", "eyeriss", "--network-set", "x=1"), "--network-set x=1: "),
        (("tiny_cnn", "--hardware", "eyeriss", "--network-set", "x"), "--network-set x: must be"),
        (("tiny_cnn", "--hardware", "eyeriss", "--set", "pe_x=1"), "has no parameters"),
        (("tiny_cnn", "--hardware", "eyeriss", "--plot", "a.gif"), "--plot a.gif: must end in"),
        (("tiny_cnn", "--hardware", "eyeriss", "--plot", "no/a.png"), "there is no folder no"),
        (("tiny_cnn", "--hardware", "eyeriss", "--memory", "a.html"), "--memory a.html: must end"),
        (
            ("tiny_cnn", "--hardware", "edgetpu", "--memory", "a.png"),
            "has no buffer that is shared by all PEs",
        ),
    ],
)
def test_mistakes_are_named_before_any_search(arguments: tuple[str, ...], message: str) -> None:
    assert message in said(*arguments)


def test_a_network_that_cannot_run_there_says_why() -> None:
    hardware = edge()
    spad = replace(hardware.levels[0], capacity_bytes=2)
    tiny = replace(hardware, levels=(spad, *hardware.levels[1:]))
    why = search_plan(network("tiny_cnn"), tiny, effort_of("none", 1, "local", 5, 0))
    assert isinstance(why, Infeasible)
    assert "conv1" in str(why)


def test_a_stop_keeps_the_best_plan_so_far() -> None:
    effort = effort_of("casco", 10**6, "local", 40, 0)
    stands: list[FusionProgress] = []

    def stop_after_some(stand: FusionProgress) -> None:
        stands.append(stand)
        if stand.evaluations >= 3:
            raise_signal(SIGINT)

    found = search_plan(network("tiny_cnn"), preset("eyeriss"), effort, stop_after_some)
    assert isinstance(found, Schedule)
    assert found.interrupted
    assert 3 <= found.evaluations < 10**6
    assert found.cost.edp_js <= found.unfused.edp_js
    assert stands[-1].edp_js <= stands[-1].baseline_edp_js


def test_a_stop_before_the_first_plan_has_nothing_to_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the first look is at once; a plan of this network takes a second of mapping
    monkeypatch.setattr("archloom.studies.solve.interruptible._LOOK_S", 0.0)
    effort = effort_of("casco", 10**6, "exact", 10**9, 0)

    def stop_at_once(_: FusionProgress) -> None:
        raise_signal(SIGINT)

    net = network("efficientnet_b7")
    assert search_plan(net, preset("eyeriss"), effort, stop_at_once) is None


def test_a_stop_on_the_command_line_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from archloom.studies.commands.schedule import tables as schedule_view

    def stop(_self: object, stand: FusionProgress) -> None:
        if stand.evaluations >= 2:
            raise_signal(SIGINT)

    monkeypatch.setattr(schedule_view.ScheduleProgress, "tell", stop)
    words = ["tiny_cnn", "--hardware", "eyeriss", "--mapping", "local", "--evaluations", "999999"]
    words += ["--mapping-evaluations", "40"]
    monkeypatch.setattr("sys.argv", ["archloom", "schedule", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 130
    assert "Totals of one pass" in out
    assert "stopped after" in err


def test_progress_says_what_the_best_plan_saves() -> None:
    assert progress_text(FusionProgress(0, 0.0, 0.0, 0), 9).startswith("compiling")
    assert (
        progress_text(FusionProgress(0, 0.0, 0.0, 12), 9) == "mapping unfused layers: 12 mappings"
    )
    line = progress_text(FusionProgress(5, 1e-3, 2e-3, 1234), 3000)
    assert line == "5 of 3,000 plans: EDP 0.001 J s (0.500 of unfused)"
    longest = progress_text(FusionProgress(10**5, 1.23456e-10, 2.3e-10, 12345), 10**5)
    # and a bar of 12
    assert len(longest) < 80 - 13


@pytest.mark.parametrize(("planner", "fused"), [("casco", True), ("deepfrack", False)])
def test_cores_with_a_buffer_each_run_tiles_side_by_side(planner: str, fused: bool) -> None:
    arguments = ("tiny_mobile", "--hardware", "edgetpu", "--fusion", planner, *QUICK)
    found = json.loads(shown(*arguments, "--json"))
    assert (found["buffers"], found["buffer_bytes"]) == (16, 384 * 1024)
    assert any(group.get("cores", 1) > 1 for group in found["groups"]) == fused
    assert (found["edp_js"] < found["baseline"]["edp_js"]) == fused
    assert found["lower_bound"]["edp_js"] <= found["edp_js"]
    why = "deepfrack does not fuse layers on edgetpu: pe_memory has 16 instances"
    assert any(note.startswith(why) for note in found["notes"]) != fused
    text = shown(*arguments)
    assert "16 buffers of 384.0 KiB" in text
    assert (" cores " in text) == fused


def test_hardware_on_which_nothing_can_be_fused_says_why() -> None:
    chip = edge()
    register = replace(chip.levels[0], mesh=(1, 1), spatial_x=("K",))
    bare = replace(chip, levels=(register, chip.levels[2]))
    effort = effort_of("optimus", 2, "local", 20, 0)
    found = search_plan(network("tiny_cnn"), bare, effort)
    assert isinstance(found, Schedule)
    assert found.notes == (
        "nothing can be fused on edge: fusion needs an outermost on-chip SRAM with one "
        "instance that "
        "keeps inputs and outputs in words as wide as those of DRAM, but rf is not one",
    )


def test_bounds_are_those_of_the_network_and_batch() -> None:
    found = json.loads(shown("tiny_mlp", "--hardware", "tpu_v3", "--json", *QUICK))
    hardware = preset("tpu_v3")
    net = network("tiny_mlp").with_batch(hardware.native_batch)
    assert found["batch"] == hardware.native_batch
    bound = any_plan_bound(net, hardware)
    assert found["lower_bound"]["edp_js"] == bound.edp_js


def test_rectangles_of_several_sizes_are_counted() -> None:
    faces = [[0, 0, 2, 4], [2, 0, 1, 2], [2, 2, 1, 2]]
    group = {"tile": None, "faces": faces, "halo": "recompute", "tiles": 3}
    assert tiling_text(group) == "2x4 (1 tile), 1x2 (2 tiles)"
    assert tiling_text({"tile": None}) == "unfused"


def plan_file(tmp_path: Path, data: object) -> str:
    path = tmp_path / "plan.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(path)


def test_a_printed_plan_can_be_priced_again(tmp_path: Path) -> None:
    text = shown("tiny_cnn", "--hardware", "eyeriss", "--json", *QUICK)
    path = plan_file(tmp_path, text)
    again = json.loads(shown("tiny_cnn", "--hardware", "eyeriss", "--json", "--plan", path, *QUICK))
    first = json.loads(text)
    changed = {"planner", "cpu_s", "evaluations", "mapping_problems"}
    # a given plan is not one that a planner could prove anything of
    changed |= {"planner_bound", "planner_gap_percent", "notes"}
    changed |= {"planner_bound_any_mappings", "planner_gap_any_mappings_percent"}
    assert {k: v for k, v in again.items() if k not in changed} == {
        k: v for k, v in first.items() if k not in changed
    }
    assert (again["planner"], again["evaluations"]) == ("given", 2)


def test_a_plan_of_ones_own_is_priced_even_if_it_is_dear(tmp_path: Path) -> None:
    groups = [
        {"layers": ["block.conv1", "conv1"], "tile": [1, 1], "resident": ["conv1"]},
        {"layers": ["maxpool"], "faces": [[0, 0, 8, 3], [0, 3, 8, 5]]},
    ]
    path = plan_file(tmp_path, groups)
    found = json.loads(
        shown("tiny_cnn", "--hardware", "fast_small", "--json", "--plan", path, *QUICK)
    )
    assert found["edp_js"] > found["baseline"]["edp_js"]
    assert [group["layers"] for group in found["groups"]] == [
        ["conv1", "block.conv1"],
        ["block.conv2"],
        ["block.add"],
        ["maxpool"],
        ["avgpool"],
        ["fc"],
    ]


def test_a_plan_that_does_not_fit_says_which_tensors_take_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [layer.name for layer in network("resnet18").layers[:3]]
    path = plan_file(tmp_path, {"groups": [{"layers": names}]})
    words = ["archloom", "schedule", "resnet18", "--hardware", "eyeriss", "--plan", path, *QUICK]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    said_ = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 1
    assert "resnet18 on eyeriss: glb_overflow at glb, group conv1..stage1.0.conv1" in said_
    assert "over capacity, for conv1 1,605,632, maxpool 401,408" in said_


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "is not JSON"),
        ({"plan": []}, "groups: Input should be a valid list"),
        ([{"layers": []}], "groups.0.layers: List should have at least 1 item"),
        ([{"layers": ["conv1"], "tile": [0, 1]}], "groups.0.tile.0: Input should be greater"),
        ([{"layers": ["conv2"]}], "groups.0: tiny_cnn has no layer 'conv2'; did you mean"),
        ([{"layers": ["conv1"], "resident": ["fc"]}], "resident layers"),
        ([{"layers": ["conv1", "fc"]}], "its layers share no data"),
        ([{"layers": ["conv1"]}, {"layers": ["conv1"]}], "conv1 is in 2 groups, must be in one"),
    ],
)
def test_a_plan_that_is_none_is_refused(tmp_path: Path, data: object, message: str) -> None:
    path = plan_file(tmp_path, data)
    assert message in said("tiny_cnn", "--hardware", "eyeriss", "--plan", path)


def test_a_plan_and_a_planner_exclude_each_other(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "none.json")
    given = ("tiny_cnn", "--hardware", "eyeriss", "--plan", nowhere)
    assert "No such file" in said(*given)
    assert "--plan and --fusion exclude each other" in said(*given, "--fusion", "none")


def test_pinned_maps_are_in_tables_and_pictures(tmp_path: Path) -> None:
    groups = [{"layers": ["conv1"], "pins": [{"layer": "conv1", "reader": "block.add"}]}]
    path = plan_file(tmp_path, groups)
    pictures = ("--plot", f"{tmp_path}/p.svg", "--memory", f"{tmp_path}/m.svg")
    one = ("tiny_cnn", "--hardware", "fast_small", "--batch", "1")
    text = shown(*one, "--plan", path, *pictures, *QUICK)
    assert "conv1 until block.add" in text
    # 2,048 words of 2 bytes
    assert "4.0 + mapping" in text
    assert "pinned in the buffer between groups" in (tmp_path / "p.svg").read_text()
    assert "pinned for several groups (hatched)" in (tmp_path / "m.svg").read_text()
