"""A study of networks that share a chip: 10 designs, the same on any number of workers, and cut
anywhere; and its figures wherever a study is shown."""

import csv
import io
import json
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from archloom.search.objectives.objective import Objective
from archloom.studies.analysis.front import read_front
from archloom.studies.commands.cli import app
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.study import prepare
from archloom.studies.storage.history import decode, encode
from archloom.studies.storage.parts import JOURNAL, TRIALS
from archloom.studies.storage.records import (
    read_baseline,
    read_certificate,
    read_trials,
    read_validation,
)

from ...cases.studies import archloom, run_here, write_study
from ...contracts.problems import SMALL_TEMPLATE
from .test_interruption import said

SERVING = """\
seed: 3
workloads: [tiny_cnn, {network: tiny_mlp, batch: 4}]
tenants:
  - {workload: tiny_cnn, share: 2, deadline_ms: 4}
  - {workload: tiny_mlp(batch=4), weight: 3, deadline_ms: 4}
validation: {workloads: [tiny_mobile], evaluations: 2}
space: small.yaml
objectives: [goodput, stable_load, stp, area]
constraints: {goodput_per_s: 500}
pick: {name: lexicographic, order: [goodput], tolerance: 0.05}
optimizer: {name: mobo, initial: 4}
halving: {name: msh, rounds: 2, first_budget: 1}
trials: 10
batch_size: 4
logical_workers: 3
software: {fusion: joint, mapping: local, mapping_evaluations: 200}
executor: {name: inline}
baseline: eyeriss
"""
NAMES = ["goodput_per_s", "stable_load_per_s", "stp", "area_mm2", "deadline_ratio"]


def serving_study(folder: Path, text: str = SERVING) -> Path:
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    return write_study(folder, text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serving")
    said("run", serving_study(folder), "--out", folder / "run")
    return folder / "run"


def test_every_trial_has_figures_of_all_tenants(finished: Path) -> None:
    trials = read_trials(finished)
    assert len(trials) == 10
    assert {trial.state for trial in trials} == {"complete", "stopped"}
    for trial in trials:
        assert sorted(trial.values) == sorted(NAMES)
        figures = trial.values
        assert figures["stable_load_per_s"] > 0
        # an inference of the mix is worth (2 x 1 + 1 x 3) / 3
        assert figures["stable_load_per_s"] * 5 / 3 <= figures["goodput_per_s"] * 1.01
        assert 0.99 < figures["stp"] <= 2
    baseline = read_baseline(finished)
    assert baseline is not None
    assert sorted(baseline.values) == sorted(NAMES)


def test_no_figure_is_better_than_its_bound(finished: Path) -> None:
    config = load_config(finished.parent / "tiny.yaml")
    problem = prepare(config, config.space).problem
    ratios = []
    for trial in read_trials(finished):
        assert trial.point is not None
        facts = problem.assess(trial.point)
        for bounds in (facts.values, problem.tightened(facts).values):  # type: ignore[union-attr, arg-type]
            costs = trial.costs(problem.objective_set)
            assert all(bound <= cost for bound, cost in zip(bounds, costs, strict=True))
        ratios.append(costs[0] / bounds[0])
    assert min(ratios) < 1.5


def test_its_front_comes_with_a_certificate_and_is_shown_everywhere(finished: Path) -> None:
    front, proof = read_front(finished), read_certificate(finished)
    assert proof is not None
    assert proof.measured > 0
    assert proof.excluded + proof.open + proof.measured == proof.feasible
    (picked,) = {front.picked.number} if front.picked else ()
    best = max(t.figure(Objective("goodput")) for t in front.members)
    assert read_trials(finished)[picked].figure(Objective("goodput")) >= best / 1.05
    rows = list(csv.DictReader(io.StringIO(said("pareto", finished, "--csv"))))
    assert list(rows[0])[1:6] == NAMES
    shown = json.loads(said("show", finished, str(picked), "--json"))
    assert shown["values"]["goodput_per_s"] == float(
        next(row for row in rows if row["trial"] == str(picked))["goodput_per_s"]
    )
    assert "goodput_per_s" in said("show", finished, str(picked))
    assert "goodput" in said("compare", finished)
    said("report", finished)
    page = (finished / "report.html").read_text()
    tenant = "tiny_cnn: share 2, weight 1, deadline 4 ms"
    for text in ("goodput (1/s)", "latency / deadline at most 1", tenant):
        assert text in page


def test_other_tenants_are_another_ruler(finished: Path, tmp_path: Path) -> None:
    """Goodput in other shares is not the same figure: nothing is learned from it, or compared."""
    text = SERVING.replace("share: 2", "share: 4").replace("trials: 10", "trials: 1")
    text += f"start_from: [{{study: {finished}, most: 1}}]\n"
    out = said("run", serving_study(tmp_path, text), "--out", tmp_path / "other")
    assert "0 results used for learning, since tenants differ" in out
    done = CliRunner().invoke(app, ["compare", str(finished), str(tmp_path / "other")])
    assert done.exit_code == 1
    assert "tenants differ" in str(done.exception)


def test_held_out_networks_have_no_figures_of_tenants(finished: Path) -> None:
    assert read_validation(finished)
    for one in read_validation(finished):
        assert one.values == {}
        assert set(one.networks) == {"tiny_mobile"}


def test_trials_are_the_same_on_any_number_of_workers(finished: Path, tmp_path: Path) -> None:
    study, ray = serving_study(tmp_path), ("--executor", "ray", "--workers", "2")
    done = archloom("run", study, "--out", "run", *ray, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run" / TRIALS).read_bytes() == (finished / TRIALS).read_bytes()


def test_a_study_cut_anywhere_ends_in_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    whole, lines = (finished / TRIALS).read_bytes(), (finished / JOURNAL).read_bytes().splitlines()
    for share in (0.2, 0.7):
        folder = tmp_path / str(share)
        copytree(finished, folder)
        kept = lines[: int(share * len(lines))]
        (folder / JOURNAL).write_bytes(b"\n".join(kept) + b"\n")
        (folder / TRIALS).unlink()
        said("resume", folder)
        assert (folder / TRIALS).read_bytes() == whole


def test_without_tenants_nothing_is_kept_of_them(tmp_path: Path) -> None:
    text = SERVING.replace("objectives: [goodput, stable_load, stp, area]", "objectives: [edp]")
    lines = [line for line in text.splitlines() if "deadline_ms" not in line]
    plain = "\n".join(line for line in lines if not line.startswith(("tenants", "constr", "pick")))
    config = load_config(serving_study(tmp_path, plain))
    trials = run_here(config, tmp_path / "run")
    assert all(set(trial.values) == {"edp_js"} for trial in trials)
    study = prepare(config, config.space)
    assert study.context.sharing is None
    found = decode(encode(decode(payload_of(tmp_path / "run"))))
    assert found.together == {}


def payload_of(folder: Path) -> str:
    """Return the first result of a journal."""
    for line in (folder / JOURNAL).read_text().splitlines():
        event = json.loads(line)["event"]
        if event.get("payload"):
            return str(event["payload"])
    raise AssertionError("no result")
