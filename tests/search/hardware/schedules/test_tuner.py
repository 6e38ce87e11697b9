"""Tuners: no schedule twice, starts first, early stop, replay, and the good ones are found."""

import pytest

from archloom.evaluators.host.kernel import COMPILED, KernelSpec
from archloom.evaluators.host.schedules import Direct, Gemm, Schedule, curated
from archloom.evaluators.host.shape import read_shape
from archloom.search.hardware.schedules.transfer import distance, similar_schedules
from archloom.search.hardware.schedules.tuner import LEAST_GAIN, TUNERS, Effort, Tuner

RESNET = read_shape("64x32x32:64:3x3")


def made_up_time(schedule: Schedule) -> float:
    """Return a time that has one best schedule: a tile of 8 accumulators, pixels outer."""
    assert isinstance(schedule, Gemm)
    tile = schedule.pixel_vectors * schedule.channels
    time = 100 + 10 * abs(tile - 8) + 20 * (schedule.order != "pixels_outer")
    return time + 5 * abs(schedule.vector - 16) + 7 * schedule.unroll


def searched(effort: Effort, patient: bool = True) -> Tuner:
    tuner = Tuner(KernelSpec(RESNET, "gemm"), effort)
    while (schedule := tuner.propose()) is not None:
        tuner.tell(schedule, made_up_time(schedule) if patient else 100.0)
    return tuner


@pytest.mark.parametrize("optimizer", TUNERS)
def test_no_schedule_is_tried_twice_and_all_fit(optimizer: str) -> None:
    tuner = searched(Effort(40, 1000, optimizer))
    schedules = [tried.schedule for tried in tuner.tried]
    assert len(schedules) == len(set(schedules)) == 40
    assert all(s.fault(KernelSpec(RESNET, "gemm")) is None for s in schedules)


def test_curated_starts_come_first_and_similar_ones_before_them() -> None:
    spec = KernelSpec(RESNET, "direct")
    other = Direct(8, 1, 1, 2)
    tuner = Tuner(spec, Effort(20), [other])
    first = []
    for _ in range(1 + len(curated(spec))):
        schedule = tuner.propose()
        assert schedule is not None
        first.append(schedule)
        tuner.tell(schedule, 100.0)
    assert first == [other, *curated(spec)]


def test_a_search_without_gain_ends_early() -> None:
    tuner = searched(Effort(200, 5), patient=False)
    starts = len(curated(KernelSpec(RESNET, "gemm")))
    assert len(tuner.tried) == starts + 5


def test_small_gains_are_none() -> None:
    tuner = Tuner(KernelSpec(RESNET, "gemm"), Effort(200, 5))
    time, starts = 100.0, len(curated(KernelSpec(RESNET, "gemm")))
    while (schedule := tuner.propose()) is not None:
        tuner.tell(schedule, time)
        time *= 1 - LEAST_GAIN / 2 / 5
    assert len(tuner.tried) == starts + 5


def test_what_was_told_rebuilds_a_tuner() -> None:
    whole = searched(Effort(16, 1000))
    again = Tuner(KernelSpec(RESNET, "gemm"), Effort(16, 1000))
    for tried in whole.tried:
        assert again.propose() == tried.schedule
        again.tell(tried.schedule, tried.time_us)
    assert again.propose() is None


@pytest.mark.parametrize("algorithm", [*COMPILED, "sparse"])
def test_failures_are_no_ends(algorithm: str) -> None:
    sparse = algorithm == "sparse"
    spec = KernelSpec(RESNET, "direct" if sparse else algorithm, sparse=sparse)
    tuner = Tuner(spec, Effort(12, 1000))
    while (schedule := tuner.propose()) is not None:
        tuner.tell(schedule, None if len(tuner.tried) % 2 else 50.0)
    assert len(tuner.tried) == 12
    assert len(tuner.best(100)) == 6


def test_tpe_finds_better_schedules_than_its_starts() -> None:
    tuner = searched(Effort(60, 1000))
    starts = [made_up_time(s) for s in curated(KernelSpec(RESNET, "gemm"))]
    best = made_up_time(tuner.best(1)[0])
    assert best < min(starts)
    assert best == min(t.time_us or 1e9 for t in tuner.tried)


def test_schedules_of_the_most_similar_layer_are_the_starts() -> None:
    spec = KernelSpec(read_shape("128x16x16:128:3x3"), "gemm")
    near, far = read_shape("128x16x16:64:3x3"), read_shape("64x32x32:64:3x3")
    assert distance(spec.shape, near) < distance(spec.shape, far)
    assert distance(near, far) == distance(far, near)
    best = {
        KernelSpec(far, "gemm"): [Gemm(8, 2, 4)],
        KernelSpec(near, "gemm"): [Gemm(16, 2, 4)],
        KernelSpec(near, "gemm", "int8"): [Gemm(32, 1, 4)],
        KernelSpec(near, "direct"): [Direct(8, 1, 2)],
    }
    assert similar_schedules(spec, best) == [Gemm(16, 2, 4), Gemm(8, 2, 4)]
    tiny = KernelSpec(read_shape("1024x2x2:1024:3x3"), "gemm")
    assert similar_schedules(tiny, best) == []


def test_an_effort_that_cannot_be_is_refused() -> None:
    for wrong in ({"trials": -1}, {"patience": 0}, {"optimizer": "mobo"}):
        with pytest.raises(ValueError, match="must be"):
            Effort(**wrong)  # type: ignore[arg-type]
