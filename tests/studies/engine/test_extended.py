"""A study that gets another number of trials is the one that had as many from the start."""

import json
import shutil
from pathlib import Path
from time import sleep

import pytest

from archloom.studies.config.location import Location, location_of
from archloom.studies.engine import learning
from archloom.studies.engine.executors.executor import InlineExecutor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.proposals import Proposals
from archloom.studies.engine.study import prepare, stored_config
from archloom.studies.errors import UserError
from archloom.studies.storage.header import read_header
from archloom.studies.storage.parts import (
    BASELINE_FILE,
    CERTIFICATE,
    JOURNAL,
    STUDY,
    TRIALS,
    VALIDATION,
)
from archloom.studies.storage.reading import bring_up_to_date, read_journal, read_part
from archloom.studies.storage.store import Store

from ...cases.postgres import Server
from ...cases.studies import TINY, archloom, begin, run_here, tiny_config

HELD_OUT = TINY + "validation: {workloads: [tiny_mlp], evaluations: 3}\n"

#: batches that wait for each other; and that overlap, of an optimizer that learns
KINDS = {
    "random": HELD_OUT.replace("name: msh", "name: brackets"),
    "mobo": TINY.replace("{name: random}", "{name: mobo, initial: 3}") + "logical_workers: 7\n",
}

RESULTS = (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION)


def of(text: str, trials: int) -> str:
    return text.replace("trials: 10", f"trials: {trials}")


def results(location: Location) -> dict[str, bytes | None]:
    return {name: read_part(location, name) for name in RESULTS}


def extend(location: Location, trials: int | None) -> None:
    """Go on with a study here, as ``archloom resume`` does."""
    bring_up_to_date(location)
    with Store(location) as store:
        if trials is not None:
            store.extend(trials)
        config = stored_config(location, store.header)
        study = prepare(config, config.space)
        with InlineExecutor(study.context) as executor:
            run_study(study, store, executor, Unwatched())


@pytest.fixture(scope="module", params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def long(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that had 21 trials from the start: the last batch is cut short too."""
    folder = tmp_path_factory.mktemp("long")
    run_here(tiny_config(folder, of(KINDS[kind], 21)), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def short(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with 10 trials: of its second batch, 4 of 6 designs."""
    folder = tmp_path_factory.mktemp("short")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "WORTH_KEEPING_S", 0.0)
        run_here(tiny_config(folder, KINDS[kind]), folder / "run")
    return folder / "run"


def copied(study: Path, target: Path) -> Path:
    shutil.copytree(study, target)
    return target


def test_more_trials_are_those_of_a_longer_study(
    tmp_path: Path, short: Path, long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned before the batch that is proposed again is not learned again."""
    restored: list[dict[str, object]] = []
    restore = Proposals.restore

    def note(proposals: Proposals, state: dict[str, object]) -> None:
        restored.append(state)
        restore(proposals, state)

    monkeypatch.setattr(Proposals, "restore", note)
    study = copied(short, tmp_path / "run")
    extend(study, 21)
    assert len(restored) == 1
    assert results(study) == results(long)
    assert read_header(study).identity == read_header(long).identity
    # once more with nothing to do, and a study of 21 that goes on as any other
    events = len(read_journal(study))
    extend(study, None)
    assert results(study) == results(long)
    assert [event["event"] for event in read_journal(study)[events:]] == ["opened"]


def test_searches_that_were_done_are_not_done_again(kind: str, tmp_path: Path, short: Path) -> None:
    """Where the optimizer proposes what it had proposed, which a random one does."""
    study = copied(short, tmp_path / "run")
    extend(study, 12)
    done = [(e["trial"], e["round"]) for e in read_journal(study) if e["event"] == "advanced"]
    assert kind == "mobo" or len(done) == len(set(done))
    asked = [event for event in read_journal(study) if event["event"] == "asked"]
    assert [(event["batch"], len(event["points"])) for event in asked] == [(0, 6), (1, 4), (1, 6)]


def test_a_study_that_grew_twice_and_was_killed_anywhere(
    tmp_path: Path, short: Path, long: Path
) -> None:
    """A kill leaves the journal as it was at some moment; what comes later is done again."""
    study = copied(short, tmp_path / "run")
    begun = len((study / JOURNAL).read_bytes())
    extend(study, 15)
    extend(study, 21)
    lines = (study / JOURNAL).read_bytes()[begun:].splitlines(keepends=True)
    head = (study / JOURNAL).read_bytes()[:begun]
    for kept in (0, len(lines) // 2):
        killed = copied(study, tmp_path / f"killed{kept}")
        (killed / JOURNAL).write_bytes(head + b"".join(lines[:kept]))
        extend(killed, None)
        assert results(killed) == results(long), kept


def test_fewer_trials_of_a_study_under_way(tmp_path: Path, long: Path, short: Path) -> None:
    """Of 21 trials 6 were proposed; with 10 in all it is the short study."""
    study = copied(long, tmp_path / "run")
    events = (study / JOURNAL).read_bytes().splitlines(keepends=True)
    asked = [i for i, line in enumerate(events) if b'"event":"asked"' in line]
    (study / JOURNAL).write_bytes(b"".join(events[: asked[1]]))
    with pytest.raises(UserError, match="--trials 5 is below the 6 designs"):
        extend(study, 5)
    extend(study, 10)
    assert results(study) == results(short)


def test_in_a_database(tmp_path: Path, postgres: Server) -> None:
    run_here(tiny_config(tmp_path, of(HELD_OUT, 14)), tmp_path / "run")
    location = location_of(f"{postgres.url}#grown")
    config = tiny_config(tmp_path, HELD_OUT)
    bring_up_to_date(location)
    run_here(config, location)  # type: ignore[arg-type]  # a database is none, and works
    extend(location, 14)
    assert results(location) == results(tmp_path / "run")


def test_on_the_command_line(tmp_path: Path) -> None:
    """Run, extended, killed meanwhile, gone on with; and what is refused."""
    run_here(tiny_config(tmp_path), tmp_path / "run")
    run_here(tiny_config(tmp_path, of(TINY, 40)), tmp_path / "long")
    refused = archloom("run", "tiny.yaml", "--out", "run", cwd=tmp_path)
    assert refused.returncode == 2
    assert (
        "(trials: 10 there, 40 here); extend it with archloom resume run --trials 40"
        in refused.stderr
    )
    refused = archloom("resume", "run", "--trials", "7", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--trials 7 is below the 10 designs that run has proposed already" in refused.stderr
    journal = tmp_path / "run" / JOURNAL
    size = journal.stat().st_size
    process = begin("resume", "run", "--trials", "40", cwd=tmp_path)
    while process.poll() is None and journal.stat().st_size < size + 4000:
        sleep(0.004)
    process.kill()
    process.communicate()
    assert "trials: 40\n" in (tmp_path / "run" / STUDY).read_text()
    done = archloom("resume", "run", "--executor", "inline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "run") == results(tmp_path / "long")
    status = archloom("status", "run", "--json", cwd=tmp_path)
    assert json.loads(status.stdout)["trials_wanted"] == 40
    done = archloom("resume", "run", "--trials", "41", cwd=tmp_path)
    assert "note: the study has 41 trials in all from now on, 40 before" in done.stdout
