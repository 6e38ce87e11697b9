"""Mappings of single layers in the API: equal to what the commands print as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.space.importers.cases.reader import Case, read_cases
from archloom.space.workload.layer_builders import conv2d
from archloom.studies.commands.cli import app
from archloom.studies.commands.map.evaluate import Files, read_case

from ...cases.timeloop_runs import TILED
from ...source_tree import ROOT

CASES = ROOT / "tests" / "data" / "timeloop_cases.jsonl"


def printed(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def case(name: str) -> Case:
    (found,) = (c for c in read_cases(CASES) if isinstance(c, Case) and c.name == name)
    return found


def named(case: Case, loops: list[dict[str, Any]]) -> list[Any]:
    """Return what loops do, with our names of dimensions in the place of the case's."""
    ours = {dim: "NGKCPQRS"[place] for dim, place in case.slots.items()}

    def factors(table: dict[str, int]) -> dict[str, int]:
        return {ours.get(dim, dim): factor for dim, factor in table.items() if factor > 1}

    return [
        (
            level["level"],
            factors(level["temporal"]["factors"]),
            level["spatial"] and [factors(level["spatial"][axis]) for axis in "XY"],
            level["keep"],
        )
        for level in loops
    ]


@pytest.mark.parametrize("name", ["ref-0002", "ref-0010"])
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"factors": "exact"}, ["--factors", "exact"]),
        (
            {"objective": "energy", "search": "local"},
            ["--objective", "energy", "--search", "local"],
        ),
        ({"both_axes": True, "seed": 4}, ["--both-axes", "--seed", "4"]),
        ({"dataflow": "weight_stationary"}, ["--dataflow", "weight_stationary"]),
    ],
)
def test_a_mapping_is_what_the_command_prints(
    name: str, arguments: dict[str, Any], options: list[str]
) -> None:
    given = case(name)
    layer, hardware = al.Layer(given.layer), al.Hardware(given.hardware)
    found = al.map_layer(layer, hardware, evaluations=20_000, **arguments)
    line = printed(
        "map", str(CASES), "--case", name, "--bypass", "free", "--evaluations", "20000", *options
    )
    mine = found.to_dict()
    for key in ("best", "evaluations", "lower_bound", "proven_optimal", "gap_percent"):
        assert mine[key] == line[key]
    assert named(given, list(found.loops)) == named(given, line["mapping"])
    best = line["best"]
    assert (found.energy_pj, found.latency_cycles) == (best["energy_pj"], best["cycles"])
    assert found.edp_pj_cycles == best["edp"]
    assert found.proven == line["proven_optimal"]
    assert found.lower_bound == line["lower_bound"]
    assert (found.exact is None) == ("exact" not in line)
    if found.exact is not None:
        assert found.exact.energy_pj == line["exact"]["best"]["energy_pj"]


def test_constraints_of_a_file_are_kept(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("levels: {spad: {unroll_x: [K], unroll_y: [C]}}\n".replace("spad", "glb"))
    layer = al.load_network("tiny_cnn")["conv1"]
    free = al.map_layer(layer, "eyeriss", evaluations=5000, factors="exact")
    kept = al.map_layer(layer, "eyeriss", evaluations=5000, factors="exact", constraints=rules)
    assert free.proven
    assert kept.proven
    assert kept.edp_pj_cycles >= free.edp_pj_cycles
    (spatial,) = (level["spatial"] for level in kept.loops if level["level"] == "glb")
    assert set(spatial["X"]) <= {"K"}
    assert set(spatial["Y"]) <= {"C"}


@pytest.mark.parametrize("factors", ["exact", "imperfect"])
def test_a_mapping_costs_what_its_search_said(factors: str) -> None:
    layer, chip = al.load_network("resnet18")["conv1"], al.load_hardware("eyeriss")
    found = al.map_layer(layer, chip, evaluations=3000, factors=factors)
    for mapping in (found, found.loops, list(found.loops)):
        cost = al.evaluate(layer, chip, mapping=mapping)
        assert cost.energy_pj == pytest.approx(found.energy_pj, rel=1e-12)
        assert cost.latency_cycles == found.latency_cycles
        parts = sum(sum(level.energy_pj.values()) for level in cost.levels)
        whole = parts + cost.compute_pj + cost.leakage_pj
        assert whole == pytest.approx(cost.energy_pj, rel=1e-9)


def test_a_mapping_whose_factors_do_not_divide_costs_what_its_search_said() -> None:
    """A layer of prime sizes, where imperfect factors are better."""
    layer = al.Layer(conv2d("prime", 7, 13, 11, 3, padding=1))
    found = al.map_layer(layer, "eyeriss", evaluations=20_000)
    assert found.exact is not None
    assert found.edp_pj_cycles < found.exact.edp_pj_cycles
    for mapping in (found, found.loops):
        cost = al.evaluate(layer, "eyeriss", mapping=mapping)
        assert cost.energy_pj == found.energy_pj
        assert cost.latency_cycles == found.latency_cycles


def test_a_layer_costs_what_evaluate_prints(tmp_path: Path) -> None:
    parts = {"arch": TILED.arch, "problem": TILED.problem, "mapping": TILED.mapping}
    for name, text in (parts | {"ert": TILED.ert}).items():
        (tmp_path / f"{name}.yaml").write_text(text)
    path = {name: tmp_path / f"{name}.yaml" for name in (*parts, "ert")}
    words = [word for name in (*parts, "ert") for word in (f"--{name}", str(path[name]))]
    record = printed("evaluate", *words)
    files = Files([path["arch"]], path["problem"], path["mapping"], path["ert"], [], "cacti_45nm")
    given, _ = read_case(files)
    assert given.mapping is not None
    mapping = al.LayerMapping(layer="", hardware="", objective="edp", _mapping=given.mapping)
    cost = al.evaluate(al.Layer(given.layer), al.Hardware(given.hardware), mapping=mapping)
    assert (cost.energy_pj, cost.latency_cycles) == (record["energy_pj"], record["cycles"])
    assert (cost.compute_pj, cost.leakage_pj) == (record["mac_energy_pj"], record["leakage_pj"])
    assert (cost.macs, cost.edp_pj_cycles) == (record["macs"], record["edp_pj_cycles"])
    for mine, theirs in zip(cost.levels, record["levels"], strict=True):
        assert mine.name == theirs["name"]
        counts = ("reads_per_instance", "fills_per_instance", "updates_per_instance")
        assert list(mine.words.values()) == [
            sum(tensor[count] for count in counts) * theirs["used_instances"]
            for tensor in theirs["tensors"].values()
        ]
        energy = sum(tensor["energy_pj"] for tensor in theirs["tensors"].values())
        assert sum(mine.energy_pj.values()) == pytest.approx(energy + theirs["leakage_pj"])


def test_mistakes_of_searches(tmp_path: Path) -> None:
    network = al.load_network("tiny_cnn")
    layer = network["conv1"]
    (tmp_path / "rules.yaml").write_text("levels: {l9: {keep: [weights]}}\n")
    for arguments, message in (
        ({"objective": "edpp"}, "^objective 'edpp' is not known; did you mean edp"),
        ({"search": "exct"}, "^search 'exct' is not known; did you mean exact"),
        ({"factors": "padded"}, "^factors 'padded' is not known"),
        ({"seconds": 0}, "^seconds: 0 must be above 0"),
        ({"evaluations": -1}, "^evaluations: -1 must be"),
        ({"dataflow": "weights"}, "^dataflow 'weights' is not known"),
        ({"constraints": tmp_path / "none.yaml"}, "^constraints .*none.yaml: No such file"),
        ({"constraints": tmp_path / "rules.yaml"}, "^constraints: eyeriss has no level 'l9'"),
    ):
        with pytest.raises(al.ArchloomError, match=message):
            al.map_layer(layer, "eyeriss", **arguments)
    pool = next(one for one in network if not one.runs_on_macs)
    with pytest.raises(al.ArchloomError, match="which the vector unit runs"):
        al.map_layer(pool, "eyeriss")


def test_mistakes_of_mappings() -> None:
    layer, chip = al.load_network("tiny_cnn")["conv1"], al.load_hardware("eyeriss")
    good = json.loads(json.dumps(al.map_layer(layer, chip, evaluations=500).loops))

    def message(mapping: Any, **more: Any) -> str:
        with pytest.raises(al.ArchloomError) as error:
            al.evaluate(layer, chip, mapping=mapping, **more)
        return str(error.value)

    assert "map_layer() searches one" in message("auto")
    assert message([]) == "mapping: is empty; it must have an entry for each level"
    assert message(good[:2]).startswith("mapping: levels are ['spad', 'glb'], the architecture")
    assert message([{"levl": "spad"}]).startswith("mapping[0].level: is missing")
    small = json.loads(json.dumps(good))
    small[-1]["temporal"]["factors"] = {}
    small[0]["temporal"]["factors"]["K"] = 1
    assert "factors of" in message(small)
    large = json.loads(json.dumps(good))
    for level in large[:-1]:
        level["temporal"]["factors"], level["spatial"] = {}, None
    large[-1]["temporal"]["factors"], large[-1]["spatial"] = {}, None
    large[0]["temporal"]["factors"] = layer.bounds
    assert message(large).startswith("mapping: spad: needs ") or "fit" in message(large)
    assert message(good, batch=2).startswith("batch: is for networks")


def test_what_notebooks_show() -> None:
    layer = al.load_network("tiny_cnn")["conv1"]
    found = al.map_layer(layer, "eyeriss", evaluations=2000, factors="exact")
    cost = al.evaluate(layer, "eyeriss", mapping=found)
    assert repr(found).startswith("<archloom.LayerMapping conv1 on eyeriss: energy ")
    assert repr(found).endswith("edp proven>")
    assert "<pre>dram" in found._repr_html_()
    assert "glb" in cost._repr_html_()
    assert repr(cost).startswith("<archloom.LayerCost conv1 on eyeriss: energy ")
    assert cost.to_dict()["levels"][0]["name"] == "spad"
