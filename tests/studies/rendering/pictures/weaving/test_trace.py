"""The trace: events as the Trace Event Format has them, in order, without overlaps."""

import json
from itertools import pairwise

import pytest

from archloom.studies.errors import UserError
from archloom.studies.rendering.pictures.weaving.trace import save_trace, trace_events

from .....cases.woven_runs import woven_run


@pytest.mark.parametrize("seed", range(5))
def test_events_have_the_fields_of_their_kind(seed):
    run = woven_run(seed)
    events = trace_events(run)
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    for event in events:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
            continue
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] > 0
            assert event["cat"] in ("array", "weights", "maps")
            assert event["args"]["network"] in run.names
        else:
            assert list(event["args"]) == ["net0 (bytes)", "net1 (bytes)"]
            assert min(event["args"].values()) >= 0
    threads = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert set(threads) == {"array", "DRAM"}
    assert {e["tid"] for e in events if e["ph"] == "X"} == set(threads.values())


@pytest.mark.parametrize("seed", range(5))
def test_times_grow_and_nothing_overlaps_on_a_track(seed):
    events = [e for e in trace_events(woven_run(seed)) if e["ph"] != "M"]
    assert all(a["ts"] <= b["ts"] for a, b in pairwise(events))
    for tid in (1, 2):
        track = [e for e in events if e.get("tid") == tid]
        assert len(track) > 5
        for a, b in pairwise(track):
            # as Perfetto has them: whole nanoseconds
            assert round(1000 * a["ts"]) + round(1000 * a["dur"]) <= round(1000 * b["ts"])


def test_bytes_and_ticks_of_all_events_are_those_of_the_work():
    run = woven_run()
    events = [event for event in trace_events(run) if event["ph"] == "X"]
    for lane, key, column in (("array", "ticks", "compute"), ("maps", "bytes", "maps")):
        total = sum(event["args"][key] for event in events if event["cat"] == lane)
        assert total == getattr(run.work, column).sum()
    counted = [e["args"] for e in trace_events(run) if e["name"] == "weight buffer"]
    assert max(sum(held.values()) for held in counted) <= run.npu.weight_buffer_bytes
    assert sum(counted[-1].values()) == 0


def test_the_file_is_json_that_viewers_know(tmp_path):
    run = woven_run()
    save_trace(run, tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text())
    assert data["displayTimeUnit"] == "ns"
    assert data["traceEvents"] == trace_events(run)
    with pytest.raises(UserError, match=r"--trace .*: cannot be written: Is a directory"):
        save_trace(run, tmp_path)
