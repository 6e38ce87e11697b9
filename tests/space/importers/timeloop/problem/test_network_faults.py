"""What is wrong with a directory of Timeloop problems is told, all at once."""

import copy

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from archloom.space.importers.timeloop.problem.network import read_network
from archloom.space.importers.timeloop.yaml_dialect import TimeloopError
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from .....cases.sweeps import sweep
from ..test_fuzz import WEIRD, slip
from .test_network import conv, faults, fc, problem_of, space, structure, write


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a 1\nb 2\nc 1", "line 3: no file holds a layer 'c'; known: a, b"),
        ("a\nb 1", "line 1: must be a layer and its copies, 1 to 256, got 'a'"),
        ("a 1\nb -1", "line 2: must be a layer and its copies, 1 to 256, got 'b -1'"),
        ("a 1\nb 999999999999", "line 2: must be a layer and its copies, 1 to 256, got "),
        ("a 2", "Problem-structure.txt: leaves out b; name every layer"),
        ("", "Problem-structure.txt: leaves out a, b; name every layer"),
    ],
)
def test_faults_of_deepfrack_s_order(text, found, tmp_path):
    write(tmp_path, a=fc(64, 64, 8), b=fc(64, 16, 8))
    [fault] = faults(structure(tmp_path, text))
    assert found in fault


def test_two_orders_are_one_too_many(tmp_path):
    write(tmp_path, a=fc(64, 64, 8), order={"order": ["a"]})
    assert "give the order in one of them only" in faults(structure(tmp_path, "a 1"))[0]


def test_bytes_are_no_order(tmp_path):
    write(tmp_path, a=fc(64, 64, 8))
    (tmp_path / "Problem-structure.txt").write_bytes(b"\xff\xfe")
    assert "Problem-structure.txt: is not UTF-8 text" in faults(tmp_path)[0]


def test_directories_without_layers(tmp_path):
    assert faults(tmp_path) == (": holds no layers; it must have .yaml files, each with a problem",)
    assert faults(tmp_path / "none")[0].startswith(": cannot be read as a directory: No such file")
    file = tmp_path / "a.txt"
    file.write_text("x")
    assert "Not a directory" in faults(file)[0]


def test_all_faults_of_all_files_come_at_once(tmp_path):
    wrong = conv(3, 8, 16)
    wrong["problem"]["instance"]["Z"] = 3
    sparse = conv(3, 8, 16)
    sparse["problem"]["instance"]["P"] = 0
    files = {"a": wrong, "b": sparse, "c": "problem: [", "d": {"architecture": {}}, "e": {}}
    found = faults(write(tmp_path, **files, order={"ordr": []}))
    assert found[0].startswith("c.yaml: line 1: is not YAML: while parsing")
    assert [fault.split(": ")[:2] for fault in found[1:]] == [
        ["order.yaml", "ordr"],
        ["a.yaml", "problem.instance.Z"],
        ["b.yaml", "problem.instance.P"],
        ["d.yaml", "architecture"],
        ["d.yaml", "has no problem; every .yaml file of a directory of layers must have one"],
        ["e.yaml", "has no problem; every .yaml file of a directory of layers must have one"],
    ]
    assert "order" in found[1]
    assert "must be 1, 2, 3, ..., got 0" in found[3]


def test_a_layer_of_two_files(tmp_path):
    write(tmp_path, a=conv(3, 8, 16))
    (tmp_path / "a.yml").write_text((tmp_path / "a.yaml").read_text())
    assert faults(tmp_path) == ("a.yml: is layer 'a', as is a.yaml; rename one of the files",)


def test_problems_that_are_no_layer(tmp_path):
    huge = conv(2**30, 2**30, 16)
    larger = conv(2**41, 1, 1)
    deep = {"name": "deep", "dimensions": ["A", "B", "C", "D", "E"]}
    deep["data_spaces"] = [
        space("Weights", "A", "B"),
        space("Inputs", "A", "C", "D", "E"),
        space("Outputs", "B", "C", "D", "E", written=True),
    ]
    three = {"problem": {"shape": deep, "instance": dict.fromkeys("ABCDE", 2)}}
    found = faults(write(tmp_path, huge=huge, larger=larger, three=three))
    assert found[0].startswith("huge.yaml: problem: layer huge: macs is ")
    assert found[1].startswith("larger.yaml: problem.dims.C: must be less than or equal to")
    assert found[2] == (
        "three.yaml: problem.dims.E: indexes Inputs, Outputs; (images), C, D already does: "
        "join them"
    )


CHAIN = {"a": conv(8, 8, 16, 3), "b": conv(8, 8, 16, 3), "c": conv(8, 8, 16, 3)}
SMALL = {**CHAIN, "c": conv(8, 8, 8, 3, 2)}


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ({"order": ["a", "b", "d"]}, "order[2]: no file holds a layer 'd'; known: a, b, c"),
        ({"order": ["a", "b"]}, "order: leaves out c; name every layer"),
        (
            {"order": ["a", "b", "b", "c"]},
            "order[2]: 'b' is also the name of order[1]; name it {b_2: b}",
        ),
        ({"order": [*"abc", {"input": "a"}]}, "no layer may be called 'input'"),
        ({"order": [*"abc", {"x": "a", "y": "b"}]}, "order[3]: must be NAME, {NAME: FILE}"),
        ({"order": [*"abc", 1.5]}, "order[3]: must be a name, got 1.5"),
        ({"order": "abc"}, "order: must be a list, got 'abc'"),
        (
            {"order": [*"abc", {"p": {"pool": "mean"}}]},
            "order[3].p.pool: 'mean' is not a pooling; ",
        ),
        ({"order": [*"abc", {"p": {"pool": "max", "kernel": 0}}]}, "order[3].p.kernel: must be a"),
        ({"order": [*"abc", {"p": {"pool": "max", "stride": 2}}]}, "order[3].p: has no kernel; "),
        (
            {"order": [*"abc", {"p": {"pool": "max", "kernel": 99}}]},
            "order[3].p: layer p: kernel 9",
        ),
        ({"order": [*"abc", {"p": {"pool": "max", "size": 2}}]}, "order[3].p.size: is not known"),
        (
            {"order": [*"abc", {"p": {"pool": "max", "kernel": 2, "ceil": 2}}]},
            "order[3].p.ceil: must be true or false, got 2",
        ),
        ({"input": [3, 16]}, "input: must be [channels, rows, columns], got [3, 16]"),
        (
            {"input": [3, 16, 16]},
            "'a' reads 8 x 18 x 18, less its padding; it gets 3 x 16 x 16 of ",
        ),
        (
            {"edges": [{"from": "z", "to": "b"}]},
            "edges[0].from: 'z' is not a layer; known: a, b, c",
        ),
        ({"edges": [{"from": "a", "to": "input"}]}, "edges[0].to: 'input' is not a layer; "),
        ({"edges": [{"from": "a"}]}, "edges[0]: has no to"),
        ({"edges": [{"form": "a", "to": "b"}]}, "edges[0].form: is not known; did you mean f"),
        ({"edges": [{"from": "a", "to": "b", "as": "wieghts"}]}, "did you mean weights?"),
        ({"edges": [{"from": "a", "to": "c"}] * 2}, "edges[1]: is given twice: 'c' already"),
        (
            {"edges": [{"from": "c", "to": "a"}]},
            "edges[0]: 'a' cannot read 'c', which is not before it",
        ),
        (
            {"edges": [{"from": "a", "to": "a"}]},
            "edges[0]: 'a' cannot read 'a', which is not before it",
        ),
        (
            {"edges": [{"from": "a", "to": "b", "as": "weights"}]},
            "'b' has weights, so it is not a product",
        ),
        ({"edges": [{"from": s, "to": "c"} for s in "ab"]}, "it gets 16 x 16 x 16 of 'a and b'"),
        ({"residual": [{"from": "z", "to": "b"}]}, "residual[0].from: 'z' is not a layer; known: "),
        ({"residual": [{"from": "b", "to": "z"}]}, "residual[0].to: 'z' is not a layer; known: "),
        ({"residual": [{"from": "b", "to": "b"}]}, "residual[0]: adds 'b' to itself"),
        (
            {"residual": [{"from": "a", "to": "b"}] * 2},
            "residual[1]: adds 'a' to 'b' a second time",
        ),
        (
            {"residual": [{"from": "a", "to": "b", "name": "c"}]},
            "residual[0]: adds a second layer ",
        ),
        (
            {"residual": [{"from": "c", "to": "a"}]},
            "'b' reads 'a' before 'c' can be added to it: a c",
        ),
        (
            {"residual": [{"from": "a", "to": "b", "name": "input"}]},
            "no layer may be called 'input'",
        ),
    ],
)
def test_faults_of_an_order(order, found, tmp_path):
    told = faults(write(tmp_path, order=order, **CHAIN))
    assert told[0].startswith("order.yaml: ")
    assert any(found in fault for fault in told), told


def test_residual_edges_between_maps_of_different_shapes(tmp_path):
    order = {"residual": [{"from": "b", "to": "c"}]}
    assert faults(write(tmp_path, order=order, **SMALL)) == (
        "order.yaml: residual[0]: adds 8 x 16 x 16 of 'b' to 8 x 8 x 8 of 'c'; both must have one "
        "shape",
    )


def test_maps_of_different_sizes_side_by_side(tmp_path):
    files = {**SMALL, "d": conv(16, 8, 8)}
    order = {"edges": [{"from": "b", "to": "d"}, {"from": "c", "to": "d"}]}
    assert (
        "'d' cannot read 8 x 16 x 16 of 'b' and 8 x 8 x 8 of 'c' concatenated"
        in (faults(write(tmp_path, order=order, **files))[0])
    )


def test_sums_that_wait_for_each_other(tmp_path):
    edges = [{"from": "input", "to": name} for name in "bc"]
    residual = [{"from": "c", "to": "b"}, {"from": "b", "to": "c"}]
    order = {"edges": edges, "residual": residual}
    assert (
        "residual[0]: 'c' and 'b' read each other, a cycle; remove one of the edges"
        in (faults(write(tmp_path, order=order, **CHAIN))[0])
    )


def test_a_pool_that_is_assumed_must_find_its_name_free(tmp_path):
    files = {"a": conv(3, 8, 16), "b": conv(8, 8, 8), "b.pool": conv(8, 8, 8)}
    assert faults(write(tmp_path, **files)) == (
        "b.yaml: needs a pool 'b.pool' before it, but another layer has that name",
    )


ORDER = {
    "name": "net",
    "input": [3, 32, 32],
    "order": ["a", {"p": {"pool": "max", "kernel": 2, "stride": 2}}, "b", "c", "d", "fc"],
    "edges": [{"from": "p", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}],
    "residual": [{"from": "p", "to": "b", "name": "sum"}],
}
FILES = {
    "a": conv(3, 8, 32, 3),
    "b": conv(8, 8, 16, 3),
    "c": problem_of(network("tiny_mobile").layers[1]),
    "d": conv(16, 8, 16),
    "fc": fc(8, 10),
}
FILES["c"]["problem"]["instance"] |= {"C": 8, "P": 16, "Q": 16, "Wstride": 1, "Hstride": 1}
NAMES = ("from", "to", "name", "problem", "shape", "instance", "a", "pool", "")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data):
        return True


slips = st.tuples(
    st.sampled_from(["order", "order", *FILES]),
    st.integers(0, 10**6),
    st.sampled_from(["drop", "put", "put", "wrap", "rename", "spell", "twice"]),
    # tags are for architectures
    st.sampled_from([weird for weird in WEIRD if not hasattr(weird, "tag")]),
    st.sampled_from(NAMES),
)


def outcome(folder):
    """Return the network in a directory, or the faults."""
    try:
        return read_network(folder)
    except TimeloopError as error:
        return error.faults


@pytest.mark.parametrize("part", sweep(range(4), 1))
def test_slips_are_told_or_do_no_harm(tmp_path, part):
    """In each part the same slips are made elsewhere."""
    documents = {"order": ORDER, **FILES}
    assert len(read_network(write(tmp_path / "whole", **documents)).layers) == 8
    seen = {"networks": 0, "faults": 0}

    @settings(max_examples=75)
    @given(st.lists(slips, min_size=1, max_size=2), st.integers(0, 3000), st.booleans())
    def check(made, cut, whole):
        changed = copy.deepcopy(documents)
        for name, where, *rest in made:
            slip(changed[name], where + 7919 * part, *rest)
        folder = tmp_path / "slips"
        texts = {name: yaml.dump(data, Dumper=_Dumper) for name, data in changed.items()}
        if not whole:
            texts["order"] = texts["order"][:cut] + "\x07:" * (cut % 2)
        found = outcome(write(folder, **texts))
        if isinstance(found, Network):
            seen["networks"] += 1
            assert found.macs > 0
        else:
            seen["faults"] += 1
            assert found
            assert all(fault.startswith(str(folder)) for fault in found)

    check()
    # slips must be seen, and some must be harmless, or the test looks at nothing
    assert seen["faults"] > 30
    assert seen["networks"] > 2
