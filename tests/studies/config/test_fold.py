"""``fold``: one option for networks of every origin, and what cannot run folded layers."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.space.fusion.folding import computations, fold
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import read_network, write_network
from archloom.studies.commands.cli import app
from archloom.studies.config.errors import ConfigError, EntryError
from archloom.studies.config.study_config import load_config
from archloom.studies.config.workloads import load_workload, load_workloads
from archloom.studies.errors import UserError
from archloom.studies.solve.papers import read_table

from ...cases.einsum_files import einsum_text
from ...cases.workload_studies import onnx_model, problem, study

EINSUMS = """
Y[m,f] = X[m,d] * W[d,f]
Z[m,f] = Y[m,f] + B2[m,f]
"""


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, UserError), result.output
    return str(result.exception)


def test_networks_of_every_origin_are_folded(tmp_path: Path) -> None:
    onnx_model(tmp_path / "model.onnx")
    write_network(network("tiny_cnn"), tmp_path / "cnn.json")
    problem(tmp_path / "layers", "one", K=4, C=4)
    (tmp_path / "ranks.yaml").write_text(einsum_text(EINSUMS, {"m": 4, "d": 8, "f": 6}))
    entries = (
        {"network": "tiny_cnn", "fold": True},
        {"file": "model.onnx", "fold": True, "dimensions": {"batch": 1, "side": 8}},
        {"file": "cnn.json", "fold": True},
        {"file": "layers", "fold": True},
        {"file": "ranks.yaml", "fold": True},
    )
    found = load_workloads(entries, tmp_path)
    assert all(workload.network.folded for workload in found)
    assert found[0].label == "tiny_cnn(fold=True)"
    assert computations(found[0].network) == computations(found[2].network)
    # the activation is done in the place of the product itself: what follows it is folded
    ranks = found[4].network
    assert [len(one.folded) for one in computations(ranks)] == [1]
    assert not load_workload({"network": "tiny_cnn", "fold": False}, tmp_path).folded
    # what a file says stays so
    write_network(fold(network("tiny_cnn")), tmp_path / "folded.json")
    assert read_network(tmp_path / "folded.json").folded


@pytest.mark.parametrize("entry", [{"network": "tiny_cnn"}, {"file": "a.onnx"}])
def test_fold_is_true_or_false(entry: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(EntryError, match="fold: 'yes' must be true or false"):
        load_workload(entry | {"fold": "yes"}, tmp_path)


def test_python_folds_what_it_loads() -> None:
    plan = al.schedule(al.load_network("tiny_cnn", fold=True), "fast_large", fusion="fast")
    plain = al.schedule("tiny_cnn", "fast_large", fusion="none")
    assert plan.dram_bytes < plain.dram_bytes
    assert len(plan.groups) == 4
    # groups of folded layers do not count as fused
    assert "4 groups, none of them fused" in repr(plan)


def test_a_program_of_pytorch_is_folded() -> None:
    import torch

    class Added(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = torch.nn.Linear(12, 8), torch.nn.Linear(12, 8)
            self.last = torch.nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.last(self.one(x) + self.other(x))
            return found

    program = torch.export.export(Added().eval(), (torch.zeros(2, 12),))
    plain, folded = (al.load_network(program, fold=fold) for fold in (False, True))
    plans = [al.schedule(net, "fast_large", fusion="none") for net in (plain, folded)]
    assert len(plans[1].groups) < len(plans[0].groups)
    assert plans[1].dram_bytes < plans[0].dram_bytes


def test_networks_lists_what_is_folded_into_what() -> None:
    assert "maxpool" in shown("networks", "tiny_cnn", "--fold").split("Folded layers")[1]
    record = json.loads(shown("networks", "tiny_cnn", "--fold", "--json"))
    assert record["folded"] == {"block.conv2": ["block.add", "maxpool", "avgpool"]}
    assert "folded" not in json.loads(shown("networks", "tiny_cnn", "--json"))


def test_schedule_runs_folded_layers_together(tmp_path: Path) -> None:
    where = ("schedule", "tiny_cnn", "--hardware", "fast_large", "--batch", "8")
    quick = ("--mapping", "local", "--mapping-evaluations", "60")
    records = [
        json.loads(shown(*where, *quick, *fold, "--fusion", planner, "--json"))
        for planner in ("none", "fast", "fast_printed")
        for fold in ((), ("--fold",))
    ]
    words = [record["dram_bytes"] for record in records]
    assert words[1] < words[0]
    assert words[3] <= words[1]
    last = records[1]["groups"][2]
    assert (last["layers"][0], last["folded"]) == ("block.conv2", True)
    text = shown(*where, *quick, "--fold", "--fusion", "fast", "--memory", str(tmp_path / "m.svg"))
    assert "4 groups, none of them fused" in text
    assert (tmp_path / "m.svg").exists()


def test_planners_of_single_layers_say_so(tmp_path: Path) -> None:
    message = "leave fold out, or choose"
    assert message in said("schedule", "tiny_cnn", "--hardware", "fast_large", "--fold")
    with pytest.raises(ConfigError, match=message):
        load_config(study(tmp_path, "{network: tiny_cnn, fold: true}"))


def test_a_study_stores_and_runs_a_folded_network(tmp_path: Path) -> None:
    path = study(tmp_path, "{network: tiny_cnn, fold: true}")
    path.write_text(path.read_text().replace("fusion: casco, population: 2,", "fusion: fast,"))
    config = load_config(path)
    assert config.workloads[0].network.folded
    assert config.workloads[0].reference == {"network": "tiny_cnn", "fold": True}


def test_networks_that_share_a_chip_are_not_folded(tmp_path: Path) -> None:
    write_network(fold(network("tiny_cnn")), tmp_path / "folded.json")
    arguments = ("weave", str(tmp_path / "folded.json"), "tiny_mlp", "--hardware", "fast_small")
    assert "cannot be folded" in said(*arguments)


def test_a_table_of_plans_folds_all_its_networks(tmp_path: Path) -> None:
    text = (
        "kind: plans\ntitle: Folded\nfold: true\ndesigns: [{hardware: fast_small}]\n"
        "networks: [tiny_cnn]\nmappings: [{name: short, evaluations: 100}]\n"
        "planners: [{fusion: none}, {fusion: PLANNER}]\nfigures: [flop_per_byte]\n"
    )
    (tmp_path / "right.yaml").write_text(text.replace("PLANNER", "fast"))
    assert read_table(tmp_path / "right.yaml").fold
    (tmp_path / "wrong.yaml").write_text(text.replace("PLANNER", "joint"))
    with pytest.raises(UserError, match=r"planners\[1\].fusion: joint cannot plan folded layers"):
        read_table(tmp_path / "wrong.yaml")
