"""Studies whose trials report several outcomes of a design, from the file to the front."""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from archloom.search.pareto import hypervolume
from archloom.studies.api.study import load_study
from archloom.studies.config.errors import ConfigError
from archloom.studies.engine.start_from import WarmStart
from archloom.studies.storage.parts import CERTIFICATE, TRIALS
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.trial import Trial

from ...cases.studies import archloom, run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE

STUDY = """\
seed: 5
workloads: [tiny_cnn, tiny_mobile]
space: ./small.yaml
objectives: [latency, energy, area]
optimizer: {name: mobo, initial: 2}
trials: 4
batch_size: 1
halving: {name: none, evaluations: 1}
software: {fusion: none, mapping_evaluations: 2000, trade_offs: true}
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the template, and an undisturbed run of the study."""
    folder = tmp_path_factory.mktemp("trade_offs")
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    run_here(tiny_config(folder, STUDY), folder / "run")
    return folder


def points(trials: list[Trial]) -> dict[str, tuple[float, float, float]]:
    """Return latency, energy and area of every outcome by label, as the records have them."""
    found = {}
    for trial in trials:
        for at, one in enumerate((trial, *trial.trade_offs)):
            label = f"{trial.number}.{at}" if at else str(trial.number)
            found[label] = one.values["latency_s"], one.values["energy_j"], trial.area_mm2
    return found


def members(every: dict[str, tuple[float, float, float]]) -> set[str]:
    """Return the labels of the front, by comparing all with all."""
    return {
        label
        for label, mine in every.items()
        if not any(
            all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine
            for other in every.values()
        )
    }


def test_the_front_is_that_of_all_outcomes(folder: Path) -> None:
    every = points(read_trials(folder / "run"))
    expected = members(every)
    assert any("." in label for label in expected)
    front = load_study(folder / "run").front()
    assert {one._record.label for one in front} == expected
    told = json.loads((folder / "run" / CERTIFICATE).read_text())
    volume = hypervolume([every[label] for label in sorted(expected)], told["reference"])
    assert told["volume"] == pytest.approx(volume)
    assert told["members"] == len({label.partition(".")[0] for label in expected})


def test_trials_are_those_of_a_study_without_but_for_more_outcomes(folder: Path) -> None:
    plain = run_here(tiny_config(folder, STUDY.replace(", trade_offs: true", "")), folder / "plain")
    found = read_trials(folder / "run")
    assert sum(bool(one.trade_offs) for one in found) > 1
    for one, other in zip(plain, found, strict=True):
        assert one.to_dict() == other.outcomes[0].to_dict()
    assert b"trade_offs" not in (folder / "plain" / TRIALS).read_bytes()


def test_a_study_that_goes_on_ends_with_the_same_bytes(folder: Path) -> None:
    run_here(tiny_config(folder, STUDY.replace("trials: 4", "trials: 2")), folder / "few")
    done = archloom("resume", "few", "--trials", "4", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in (TRIALS, CERTIFICATE):
        assert (folder / "few" / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_workers_give_the_same_bytes(folder: Path) -> None:
    many = STUDY.replace("{name: inline}", "{name: ray, workers: 2}")
    (folder / "many.yaml").write_text(many.replace("seed: 5", "seed: 5\nname: tiny"))
    done = archloom("run", "many.yaml", "--out", "many", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in (TRIALS, CERTIFICATE):
        assert (folder / "many" / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_the_command_line_shows_outcomes(folder: Path) -> None:
    trials = read_trials(folder / "run")
    every = points(trials)
    said = archloom("pareto", "run", cwd=folder).stdout
    front = json.loads(archloom("pareto", "run", "--json", cwd=folder).stdout)["front"]
    labels = [f"{r['trial']}.{r['outcome']}" if "outcome" in r else str(r["trial"]) for r in front]
    assert set(labels) == members(every)
    designs = {label.partition(".")[0] for label in labels}
    assert f"{len(labels)} points of {len(designs)} designs" in said
    assert "outcome k of trial N: the same design with other mappings" in " ".join(said.split())
    label = next(label for label in labels if "." in label)
    shown = json.loads(archloom("show", "run", label, "--json", cwd=folder).stdout)
    latency_s, energy_j, area_mm2 = every[label]
    assert shown["outcome"] == int(label.partition(".")[2])
    assert (shown["values"]["latency_s"], shown["area_mm2"]) == (latency_s, area_mm2)
    energies = [net["energy_pj"] * 1e-12 for net in shown["networks"]]
    assert (energies[0] * energies[1]) ** 0.5 == pytest.approx(energy_j)
    for net in shown["networks"]:
        layers = sum(layer["latency_cycles"] for layer in net["layers"])
        assert layers == net["latency_cycles"]
    text = archloom("show", "run", label, cwd=folder).stdout
    assert f"trial {label.partition('.')[0]}, outcome {label.partition('.')[2]}: complete" in text
    wrong = archloom("show", "run", "0.9", cwd=folder)
    assert wrong.returncode
    assert "trial 0 has no outcome 9; it has outcomes 0 to" in wrong.stderr


def test_the_optimizer_hears_of_all_outcomes_that_keep_the_limits(folder: Path) -> None:
    trials = read_trials(folder / "run")
    free = tiny_config(folder, STUDY).objective_set
    trial = max(trials, key=lambda one: len(one.trade_offs))
    every = points([trial])
    told = trial.observation(free)
    assert (told.values, *told.others) == tuple(every.values())
    slowest = max(latency_s for latency_s, *_ in every.values())
    limit = f"constraints: {{latency_s: {slowest * (1 - 1e-9)!r}}}\n"
    limited = trial.observation(tiny_config(folder, STUDY + limit).objective_set)
    assert limited.others == tuple(
        costs for label, costs in every.items() if "." in label and costs[0] < slowest
    )
    start = WarmStart((), (told, limited))
    assert WarmStart.from_text(start.to_text()) == start
    # studies of before have no such key, and are known by a hash of what they begin with
    assert "others" not in WarmStart((), (replace(told, others=()),)).to_text()


def test_exports_have_a_row_for_each_outcome(folder: Path) -> None:
    every = points(read_trials(folder / "run"))
    text = archloom("export", "run", "--format", "csv", cwd=folder).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    found = {
        (f"{row['trial']}.{row['outcome']}" if row["outcome"] != "0" else row["trial"]): row
        for row in rows
    }
    assert set(found) == set(every)
    for label, row in found.items():
        assert (float(row["latency_s"]), float(row["energy_j"])) == every[label][:2]
        assert (row["on_front"] == "True") == (label in members(every))


def test_a_study_can_be_used_from_python(folder: Path) -> None:
    study = load_study(folder / "run")
    design = study.design(0, outcome=1)
    assert design.trial.outcome == 1
    assert design.trial.values == read_trials(folder / "run")[0].trade_offs[0].values
    assert design.details["outcome"] == 1
    with pytest.raises(Exception, match="has no outcome 77"):
        study.design(0, outcome=77)
    assert len(study.to_pandas()) == len(points(read_trials(folder / "run")))
    spent = [n for n, _ in study._view_of_front().hypervolume]
    assert spent[-1] == 4
    assert all(a <= b for a, b in pairwise(spent))


def test_what_trade_offs_need_is_said_at_once(folder: Path) -> None:
    wrong = STUDY.replace("fusion: none", "fusion: casco").replace("latency, ", "")
    with pytest.raises(ConfigError) as caught:
        tiny_config(folder, wrong)
    assert str(caught.value).count("software.trade_offs") == 2
    assert "fusion 'casco' fuses layers; set fusion: none" in str(caught.value)
    assert "needs two metrics that mappings trade against each other" in str(caught.value)
    with pytest.raises(ConfigError, match="'yes!' must be true or false"):
        tiny_config(folder, STUDY.replace("trade_offs: true", "trade_offs: yes!"))
    tenants = "tenants: [{workload: tiny_cnn, share: 1}, {workload: tiny_mobile, share: 1}]\n"
    with pytest.raises(ConfigError, match="tenants share the chip"):
        tiny_config(folder, STUDY + tenants)


def test_a_limit_is_a_metric_too(folder: Path) -> None:
    limited = STUDY.replace("[latency, energy, area]", "[energy, area]")
    limited += "constraints: {latency_s: 1}\n"
    assert tiny_config(folder, limited).software.trade_offs
