"""``archloom networks``: the catalogue, layer tables, records, pictures, mistakes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from archloom.space.networks.registry import NETWORKS, network
from archloom.space.workload.graph import identical_layers
from archloom.space.workload.liveness import largest_working_set
from archloom.space.workload.network import Network
from archloom.space.workload.network_json import to_text
from archloom.studies.commands.catalogue.networks import amount, size
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.rendering.text.layers import (
    change_text,
    intensity,
    moved,
    reads_text,
    window_text,
)

from ....cases.pages import everything
from ....cases.studies import archloom

KEYS = ["name", "macs", "params", "layers", "largest_working_set_bytes"]


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["networks", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def said(*arguments: str) -> str:
    """Return the message that a mistake gets."""
    result = CliRunner().invoke(app, ["networks", *arguments])
    assert isinstance(result.exception, UserError), result.exception
    return str(result.exception)


def test_all_networks_are_listed() -> None:
    records = json.loads(shown("--json"))
    assert [record["name"] for record in records] == list(NETWORKS)
    assert all(list(record) == KEYS for record in records)
    by_name = {record["name"]: record for record in records}
    assert by_name["resnet18"]["params"] == 11_689_512
    # FAST (Zhang et al., ASPLOS 2022), Table 1: 2.87 MiB in bfloat16
    assert by_name["efficientnet_b0"]["largest_working_set_bytes"] == 3_010_560
    text = shown()
    for name, entry in NETWORKS.items():
        assert name in text
        assert entry.about.split()[0] in text


def test_the_record_of_a_network() -> None:
    net = network("resnet18")
    record = json.loads(shown("ResNet-18", "--json"))
    assert list(record) == KEYS
    assert record == {
        "name": "resnet18",
        "macs": net.macs,
        "params": net.params,
        "layers": 31,
        "largest_working_set_bytes": 2 * largest_working_set(net),
    }


def test_batch_and_word_width_count() -> None:
    one = json.loads(shown("resnet18", "--json"))
    four = json.loads(shown("resnet18", "--batch", "4", "--word-bits", "8", "--json"))
    assert four["macs"] == 4 * one["macs"]
    assert four["params"] == one["params"]
    assert four["largest_working_set_bytes"] == 2 * one["largest_working_set_bytes"]
    odd = json.loads(shown("tiny_mlp", "--word-bits", "3", "--json"))
    words = largest_working_set(network("tiny_mlp"))
    assert odd["largest_working_set_bytes"] * 8 >= 3 * words
    assert (odd["largest_working_set_bytes"] - 1) * 8 < 3 * words
    listed = json.loads(shown("--batch", "4", "--word-bits", "8", "--json"))
    assert four in listed


def test_a_network_is_taken_apart() -> None:
    net = network("resnet18")
    text = shown("resnet18")
    rows = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line.strip()}
    # windows end at row 2 x 111 - 3 + 7 = 226 of 224: all of the image is read
    macs, weights = 7 * 7 * 3 * 64 * 112 * 112, 7 * 7 * 3 * 64 * 2
    maps = 2 * (3 * 224 * 224 + 64 * 112 * 112)
    assert rows["conv1"] == (
        f"conv1 conv + relu 3x224x224 -> 64x112x112 7x7 /2 118 M 9,536 {weights / 1024:.4g} KiB "
        f"{maps / 1024**2:.4g} MiB {macs / (weights + maps):.4g} input"
    )
    assert rows["stage1.0.add"].endswith("1.148 MiB stage1.0.conv2, maxpool")
    problems = len([a for a in identical_layers(net) if net.layers[a[0]].uses_macs])
    for part in (
        "31 (longest path: 28 layers)",
        f"21, with {problems} distinct mapping problems",
        "1,814,073,344",
        "11,689,512",
        "largest working set 1.914 MiB",
        "1.914 MiB, while layer maxpool runs",
    ):
        assert part in " ".join(text.split())


def test_texts_about_layers() -> None:
    net = network("alexnet_original")
    conv2 = net.index("conv2")
    assert window_text(net.layers[conv2]) == "5x5, 2 groups"
    assert change_text(net, conv2) == "96x27x27 -> 256x27x27"
    assert reads_text(net, conv2) == "pool1"
    net = network("efficientnet_b0")
    scale = net.index("stage2.1.scale")
    assert change_text(net, scale) == "144x56x56, 144x1x1 -> 144x56x56"
    assert intensity(net.layers[scale], 16) is None
    depthwise = net.layers[net.index("stage2.1.depthwise")]
    assert window_text(depthwise) == "3x3"
    bytes_ = moved(depthwise, 8)
    assert (bytes_.inputs, bytes_.weights, bytes_.outputs) == (
        144 * 56 * 56,
        144 * 9,
        144 * 56 * 56,
    )
    assert intensity(depthwise, 8) == depthwise.macs / bytes_.all


def test_numbers_are_for_people() -> None:
    assert [amount(n) for n in (12, 1_500, 1_814_073_344, 2.5e12)] == [
        "12",
        "1.5 k",
        "1.814 G",
        "2.5 T",
    ]
    assert [size(n) for n in (0.5, 1023, 3_010_560, 2**31)] == [
        "0.5 B",
        "1,023 B",
        "2.871 MiB",
        "2 GiB",
    ]


def test_the_picture_alone(tmp_path: Path) -> None:
    out = tmp_path / "graph.svg"
    assert shown("tiny-cnn", "--out", str(out)).strip() == str(out)
    assert "block.conv2" in out.read_text()
    record = json.loads(shown("tiny_cnn", "--json", "--out", str(tmp_path / "graph.html")))
    assert record["layers"] == 7
    assert "block.conv2" in everything((tmp_path / "graph.html").read_text())


def test_options_of_a_network_are_set() -> None:
    short = json.loads(shown("bert_base", "--json"))
    long = json.loads(shown("BERT-base", "--json", "--set", "sequence_length=384"))
    assert (long["name"], long["params"]) == ("bert_base", short["params"])
    assert long["macs"] > 3 * short["macs"]


def test_lengths_of_sequences_are_a_list() -> None:
    packed = json.loads(shown("llama32_1b_prefill", "--json", "--set", "lengths=64,16,16"))
    one, other = (
        json.loads(shown("llama32_1b_prefill", "--json", "--set", f"sequence_length={n}"))
        for n in (64, 16)
    )
    assert packed["macs"] == one["macs"] + 2 * other["macs"]
    assert "lengths=[]" in shown("llama32_1b_prefill")
    assert "--set lengths=64,x: lengths is '64,x', must be a list of whole numbers" in said(
        "llama32_1b_prefill", "--set", "lengths=64,x"
    )
    assert "--set lengths=64: sequence_length and lengths say the same" in said(
        "llama32_1b_prefill", "--set", "lengths=64", "--set", "sequence_length=64"
    )


def test_a_file_is_a_network_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.json").write_text(to_text(network("tiny_cnn").with_batch(3)))
    monkeypatch.chdir(tmp_path)
    expected = json.loads(shown("tiny_cnn", "--batch", "3", "--json"))
    assert json.loads(shown("mine.json", "--json")) == expected
    assert json.loads(shown(str(tmp_path / "mine.json"), "--json", "--batch", "1")) == json.loads(
        shown("tiny_cnn", "--json")
    )
    assert "tiny_cnn (batch size 3, 16-bit words)" in shown("mine.json")
    assert "did you mean mine.json" in said("main.json")
    assert "mine.json: --set: dimensions are for ONNX files and files of einsums" in said(
        "mine.json", "--set", "a=2"
    )
    (tmp_path / "damaged.json").write_text("{")
    text = said("damaged.json")
    assert text.startswith("damaged.json: line ")
    assert text.count("damaged.json") == 1


def test_names_are_never_markup(tmp_path: Path) -> None:
    net = network("tiny_mlp")
    layers = (replace(net.layers[0], name="[bold]x"), *net.layers[1:])
    hostile = Network("[red]net", layers, (("input",), ("[bold]x",), ("fc2",)))
    (tmp_path / "mine.json").write_text(to_text(hostile))
    text = shown(str(tmp_path / "mine.json"))
    assert "[red]net (batch size 1" in text
    assert text.count("[bold]x") == 3  # its row, its reader's, the peak of live feature maps


def test_all_mistakes_in_settings_are_told_at_once() -> None:
    wrong = ["sequence_lenght=2", "sequence_length=many", "x", "=3", "sequence_length=4"]
    message = said("bert_base", *[f"--set={setting}" for setting in wrong])
    for fault in (
        "bert_base: --set sequence_lenght=2: is no option of bert_base; did you mean sequence_len",
        "--set sequence_length=many: sequence_length is 'many', must be a whole number",
        "--set x: must be name=value",
        "--set =3: must be name=value",
        "--set sequence_length=4: sequence_length is set twice",
    ):
        assert fault in message


def test_options_have_the_types_of_their_defaults() -> None:
    plain = json.loads(shown("llama3_8b_prefill", "--json"))
    text = shown("llama3_8b_prefill", "--json", "--set", "all_logits=True")
    assert json.loads(text)["macs"] > plain["macs"]
    assert "must be true or false" in said("llama3_8b_prefill", "--set", "all_logits=yes")


MISTAKES = [
    (["resnet19"], "did you mean resnet18"),
    (["resnet18", "--set", "depth=3"], "--set depth=3: is no option of resnet18"),
    (["bert_base", "--set", "sequence_length=0"], "bert_base: "),
    (["none/at_all.onnx"], "at_all.onnx"),
    (["tiny_cnn", "--batch", str(2**53)], "to be counted exactly"),
    (["--set", "depth=3"], "--set depth=3: NETWORK is missing"),
    (["--out", "x.svg"], "--out x.svg: NETWORK is missing"),
    (["resnet18", "--out", "x.gif"], "must end in .html, .png or .svg"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    assert message in said(*arguments)


def test_a_mistake_ends_with_2(tmp_path: Path) -> None:
    done = archloom("networks", "resnet19", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: network 'resnet19' is ")
    assert "Traceback" not in done.stderr
    assert archloom("networks", "resnet18", "--batch", "0", cwd=tmp_path).returncode == 2
