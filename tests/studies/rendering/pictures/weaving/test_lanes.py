"""What is drawn of a woven schedule: bars and curves in microseconds, by network."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.studies.rendering.pictures.weaving.lanes import (
    bars_of,
    contents_of,
    end_us,
    shown_text,
    step_name,
)

from .....cases.woven_runs import NPU, woven_run


@pytest.mark.parametrize("seed", range(5))
def test_bars_are_the_stretches_of_their_network(seed):
    run = woven_run(seed)
    found = bars_of(run)
    timeline = run.timeline
    for lane, stretches in (
        ("array", timeline.computes),
        ("weights", timeline.fetches),
        ("maps", timeline.maps),
    ):
        own = [bars for bars in found if bars.lane == lane]
        assert sum(len(bars.labels) for bars in own) == len(stretches)
        # a tick is a third of a microsecond; both ends are whole nanoseconds
        length = sum(sum(bars.length_us) for bars in own)
        assert length == pytest.approx(sum(b - a for a, b, _ in stretches) / 3, abs=0.1)
        for bars in own:
            assert all(label.startswith(f"net{bars.chain}: layer<") for label in bars.labels)
    assert end_us(run) == pytest.approx(max(b for _, b, _ in timeline.computes) / 3, abs=1e-3)


def test_parts_of_a_layer_are_counted():
    run = woven_run()
    names = [step_name(run, step) for step in range(run.steps)]
    assert [name for name in names if "part" in name] == [
        f"net1: layer<1>, part {i} of 3" for i in (1, 2, 3)
    ]
    assert len(set(names)) == len(names)


def test_contents_are_those_of_the_buffers_by_network():
    run = woven_run()
    weights, maps = contents_of(run)
    assert (weights.name, maps.name) == ("weight buffer", "feature map buffer")
    assert weights.capacity == NPU.weight_buffer_bytes / 1024
    assert weights.held.sum(axis=0).max() * 1024 <= NPU.weight_buffer_bytes
    assert weights.held.shape == (2, len(weights.times_us))
    assert np.array_equal(maps.held * 1024, run.timeline.on_chip_maps[:, 1:].T)
    assert weights.capacity_text == "capacity 0.007812 KiB"
    assert weights.top >= weights.capacity


def test_of_a_buffer_that_is_nearly_empty_the_axis_ends_above_what_it_holds():
    wide = replace(woven_run(), npu=replace(NPU, map_buffer_bytes=64 << 20))
    _, maps = contents_of(wide)
    assert maps.unit == "MiB"
    assert maps.top < maps.capacity
    assert maps.capacity_text == "capacity 64 MiB (above the axis)"


def test_long_schedules_are_cut_and_say_so():
    run = woven_run()
    assert shown_text(run) == ""
    assert shown_text(run, 5) == f"the first 5 of {run.steps} layers"
    assert sum(len(bars.labels) for bars in bars_of(run, 5) if bars.lane == "array") == 5
    assert end_us(run, 5) < end_us(run)
    assert max(contents_of(run, 5)[0].times_us) <= end_us(run, 5)
    assert shown_text(woven_run(steps=6)) == f"the first 6 of {run.steps} layers"
