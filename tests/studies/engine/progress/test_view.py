"""Progress on a terminal and in a log, with clocks of the tests' own."""

import os
import pty
import re
import select
import sys
from io import StringIO
from pathlib import Path
from subprocess import Popen

import pytest
from rich.console import Console

from archloom.studies.engine.progress.monitor import Monitor, duration
from archloom.studies.engine.progress.view import EVERY_S, SOON_S, ProgressView
from archloom.studies.engine.progress.watch import Running, Status

from ....cases.studies import COMMAND, TINY, write_study

STATUS = Status(8, 24, 2, 3, 0.5, "EDP 1.0e-09 J s", 5, 0, certified=0.678, volume_gain=1.25)


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_line_says_what_runs_how_far_it_is_and_how_long_it_may_take(clock: Clock) -> None:
    monitor = Monitor(clock)
    monitor.status(Status(8, 24, 1, 3, 0.25, None, 0, 0))
    monitor.started(Running("trial 8", "round 2/3", "casco(pe_x=4)", 12))
    monitor.started(Running("trial 9", "round 2/3", "casco(pe_x=8)", 12))
    clock.now += 6
    monitor.finished("trial 8")
    monitor.status(STATUS)
    assert monitor.line() == (
        "trials 8/24, round 2/3, Pareto front 5 designs, best EDP 1.0e-09 J s, "
        "hypervolume 1.250 x first batch, "
        "certified at least 67.8% at this budget; running: trial 9 (round 2/3, 6 s); "
        "2 plans/s, about 12 s left"
    )


def test_what_comes_after_a_study_is_not_shown_as_part_of_it(clock: Clock) -> None:
    monitor = Monitor(clock)
    monitor.status(Status(8, 24, 1, 3, 0.25, None, 0, 0))
    monitor.started(Running("trial 8", "round 2/3", "casco(pe_x=4)", 12))
    monitor.begin("DeepFrack against layer by layer", 4)
    clock.now += 6
    monitor.over()
    assert monitor.line() == "DeepFrack against layer by layer, 0 of 4, 6 s"
    monitor.status(Status(0, 24, 1, 3, 0.0, None, 0, 0))
    clock.now += 10
    monitor.status(Status(12, 24, 1, 3, 0.5, None, 0, 0))
    assert monitor.line().endswith("about 10 s left")


def test_a_line_names_a_few_tasks_and_counts_the_others(clock: Clock) -> None:
    monitor = Monitor(clock)
    for i in range(6):
        monitor.started(Running(f"trial {i}", "round 1/1", "design", 1))
    assert "trial 3 (round 1/1, 0 s) and 2 more" in monitor.line()
    assert "trial 4" not in monitor.line()


def test_a_stage_says_its_steps_and_the_time_left(clock: Clock) -> None:
    monitor = Monitor(clock)
    monitor.begin("compiling kernels", 4)
    monitor.advance("solve")
    clock.now += 10
    assert monitor.stage_text() == "compiling kernels, 1 of 4, solve, 10 s, about 30 s left"
    monitor.begin("linking")
    assert monitor.stage_text() == "linking, 0 s"
    monitor.end()
    assert monitor.stage_text().startswith("compiling kernels")
    monitor.end()
    assert monitor.stage_text() == ""
    monitor.end()  # one too many does no harm


def test_a_log_names_a_stage_that_lasts_and_then_speaks_every_ten_seconds(clock: Clock) -> None:
    out = StringIO()
    view = ProgressView(Console(file=out, width=200), clock, lambda: "12:00:00")
    view.begin("starting Ray")
    assert view.due() is None
    clock.now += SOON_S
    assert view.due() == "starting Ray, 2 s"
    view._say("starting Ray, 2 s")
    clock.now += EVERY_S - 0.1
    assert view.due() is None
    clock.now += 0.1
    assert view.due() == "starting Ray, 12 s"
    assert out.getvalue() == "[12:00:00] starting Ray, 2 s\n"


def test_a_log_turns_to_the_validation_at_once_and_not_to_every_round(clock: Clock) -> None:
    out = StringIO()
    view = ProgressView(Console(file=out, width=200), clock, lambda: "12:00:00")
    for round_ in (1, 2, 3):
        view.status(Status(0, 8, round_, 3, 0.1 * round_, None, 0, 0))
    view.status(Status(8, 8, 1, 3, 1.0, None, 0, 0, validation=(0, 4)))
    view.found("new on the Pareto front: trial 1")
    assert out.getvalue().splitlines() == [
        "[12:00:00] trials 0/8, round 1/3, Pareto front 0 designs",
        "[12:00:00] held-out networks: 0/4 software searches done",
        "[12:00:00] new on the Pareto front: trial 1",
    ]


def test_the_display_lists_running_trials_and_what_was_found(clock: Clock) -> None:
    view = ProgressView(Console(file=StringIO(), width=120), clock)
    view.status(STATUS)
    view.started(Running("trial 8", "round 2/3", "casco(pe_x=4)", 12))
    view.begin("learning from 8 trials")
    clock.now += 75
    shown = StringIO()
    Console(file=shown, width=120).print(view.picture())
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    assert lines[0].split() == ["trial", "8", "round", "2/3", "1:15", "casco(pe_x=4)"]
    assert "trials 8/24, round 2/3" in lines[1]
    assert lines[2] == (
        "Pareto front 5 designs, best EDP 1.0e-09 J s, "
        "hypervolume 1.250 x first batch, certified at least 67.8% at this budget"
    )
    assert lines[3] == "learning from 8 trials, 75 s"
    narrow = StringIO()
    Console(file=narrow, width=80).print(view.picture())
    assert lines[2] in " ".join(narrow.getvalue().split())


def test_a_log_that_nobody_reads_any_more_does_not_end_a_study(clock: Clock) -> None:
    class Closed(StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    view = ProgressView(Console(file=Closed(), width=80), clock)
    clock.now += 2 * EVERY_S
    view.begin("compiling")
    view._keep_looking()  # returns


@pytest.mark.parametrize(("seconds", "text"), [(5.0, "5 s"), (600.0, "10 min"), (7200.0, "2.0 h")])
def test_times_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_terminal_has_one_live_display_and_the_designs_above_it(tmp_path: Path) -> None:
    write_study(tmp_path, TINY)
    inner, outer = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "150", "LINES": "40"}
    ran = Popen(
        [*COMMAND, "run", "tiny.yaml"],
        cwd=tmp_path,
        stdout=outer,
        stderr=outer,
        stdin=outer,
        env=environment,
        executable=sys.executable,
    )
    os.close(outer)
    seen = b""
    while ran.poll() is None or select.select([inner], [], [], 0)[0]:
        try:
            seen += os.read(inner, 1 << 16) if select.select([inner], [], [], 0.2)[0] else b""
        except OSError:
            break  # the other end is closed
    os.close(inner)
    assert ran.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "study runs/tiny: started" in text
    assert re.search(r"[\r\n]new on the Pareto front: trial 0 \(round 1/3\): EDP ", text)
    assert re.search(r"trials \d+/10, round \d/3", text)
    assert "Pareto front: " in text
    # what is left of the live display was wiped out before the table
    assert "\x1b[2K" in seen.decode()
