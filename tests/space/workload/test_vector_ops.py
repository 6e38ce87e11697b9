"""The table of vector operators against the algorithms that it names, run on counting numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest

from archloom.space.workload.layer import Layer
from archloom.space.workload.vector_ops import VECTOR_OPERATORS


@dataclass
class Unit:
    """Counts weighted operations (McMahon 1986) and words in and out of named buffers."""

    operations: int = 0
    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def load(self, name: str, value: float) -> Number:
        self.read[name] = self.read.get(name, 0) + 1
        return Number(self, value)

    def store(self, name: str, value: Number) -> float:
        self.written[name] = self.written.get(name, 0) + 1
        return value.value


@dataclass
class Number:
    """A value in a lane."""

    unit: Unit
    value: float

    def of(self, value: float, weight: int) -> Number:
        self.unit.operations += weight
        return Number(self.unit, value)

    def __add__(self, other: Number | float) -> Number:
        return self.of(self.value + plain(other), 1)

    def __sub__(self, other: Number | float) -> Number:
        return self.of(self.value - plain(other), 1)

    def __mul__(self, other: Number | float) -> Number:
        return self.of(self.value * plain(other), 1)

    def __neg__(self) -> Number:
        return self.of(-self.value, 1)

    def larger(self, other: Number | float) -> Number:
        return self.of(max(self.value, plain(other)), 1)

    def smaller(self, other: Number | float) -> Number:
        return self.of(min(self.value, plain(other)), 1)

    def inverse(self) -> Number:
        return self.of(1 / self.value, 4)

    def exp(self) -> Number:
        return self.of(math.exp(self.value), 8)

    def tanh(self) -> Number:
        return self.of(math.tanh(self.value), 8)

    def erf(self) -> Number:
        return self.of(math.erf(self.value), 8)

    def sigmoid(self) -> Number:
        return ((-self).exp() + 1).inverse()


def plain(value: Number | float) -> float:
    return value.value if isinstance(value, Number) else value


ACTIVATIONS = {
    "relu": lambda x: x.larger(0),
    "relu6": lambda x: x.larger(0).smaller(6),
    "sigmoid": lambda x: x.sigmoid(),
    "silu": lambda x: x.sigmoid() * x,
    "gelu": lambda x: ((x * math.sqrt(0.5)).erf() + 1) * x * 0.5,
    "tanh": lambda x: x.tanh(),
}
VALUES = (-2.0, 0.5, 3.0, 7.0, 1.25)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    unit = Unit()
    for value in VALUES:
        unit.store("out", ACTIVATIONS[name](unit.load("in", value)))
    row = VECTOR_OPERATORS[name]
    assert unit.operations == row.operations * len(VALUES)
    assert (row.passes, row.writes, row.learned) == (1, 1, 0)


def test_softmax_is_the_safe_one() -> None:
    unit, out, total = Unit(), [0.0] * len(VALUES), Number(Unit(), 0)
    top = Number(unit, -math.inf)
    for value in VALUES:
        top = top.larger(unit.load("in", value))
    total = Number(unit, 0)
    for i, value in enumerate(VALUES):
        power = (unit.load("in", value) - top).exp()
        total = total + power
        out[i] = unit.store("out", power)
    inverse = total.inverse()
    for i, power in enumerate(out):
        out[i] = unit.store("out", unit.load("out", power) * inverse)
    row, count = VECTOR_OPERATORS["softmax"], len(VALUES)
    # the one division of a vector is left out
    assert unit.operations - 4 == row.operations * count
    assert unit.read["in"] + unit.read["out"] == row.passes * count
    assert unit.written["out"] == row.writes * count
    exact = [math.exp(v) / sum(map(math.exp, VALUES)) for v in VALUES]
    assert out == pytest.approx(exact)


def test_layer_norm_is_welford_and_a_second_pass() -> None:
    unit, gamma, beta = Unit(), [2.0, 3.0, 1.0, 0.5, 4.0], [1.0, 0.0, 2.0, 5.0, 3.0]
    mean, squares = Number(unit, 0), Number(unit, 0)
    for i, value in enumerate(VALUES, start=1):
        x = unit.load("in", value)
        off = x - mean
        mean = mean + off * (1 / i)
        squares = squares + off * (x - mean)
    deviation = math.sqrt(squares.value / len(VALUES))
    out = []
    for value, scale, shift in zip(VALUES, gamma, beta, strict=True):
        normal = (unit.load("in", value) - mean) * (1 / deviation)
        scaled = normal * unit.load("learned", scale) + unit.load("learned", shift)
        out.append(unit.store("out", scaled))
    row, count = VECTOR_OPERATORS["layer_norm"], len(VALUES)
    assert unit.operations == row.operations * count
    assert unit.read == {"in": row.passes * count, "learned": row.learned * count}
    assert unit.written["out"] == row.writes * count
    average = sum(VALUES) / count
    spread = math.sqrt(sum((v - average) ** 2 for v in VALUES) / count)
    exact = [(v - average) / spread * g + b for v, g, b in zip(VALUES, gamma, beta, strict=True)]
    assert out == pytest.approx(exact)


def test_an_lstm_step() -> None:
    unit, hidden = Unit(), 3
    for _ in range(hidden):
        gate, state = unit.load("gates", 0.3), unit.load("state", 0.7)
        entering, fresh = unit.load("gates", -0.2), unit.load("gates", 0.9)
        unit.store("next", gate.sigmoid() * state + entering.sigmoid() * fresh.tanh())
    layer = Layer("s", "lstm_state", g=hidden, operands=2)
    assert unit.operations == layer.vector_ops
    assert sum(unit.read.values()) == layer.taps * hidden == layer.read_words
    assert unit.read["gates"] == layer.read_channels[0]

    unit = Unit()
    for _ in range(hidden):
        gate, state = unit.load("gates", 0.3), unit.load("next", 0.7)
        unit.store("out", gate.sigmoid() * state.tanh())
    layer = Layer("o", "lstm_output", g=hidden, operands=2)
    assert unit.operations == layer.vector_ops
    assert sum(unit.read.values()) == layer.taps * hidden == layer.read_words


@pytest.mark.parametrize("reset_after", [False, True])
def test_a_gru_step(reset_after: bool) -> None:
    """Cho et al., arXiv:1406.1078, equations 5 to 8; and as cuDNN and PyTorch compute it."""
    unit, hidden = Unit(), 3
    for _ in range(hidden):
        reset = unit.load("gates", -0.2).sigmoid() if reset_after else None
        update, old = unit.load("gates", 0.3).sigmoid(), unit.load("old", 0.7)
        fresh = unit.load("fresh", 0.9)
        if reset is not None:
            fresh = fresh + reset * unit.load("kept", 0.4)
        fresh = fresh.tanh()
        unit.store("out", fresh + update * (old - fresh))
    name = "gru_output_reset_after" if reset_after else "gru_output"
    layer = Layer("o", name, g=hidden, operands=4 if reset_after else 3)
    assert unit.operations == layer.vector_ops
    assert sum(unit.read.values()) == layer.taps * hidden == layer.read_words
    assert unit.read["gates"] == layer.read_channels[0]

    unit = Unit()
    for _ in range(hidden):
        unit.store("reset", unit.load("gates", 0.3).sigmoid() * unit.load("old", 0.7))
    layer = Layer("r", "gru_reset", g=hidden, operands=2)
    assert unit.operations == layer.vector_ops
    assert sum(unit.read.values()) == layer.taps * hidden == layer.read_words


@pytest.mark.parametrize("operator", ["maxpool", "avgpool", "add", "mul"])
def test_one_operation_takes_in_one_word(operator: str) -> None:
    window = {"p": 2, "q": 2, "r": 3, "s": 3, "input_size": (4, 4)}
    flat = {"p": 4, "q": 4, "operands": 2, "input_size": (4, 4)}
    layer = Layer("v", operator, g=5, **(window if "pool" in operator else flat))
    taps = 9 if "pool" in operator else 2
    assert layer.taps == taps
    assert layer.vector_ops == layer.output_words * taps
