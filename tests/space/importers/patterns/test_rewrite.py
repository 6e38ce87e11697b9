"""Patterns of operators that are one."""

from __future__ import annotations

import math

import pytest

from archloom.space.importers.graph import Op
from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.importers.patterns.rewrite import simplify

from ....cases.graph_maker import GraphMaker


class Maker(GraphMaker):
    """Adds functions and scalars."""

    def unary(self, x: str, function: str, **named: float) -> str:
        return self.op("unary", [x], self.shape(x), function=function, **named)

    def scalar(self, value: float) -> str:
        return self.constant(value=value)

    def last(self) -> Op:
        """The operator of the result after patterns were found; the only one."""
        ops = simplify(self.graph()).ops
        assert len(ops) == 1, [op.kind for op in ops]
        return ops[0]


def maker() -> Maker:
    return Maker(x=(1, 16, 8))


def gelu_erf(g: Maker, half: str) -> None:
    inner = g.unary(g.two("div", "x", g.scalar(math.sqrt(2))), "erf")
    gate = g.two("add", g.scalar(1.0), inner)
    if half == "x":
        g.two("mul", g.two("mul", g.scalar(0.5), "x"), gate)
    elif half == "gate":
        g.two("mul", "x", g.two("mul", gate, g.scalar(0.5)))
    else:
        g.two("mul", g.two("mul", gate, "x"), g.scalar(0.5))


@pytest.mark.parametrize("half", ["x", "gate"])
def test_gelu_by_erf(half: str) -> None:
    g = maker()
    gelu_erf(g, half)
    assert g.last().attributes == {"function": "gelu"}
    assert g.last().inputs == ("x",)


def test_gelu_by_erf_with_its_half_last_is_an_activation_and_a_scalar() -> None:
    g = maker()
    gelu_erf(g, "last")
    assert [op.kind for op in simplify(g.graph()).ops] == ["activation", "mul"]


@pytest.mark.parametrize("power", ["pow", "mul", "factored"])
def test_gelu_by_tanh(power: str) -> None:
    g = maker()
    if power == "factored":
        square = g.two("mul", g.two("mul", "x", g.scalar(0.044715)), "x")
        inner = g.two("mul", "x", g.two("add", square, g.scalar(1.0)))
    else:
        cube = (
            g.unary("x", "pow", exponent=3.0)
            if power == "pow"
            else g.two("mul", g.two("mul", "x", "x"), "x")
        )
        inner = g.two("add", "x", g.two("mul", cube, g.scalar(0.044715)))
    inner = g.act(g.two("mul", inner, g.scalar(0.79788)), "tanh")
    g.two("mul", g.two("mul", "x", g.scalar(0.5)), g.two("add", inner, g.scalar(1.0)))
    assert g.last().attributes == {"function": "gelu"}


def test_a_gate_of_another_map_is_no_activation() -> None:
    g = Maker(x=(1, 16, 8), y=(1, 16, 8))
    g.two("mul", "x", g.act("y", "sigmoid"))
    assert len(simplify(g.graph()).ops) == 2
    g = Maker(x=(1, 16, 8), y=(1, 16, 8))
    g.two("mul", "x", g.two("add", g.unary("y", "erf"), g.scalar(1.0)))
    assert len(simplify(g.graph()).ops) == 3


def test_silu_mish_and_hard_swish() -> None:
    g = maker()
    g.two("mul", g.act("x", "sigmoid"), "x")
    assert g.last().attributes == {"function": "silu"}
    g = maker()
    g.two("mul", "x", g.act("x", "hardsigmoid"))
    assert g.last().attributes == {"function": "hardswish"}
    for softplus in ("activation", "parts"):
        g = maker()
        soft = (
            g.act("x", "softplus")
            if softplus == "activation"
            else g.unary(g.two("add", g.unary("x", "exp"), g.scalar(1.0)), "log")
        )
        g.two("mul", "x", g.act(soft, "tanh"))
        assert g.last().attributes == {"function": "mish"}


@pytest.mark.parametrize("sixth", ["div", "mul"])
def test_hard_functions_as_clipped_sums(sixth: str) -> None:
    g = maker()
    clipped = g.act(g.two("add", "x", g.scalar(3.0)), "relu6")
    scalar = g.scalar(6.0 if sixth == "div" else 0.166667)
    gate = g.two(sixth, clipped, scalar)
    assert g.last().attributes == {"function": "hardsigmoid"}
    g.two("mul", gate, "x")
    assert g.last().attributes == {"function": "hardswish"}


def test_hard_swish_with_its_sixth_last() -> None:
    g = maker()
    clipped = g.act(g.two("add", "x", g.scalar(3.0)), "relu6")
    g.two("div", g.two("mul", "x", clipped), g.scalar(6.0))
    (layer,) = lower(simplify(g.graph())).layers
    assert layer.operator == "hardswish"


def test_another_shift_is_no_hard_sigmoid() -> None:
    g = maker()
    g.two("div", g.act(g.two("add", "x", g.scalar(2.0)), "relu6"), g.scalar(6.0))
    assert len(simplify(g.graph()).ops) == 3


def mean(g: Maker, x: str) -> str:
    return g.op("mean", [x], (*g.shape(x)[:-1], 1), axes=(2,))


def below(g: Maker, y: str, square: str) -> str:
    squared = g.two("mul", y, y) if square == "mul" else g.unary(y, "pow", exponent=2.0)
    return g.two("add", mean(g, squared), g.scalar(1e-5))


def divided(g: Maker, y: str, variance: str, form: str) -> str:
    if form == "div":
        return g.two("div", y, g.unary(variance, "sqrt"))
    if form == "rsqrt":
        return g.two("mul", g.unary(variance, "rsqrt"), y)
    if form == "reciprocal":
        return g.two("mul", y, g.unary(g.act(variance, "sqrt"), "reciprocal"))
    if form == "one over":
        return g.two("mul", y, g.two("div", g.scalar(1.0), g.unary(variance, "sqrt")))
    return g.two("mul", y, g.unary(variance, "pow", exponent=-0.5))


FORMS = ["div", "rsqrt", "reciprocal", "one over", "pow"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("square", ["mul", "pow"])
def test_layer_norm_in_parts(form: str, square: str) -> None:
    g = maker()
    y = g.two("sub", "x", mean(g, "x"))
    again = g.two("sub", "x", mean(g, "x"))
    x = divided(g, y, below(g, again, square), form)
    scale, shift = g.weight(8), g.weight(8)
    g.two("add", shift, g.two("mul", x, scale))
    last = g.last()
    assert (last.kind, last.inputs) == ("layer_norm", ("x", scale, shift))
    assert last.attributes == {"dimensions": 1}


@pytest.mark.parametrize("form", FORMS)
def test_rms_norm_in_parts(form: str) -> None:
    g = maker()
    x = divided(g, "x", below(g, "x", "pow"), form)
    scale = g.weight(8)
    g.two("mul", scale, x)
    last = g.last()
    assert (last.kind, last.inputs) == ("rms_norm", ("x", scale))


def test_a_norm_of_another_map_is_none() -> None:
    g = Maker(x=(1, 16, 8), y=(1, 16, 8))
    divided(g, "x", below(g, "y", "pow"), "rsqrt")
    assert all(op.kind != "rms_norm" for op in simplify(g.graph()).ops)


def test_a_norm_that_others_read_keeps_its_scale_apart() -> None:
    g = maker()
    norm = g.op("layer_norm", ["x", "", ""], (1, 16, 8), dimensions=1)
    scaled = g.two("mul", norm, g.weight(8))
    ops = simplify(g.graph(norm, scaled)).ops
    assert [op.kind for op in ops] == ["layer_norm", "mul"]


@pytest.mark.parametrize("groups", [1, 4])
def test_group_norm_as_instance_norm_of_groups(groups: int) -> None:
    g = Maker(x=(1, 8, 4, 4))
    middle = g.reshape("x", 1, groups, 128 // groups)
    ones = g.constant(groups)
    norm = g.op("group_norm", [middle, ones, ones], g.shape(middle), groups=groups)
    x = g.reshape(norm, 1, 8, 4, 4)
    scale, shift = g.weight(8, 1, 1), g.weight(8, 1, 1)
    g.two("add", g.two("mul", x, scale), shift)
    last = g.last()
    assert (last.kind, last.inputs) == ("group_norm", ("x", scale, shift))
    assert last.attributes == {"groups": groups}


@pytest.mark.parametrize("stable", [True, False])
def test_softmax_in_parts(stable: bool) -> None:
    g = maker()
    largest = g.op("max", ["x"], (1, 16, 1), axes=(2,))
    above = g.unary(g.two("sub", "x", largest) if stable else "x", "exp")
    g.two("div", above, mean(g, above))
    last = g.last()
    assert (last.kind, last.inputs, last.attributes) == ("softmax", ("x",), {"axis": 2})


def test_a_quotient_by_the_sum_of_another_map_is_no_softmax() -> None:
    g = Maker(x=(1, 16, 8), y=(1, 16, 8))
    g.two("div", g.unary("x", "exp"), mean(g, g.unary("y", "exp")))
    assert len(simplify(g.graph()).ops) == 4


def turned(g: Maker, x: str, first: int = 0, second: int = 4) -> str:
    halves = [g.cut(x, 2, at, at + 4) for at in (second, first)]
    return g.concat(2, g.unary(halves[0], "neg"), halves[1])


def test_rotary_embedding() -> None:
    g = maker()
    cos, sin = g.constant(16, 8), g.constant(16, 8)
    g.two("add", g.two("mul", "x", cos), g.two("mul", turned(g, "x"), sin))
    assert (g.last().kind, g.last().inputs) == ("rotary", ("x",))


def test_tables_that_a_file_calls_learned_turn_too() -> None:
    g = maker()
    g.two("add", g.two("mul", "x", g.weight(1, 8)), g.two("mul", turned(g, "x"), g.weight(1, 8)))
    assert (g.last().kind, g.last().inputs) == ("rotary", ("x",))


def test_halves_that_are_not_swapped_are_no_rotary_embedding() -> None:
    g = maker()
    cos, sin = g.constant(16, 8), g.constant(16, 8)
    g.two("add", g.two("mul", "x", cos), g.two("mul", turned(g, "x", 4, 0), sin))
    assert len(simplify(g.graph()).ops) > 1


def test_patterns_behind_identities() -> None:
    g = maker()
    x = g.op("identity", ["x"], (1, 16, 8))
    g.two("mul", x, g.op("identity", [g.act("x", "sigmoid")], (1, 16, 8)))
    assert g.last().attributes == {"function": "silu"}


def test_what_is_read_elsewhere_stays() -> None:
    g = maker()
    gate = g.act("x", "sigmoid")
    product = g.two("mul", "x", gate)
    ops = simplify(g.graph(product, gate)).ops
    assert [op.kind for op in ops] == ["activation", "activation"]


def test_simplifying_again_changes_nothing() -> None:
    g = maker()
    gelu_erf(g, "x")
    once = simplify(g.graph())
    assert simplify(once) == once


def test_pads_that_others_read_stay_for_them() -> None:
    g = Maker(image=(1, 3, 8, 8))
    padded = g.op("pad", ["image"], (1, 3, 10, 10), start=(0, 0, 1, 1), end=(0, 0, 1, 1))
    graph = simplify(g.graph(g.conv(padded, 4, 3), g.act(padded)))
    assert [op.kind for op in graph.ops] == ["pad", "conv", "activation"]
    assert graph.ops[1].attributes["start"] == (1, 1)
