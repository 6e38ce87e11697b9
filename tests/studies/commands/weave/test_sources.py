"""Networks of a command line: names, options, batches, tables, and what is wrong with others."""

import pytest

from archloom.evaluators.weaving.chain import Chain
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network
from archloom.space.workload.network_json import write_network
from archloom.studies.commands.weave.sources import read_sources
from archloom.studies.errors import UserError


def refusal(*texts, batch=None):
    with pytest.raises(UserError) as caught:
        read_sources(texts, batch)
    return str(caught.value)


def test_options_stand_behind_a_colon_and_a_batch_is_one_of_them():
    found = read_sources(["ResNet-50", "bert_base:sequence_length=16,batch=4"], 2)
    assert [(s.label, s.batch) for s in found] == [
        ("resnet50", 2),
        ("bert_base(sequence_length=16)", 4),
    ]
    ragged = read_sources(["resnet50", "llama32_1b_decode:lengths=64,9,9,batch=2"], None)[1]
    assert (ragged.label, ragged.batch) == ("llama32_1b_decode(lengths=64,9,9)", 2)
    assert found[1].what.macs == network("bert_base", sequence_length=16).macs


def test_networks_of_one_name_get_numbers():
    found = read_sources(["tiny_cnn", "tiny_cnn", "tiny_cnn:batch=2"], None)
    assert [s.label for s in found] == ["tiny_cnn", "tiny_cnn-2", "tiny_cnn-3"]
    assert [s.batch for s in found] == [None, None, 2]


def test_files_of_networks_and_tables_stand_beside_names(tmp_path):
    table, net = tmp_path / "camera.csv", tmp_path / "net.json"
    table.write_text("weight_bytes,cycles\n5,7\n")
    write_network(network("tiny_mlp"), net)
    found = read_sources([str(table), str(net), "tiny_cnn"], 3)
    assert isinstance(found[0].what, Chain)
    assert [(s.label, s.batch) for s in found] == [
        *(("camera", None), ("tiny_mlp", 3), ("tiny_cnn", 3))
    ]


def test_everything_that_is_wrong_at_once(tmp_path):
    table = tmp_path / "camera.csv"
    table.write_text("weight_bytes,cycles\n-5,7\n")
    lines = refusal(
        "resnt50", "bert_base:sequence_lenth=16", "tiny_cnn:batch=0", str(table)
    ).splitlines()
    assert lines[0].startswith("network 'resnt50' is unknown; did you mean resnet50 or ")
    assert lines[1].startswith("bert_base: option sequence_lenth=16: is no option of bert_base; ")
    assert lines[1].endswith("did you mean sequence_length?")
    assert lines[2] == "tiny_cnn:batch=0: batch=0 must be a whole number, at least 1"
    assert lines[3].startswith(f"{table}: line 2: weight_bytes must be a whole number from 0 ")
    assert len(lines) == 4


def test_one_network_alone_has_nothing_to_be_woven_with():
    assert refusal("tiny_cnn") == (
        "tiny_cnn is the only network: give at least two networks; for a single network use "
        "archloom schedule"
    )


def test_a_network_without_macs_has_nothing_to_weave(tmp_path):
    pool = Layer("pool", "maxpool", g=4, p=4, q=4, r=2, s=2, stride=(2, 2), input_size=(8, 8))
    write_network(Network("pools", (pool,), (("input",),)), tmp_path / "pools.json")
    assert refusal(str(tmp_path / "pools.json"), "tiny_cnn") == (
        "pools: none of its 1 layers has MACs, so there is nothing to schedule"
    )


def test_tables_take_neither_options_nor_a_batch(tmp_path):
    table = tmp_path / "camera.csv"
    table.write_text("weight_bytes,cycles\n5,7\n")
    said = refusal(f"{table}:batch=2", "tiny_cnn")
    assert said == f"{table}:batch=2: a table of layers has no options; leave batch=2 out"
    said = refusal(str(table), str(table), batch=2)
    assert said == "--batch 2: tables of layers have a fixed batch size; leave --batch out"
