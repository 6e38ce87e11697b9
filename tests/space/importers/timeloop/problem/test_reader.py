"""Timeloop problems: shapes by name and in place, names of data spaces, what is refused."""

import pytest

from archloom.space.importers.cases.reader import case_of

from .....cases.timeloop_files import faults, read

ARCH = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 64, datawidth: 8}}
  - !Component {name: mac, class: intmac}
variables: {batch: 2}
"""

CNN = "problem: {{shape: {shape}, R: 3, S: 3, P: 8, Q: 8, C: 4, K: 16, N: batch, Hstride: 2}}"

SHAPE = """
problem:
  version: 0.4
  shape:
    name: own
    dimensions: [{dims}]
    coefficients: [{{name: a, default: 2}}, {{name: b, default: 1}}]
    data_spaces:
    - {{name: {first}, projection: [{first_ranks}]}}
    - {{name: {second}, projection: [{second_ranks}]}}
    - {{name: Sums, projection: [{sums}], read_write: {written}}}
  instance: {{{instance}}}
"""

WINDOW = {
    "dims": "X, F, D, T",
    "first": "Left",
    "first_ranks": "D, F, T",
    "second": "Right",
    "second_ranks": "[[D]], [[X, a], [F, b]]",
    "sums": "T, X",
    "written": "true",
    "instance": "X: 5, F: 3, D: 2, T: 4",
}


def problem_of(tmp_path, text):
    return read(tmp_path, arch=ARCH, problem=text)


def shape(**parts):
    return SHAPE.format(**{**WINDOW, **parts})


@pytest.mark.parametrize("name", ["cnn-layer", "cnn_layer", "CNN-Layer", "cnn_layer.yaml"])
def test_the_standard_layer_by_name(name, tmp_path):
    record = problem_of(tmp_path, CNN.format(shape=name))
    assert record["problem"] == {
        "name": "CNN_Layer",
        "kind": "conv",
        "dims": {"R": 3, "S": 3, "P": 8, "Q": 8, "C": 4, "K": 16, "N": 2},
        "Wstride": 1,
        "Hstride": 2,
        "Wdilation": 1,
        "Hdilation": 1,
        "coefficients": {"Wstride": 1, "Hstride": 2, "Wdilation": 1, "Hdilation": 1},
        "projections": {
            "Weights": [[["C"]], [["K"]], [["R"]], [["S"]]],
            "Inputs": [
                [["N"]],
                [["C"]],
                [["R", "Wdilation"], ["P", "Wstride"]],
                [["S", "Hdilation"], ["Q", "Hstride"]],
            ],
            "Outputs": [[["N"]], [["K"]], [["Q"]], [["P"]]],
        },
    }


def test_without_a_shape_it_is_the_standard_layer(tmp_path):
    plain = problem_of(tmp_path, CNN.format(shape="cnn-layer"))
    assert problem_of(tmp_path, CNN.replace("shape: {shape}, ", "").format()) == plain


def test_a_product_by_name(tmp_path):
    record = problem_of(tmp_path, "problem: {shape: gemm-ABZ, instance: {M: 4, N: 6, K: 8}}")
    assert record["data_space_names"] == {"Weights": "A", "Inputs": "B", "Outputs": "Z"}
    assert record["problem"]["kind"] == "gemm"
    assert record["problem"]["coefficients"] == {}


def test_names_of_their_own(tmp_path):
    record = problem_of(tmp_path, shape())
    problem = record["problem"]
    assert record["data_space_names"] == {"Weights": "Left", "Inputs": "Right", "Outputs": "Sums"}
    assert problem["projections"]["Weights"] == [[["D"]], [["F"]], [["T"]]]
    assert problem["projections"]["Inputs"] == [[["D"]], [["X", "a"], ["F", "b"]]]
    assert problem["coefficients"] == {"a": 2, "b": 1}
    # the stride goes with the dimension of the result
    assert (problem["Wstride"], problem["Wdilation"], problem["Hstride"]) == (2, 1, 1)
    layer = case_of(record).layer
    assert (layer.p, layer.r, layer.c, layer.k, layer.stride[0]) == (5, 3, 2, 4, 2)


@pytest.mark.parametrize(
    ("parts", "inputs"),
    [
        # the one with the window, wherever it stands
        (
            {"first_ranks": WINDOW["second_ranks"], "second_ranks": WINDOW["first_ranks"]},
            "Left",
        ),
        # names tell more than windows do
        ({"first": "Inputs", "second": "Other"}, "Inputs"),
        ({"first": "Other", "second": "Weights"}, "Other"),
        ({"first": "Filter", "second": "Ifmap"}, "Ifmap"),
        # else the second
        ({"second_ranks": "D, X, F"}, "Right"),
    ],
)
def test_which_tensor_is_the_inputs(parts, inputs, tmp_path):
    assert problem_of(tmp_path, shape(**parts))["data_space_names"]["Inputs"] == inputs


def test_windows_of_rows_and_columns(tmp_path):
    # columns are the second axis, even if they stand alone
    ranks = "[[N]], [[S, b], [Q, a]]"
    parts = {"dims": "N, S, Q, K", "first_ranks": "K, S", "sums": "N, K, Q"}
    text = shape(**parts, second_ranks=ranks, instance="N: 1, S: 3, Q: 7, K: 2, b: 4")
    problem = problem_of(tmp_path, text)["problem"]
    assert (problem["Hstride"], problem["Hdilation"]) == (2, 4)
    assert (problem["Wstride"], problem["Wdilation"]) == (1, 1)


@pytest.mark.parametrize(
    ("weights", "sums", "kind"),
    [("D, F", "D, X", "depthwise"), ("D, F, T", "D, X, T", "grouped"), ("F, D, T", "T, X", "conv")],
)
def test_kinds(weights, sums, kind, tmp_path):
    dims = {"dims": "X, F, D"} if kind == "depthwise" else {}
    bounds = {"instance": "X: 5, F: 3, D: 2"} if kind == "depthwise" else {}
    text = shape(first_ranks=weights, sums=sums, **dims, **bounds)
    assert problem_of(tmp_path, text)["problem"]["kind"] == kind


def test_a_shape_in_a_file_of_its_own(tmp_path):
    own = shape().replace("problem:\n  version: 0.4\n", "").split("  instance")[0]
    (tmp_path / "own.yaml").write_text(own.replace("\n  ", "\n"))
    record = problem_of(tmp_path, "problem: {shape: own.yaml, instance: {X: 5, F: 3, D: 2, T: 4}}")
    assert record["problem"] == problem_of(tmp_path, shape())["problem"]


def test_dense_densities_and_sizes_of_maps_have_no_effect(tmp_path):
    more = WINDOW["instance"] + ", H: 9, W: 9, Hpad: 1, Wpad: 1, densities: "
    plain = problem_of(tmp_path, shape())
    for densities in ("{}", "{Left: 1.0, Right: {distribution: fixed, density: 1}}"):
        assert problem_of(tmp_path, shape(instance=more + densities)) == plain


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"instance": "X: 5, F: 3, D: 2"}, "problem.instance: has no bound of T"),
        ({"instance": "X: 0, F: 3, D: 2, T: 4"}, "instance.X: bound of X must be 1, 2, 3, ..."),
        ({"instance": "X: 5.5, F: 3, D: 2, T: 4"}, "bound of X must be 1, 2, 3, ..., got 5.5"),
        ({"instance": "X: y, F: 3, D: 2, T: 4"}, "instance.X: 'y' reads 'y', which is not defined"),
        ({"instance": "X: 5, F: 3, D: 2, T: 4, c: 1"}, "instance.c: is not known"),
        ({"instance": "X: 5, F: 3, D: 2, T: 4, a: 0"}, "instance.a: a must be 1, 2, 3, ..."),
        (
            {"instance": "X: 5, F: 3, D: 2, T: 4, densities: {Left: 0.5}"},
            "densities.Left: 0.5 of Left: only dense cases are supported",
        ),
        (
            {"instance": "X: 5, F: 3, D: 2, T: 4, densities: {Lift: 1}"},
            "densities.Lift: is not known; did you mean Left",
        ),
        ({"dims": "X, F, D, T, X"}, "shape.dimensions: names X twice"),
        ({"sums": "T"}, "must be [dimension]"),
        ({"sums": "T, Y"}, "projection[1]: 'Y' is not a dimension"),
        ({"second_ranks": "[[D]], [[X, c], [F, b]]"}, "'c' is not a coefficient; known: a, b"),
        ({"second_ranks": "[[D]], [[X, a, b]]"}, "must be [dimension] or [dimension, coefficient]"),
        ({"first_ranks": "D, F"}, "instance.T: is 4, but no data space has the dimension T"),
        ({"written": "maybe"}, "read_write: must be true or false, got 'maybe'"),
        ({"written": "false"}, "must have two data spaces without and one with read_write"),
        ({"second": "Left"}, "has two data spaces of the same name"),
    ],
)
def test_problems_that_are_refused(parts, message, tmp_path):
    if message == "must be [dimension]":
        parts = {"sums": "[T]"}
    if "no data space has" in message:
        parts = {**parts, "sums": "X"}
    found = faults(tmp_path, arch=ARCH, problem=shape(**parts))
    assert any(message in fault for fault in found), found
    assert all(fault.startswith("problem.yaml: problem") for fault in found)


def test_unknown_shapes(tmp_path):
    found = faults(tmp_path, arch=ARCH, problem="problem: {shape: cnn-later, instance: {R: 1}}")
    assert "problem.shape: 'cnn-later' is not a known shape; did you mean cnn_layer" in found[0]
    long = "x" * 5000 + ".yaml"
    assert (
        "is not a known shape"
        in faults(tmp_path, arch=ARCH, problem=f"problem: {{shape: {long}}}")[0]
    )
