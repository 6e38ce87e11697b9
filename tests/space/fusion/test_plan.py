import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, strategies as st

from archloom.space.fusion.irregular_tiles import TileRect, bad_cuts
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer, plan_violations
from archloom.space.fusion.running_order import group_order
from archloom.space.networks.registry import NETWORKS, network
from archloom.space.workload.graph import connected
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network


def gemm(name: str) -> Layer:
    return Layer(name, "gemm", k=4, c=4)


# a -> b -> d and a -> c -> d
DIAMOND = Network(
    "diamond",
    (gemm("a"), gemm("b"), gemm("c"), Layer("d", "add", g=4, operands=2)),
    ((INPUT,), ("a",), ("a",), ("b", "c")),
)


def plan(*groups: tuple[int, ...]) -> FusionPlan:
    return FusionPlan(tuple(FusionGroup(g) for g in groups))


@pytest.mark.parametrize("name", NETWORKS)
def test_layer_by_layer_is_always_valid(name: str) -> None:
    net = network(name)
    assert plan_violations(net, layer_by_layer(net)) == []
    assert plan_violations(net, plan(tuple(range(len(net.layers))))) == []


@pytest.mark.parametrize(
    ("groups", "messages"),
    [
        (((0, 1), (2, 3)), []),
        (((0,), (1, 2), (3,)), []),  # b and c read the same map
        (
            ((0, 1, 3), (2,)),
            ["cyclic_groups: some groups need each other's results; split one of them"],
        ),
        (
            ((0, 3), (1,), (2,)),
            ["group a, d: its layers share no data; split the group", "cyclic_groups"],
        ),
        (((0,), (1,), (2,)), ["d is in 0 groups, must be in one"]),
        (((0,), (0, 1), (2,), (3,)), ["a is in 2 groups, must be in one"]),
        (((0,), (2,), (3,), (1,)), ["d runs before b, which it reads"]),
        (((0, 9),), ["layer 9 is not in diamond, which has 4 layers"]),
    ],
)
def test_every_broken_rule_is_named(
    groups: tuple[tuple[int, ...], ...], messages: list[str]
) -> None:
    found = plan_violations(DIAMOND, plan(*groups))
    assert len(found) == len(messages)
    assert all(part in sentence for part, sentence in zip(messages, found, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": ()}, "must ascend and not repeat"),
        ({"layers": (1, 0)}, "must ascend and not repeat"),
        ({"layers": (1, 1)}, "must ascend and not repeat"),
        ({"layers": (0,), "resident": (1,)}, r"resident layers \(1,\) are not all in \(0,\)"),
        ({"layers": (0,), "pins": (Pin(1, 2),)}, r"must ascend, .* in \(0,\), got \(1,\)"),
        ({"layers": (0,), "pins": (Pin(0, 2), Pin(0, 3))}, "pinned layers must ascend, not repeat"),
        ({"layers": (0,), "steady": (1,)}, r"steady layers must .* in \(0,\), got \(1,\)"),
        ({"layers": (0,), "resident": (0,), "steady": (0,)}, "are resident or steady"),
        ({"layers": (0,), "tile": (0, 4)}, r"tile \(0, 4\) must be at least 1x1"),
        ({"layers": (0,), "halo": "forget"}, "halo 'forget' must be one of recompute"),
        (
            {"layers": (0,), "tile": (1, 1), "faces": (TileRect(0, 0, 1, 1),)},
            "faces exclude a tile",
        ),
        (
            {"layers": (0,), "halo": "keep_all", "faces": (TileRect(0, 0, 1, 1),)},
            "faces exclude a tile",
        ),
    ],
)
def test_impossible_groups_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FusionGroup(**arguments)  # type: ignore[arg-type]


def test_plans_round_trip() -> None:
    whole = FusionPlan(
        (FusionGroup((0, 1), (4, 2), "keep_inner", (1,)), FusionGroup((2, 3), halo="keep_all"))
    )
    assert FusionPlan.from_list(whole.to_list()) == whole
    assert set(whole.to_list()[0]) == {"layers", "tile", "halo", "resident"}
    cut = FusionPlan((FusionGroup((0, 1), faces=(TileRect(0, 0, 2, 3), TileRect(2, 0, 1, 3))),))
    assert cut.to_list()[0]["faces"] == [[0, 0, 2, 3], [2, 0, 1, 3]]
    assert FusionPlan.from_list(cut.to_list()) == cut
    nest = LoopNest((NestLoop(3, 16), NestLoop(0, 1)), (0, 2, STREAMED, 1))
    looped = FusionPlan((FusionGroup((0, 1), nest=nest), FusionGroup((2,))))
    written = json.loads(json.dumps(looped.to_list()))
    assert written[0]["nest"] == {"loops": [[3, 16], [0, 1]], "depth": [0, 2, -1, 1]}
    assert "nest" not in written[1]
    assert FusionPlan.from_list(written) == looped


@pytest.mark.parametrize("sides", [(-1, 0, 1, 1), (0, -1, 1, 1), (0, 0, 0, 1), (0, 0, 1, 0)])
def test_impossible_faces_are_refused(sides: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="starts count from 0, and sides from 1"):
        TileRect(*sides)


def test_faces_of_a_plan_must_cut_the_map_exactly() -> None:
    net = network("tiny_cnn")
    rest = tuple(FusionGroup((i,)) for i in range(1, len(net.layers)))
    first = net.layers[0]
    whole = (TileRect(0, 0, first.p, first.q),)
    assert plan_violations(net, FusionPlan((FusionGroup((0,), faces=whole), *rest))) == []
    short = (TileRect(0, 0, first.p - 1, first.q),)
    (wrong,) = plan_violations(net, FusionPlan((FusionGroup((0,), faces=short), *rest)))
    assert wrong.startswith("bad_cuts")
    assert "are in no face" in wrong


@given(st.integers(0, 2**32))
def test_faces_are_counted_position_by_position(seed: int) -> None:
    """A few random boxes, against a count of each position."""
    draw = random.Random(seed)
    net = Network("one", (Layer("a", "conv", p=4, q=3, input_size=(4, 3)),), ((INPUT,),))
    tall, wide = draw.randint(1, 4), draw.randint(1, 3)
    faces = [TileRect(0, 0, tall, 3), TileRect(tall, 0, max(1, 4 - tall), wide)]
    faces.append(TileRect(tall, wide, max(1, 4 - tall), max(1, 3 - wide)))
    faces += [TileRect(draw.randint(0, 4), draw.randint(0, 3), 1, 1)] * draw.randint(0, 1)
    times: Counter[tuple[int, int]] = Counter()
    for f in faces:
        rows, columns = range(f.row, f.row + f.rows), range(f.column, f.column + f.columns)
        times.update(product(rows, columns))
    inside = set(product(range(4), range(3)))
    found = bad_cuts(net, (0,), faces)
    assert (found is None) == (times == Counter(inside))
    if found is not None:
        assert found.available == sum(times[at] == 1 for at in inside)


def test_group_order_is_stable_and_finds_circles() -> None:
    assert group_order(DIAMOND, [(3,), (2,), (1,), (0,)]) == [3, 2, 1, 0]
    assert group_order(DIAMOND, [(0, 3), (1,), (2,)]) is None
    assert connected(DIAMOND, (1, 2))
    assert not connected(DIAMOND, (0, 3))


@given(st.integers(0, 2**32))
def test_cuts_of_the_layer_order_never_form_a_circle(seed: int) -> None:
    """Runs of a topological order are convex, whatever the cuts; splitting parts keeps order."""
    net = network("tiny_mobile")
    draw = random.Random(seed)
    cuts = [i for i in range(1, len(net.layers)) if draw.random() < 0.5]
    edges = [0, *cuts, len(net.layers)]
    groups = [tuple(range(a, b)) for a, b in pairwise(edges)]
    assert group_order(net, groups) == list(range(len(groups)))
    assert plan_violations(net, plan(*groups)) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"pins": (Pin(0, 2),)}, ""),
        ({"pins": (Pin(0, 3),)}, "a is pinned for d, must be for a reader: b, c"),
        ({"pins": (Pin(0, 7),)}, "a is pinned for layer 7, must be for a reader: b, c"),
        ({"pins": (Pin(0, 1),)}, "a is pinned for b of the same or an earlier group"),
        ({"steady": (0, 1)}, ""),
    ],
)
def test_a_pin_names_a_reader_of_a_later_group(changes: dict[str, Any], message: str) -> None:
    groups = (FusionGroup((0, 1), **changes), FusionGroup((2,)), FusionGroup((3,)))
    found = plan_violations(DIAMOND, FusionPlan(groups))
    assert len(found) == bool(message)
    assert message in "".join(found)


def test_steady_layers_have_weights_and_those_that_share_them_are_steady_together() -> None:
    net = replace(
        DIAMOND,
        layers=(*DIAMOND.layers[:2], replace(gemm("c"), weights_of="b"), DIAMOND.layers[3]),
    )

    def violations(*steady: int) -> list[str]:
        members = [FusionGroup((i,), steady=(i,) if i in steady else ()) for i in range(4)]
        return plan_violations(net, FusionPlan(tuple(members)))

    assert violations(0) == violations(1, 2) == violations(0, 1, 2) == []
    assert violations(1) == ["c shares the weights of b, which is steady: must be steady too"]
    assert violations(2) == ["b shares the weights of c, which is steady: must be steady too"]
    assert violations(3) == ["d is steady and has no weights"]


def test_records_name_pins_and_steady_weights_only_where_there_are_any() -> None:
    plain = {"layers": [0, 1], "tile": [2, 4], "halo": "keep_all", "resident": [1]}
    assert FusionGroup.from_dict(plain).to_dict() == plain
    rich = {**plain, "pins": [[0, 2]], "steady": [0]}
    group = FusionGroup((0, 1), (2, 4), "keep_all", (1,), pins=(Pin(0, 2),), steady=(0,))
    assert group.to_dict() == rich
    assert FusionGroup.from_dict(rich) == group
