"""Studies that search measured designs again whose costs decide what is proven."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archloom.search.pareto import non_dominated
from archloom.search.software.search import SoftwareSettings
from archloom.studies.analysis.front import read_front
from archloom.studies.config.errors import ConfigError
from archloom.studies.storage.parts import CERTIFICATE, JOURNAL, TRIALS
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.trial import Trial

from ...cases.studies import archloom, run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE as LARGER_TEMPLATE
from .test_exact_mode import measured_all

#: 72 designs: those with one PE along an axis are left out, and so is a size of the buffer
SMALL_TEMPLATE = LARGER_TEMPLATE.replace("[1, 2, 4, 8]", "[2, 4, 8]")

AGAIN = """\
seed: 5
workloads: [tiny_cnn]
space: ./small.yaml
mode: exact
effort: 1000
optimizer: {name: mobo, initial: 4}
trials: 500
batch_size: 16
software: {fusion: none, mapping: exact, factors: exact, mapping_evaluations: 50}
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the template, and an undisturbed run of the study."""
    folder = tmp_path_factory.mktemp("again")
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    run_here(tiny_config(folder, AGAIN), folder / "run")
    return folder


def least_costs(folder: Path) -> np.ndarray:
    """Return the front of all designs, each with the best mappings that there are."""
    most = 1_000_000
    settings = SoftwareSettings("none", mapping="exact", factors="exact", mapping_evaluations=most)
    rows = measured_all(folder, replace(settings, prove_mappings=most))
    return np.unique(rows[non_dominated(rows)], axis=0)


def best_edp(trial: Trial) -> float:
    """Return the EDP that a trial found."""
    assert trial.edp_js is not None
    return trial.edp_js


def costs(folder: Path) -> np.ndarray:
    """Return the costs of a study's front, each once."""
    front = read_front(folder)
    return np.unique([trial.costs(front.objective_set) for trial in front.members], axis=0)


def test_little_search_and_more_where_it_decides_prove_the_front_of_all_budgets(
    folder: Path,
) -> None:
    """Fifty mappings a layer prove next to nothing, and miss designs of the front."""
    front, trials = read_front(folder / "run"), read_trials(folder / "run")
    assert front.proof is not None
    assert front.proof.proven
    np.testing.assert_allclose(costs(folder / "run"), least_costs(folder), rtol=1e-12)
    again = [trial for trial in trials if trial.effort > 1]
    assert {trial.effort for trial in again} == {10, 100, 1000}
    first = {str(trial.point): trial for trial in trials if trial.effort == 1}
    assert front.proof.measured == len(first) < 120
    assert all(str(trial.point) in first for trial in again)
    better = sum(best_edp(trial) < best_edp(first[str(trial.point)]) for trial in again)
    assert better > 5
    # nothing of what a cheap search settled was searched again
    assert len({str(trial.point) for trial in again}) < len(first)


def test_each_design_is_on_the_front_once(folder: Path) -> None:
    front = read_front(folder / "run")
    points = [str(trial.point) for trial in front.members]
    assert len(points) == len(set(points))


def test_a_journal_cut_anywhere_ends_in_the_same_bytes(folder: Path) -> None:
    run = folder / "run"
    files = (JOURNAL, TRIALS, CERTIFICATE)
    whole, *ends = ((run / name).read_bytes() for name in files)
    for i in (2, 4, 5):
        (run / JOURNAL).write_bytes(whole[: len(whole) * i // 6])
        run_here(tiny_config(folder, AGAIN), run)
        assert [(run / name).read_bytes() for name in files[1:]] == ends


@pytest.mark.parametrize("logical_workers", [20])
def test_designs_are_searched_again_while_others_are_under_way(
    folder: Path, tmp_path: Path, logical_workers: int
) -> None:
    """What is proposed while nothing is left to propose waits for what is under way."""
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    text = AGAIN.replace("batch_size: 16", f"batch_size: 7\nlogical_workers: {logical_workers}")
    run_here(tiny_config(tmp_path, text), tmp_path / "run")
    front = read_front(tmp_path / "run")
    assert front.proof is not None
    assert front.proof.proven
    np.testing.assert_array_equal(
        np.unique([t.costs(front.objective_set) for t in front.members], axis=0),
        np.unique(
            [t.costs(front.objective_set) for t in read_front(folder / "run").members], axis=0
        ),
    )
    whole, ends = ((tmp_path / "run" / name).read_bytes() for name in (JOURNAL, TRIALS))
    (tmp_path / "run" / JOURNAL).write_bytes(whole[: 2 * len(whole) // 3])
    run_here(tiny_config(tmp_path, text), tmp_path / "run")
    assert (tmp_path / "run" / TRIALS).read_bytes() == ends


def test_no_more_trials_than_the_study_has(tmp_path: Path) -> None:
    """They may end in the middle of what is searched again; more of them go on from there."""
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    (tmp_path / "tiny.yaml").write_text(AGAIN.replace("trials: 500", "trials: 110"))
    archloom("run", "tiny.yaml", "--out", "run", cwd=tmp_path)
    trials = read_trials(tmp_path / "run")
    assert len(trials) == 110
    assert trials[-1].effort > 1
    archloom("resume", "run", "--trials", "500", cwd=tmp_path)
    proof = read_front(tmp_path / "run").proof
    assert proof is not None
    assert proof.proven


def test_what_was_searched_again_is_told(folder: Path) -> None:
    trials = read_trials(folder / "run")
    again = [trial for trial in trials if trial.effort > 1]
    (folder / "tiny.yaml").write_text(AGAIN)
    said = archloom("run", "tiny.yaml", "--out", "run", cwd=folder).stdout
    assert f"{len(again)} of these trials searched designs again that could still change" in said
    assert "Front proven for any budget" in said
    shown = archloom("show", "run", str(again[-1].number), cwd=folder).stdout
    assert f"with {again[-1].effort:,} times the study's mapping evaluations" in shown
    assert "times the study's" not in archloom("show", "run", "0", cwd=folder).stdout


def test_it_takes_mode_exact(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    with pytest.raises(ConfigError) as caught:
        tiny_config(tmp_path, AGAIN.replace("mode: exact\n", ""))
    assert "effort: 1000 searches designs again whose costs decide a proof" in str(caught.value)
