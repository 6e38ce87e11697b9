"""Closed forms of what tenants ask of a chip together."""

from math import inf

import pytest
from hypothesis import given, strategies as st

from archloom.search.objectives.costs import DesignCosts
from archloom.search.objectives.limits import Limit, ObjectiveSet
from archloom.search.objectives.objective import Objective
from archloom.search.objectives.tenants import EngineTimes, Tenant, least_together

PAIR = (Tenant("a", 3.0, 1.0, 500.0), Tenant("b", 1.0, 4.0))


def test_the_busier_engine_decides() -> None:
    # an inference of the mix: 3/4 a (1 s array, 0.1 s pins) and 1/4 b (one of 4: 0.5 s, 3 s)
    times = {"a": EngineTimes(1.0, 0.1, 1), "b": EngineTimes(2.0, 12.0, 4)}
    found = least_together(PAIR, times)
    compute_s, pins_s = 0.75 * 1 + 0.25 * 0.5, 0.75 * 0.1 + 0.25 * 3
    assert compute_s > pins_s
    assert found["stable_load"] == pytest.approx(compute_s, rel=1e-8)
    assert found["goodput"] == pytest.approx(compute_s / (0.75 * 1 + 0.25 * 4), rel=1e-8)
    assert found["stp"] == 0.5
    # of the pass of a alone, for b has no deadline
    assert found["deadline"] == pytest.approx(1.0 / 0.5, rel=1e-8)
    assert least_together(PAIR[1:], times)["stp"] == 1.0
    assert "deadline" not in least_together(PAIR[1:], times)


seconds = st.floats(1e-9, 1e3)


@given(
    times=st.tuples(seconds, seconds, seconds, seconds),
    worse=st.tuples(*[st.floats(1.0, 100.0)] * 4),
    shares=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
)
def test_bounds_never_fall_when_engines_get_slower(
    times: tuple[float, ...], worse: tuple[float, ...], shares: tuple[float, float]
) -> None:
    tenants = (Tenant("a", shares[0], 2.0, 1e3), Tenant("b", shares[1], 1.0, 1e2))

    def bounds(a: float, b: float, c: float, d: float) -> dict[str, float]:
        return least_together(tenants, {"a": EngineTimes(a, b, 1), "b": EngineTimes(c, d, 3)})

    better = bounds(*times)
    slower = bounds(*(t * w for t, w in zip(times, worse, strict=True)))
    for metric, cost in better.items():
        assert slower[metric] >= cost > 0


def test_objectives_read_what_tenants_cost_together() -> None:
    design = DesignCosts({}, (), {"goodput": 0.25, "deadline": 1.5})
    goodput, deadline = Objective("goodput"), Objective("deadline")
    assert goodput.figure(goodput.cost(design)) == 4.0
    assert ObjectiveSet((goodput,), (Limit(deadline, 1.0),)).excess(design)[0] > 0
    assert Limit(goodput, 5.0).broken(0.25) is not None
    assert Limit(goodput, 3.0).broken(0.25) is None
    assert Limit(goodput, 5.0).text == "goodput at least 5 1/s"
    assert Limit(deadline, 1.0).text == "latency / deadline at most 1"


@pytest.mark.parametrize(
    ("metric", "tenants", "message"),
    [
        ("goodput", (), "goodput is of networks that share the chip: name them under tenants"),
        ("stable_load", PAIR, "needs deadline_ms of every tenant; b has none"),
        ("deadline", PAIR[1:], "needs deadline_ms of a tenant; none has one"),
        ("stp", PAIR, None),
        ("deadline", PAIR, None),
    ],
)
def test_what_metrics_need_of_tenants_is_named(
    metric: str, tenants: tuple[Tenant, ...], message: str | None
) -> None:
    found = Objective(metric).fault((), tenants)  # type: ignore[arg-type]
    assert found is None if message is None else message in str(found)


@pytest.mark.parametrize("part", [{"workload": "a"}, {"aggregate": "max"}])
def test_they_are_of_no_single_network(part: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="goodput is of all tenants together"):
        Objective("goodput", **part)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("share", 0.0), ("weight", inf), ("deadline_ms", -1)])
def test_numbers_are_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} of a is"):
        Tenant("a", **{name: value})
