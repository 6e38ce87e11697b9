"""Tables of layers: what is read, that it is written the same, and what is wrong with others."""

import json

import pytest

from archloom.studies.commands.weave.chain_table import (
    AMOUNTS,
    FORMAT,
    chain_record,
    is_chain_table,
    read_chain_table,
)
from archloom.studies.errors import UserError


def written(tmp_path, text, name="camera.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def refusal(path):
    with pytest.raises(UserError) as caught:
        read_chain_table(path)
    # every line names the file
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]


def test_a_csv_with_all_columns_in_any_order(tmp_path):
    text = (
        "cycles,layer,weight_bytes,live_bytes,map_bytes,footprint_bytes\n"
        '7, "stem, first",100 , 3,20,4\n'
        "\n"
        "8,head,200,0,21,5\n"
    )
    chain = read_chain_table(written(tmp_path, text))
    assert chain.name == "camera"
    assert chain.layers == ("stem, first", "head")
    assert [getattr(chain, column).tolist() for column in AMOUNTS] == [
        *([100, 200], [7, 8], [20, 21], [4, 5], [3, 0])
    ]


def test_what_may_be_left_out_is_zero_and_layers_get_numbers(tmp_path):
    chain = read_chain_table(written(tmp_path, "\ufeffweight_bytes,cycles\r\n100,7\r\n0,8\r\n"))
    assert chain.layers == ("layer 1", "layer 2")
    assert chain.map_bytes.tolist() == chain.footprint_bytes.tolist() == [0, 0]


def test_what_is_written_as_json_is_read_again(tmp_path):
    text = "layer,weight_bytes,cycles,map_bytes\nstem,100,7,20\nhead,200,8,0\n"
    chain = read_chain_table(written(tmp_path, text))
    record = chain_record(chain)
    path = written(tmp_path, json.dumps(record), "other.json")
    assert is_chain_table(path)
    again = read_chain_table(path)
    assert (again.name, again.layers) == ("camera", ("stem", "head"))
    assert chain_record(again) == record


def test_tables_are_told_from_networks(tmp_path):
    assert is_chain_table(tmp_path / "no_such.csv")
    assert not is_chain_table(tmp_path / "no_such.json")
    assert not is_chain_table(written(tmp_path, '{"format": "archloom network 1"}', "net.json"))
    assert not is_chain_table(written(tmp_path, "[1, 2]", "list.json"))
    assert not is_chain_table(written(tmp_path, "{", "broken.json"))
    assert not is_chain_table(written(tmp_path, "", "net.onnx"))


def test_everything_wrong_in_a_csv_at_once_with_its_line(tmp_path):
    text = (
        "layer,weight_bytes,cycles\n"
        "stem,-5,7\n"
        "body,100\n"
        "neck,1e3,\n"
        "head,200,2.5\n"
        f"tail,{2**50 + 1},1\n"
    )
    assert refusal(written(tmp_path, text)) == [
        "line 3: has 2 values, but there are 3 columns",
        f"line 2: weight_bytes must be a whole number from 0 up to {2**50}, got -5",
        f"line 4: weight_bytes must be a whole number from 0 up to {2**50}, got '1e3'",
        "line 4: cycles is missing",
        f"line 5: cycles must be a whole number from 0 up to {2**50}, got '2.5'",
        f"line 6: weight_bytes must be a whole number from 0 up to {2**50}, got {2**50 + 1}",
    ]


def test_wrong_columns_get_the_nearest_name(tmp_path):
    path = written(tmp_path, "layer,weigth_bytes,cycles,cycles\na,1,2,3\n")
    assert refusal(path) == [
        "line 1: 'weigth_bytes' is an unknown column; did you mean weight_bytes or live_bytes?",
        "line 1: column cycles occurs twice",
        "line 1: column weight_bytes is missing",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; its first line must name columns: layer, weight_bytes, cycles, "),
        ("layer,weight_bytes,cycles\n", "holds no layers; at least one is needed"),
        ('weight_bytes,cycles\n"1,2\n', "is not CSV: "),
        ("weight_bytes,cycles\n0,0\n", "none of its 1 layers has weights or cycles"),
        ("weight_bytes,cycles,live_bytes\n1,1,5\n", "live_bytes of the last layer, layer 1, must "),
    ],
)
def test_tables_that_hold_no_chain(tmp_path, text, message):
    (found,) = refusal(written(tmp_path, text))
    assert message in found


def test_everything_wrong_in_a_json_at_once_with_its_key(tmp_path):
    data = {
        "format": FORMAT,
        "names": "camera",
        "name": 5,
        "layers": [
            {"layer": "stem", "weight_bytes": -1, "cycles": 7},
            7,
            {"weight_bytes": True, "cylces": 1},
        ],
    }
    assert refusal(written(tmp_path, json.dumps(data), "camera.json")) == [
        "names: is an unknown key; did you mean name?",
        "name: 5 must be a string",
        "layers[1]: 7 must hold layer, weight_bytes, cycles, map_bytes, footprint_bytes, "
        "live_bytes",
        "layers[2].cylces: is an unknown key; did you mean cycles?",
        f"layers[0]: weight_bytes must be a whole number from 0 up to {2**50}, got -1",
        f"layers[2]: weight_bytes must be a whole number from 0 up to {2**50}, got True",
        "layers[2]: cycles is missing",
    ]


def test_a_json_of_another_version_or_without_layers(tmp_path):
    path = written(tmp_path, '{"format": "archloom chain 9", "layers": {}}', "camera.json")
    assert refusal(path) == [
        "format: is 'archloom chain 9', this version reads 'archloom chain 1'",
        "layers: must be a list of layers",
    ]


def test_files_that_cannot_be_read_and_long_lists_of_faults(tmp_path):
    assert refusal(tmp_path / "none.csv") == ["No such file or directory"]
    (tmp_path / "latin.csv").write_bytes(b"weight_bytes,cycles\n1,\xff\n")
    assert refusal(tmp_path / "latin.csv") == ["is not UTF-8 text"]
    text = "weight_bytes,cycles\n" + "1,x\n" * 50
    found = refusal(written(tmp_path, text))
    assert len(found) == 13
    assert found[-1] == "and 38 more"
