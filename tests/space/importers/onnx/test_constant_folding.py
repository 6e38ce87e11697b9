"""What is computed of constants is what ONNX's own evaluator computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from archloom.space.importers.onnx.constant_folding import FOLDS
from archloom.space.importers.onnx.translate import GraphTranslation
from archloom.space.importers.onnx.value import Value, from_tensor

from ....cases.onnx_models import model, node, numbers, weight

A = weight(2, 3)
I64 = numbers(5, -7, 0)
TRUE = np.array([True, False, True])

CASES: list[tuple[NodeProto, list[Any]]] = [
    *((node(f"Reduce{kind}", "a b", "y"), [A, numbers(-1)]) for kind in ("Sum", "Prod", "Max")),
    (node("ReduceMin", "a b", "y", keepdims=0), [A, numbers(0)]),
    (node("ReduceMean", "a", "y"), [A]),
    (node("ReduceSum", "a _", "y", noop_with_empty_axes=1), [A]),
    *((node(kind, "a b", "y"), [A, A[:1] - 1]) for kind in ("Add", "Sub", "Mul", "Div", "Pow")),
    (node("Div", "a b", "y"), [I64, numbers(2, 2, 3)]),
    (node("Mod", "a b", "y"), [I64, numbers(3, 3, 3)]),
    (node("Mod", "a b", "y", fmod=1), [I64, numbers(3, 3, 3)]),
    *((node(kind, "a", "y"), [A - 0.6]) for kind in ("Neg", "Abs", "Exp", "Floor", "Ceil")),
    *((node(kind, "a", "y"), [A - 0.6]) for kind in ("Round", "Sign", "Sin", "Cos", "Tanh")),
    *((node(kind, "a", "y"), [A]) for kind in ("Sqrt", "Log", "Reciprocal", "Identity")),
    *((node(kind, "a b", "y"), [I64, I64[::-1].copy()]) for kind in ("Equal", "Less", "Greater")),
    *((node(f"{kind}OrEqual", "a b", "y"), [I64, I64 * 2]) for kind in ("Less", "Greater")),
    *((node(kind, "a b", "y"), [TRUE, ~TRUE]) for kind in ("And", "Or", "Xor")),
    (node("Not", "a", "y"), [TRUE]),
    (node("IsNaN", "a", "y"), [np.array([np.nan, 1], np.float32)]),
    (node("IsInf", "a", "y"), [np.array([-np.inf, 1], np.float32)]),
    (node("Where", "a b c", "y"), [TRUE, I64, numbers(9)]),
    *((node(kind, "a b c", "y"), [A, A[::-1].copy(), A * 2]) for kind in ("Max", "Min", "Sum")),
    (node("Reshape", "a b", "y"), [A, numbers(0, -1, 1)]),
    (node("Squeeze", "a b", "y"), [A[None], numbers(0)]),
    (node("Unsqueeze", "a b", "y"), [A, numbers(-1, 0)]),
    (node("Flatten", "a", "y", axis=0), [A]),
    (node("Cast", "a", "y", to=TensorProto.INT32), [A * 5]),
    (node("Cast", "a", "y", to=TensorProto.BOOL), [I64]),
    (node("CastLike", "a b", "y"), [I64, A]),
    (node("Expand", "a b", "y"), [A[:, :1].copy(), numbers(4, 1, 3)]),
    (node("Slice", "a b c d e", "y"), [weight(4, 9), *map(numbers, (-1, -99, 1, -2))]),
    (node("Slice", "a b c", "y"), [weight(4, 9), numbers(1, 2), numbers(2**62, -1)]),
    (node("Gather", "a b", "y", axis=1), [A, np.array([[-1, 0]])]),
    (node("GatherElements", "a b", "y", axis=1), [A, np.array([[2, 0], [1, 1]])]),
    (node("GatherND", "a b", "y"), [A, np.array([[1, 2], [0, 0]])]),
    (node("ScatterND", "a b c", "y"), [I64, np.array([[2], [0]]), numbers(8, 9)]),
    (node("Concat", "a b", "y", axis=-2), [A, A[:1].copy()]),
    (node("Split", "a b", "y z", axis=1), [A, numbers(1, 2)]),
    (node("Transpose", "a", "y"), [weight(2, 3, 4)]),
    (node("Transpose", "a", "y", perm=[1, 2, 0]), [weight(2, 3, 4)]),
    (node("Tile", "a b", "y"), [A, numbers(2, 1)]),
    (node("Pad", "a b", "y"), [A, numbers(1, 0, 0, 2)]),
    (node("ConstantOfShape", "a", "y"), [numbers(2, 3)]),
    (node("Range", "a b c", "y"), [np.int64(7), np.int64(-2), np.int64(-3)]),
    (node("Range", "a b c", "y"), [np.float32(0), np.float32(1), np.float32(0.25)]),
    (node("Trilu", "a b", "y", upper=0), [weight(3, 3), np.int64(1)]),
    (node("Trilu", "a", "y"), [weight(3, 3)]),
    (node("CumSum", "a b", "y"), [A, np.int64(-1)]),
    (node("MatMul", "a b", "y"), [A, weight(3, 4)]),
    (node("Dropout", "a", "y"), [A]),
    (node("Size", "a", "y"), [A]),
    (node("Shape", "a", "y", start=-1), [A]),
    (node("Shape", "a", "y", start=0, end=-1), [A]),
]


def walked(nodes: list[NodeProto], arrays: dict[str, Any], opset: int = 21) -> GraphTranslation:
    proto = model(nodes, {}, "y", arrays, opset=opset)
    held = {t.name: from_tensor(t, t.name, Path()) for t in proto.graph.initializer}
    walk = GraphTranslation(held, {}, Path())
    walk.run(proto.graph.node, {"": opset})
    assert walk.reports() == []
    return walk


@pytest.mark.parametrize(
    ("made", "arrays"), CASES, ids=lambda c: c.name if isinstance(c, NodeProto) else ""
)
def test_constants_are_those_of_the_reference(made: NodeProto, arrays: list[Any]) -> None:
    named = dict(zip("abcde", arrays, strict=False))
    proto = model([made], {}, " ".join(made.output), named)
    wanted = ReferenceEvaluator(proto).run(None, {})
    walk = walked([made], named)
    for name, array in zip(made.output, wanted, strict=True):
        found = walk.values[name].read()
        assert found is not None
        assert found.dtype == np.asarray(array).dtype
        np.testing.assert_allclose(found, array, rtol=1e-6)
        assert walk.values[name].shape == np.shape(array)


def test_every_operator_that_is_computed_is_compared() -> None:
    assert {made.op_type for made, _ in CASES} >= set(FOLDS)


def value_of(nodes: list[NodeProto], name: str, **arrays: Any) -> Value:
    return walked(nodes, arrays).values[name]


def test_what_is_large_keeps_its_shape_and_loses_its_values() -> None:
    nodes = [node("ConstantOfShape", "a", "x"), node("Transpose", "x", "y")]
    value = value_of(nodes, "y", a=numbers(2**20, 2, 2**20))
    assert value.shape == (2**20, 2, 2**20)
    assert value.constant
    assert value.read() is None


def test_a_budget_ends_the_work_of_many_nodes() -> None:
    """Each product takes 2**27 steps, as many as there are for all."""
    side = np.ones((512, 512), np.int64)
    products = [node("MatMul", "a a", "x"), node("MatMul", "x a", "y")]
    walk = walked(products, {"a": side})
    assert walk.values["y"].shape == (512, 512)
    assert walk.values["y"].read() is None


def test_learned_values_stay_known_by_name_through_what_moves_them() -> None:
    nodes = [
        node("Transpose", "w", "t"),
        node("Mul", "t f", "s"),
        node("Concat", "s v", "y", axis=0),
    ]
    value = value_of(nodes, "y", w=A, f=np.array([3], np.float32), v=weight(1, 2))
    assert value.learned == {"w", "v"}


def test_tables_of_positions_are_not_learned() -> None:
    nodes = [node("Mul", "p f", "a"), node("Sin", "a", "y")]
    assert value_of(nodes, "y", p=weight(4, 1), f=weight(3)).learned == frozenset()


def test_whole_numbers_and_computed_fillings_are_not_learned() -> None:
    fill = helper.make_tensor("v", TensorProto.FLOAT, [1], [0.5])
    nodes = [node("ConstantOfShape", "a", "x", value=fill), node("Add", "x b", "y")]
    value = value_of(nodes, "y", a=numbers(3), b=np.float32(1))
    assert value.learned == frozenset()
    np.testing.assert_array_equal(value.read(), np.full(3, 1.5, np.float32))
