"""Networks of the API, from every source."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import to_text
from archloom.studies.commands.cli import app

from ...cases.onnx_models import residual, saved
from ...source_tree import ROOT


def printed(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["networks", *arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("resnet18", {}, []),
        ("bert_base", {"sequence_length": 64}, ["--set", "sequence_length=64"]),
        ("resnet18", {"batch": 3}, ["--batch", "3"]),
        ("llama32_1b_decode", {"lengths": (64, 9)}, ["--set", "lengths=64,9"]),
    ],
)
def test_a_network_of_the_catalogue(source: str, options: dict[str, Any], words: list[str]) -> None:
    found, record = al.load_network(source, **options), printed(source, *words)
    assert (found.macs, found.params, len(found)) == (
        record["macs"], record["params"], record["layers"],
    )  # fmt: skip
    assert found.batch == options.get("batch", 1)
    assert sum(layer.macs for layer in found) == found.macs
    assert sum(layer.params for layer in found.layers) == found.params


def test_layers_by_name_and_place() -> None:
    found = al.load_network("tiny_cnn")
    assert found["conv1"] == found[0] == found.layers[0] == next(iter(found))
    assert found[-1].name == "fc"
    assert found["conv1"].bounds == dict(zip("NGKCPQRS", found[0]._operator.bounds, strict=True))
    assert [layer.runs_on_macs for layer in found] == [
        layer.operator in ("conv", "gemm", "matmul") for layer in found
    ]
    with pytest.raises(al.ArchloomError, match="has no layer 'cnv1'; did you mean conv1"):
        _ = found["cnv1"]
    with pytest.raises(IndexError, match="layers 0 to 6"):
        _ = found[7]


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.json").write_text(to_text(network("tiny_cnn")))
    for source in ("net.json", Path("net.json"), tmp_path / "net.json"):
        assert al.load_network(source).macs == al.load_network("tiny_cnn").macs
    model = str(saved(residual(), tmp_path))
    assert al.load_network(model).macs == printed(model)["macs"]
    einsums = ROOT / "examples" / "einsum" / "grouped_attention.yaml"
    small = al.load_network(einsums, dimensions={"q": 32})
    assert small.macs == printed(str(einsums), "--set", "q=32")["macs"]
    assert small.macs < al.load_network(einsums).macs
    # a path of a path's own type is a file, also if a network is called so
    with pytest.raises(al.ArchloomError, match="there is no file"):
        al.load_network(Path("resnet18"))


def test_a_program_of_pytorch() -> None:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(12, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    program = torch.export.export(model.eval(), (torch.zeros(2, 12),))
    found = al.load_network(program)
    assert found.macs == 2 * (12 * 7 + 7 * 3)
    assert found.params == 12 * 7 + 7 + 7 * 3 + 3
    with pytest.raises(al.ArchloomError, match="is not an exported program"):
        al.load_network(model)  # type: ignore[arg-type]
    with pytest.raises(al.ArchloomError, match="dimensions: an exported program has its sizes"):
        al.load_network(program, dimensions={"batch": 2})


def test_a_network_is_taken_as_it_is() -> None:
    found = al.load_network("tiny_cnn")
    assert al.load_network(found) == found
    assert al.load_network(found, batch=4).batch == 4
    with pytest.raises(al.ArchloomError, match="a network that is loaded has its sizes"):
        al.load_network(found, sequence_length=3)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("resnt18", {}, "did you mean resnet18"),
        ("bert_base", {"sequence_lenth": 3}, "bert_base: sequence_lenth: is no option"),
        ("bert_base", {"sequence_length": "x"}, "bert_base: sequence_length: "),
        ("resnet18", {"dimensions": {"n": 1}}, "resnet18: dimensions: is no option of resnet18"),
        ("none.onnx", {}, "there is no file "),
        ("resnet18", {"batch": 0}, "batch: 0 must be a whole number, at least 1"),
        ("resnet18", {"batch": 1.5}, "batch: 1.5 must be a whole number, at least 1"),
    ],
)
def test_mistakes(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(al.ArchloomError, match=re.escape(message)):
        al.load_network(source, **options)


def test_what_notebooks_show() -> None:
    found = al.load_network("resnet18")
    assert repr(found).startswith("<archloom.Network resnet18: 31 layers, batch 1, ")
    assert repr(found[0]).startswith("<archloom.Layer conv1: conv 64 x 112 x 112")
    shown = found._repr_html_()
    assert "and 19 more layers" in shown
    assert shown.count("<tr>") == 1 + 12
    odd = al.Network(replace(found._graph, name="<i>odd</i>"))
    assert "<i>odd" not in odd._repr_html_()
