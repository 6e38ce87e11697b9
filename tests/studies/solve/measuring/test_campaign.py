"""Measurements: nothing is timed twice, what was stopped goes on, others are refused."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from archloom.evaluators.host.samples import Block
from archloom.evaluators.host.shape import read_shape
from archloom.evaluators.host.worker.requests import Failed, Prepare, PrepareNetwork, Turn, Turned
from archloom.evaluators.host.worker.session import Plan
from archloom.search.hardware.schedules.tuner import Effort
from archloom.space.networks.registry import network
from archloom.studies.engine.progress.watch import SILENT
from archloom.studies.errors import UserError
from archloom.studies.solve.measuring.campaign import Campaign
from archloom.studies.solve.measuring.memory import JOURNAL, Memory
from archloom.studies.solve.measuring.wanted import LIBRARY, Variant, Wanted, layers_of

MACHINE = {"cpu": "made up", "threads": 1}
SHAPES = {read_shape(text): (text,) for text in ("8x8x8:8:3x3", "16x4x4:8:1x1", "8x6x6:8:3x3")}
VARIANTS = (Variant("gemm"), Variant("portable"), Variant("library"), Variant("library", "int8"))
WANTED = Wanted("layers", None, SHAPES, VARIANTS, Effort(4))


class StopError(Exception):
    """Somebody pulls the plug."""


class MadeUp:
    """A worker whose times are made up, and which may be stopped at its n-th answer."""

    def __init__(self, stop_at: int = 10**9, control: float = 0.0):
        self.threads, self.started, self.control = 1, 1, control
        self.left = stop_at
        self.tried: Counter[str] = Counter()
        self.turned: Counter[str] = Counter()

    def rest(self) -> None:
        """Go on."""

    def ask(self, request: object, limit_s: float) -> object:
        assert limit_s > 0
        self.left -= 1
        if self.left < 0:
            raise StopError
        if isinstance(request, Prepare):
            if request.budget_us:
                self.tried[f"{request.spec} {request.schedule}"] += 1
            if "pixels_outer" in str(request.schedule) and "16x4x4" in str(request.spec):
                return Failed("not_compiled", "made up")
            return (0.0, float(len(str(request.schedule))))
        if isinstance(request, Turn):
            self.turned[",".join(request.names)] += 1
            blocks = {n: Block(90, 100.0 + len(n), 110, 9) for n in request.names}
            return Turned(blocks, 100, 100 * (1 + self.control), 0.5)
        assert isinstance(request, PrepareNetwork | tuple)
        return None


def run(folder: Path, worker: MadeUp, wanted: Wanted = WANTED, again: bool = False):
    memory = Memory(folder, wanted.record, MACHINE)
    try:
        return Campaign(wanted, memory, worker, SILENT, Plan(blocks=2), again).run()  # type: ignore[arg-type]
    finally:
        memory.close()


def test_a_measurement_stopped_anywhere_goes_on_and_times_no_kernel_twice(tmp_path: Path) -> None:
    whole = MadeUp()
    wanted = run(tmp_path / "whole", whole)
    assert set(whole.tried.values()) == {1}
    for stop in (1, 3, 7, 11, 18, 30, 45):
        folder, tried = tmp_path / str(stop), Counter[str]()
        for _ in range(100):
            worker = MadeUp(stop)
            try:
                found = run(folder, worker)
            except StopError:
                # a schedule at whose answer it was stopped is not in the journal
                tried += worker.tried
                # the last line may be cut short, too
                journal = folder / JOURNAL
                if stop == 7:
                    journal.write_bytes(journal.read_bytes() + b'{"crc":"12')
                stop += 5
                continue
            tried += worker.tried
            break
        assert found == wanted
        assert tried == whole.tried


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    before = run(tmp_path, MadeUp())
    worker = MadeUp()
    assert run(tmp_path, worker) == before
    assert not worker.tried
    assert not worker.turned


def test_rows_say_what_was_measured_and_why_not(tmp_path: Path) -> None:
    found = run(tmp_path, MadeUp())
    for layer in found["layers"]:
        rows = {(row["kernel"], row["tuned"]): row for row in layer["rows"]}
        assert set(rows) == {
            ("library int8", False),
            ("gemm float32", False),
            ("gemm float32", True),
            ("portable float32", False),
            ("library float32", False),
            ("library float32", True),
        }
        assert rows["library int8", False]["reason"]["reason"] == "no_host_kernel"
        assert rows["gemm float32", True]["tried"] == 4
        gemm = rows["gemm float32", False]
        assert gemm["gmac_s"] == pytest.approx(layer["macs"] / gemm["median_us"] / 1e3)
        assert gemm["against_library"]["resolved"] is False
        assert gemm["noise"] == pytest.approx(20 / gemm["median_us"])


def test_rows_of_a_busy_machine_are_refused_and_measured_again_if_asked(tmp_path: Path) -> None:
    found = run(tmp_path, MadeUp(control=0.5))
    rows = [row for layer in found["layers"] for row in layer["rows"]]
    assert {row["status"] for row in rows} == {"refused"}
    assert all(row["reason"]["text"] for row in rows)
    assert run(tmp_path, MadeUp()) == found
    quiet = MadeUp()
    again = run(tmp_path, quiet, again=True)
    assert not quiet.tried
    timed = [r for layer in again["layers"] for r in layer["rows"] if r["status"] == "timed"]
    assert len(timed) == 15


def test_a_busy_machine_is_not_searched_with_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    wanted, worker = replace(WANTED, threads=2), MadeUp()
    found = run(tmp_path, worker, wanted)
    assert not worker.tried
    assert not worker.turned
    reasons = {row["reason"]["reason"] for layer in found["layers"] for row in layer["rows"]}
    assert reasons == {"machine_busy", "no_host_kernel"}
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    again = run(tmp_path, worker, wanted, again=True)
    assert len([r for e in again["layers"] for r in e["rows"] if r["status"] == "timed"]) == 15


def test_another_measurement_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    run(tmp_path, MadeUp())
    with pytest.raises(UserError, match="with other options: trials: 4 then, 5 now"):
        run(tmp_path, MadeUp(), replace(WANTED, effort=Effort(5)))
    with pytest.raises(UserError, match="on another machine: cpu: made up then, other now"):
        Memory(tmp_path, WANTED.record, {**MACHINE, "cpu": "other"})
    held = Memory(tmp_path, WANTED.record, MACHINE)
    with pytest.raises(UserError, match="another process is measuring there"):
        Memory(tmp_path, WANTED.record, MACHINE)
    held.close()


def test_a_damaged_journal_is_refused(tmp_path: Path) -> None:
    run(tmp_path, MadeUp())
    path = tmp_path / JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"tried", b"tired")
    path.write_bytes(b"".join(lines))
    with pytest.raises(UserError, match="line 3 is damaged"):
        run(tmp_path, MadeUp())


def test_whole_networks_have_each_kind_of_kernel_and_the_fastest_mixture(tmp_path: Path) -> None:
    net = network("vgg16_cifar10")
    shapes, skipped = layers_of(net)
    assert skipped == ()
    assert sum(map(len, shapes.values())) == sum(layer.uses_macs for layer in net.layers)
    variants = (Variant("gemm"), Variant("direct"), LIBRARY)
    wanted = Wanted(net.name, net, shapes, variants, Effort(2))
    found = run(tmp_path, MadeUp(), wanted)
    kinds = {(row["kernel"], row["tuned"]) for row in found["network"]["rows"]}
    names = ("gemm float32", "direct float32", "fastest float32", "library float32")
    assert kinds == {(name, tuned) for name in names for tuned in (False, True)}
    by_layer = {layer["name"]: layer for layer in found["layers"]}
    for row in found["network"]["rows"]:
        if row["kernel"] == "gemm float32":
            total = sum(
                next(
                    r["median_us"] * len(layer["layers"])
                    for r in layer["rows"]
                    if (r["kernel"], r["tuned"]) == ("gemm float32", row["tuned"])
                )
                for layer in by_layer.values()
            )
            assert row["sum_of_layers_us"] == pytest.approx(total)


def test_networks_with_relu6_are_called_in_ways_that_have_it(tmp_path: Path) -> None:
    net = network("mobilenetv2")
    shapes = layers_of(net)[0]
    wanted = Wanted(net.name, net, shapes, (LIBRARY,), Effort(0))
    worker = MadeUp()
    run(tmp_path, worker, wanted)
    # two turns of each layer that has it, and of the network
    layers = sum(shape.activation == "relu6" for shape in shapes)
    assert worker.turned["library float32 0,library float32 2"] == 2 * (layers + 1)


def test_results_are_plain_json(tmp_path: Path) -> None:
    found = run(tmp_path, MadeUp())
    assert json.loads(json.dumps(found)) == found
