"""Studies that go on until lower bounds prove their front."""

import json
from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.pareto import non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.studies.analysis.front import read_front
from archloom.studies.analysis.study_view import load_view
from archloom.studies.commands.study.pareto import front_json
from archloom.studies.config.errors import ConfigError
from archloom.studies.engine.study import prepare
from archloom.studies.errors import UserError
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import CERTIFICATE, JOURNAL, TRIALS
from archloom.studies.storage.records import read_trials

from ...cases.einsum_files import einsum_text
from ...cases.studies import archloom, run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE

EXACT = """\
seed: 5
workloads: [tiny_cnn]
space: ./small.yaml
mode: exact
optimizer: {name: mobo, initial: 4}
trials: 500
batch_size: 16
software: {fusion: none, mapping: exact}
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the template, and an undisturbed run of the study."""
    folder = tmp_path_factory.mktemp("exact")
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    run_here(tiny_config(folder, EXACT), folder / "run")
    return folder


#: the seed of a trial decides between mappings of a layer that are as good as each other, and then
#: the EDP of a network differs in the ninth digit
SAME = 1e-8


def costs(folder: Path) -> np.ndarray:
    rows = [(r.edp_js, r.area_mm2, r.tdp_w) for r in read_front(folder).members]
    return np.unique(rows, axis=0)


def measured_all(folder: Path, settings: SoftwareSettings) -> np.ndarray:
    """Return EDP, area and TDP of every feasible design of the space in a folder."""
    problem = DesignProblem(HardwareSpace.load(folder / "small.yaml"), [network("tiny_cnn")])
    rows = []
    for candidate in problem.feasible():
        hardware = problem.space.build(candidate.point)
        assert isinstance(hardware, Hardware)
        task = SoftwareTask(hardware, problem.networks, settings, 0)
        found = advance(task, None, 1)
        rows.append((found.curve.edp[-1], candidate.area_mm2, candidate.tdp_w))
    return np.array(rows)


def test_the_front_is_that_of_running_every_design(folder: Path) -> None:
    rows = measured_all(folder, SoftwareSettings("none", mapping="exact"))
    front = np.unique(rows[non_dominated(rows)], axis=0)
    np.testing.assert_allclose(costs(folder / "run"), front, rtol=SAME)
    proof = read_front(folder / "run").proof
    assert proof is not None
    assert proof.proven_at_this_budget
    trials = read_trials(folder / "run")
    assert proof.measured == len(trials) < len(rows)
    assert {r.state for r in trials} == {"complete"}


def test_a_journal_cut_anywhere_ends_in_the_same_bytes(folder: Path) -> None:
    run = folder / "run"
    files = (JOURNAL, TRIALS, CERTIFICATE)
    whole, *ends = ((run / name).read_bytes() for name in files)
    for i in range(2):
        (run / JOURNAL).write_bytes(whole[: len(whole) * (i + 1) // 3])
        run_here(tiny_config(folder, EXACT), run)
        assert [(run / name).read_bytes() for name in files[1:]] == ends


def test_every_output_of_the_front_says_what_is_proven(folder: Path) -> None:
    data = json.loads(front_json(read_front(folder / "run")))["certificate"]
    assert data["proven_at_this_budget"] is True
    assert data["gap"] == 0
    # the EDP of several layers is above its bound even where each layer's mapping is proven
    assert data["proven"] is False
    assert 0 < data["undecided"] < data["measured"]
    assert 0.5 < data["share_any_budget"] < data["share"] == 1
    said = archloom("pareto", folder / "run", cwd=folder)
    first = "Front proven at this budget: of 120 feasible designs (of 128 in the space)"
    second = f"For any budget: the front has at least {100 * data['share_any_budget']:.1f}% of"
    assert first in said.stdout
    assert second in said.stdout
    facts = dict(load_view(folder / "run").facts)
    assert facts["proof at this budget"].startswith(first)
    assert facts["proof for any budget"].startswith(second)
    again = archloom("run", "tiny.yaml", "--out", "run", cwd=folder)
    assert (
        "of 500 trials: no design that was not evaluated can join the Pareto front" in again.stdout
    )
    assert first in again.stdout
    assert second in again.stdout


def test_costs_that_are_proven_settle_designs_that_bounds_leave_open(tmp_path: Path) -> None:
    """The mappings of a network of one layer are proven, and its only plan is that layer: so its
    EDPs are, though its lower bounds are below them."""
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    product = einsum_text("Z[m,n] = A[m,k] * B[k,n]", {"m": 12, "n": 10, "k": 6})
    (tmp_path / "product.yaml").write_text(product)
    text = EXACT.replace("[tiny_cnn]", "[./product.yaml]")
    text = text.replace("mapping: exact", "mapping: exact, factors: exact")
    config = tiny_config(tmp_path, text)
    run_here(config, tmp_path / "run")
    front = read_front(tmp_path / "run")
    assert front.proof is not None
    assert front.proof.proven
    assert front.proof.members == front.proof.settled_members == len(front.members)
    assert front.proof.share_any_budget == 1
    problem = prepare(config, tmp_path / "small.yaml").problem
    bounds = []
    for trial in front.members:
        candidate = problem.assess(trial.point or {})
        assert isinstance(candidate, Candidate)
        least = problem.tightened(candidate).values[0]
        bounds.append(least / trial.costs(front.objective_set)[0])
    assert min(bounds) < 0.99
    # without the proofs, the same results leave most of the front undecided
    pruner = DominancePruner(problem)
    for trial in read_trials(tmp_path / "run"):
        pruner.tell(trial.observation(front.objective_set))
    pruner.tighten()
    unproven = pruner.certificate()
    assert unproven is not None
    assert unproven.proven_at_this_budget
    assert not unproven.proven
    said = archloom("pareto", tmp_path / "run", cwd=tmp_path).stdout
    assert "Front proven for any budget: more software search cannot change the front" in said


@pytest.mark.parametrize("optimizer", ["random", "mobo"])
def test_a_search_never_runs_what_bounds_exclude_and_ends_early(
    folder: Path, tmp_path: Path, optimizer: str
) -> None:
    text = EXACT.replace("mode: exact", "halving: {name: none}")
    text = text.replace("mobo, initial: 4", optimizer)
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    records = run_here(tiny_config(tmp_path, text), tmp_path / "run")
    np.testing.assert_allclose(costs(tmp_path / "run"), costs(folder / "run"), rtol=SAME)
    assert len(records) < 120
    refused = [e for e in read_events(tmp_path / "run" / JOURNAL) if e.get("refused")]
    assert refused
    whole, ends = ((tmp_path / "run" / name).read_bytes() for name in (JOURNAL, TRIALS))
    (tmp_path / "run" / JOURNAL).write_bytes(whole[: len(whole) // 2])
    run_here(tiny_config(tmp_path, text), tmp_path / "run")
    assert (tmp_path / "run" / TRIALS).read_bytes() == ends


def test_trials_that_halving_stopped_prove_nothing(tmp_path: Path) -> None:
    text = EXACT.replace("mode: exact", "halving: {name: msh, rounds: 2, first_budget: 1}")
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    records = run_here(
        tiny_config(tmp_path, text.replace("trials: 500", "trials: 16")), tmp_path / "run"
    )
    front = read_front(tmp_path / "run")
    assert front.proof is not None
    assert front.proof.measured == sum(r.state == "complete" for r in records) < 16
    shown = archloom("pareto", tmp_path / "run", cwd=tmp_path).stdout
    assert "Certified at this budget: the front has at least" in shown


def test_a_study_that_runs_out_of_designs_says_which_still_may_add(tmp_path: Path) -> None:
    """So does compare, with the same counts."""
    text = EXACT.replace("mode: exact", "halving: {name: msh, rounds: 2, first_budget: 1}")
    text = text.replace("mobo, initial: 4", "random")
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    (tmp_path / "tiny.yaml").write_text(text)
    said = archloom("run", "tiny.yaml", "--out", "run", cwd=tmp_path).stdout
    front, trials = read_front(tmp_path / "run"), read_trials(tmp_path / "run")
    stopped = sum(trial.state == "stopped" for trial in trials)
    proof = front.proof
    assert proof is not None
    assert 0 < proof.open <= stopped
    assert (
        f"ended after {len(trials)} of 500 trials: every design that could join the "
        "Pareto front was evaluated; of those whose search was cut short "
        f"({stopped} stopped), {proof.open} could still join it with a larger search budget\n"
    ) in said
    assert (
        f"{proof.excluded} cannot join the front because their lower bounds are dominated, and "
        f"{proof.open} still could"
    ) in said
    compared = archloom("compare", "run", "--json", cwd=tmp_path)
    found = json.loads(compared.stdout)["exclusions"]["small"]
    assert found["measured"] == proof.measured
    assert (found["dominated"], found["open"]) == (proof.excluded, proof.open)
    assert sum(found["rules"].values()) == proof.points - proof.feasible


def test_what_cannot_be_proven_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mode exact evaluates every trial"):
        tiny_config(folder, EXACT + "halving: {name: msh}\n")
    clocks = ", ".join(str(10 + i / 1000) for i in range(4_100))
    text = SMALL_TEMPLATE.replace("frequency_mhz: 200", 'frequency_mhz: "= clock_mhz"')
    clock = f"  clock_mhz: {{values: [{clocks}], scale: linear}}\n"
    text = text.replace("  dataflow:", f"{clock}  dataflow:")
    (tmp_path / "small.yaml").write_text(text)
    with pytest.raises(UserError, match="small has 524800 points, more than 500000, and too many"):
        run_here(tiny_config(tmp_path, EXACT), tmp_path / "run")


def test_what_is_too_large_to_enumerate_is_proven_in_boxes(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    records = run_here(tiny_config(tmp_path, EXACT + "enumerate: 127\n"), tmp_path / "run")
    np.testing.assert_array_equal(costs(tmp_path / "run"), costs(folder / "run"))
    proof = read_front(tmp_path / "run").proof
    assert proof is not None
    assert proof.proven_at_this_budget
    assert proof.boxes == 0
    assert proof.measured == len(records) < 120
    whole, ends = ((tmp_path / "run" / name).read_bytes() for name in (JOURNAL, TRIALS))
    (tmp_path / "run" / JOURNAL).write_bytes(whole[: len(whole) // 2])
    run_here(tiny_config(tmp_path, EXACT + "enumerate: 127\n"), tmp_path / "run")
    assert (tmp_path / "run" / TRIALS).read_bytes() == ends


def test_a_study_says_up_to_where_a_space_is_assessed_as_a_whole(
    tmp_path: Path,
) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    text = EXACT.replace("mode: exact", "halving: {name: none}").replace("500", "4")
    for limit, known in ((127, False), (128, True)):
        run = tmp_path / str(limit)
        run_here(tiny_config(tmp_path, text + f"enumerate: {limit}\n"), run)
        proof = read_front(run).proof
        assert proof is not None
        assert (proof.boxes is None) == known


def test_plans_with_proofs_settle_all_designs_of_several_layers(folder: Path) -> None:
    """Without them, no design of a network of several layers is settled (above)."""
    text = EXACT.replace("mapping: exact", "mapping: exact, factors: exact, prove_mappings: 100000")
    (folder / "proofs.yaml").write_text(text)
    done = archloom("run", "proofs.yaml", "--out", "proofs", cwd=folder)
    front = read_front(folder / "proofs")
    assert front.proof is not None
    assert front.proof.proven
    assert front.proof.members == front.proof.settled_members == len(front.members)
    assert "Front proven for any budget: more software search cannot change" in done.stdout
    gaps = [trial.plan_gap_percent for trial in read_trials(folder / "proofs")]
    assert gaps == [0.0] * len(gaps)
