"""``start_from``: what a study tries first, and what it learns from others."""

from pathlib import Path
from shutil import rmtree

import pytest
from rich.console import Console

from archloom.search.pareto import hypervolume
from archloom.studies.analysis.front import read_front
from archloom.studies.commands.study.pareto import front_csv
from archloom.studies.commands.study.run import resume, start
from archloom.studies.commands.study.study_file import Overrides, read_study
from archloom.studies.config.errors import ConfigError
from archloom.studies.engine.start_from import WarmStart, warm_start
from archloom.studies.engine.study import design_problem, header_of
from archloom.studies.errors import UserError
from archloom.studies.storage.header import read_header
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.trial import Trial

from ...cases.studies import TINY, run_here, tiny_config, write_study

TABLE = "start_from: [{csv: front.csv}, {preset: eyeriss}, {study: earlier, most: 2}]\n"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a study that others start from."""
    folder = tmp_path_factory.mktemp("earlier")
    run_here(tiny_config(folder), folder / "earlier")
    return folder / "earlier"


@pytest.fixture
def folder(earlier: Path, tmp_path: Path) -> Path:
    """A folder with the earlier study and two of its designs as a table."""
    (tmp_path / "earlier").symlink_to(earlier)
    lines = front_csv(read_front(earlier)).splitlines()
    (tmp_path / "front.csv").write_text("\n".join(lines[:3]) + "\n")
    return tmp_path


def begun(folder: Path, text: str) -> WarmStart:
    config = tiny_config(folder, text)
    found = warm_start(config, header_of(config), design_problem(config, config.space))
    assert found is not None
    return found


def run(folder: Path, text: str, name: str = "new") -> list[Trial]:
    study = write_study(folder, text)
    with (folder / "log").open("w") as log:
        start(read_study(study, Overrides()), folder / name, Console(file=log, width=300))
    return read_trials(folder / name)


def test_what_is_named_is_tried_first_and_the_rest_is_learned_from(folder: Path) -> None:
    trials = run(
        folder, TINY.replace("{name: random}", "{name: mobo, initial: 4, pool: 40}") + TABLE
    )
    front = read_front(folder / "earlier").members
    tried = [record.point for record in trials]
    assert tried[:2] == [record.point for record in front[:2]]
    assert tried[2]["clock_mhz"] == 200  # Eyeriss' own
    every = {str(record.point) for record in read_trials(folder / "earlier")}
    # nothing that was measured is measured again but the designs that were asked for
    assert sum(str(point) in every for point in tried) <= 4
    assert len({str(point) for point in tried}) == len(tried) == 10
    log = (folder / "log").read_text()
    assert "start_from[0]: " in log
    assert "nearest to preset eyeriss" in log
    assert "10 results used for learning" in log


def test_the_best_of_a_front_covers_most(earlier: Path, folder: Path) -> None:
    members = read_front(earlier).members
    costs = [(r.edp_js, r.area_mm2, r.tdp_w) for r in members]
    corner = [1.1 * max(column) for column in zip(*costs, strict=True)]
    first = begun(folder, TINY + "start_from: [{study: earlier, most: 1}]\n").first
    widest = max(range(len(costs)), key=lambda i: hypervolume([costs[i]], corner))
    assert list(first) == [members[widest].point]
    everything = begun(folder, TINY + "start_from: [{study: earlier, most: 99}]\n")
    assert len(everything.first) == len(members)
    # those that are tried anew are not learned from as well
    assert len(everything.observations) == 10 - len(members)


def test_results_of_another_ruler_are_not_learned_from(folder: Path) -> None:
    other = TINY.replace("mapping_evaluations: 40", "mapping_evaluations: 50")
    found = begun(folder, other + "start_from: [{study: earlier}]\n")
    assert found.observations == ()
    assert found.first
    assert "software differ" in found.notes[0]


def test_a_study_goes_on_without_what_it_began_with(folder: Path) -> None:
    text = TINY + TABLE
    whole = run(folder, text)
    header = read_header(folder / "new")
    assert header.start is not None
    assert WarmStart.from_text(header.start) == begun(folder, text)
    (folder / "new" / "trials.jsonl").unlink()
    (folder / "front.csv").unlink()
    (folder / "earlier").unlink()
    with (folder / "log").open("w") as log:
        resume(folder / "new", Overrides(), Console(file=log))
    assert read_trials(folder / "new") == whole
    # running the same file again goes on as well: its sources need not be there any more
    assert run(folder, text) == whole
    rmtree(folder / "new")
    with pytest.raises(UserError, match=r"start_from\[0\]: .*front.csv"):
        run(folder, text)


def test_designs_that_break_a_limit_are_left_out_by_name(folder: Path) -> None:
    text = TINY + "constraints: {tdp_w: 0.2}\nstart_from: [{preset: tpu_v3}, {csv: front.csv}]\n"
    found = begun(folder, text)
    assert len(found.first) < 3
    assert any("was left out: tdp_cap" in note for note in found.notes)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{preset: eyris}", "did you mean.*eyeriss"),
        ("{preset: eyeriss, csv: front.csv}", "names preset and csv"),
        ("{}", "names nothing"),
        ("{csv: front.csv, most: 3}", "most applies to study only"),
        ("{studdy: earlier}", "study"),
    ],
)
def test_mistakes_in_the_file_are_named(folder: Path, entry: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(folder, TINY + f"start_from: [{entry}]\n")


def test_mistakes_in_the_sources_are_named(folder: Path) -> None:
    table = (folder / "front.csv").read_text()
    wrong = {
        "pe_x,": ("pe_z,", "no column pe_x"),
        f"\n{table.splitlines()[1]}": ("\n" + table.splitlines()[1] + "9", "line 2"),
    }
    for old, (new, message) in wrong.items():
        (folder / "front.csv").write_text(table.replace(old, new, 1))
        with pytest.raises(UserError, match=rf"start_from\[0\]: .*front.csv.*{message}"):
            begun(folder, TINY + "start_from: [{csv: front.csv}]\n")
    with pytest.raises(UserError, match=r"start_from\[0\]: .*nothing"):
        begun(folder, TINY + "start_from: [{study: nothing}]\n")
