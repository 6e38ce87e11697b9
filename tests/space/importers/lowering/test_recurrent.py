"""Lowering of recurrent layers: plain ones, LSTMs and GRUs."""

import pytest

from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice

from ....cases.graph_maker import GraphMaker


def kinds(network: Network) -> list[str]:
    return [layer.operator for layer in network.layers]


def lstm(directions: int, *, last_only: bool, batch: int = 1, steps: int = 5) -> Network:
    g = GraphMaker(x=(batch, steps, 6))
    weights = []
    for _ in range(directions):
        weights += [g.weight(16, 6), g.weight(16, 4), g.weight(16), g.weight(16)]
    state = (directions, batch, 4)
    y, last, _ = g.ops_of(
        "lstm",
        ["x", *weights],
        [(batch, steps, 4 * directions), state, state],
        hidden=4,
        directions=directions,
        batch_first=True,
    )
    if last_only:
        y = g.reshape(g.cut(last, 0, directions - 1, directions), batch, 4)
    g.linear(y, 3)
    return lower(g.graph())


@pytest.mark.parametrize("batch", [1, 2])
def test_an_lstm_is_unrolled_and_its_weights_count_once(batch: int) -> None:
    made = lstm(1, last_only=False, batch=batch)
    assert kinds(made) == ["gemm", "lstm_state", "lstm_output"] * 5 + ["copy", "gemm"]
    gates = made.layers[0:15:3]
    assert gates[0].parts == (6, 4)
    assert gates[0].params == 16 * 10 + 32
    assert [layer.params for layer in gates[1:]] == [0] * 4
    assert {layer.weights_of for layer in gates[1:]} == {gates[0].name}
    assert gates[2].slices == (Slice((0, 2, 0), (6, 1, 1), (6, 5, 1)), None)
    assert made.layers[15].whole_parts == (4,) * 5
    assert made.batch == batch


def test_the_last_step_of_an_lstm_needs_no_copy() -> None:
    made = lstm(1, last_only=True)
    assert kinds(made)[-2:] == ["lstm_output", "gemm"]
    assert made.reads[-1] == (made.layers[-2].name,)
    both = lstm(2, last_only=True)
    assert "copy" not in kinds(both)
    # the first direction is read by nobody
    assert len(both.layers) == 16


def test_both_directions_of_an_lstm_are_put_together_frame_by_frame() -> None:
    made = lstm(2, last_only=False)
    copy = made.layers[30]
    assert (copy.operator, copy.map_shape) == ("copy", (8, 5, 1))
    first, second, *_ = made.reads[30]
    # the frame that the forward way reads first is the last of the backward way
    assert (made.index(first), made.index(second)) == (2, 29)


def test_time_before_batch() -> None:
    g = GraphMaker(x=(5, 1, 6))
    inputs = ["x", g.weight(16, 6), g.weight(16, 4)]
    shapes = [(5, 1, 4), (1, 1, 4), (1, 1, 4)]
    g.ops_of("lstm", inputs, shapes, hidden=4, directions=1, batch_first=False)
    made = lower(g.graph(g.ops[0].outputs[0]))
    assert (len(made.layers), made.batch) == (15, 1)


def test_several_sequences_after_time_are_the_batch() -> None:
    g = GraphMaker(x=(5, 3, 6))
    inputs = ["x", g.weight(16, 6), g.weight(16, 4)]
    shapes = [(5, 3, 4), (1, 3, 4), (1, 3, 4)]
    g.ops_of("lstm", inputs, shapes, hidden=4, directions=1, batch_first=False)
    made = lower(g.graph(g.ops[0].outputs[0]))
    assert (len(made.layers), made.batch) == (15, 3)


def unrolled(kind: str, rows: int, outputs: int = 1, **attributes: object) -> Network:
    """Three steps of one layer over 6 features with 4 hidden ones."""
    g = GraphMaker(x=(3, 1, 6))
    width = attributes.get("projected") or 4
    weights = [g.weight(rows, 6), g.weight(rows, width), g.weight(rows), g.weight(rows)]
    if attributes.get("projected"):
        weights.append(g.weight(width, 4))
    last = [(1, 1, 4)] * outputs
    shapes = [(3, 1, width), *last]
    named = {"hidden": 4, "directions": 1, "batch_first": False} | attributes
    made, *_ = g.ops_of(kind, ["x", *weights], shapes, **named)
    return lower(g.graph(made))


def test_a_gru_multiplies_input_and_last_output_in_every_step() -> None:
    made = unrolled("gru", 12, reset_after=True)
    assert kinds(made) == ["gemm", "gemm", "gemm", "gru_output_reset_after"] * 3
    assert made.macs == 3 * 12 * (6 + 4)
    assert made.params == 12 * (6 + 4) + 2 * 12
    gates, fresh, kept, output = made.layers[4:8]
    before = made.layers[3].name
    assert made.reads[4:8] == (
        ("input", before),
        ("input",),
        (before,),
        (gates.name, fresh.name, kept.name, before),
    )
    first = [layer.name for layer in made.layers[:3]]
    assert [layer.weights_of for layer in (gates, fresh, kept)] == first
    assert [layer.params for layer in made.layers[:4]] == [8 * 10 + 16, 4 * 6 + 4, 4 * 4 + 4, 0]
    assert output.map_words == (8, 4, 4, 4)


def test_a_gru_may_reset_before_the_product() -> None:
    made = unrolled("gru", 12, reset_after=False)
    assert kinds(made) == ["gemm", "gru_reset", "gemm", "gru_output"] * 3
    assert made.macs == 3 * 12 * (6 + 4)
    assert made.params == 12 * (6 + 4) + 2 * 12
    gates, reset, fresh, _ = made.layers[4:8]
    before = made.layers[3].name
    assert made.reads[5:8] == (
        (gates.name, before),
        ("input", reset.name),
        (gates.name, fresh.name, before),
    )


def test_a_plain_recurrent_layer_is_one_product_a_step() -> None:
    made = unrolled("rnn", 4, function="relu")
    assert kinds(made) == ["gemm"] * 3
    assert {layer.activation for layer in made.layers} == {"relu"}
    assert made.params == 4 * (6 + 4) + 2 * 4


def test_a_projection_makes_what_the_next_step_reads() -> None:
    made = unrolled("lstm", 16, 2, projected=2)
    assert kinds(made) == ["gemm", "lstm_state", "lstm_output", "gemm"] * 3
    assert made.layers[4].parts == (6, 2)
    assert made.reads[4] == ("input", made.layers[3].name)
    assert made.params == 16 * (6 + 2) + 2 * 16 + 2 * 4
    assert made.layers[7].weights_of == made.layers[3].name


def test_a_backward_layer_begins_with_the_last_step() -> None:
    made = unrolled("gru", 12, reset_after=True, backward=True)
    starts = [layer.slices[0].start[1] for layer in made.layers[0::4] if layer.slices[0]]
    assert starts == [2, 1, 0]
