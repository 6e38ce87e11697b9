import json
import re
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from archloom.space.networks.registry import NETWORKS, network
from archloom.space.workload.layer import Interleave, Layer
from archloom.space.workload.network_json import (
    FORMAT,
    from_dict,
    from_text,
    layer_from_dict,
    layer_to_dict,
    read_network,
    to_dict,
    to_text,
    write_network,
)
from archloom.space.workload.slice import Mask, Slice

from ...cases.every_operator import every_operator
from ...cases.mapped_layers import KINDS

#: values of every kind, to stand where others are expected
OTHERS: Final = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "x",
    "input",
    [],
    {},
    [[]],
    [1, 2, 3],
    {"name": 1},
)

DEFAULTS: Final = {field.name: field.default for field in fields(Layer)}


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 10**6), st.booleans())
def test_layers_come_back_as_they_were(kind: str, seed: int, dressed: bool) -> None:
    layer = KINDS[kind](Random(seed))
    if dressed:
        boxes = tuple(Slice((1, 0, 2), (w, 1, 1), (w + 1, 1, 3)) for w in layer.map_words)
        layer = replace(layer, density=(0.25, 0.5), activation="silu", slices=boxes, extra_params=7)
    data = layer_to_dict(layer)
    assert layer_from_dict(json.loads(json.dumps(data))) == layer
    assert all(getattr(layer, name) != DEFAULTS[name] for name in data)


def test_every_field_of_a_layer_comes_back() -> None:
    layers = [
        Layer("product", "matmul", k=2, c=4, operands=3, whole_parts=(3, 5)),
        Layer("again", "gemm", k=4, c=3, operands=2, parts=(1, 2), weights_of="product"),
        Layer("scores", "matmul", k=4, p=8, input_size=(8, 1), operands=2, mask=Mask("k", 2, 3)),
        Layer("scale", "mul", g=4, operands=2, broadcast=True),
        Layer("box", "relu", g=4, slices=(Slice((1, 0, 0), (4, 1, 1), (9, 1, 1)),)),
        Layer("spread", "conv", k=4, interleave=Interleave(2, 2, (1, 0), (0, 1), 3, 1)),
        *(replace(layer, n=3, density=(0.5, 0.25)) for layer in every_operator().layers),
    ]
    for layer in layers:
        assert layer_from_dict(layer_to_dict(layer)) == layer
    # that one follows from the hardware, so no file has it
    kept = DEFAULTS.keys() - {"packed_words"}
    assert {name for layer in layers for name in layer_to_dict(layer)} == kept


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_networks_come_back_as_they_were(name: str) -> None:
    net = network(name)
    again = from_text(to_text(net))
    assert again == net
    assert hash(again) == hash(net)
    assert to_text(again) == to_text(net)


def test_a_network_of_every_operator_comes_back(tmp_path: Path) -> None:
    net = every_operator().with_batch(3).with_density(0.5, 0.25)
    net = replace(net, outputs=(net.layers[0].name,), name='weiß "&\n')
    write_network(net, tmp_path / "net.json")
    assert read_network(tmp_path / "net.json") == net
    text = (tmp_path / "net.json").read_text()
    assert len(text.splitlines()) == len(net.layers) + 2


def test_what_has_its_default_is_left_out() -> None:
    data = to_dict(network("tiny_mlp"))
    assert data["layers"][2] == {
        "name": "fc3",
        "operator": "gemm",
        "reads": ["fc2"],
        "k": 10,
        "c": 64,
        "p": 16,
        "input_size": [16, 1],
        "extra_params": 10,
    }
    assert data.keys() == {"format", "name", "layers"}


def changed(path: list[Any], value: Any, drop: bool = False) -> dict[str, Any]:
    """Return a small network as JSON with one value changed."""
    data: Any = json.loads(json.dumps(to_dict(network("tiny_mlp"))))
    place = data
    for key in path[:-1]:
        place = place[key]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "archloom network 9", "format is 'archloom network 9', must be"),
        (["name"], 3, "name is 3, must be a text"),
        (["layers"], [], "layers is [], must be a list with at least one layer"),
        (["layers"], {"a": 1}, "layers is {'a': 1}, must be a list"),
        (["layers", 1], 7, "layers[1] is 7, must be an object"),
        (["layers", 1, "reads"], "fc1", "layers[1].reads is 'fc1', must be a list"),
        (["layers", 1, "reads"], [1], "layers[1].reads[0] is 1, must be a text"),
        (["layers", 1, "reads"], ["fc9"], "layer fc2 reads 'fc9', which is not an earlier layer"),
        (["layers", 1, "k"], "x", "layers[1].k is 'x', must be a whole number"),
        (["layers", 1, "k"], 64.0, "layers[1].k is 64.0, must be a whole number"),
        (["layers", 1, "k"], True, "layers[1].k is True, must be a whole number"),
        (["layers", 1, "k"], 0, "layers[1]: layer fc2: k is 0, must be a whole number, at"),
        (["layers", 1, "kk"], 1, "layers[1].kk is an unknown key; did you mean k?"),
        (["layers", 1, "operator"], "gem", "operator 'gem' is not known; did you mean gemm?"),
        (["layers", 1, "input_size"], [16], "input_size is [16], must be a list of 2"),
        (["layers", 1, "stride"], [1, "1"], "layers[1].stride[1] is '1', must be a whole"),
        (["layers", 1, "broadcast"], 0, "layers[1].broadcast is 0, must be true or false"),
        (["layers", 1, "density"], ["a", 1], "layers[1].density[0] is 'a', must be a number"),
        (["layers", 1, "interleave"], {"rows": 2}, "layers[1].interleave.columns is missing"),
        (["layers", 1, "slices"], [[1]], "layers[1].slices[0] is [1], must be an object"),
        (["outputs"], ["fc9"], "'fc9' is listed as an output, but is not a layer"),
        (["output"], ["fc1"], "output is an unknown key; did you mean outputs?"),
        (["reads"], [], "reads is an unknown key"),
    ],
)
def test_a_fault_is_named_with_its_place(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        from_dict(changed(path, value))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (["name"], "name is missing"),
        (["layers"], "layers is None, must be a list"),
        (["layers", 0, "name"], "layers[0].name is missing"),
        (["layers", 0, "reads"], "layers[0].reads is None, must be a list"),
    ],
)
def test_what_is_missing_is_named(path: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        from_dict(changed(path, None, drop=True))


def test_all_faults_are_named_at_once() -> None:
    data = changed(["layers", 0, "k"], "x")
    data["layers"][0]["c"] = None
    data["layers"][2]["operator"] = 3
    data["name"] = 7
    places = (r"layers\[0\].k", r"layers\[0\].c", r"layers\[2\].operator", "name")
    with pytest.raises(ValueError, match=".*; ".join(f"{place} is" for place in places)):
        from_dict(data)
    data["layers"] = [1] * 12
    with pytest.raises(ValueError, match=r"layers\[7\] is 1.*; and 5 more$"):
        from_dict(data)


@given(st.data())
def test_malformed_networks_are_refused_and_never_crash(data: st.DataObject) -> None:
    content: Any = to_dict(every_operator())
    place, key = {"root": content}, "root"
    for _ in range(data.draw(st.integers(1, 5))):
        inside = place[key]
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        place, key = inside, data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key]:
            break
    value = data.draw(st.sampled_from(OTHERS))
    place[key] = value
    with suppress(ValueError):
        built = from_dict(content)
        assert from_dict(to_dict(built)) == built


@given(st.integers(0, 10**6), st.binary(max_size=3))
def test_cut_or_changed_files_are_refused_and_never_crash(at: int, put: bytes) -> None:
    raw = to_text(network("tiny_mlp")).encode()
    at %= len(raw)
    for text in (raw[:at], raw[:at] + put + raw[at + len(put) :]):
        with suppress(ValueError):
            assert from_text(text.decode(errors="replace")).layers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1 is not JSON: Expecting value"),
        (b"{", "line 1 is not JSON"),
        (b"[1]", "format is [1], must be 'archloom network 1'"),
        (b"{}", "format is None, must be"),
        (b"\xff\xfe", "is not text, so it is not the JSON of a network"),
        (b"[" * 100_000, "is not the JSON of a network"),
        (b"9" * 10_000, "is not the JSON of a network"),
    ],
)
def test_files_that_hold_no_network_say_so(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "net.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {message}')}"):
        read_network(path)


def test_the_form_has_a_number() -> None:
    assert to_dict(network("tiny_cnn"))["format"] == FORMAT
