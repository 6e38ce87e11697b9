"""Every registered part and every documented value of a study file, through the command line.

A handful of tiny studies have all of them among their lines. What is registered or documented and
stands in none of these fails the tests at the end.
"""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, get_args

import pytest
import yaml
from click.testing import CliRunner

from archloom.search.mapping.factorization import FACTORS
from archloom.search.objectives import METRICS, Aggregate
from archloom.search.registry import (
    BUDGET_ALLOCATORS,
    FUSION_SEARCHES,
    HARDWARE_OPTIMIZERS,
    MAPPING_SEARCHES,
    RENAMED,
)
from archloom.search.software.search import BUDGETS
from archloom.space.design_space.shipped import PRESETS, TEMPLATES
from archloom.studies.commands.cli import app
from archloom.studies.config.methods import METHODS
from archloom.studies.storage.header import read_header
from archloom.studies.storage.records import read_baseline, read_trials

from ..cases.compressed import write_untrained
from ..cases.studies import archloom
from ..contracts.problems import SMALL_TEMPLATE
from ..source_tree import ROOT

Data = dict[str, Any]

SPACE, START = "own.yaml", "start"

#: every part with all of its options; results decide in each optimizer before its trials end
OPTIMIZERS: Final[tuple[Data, ...]] = (
    {"name": "mobo", "initial": 2, "pool": 40, "update_filter": "uul", "filter_batch": 2},
    {"name": "mobo", "initial": 2, "acquisition": "ehvi", "update_filter": "none"},
    {"name": "mobo", "initial": 2, "acquisition": "qlognehvi"},
    {"name": "mobo", "initial": 2, "acquisition": "qlognparego"},
    {"name": "greedy_bound", "pool": 40},
    {"name": "qnehvi", "initial": 2, "pool": 40},
    {"name": "nsga2", "population": 4},
    {"name": "lcs", "initial": 2, "members": 3},
    {"name": "tpe", "initial": 4},
    {"name": "gp", "initial": 4},
    {"name": "random"},
    {"name": "sobol"},
    {"name": "grid"},
    {"name": "mobo", "initial": 2, "bounds": "loose"},
    {"name": "mobo", "initial": 2, "bounds": "tight"},
)
HALVINGS: Final[tuple[Data, ...]] = (
    {"name": "msh", "rounds": 2, "first_budget": 2, "auc_share": 0.2, "rank": "front"},
    {"name": "sh", "rounds": 2, "first_budget": 2, "rank": "edp"},
    {"name": "brackets", "rounds": 2, "first_budget": 2, "auc_share": 0.2, "rank": "front"},
    {"name": "none", "evaluations": 2},
)
PICKS: Final = (
    "ideal",
    "knee",
    {"name": "lexicographic", "tolerance": 0.1},
)
#: accuracy needs a workload that comes in forms
MEASURED: Final = tuple(name for name in METRICS if name not in ("area", "tdp", "accuracy"))
TENANT: Final = {"workload": "tiny_cnn", "share": 2, "weight": 0.5, "deadline_ms": 1e4}
DATAFLOWS: Final = ("weight", "input", "output", "row")
#: the large spaces take long to assess, so that they are for optimizers that need little of that
SPACES: Final = {"random": "fast", "sobol": "casco_edge", "grid": "serving"}


def study(number: int) -> Data:
    """Return the study of a number: each part of it takes turns."""
    optimizer = OPTIMIZERS[number]
    learns = optimizer["name"] in ("tpe", "gp", "nsga2")
    space = SPACES.get(optimizer["name"], SPACE)
    metric = MEASURED[number % len(MEASURED)]
    aggregate = get_args(Aggregate)[number // 2 % len(get_args(Aggregate))]
    objective: Any = {"metric": metric, "aggregate": aggregate}
    if METRICS[metric].of_tenants:
        objective = metric
    elif aggregate == "weighted_sum":
        objective["weights"] = {"tiny_cnn": 1.0}
    software: Data = {
        "fusion": list(FUSION_SEARCHES)[number % len(FUSION_SEARCHES)],
        "population": 2,
        "mapping": list(MAPPING_SEARCHES)[number % len(MAPPING_SEARCHES)],
        "mapping_evaluations": 30,
        "factors": FACTORS[number % len(FACTORS)],
        "budget": BUDGETS[number // 2 % len(BUDGETS)],
        "prove_mappings": 30 * (number % 2),
    }
    if number < 2 * len(DATAFLOWS):
        software["constraints"] = {"dataflow": f"{DATAFLOWS[number // 2]}_stationary"}
    return {
        "workloads": ["tiny_cnn"],
        "tenants": [TENANT] if METRICS[metric].of_tenants else [],
        "space": space,
        # a pool is drawn where the space is not assessed as a whole: this one has 128 points
        "enumerate": 100 if "pool" in optimizer else 200,
        "objectives": [objective, "area" if number % 2 else "tdp"],
        "pick": PICKS[number % len(PICKS)],
        "optimizer": optimizer,
        "halving": HALVINGS[number % len(HALVINGS)],
        "trials": 6 if learns else 4,
        "batch_size": 2,
        "logical_workers": 1 + number % 3,
        "software": software,
        "executor": {"name": "inline", "stall_s": 60, "start_s": 60},
        "round_limits": {"cpu_s": 3600, "memory_mb": 8000},
        "baseline": sorted(PRESETS)[number % len(PRESETS)],
    }


PLAIN: Final[Data] = {
    "workloads": ["tiny_cnn"],
    "space": SPACE,
    "optimizer": {"name": "random"},
    "halving": {"name": "none", "evaluations": 1},
    "trials": 2,
    "batch_size": 2,
    "software": {"fusion": "none", "mapping": "random", "mapping_evaluations": 30},
    "executor": {"name": "inline"},
}

#: what does not take turns
OTHERS: Final[dict[str, Data]] = {
    "exact": PLAIN
    | {"mode": "exact", "effort": 2, "enumerate": 1000, "trials": 3, "seed": 2, "name": "proof"},
    "limits": PLAIN
    | {
        "mode": "search",
        "density": {"weights": 0.5, "inputs": 0.5},
        "tenants": [TENANT],
        "constraints": {
            "area_mm2": 20,
            "tdp_w": 5,
            "edp_js": 1,
            "energy_j": 1,
            "latency_s": [1, {"limit": 2, "workload": "tiny_cnn"}],
            "throughput_per_s": 1e-3,
            "perf_per_tdp_per_s_w": 1e-6,
            "utilisation": 1e-9,
            "goodput_per_s": 1e-6,
            "stable_load_per_s": 1e-6,
            "stp": 0.5,
            "deadline_ratio": 0.9,
        },
        "validation": {"workloads": ["tiny_mobile"], "evaluations": 1},
    },
    "start": PLAIN
    | {"start_from": [{"preset": "eyeriss"}, {"study": START, "most": 1}, {"csv": "front.csv"}]},
    "compressed": PLAIN
    | {
        "workloads": [{"compressed": "kept", "groups": 1, "levels": [0, 0.5], "fine_tune": 0}],
        "objectives": ["edp", "accuracy"],
        "constraints": {"accuracy_percent": 0.1},
    },
    "preset": PLAIN | {"space": "fast_large", "trials": 1, "batch_size": 1},
    "cuts": PLAIN | {"enumerate": 1, "certificate_cuts": 5},
    "outcomes": PLAIN
    | {
        "objectives": ["latency", "energy", "area"],
        "software": PLAIN["software"] | {"trade_offs": True},
    },
    "plans": PLAIN | {"enumerate": 1, "certificate_plans": 5, "software": {"fusion": "joint"}},
    "workers": PLAIN | {"executor": {"name": "ray", "workers": 1, "address": None}},
}
STUDIES: Final = {str(n): study(n) for n in range(len(OPTIMIZERS))} | OTHERS


def ran(*arguments: str | Path) -> str:
    """Return what the command line prints, in this process."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, f"{arguments}: {done.output} {done.exception!r}"
    return done.output


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a template, and a study and designs to start from."""
    folder = tmp_path_factory.mktemp("values")
    (folder / SPACE).write_text(SMALL_TEMPLATE)
    write_untrained(folder / "kept")
    (folder / "first.yaml").write_text(yaml.safe_dump(PLAIN))
    ran("run", folder / "first.yaml", "--out", folder / START)
    (folder / "front.csv").write_text(ran("pareto", folder / START, "--csv"))
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs(name: str, home: Path) -> None:
    file, out = home / f"{name}.yaml", home / f"{name} out"
    file.write_text(yaml.safe_dump(STUDIES[name]))
    if STUDIES[name]["executor"]["name"] == "inline":
        ran("run", file, "--out", out)
    else:
        archloom("run", file, "--out", out, cwd=home)
    records = read_trials(out)
    assert len(records) == STUDIES[name]["trials"]
    crashed = [trial.crash for trial in records if trial.state == "failed"]
    assert crashed == []
    assert {trial.state for trial in records} & {"complete", "stopped"}
    if "baseline" in STUDIES[name]:
        baseline = read_baseline(out)
        assert baseline is not None
        assert baseline.state in ("complete", "infeasible")
    for rule in ("ideal", "knee", "lexicographic"):
        ran("pareto", out, "--pick", rule)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_runs(method: str, home: Path) -> None:
    out = home / f"method {method}"
    short = {"halving": {"name": "msh", "rounds": 2, "first_budget": 2}}
    (home / "method.yaml").write_text(yaml.safe_dump(PLAIN | short))
    ran("run", home / "method.yaml", "--method", method, "--out", out)
    assert [trial.state for trial in read_trials(out)].count("complete") > 0


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_shown(name: str) -> None:
    assert name in ran("hardware", name)


@pytest.mark.parametrize("old", RENAMED["fusion"])
def test_an_old_name_is_the_same_study(old: str, home: Path) -> None:
    new = RENAMED["fusion"][old]
    files = {}
    for name, factors in ((old, "clipped"), (new, "imperfect")):
        text = yaml.safe_dump(
            PLAIN | {"software": PLAIN["software"] | {"fusion": name, "factors": factors}}
        )
        files[name] = home / f"called_{name}.yaml"
        files[name].write_text(text)
    out = home / f"called {new} out"
    ran("run", files[new], "--out", out)
    before, header = (out / "trials.jsonl").read_bytes(), read_header(out)
    # a directory as it was when the name was another one
    stored = out / "study.yaml"
    software = header.config["software"]
    assert (software["fusion"], software["factors"]) == (new, "imperfect")
    text = stored.read_text().replace(f"fusion: {new}\n", f"fusion: {old}\n")
    stored.write_text(text.replace("factors: imperfect\n", "factors: clipped\n"))
    assert f"fusion: {old}\n" in stored.read_text()
    assert read_header(out).config == header.config
    assert read_header(out).identity == header.identity
    # as it was digested then
    settings = header.result_settings
    settings["software"] |= {"fusion": old, "factors": "clipped"}
    digest = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    assert header.identity == digest
    for file in files.values():
        ran("run", file, "--out", out)
    ran("resume", out)
    assert (out / "trials.jsonl").read_bytes() == before


def leaves(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of a study with the path of its key; list items have their list's."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, f"{path}.{key}".strip("."))
    elif isinstance(data, list | tuple):
        for value in data:
            yield from leaves(value, path)
    else:
        yield path, str(data)


USED: Final = {leaf for data in STUDIES.values() for leaf in leaves(data)}


def used(key: str) -> set[str]:
    return {value for path, value in USED if path == key or path.startswith(f"{key}.")}


def test_all_that_is_registered_is_used() -> None:
    assert used("optimizer.name") == set(HARDWARE_OPTIMIZERS)
    assert used("halving.name") == set(BUDGET_ALLOCATORS)
    assert used("software.fusion") == set(FUSION_SEARCHES)
    assert used("software.mapping") == set(MAPPING_SEARCHES)
    assert used("software.factors") == set(FACTORS)
    assert used("software.budget") == set(BUDGETS)
    assert used("baseline") == set(PRESETS)
    assert set(TEMPLATES) <= used("space")
    assert used("objectives.aggregate") == set(get_args(Aggregate))
    assert used("objectives.metric") | used("objectives") >= set(METRICS)
    for family, key in ((HARDWARE_OPTIMIZERS, "optimizer"), (BUDGET_ALLOCATORS, "halving")):
        for name in family:
            lines = [data[key] for data in STUDIES.values() if data[key]["name"] == name]
            assert set(family.options(name)) == {o for line in lines for o in line} - {"name"}


#: words of the table of keys that are no values of the key that they stand beside
NOT_VALUES: Final = {
    "density.weights": {"effects"},
    "mode": {"trials"},
    "enumerate": {"mode"},
    "optimizer.name": {"name"},
    "halving.first_budget": {"shared"},
    "halving.evaluations": {"shared"},
    "software.budget": {"halving", "mapping_evaluations"},
}


def documented() -> Iterator[tuple[list[str], set[str]]]:
    """Yield the keys of each row of the tables of keys, and the words that it sets as code."""
    text = (ROOT / "docs" / "reference" / "study_files.md").read_text()
    tables = text.split("| key | meaning | default |\n|---|---|---|\n")[1:]
    for row in (row for table in tables for row in table.split("\n\n")[0].splitlines()):
        keys, meaning, default = row.strip("| ").split(" | ")
        names = re.findall(r"`([\w.]+)`", keys)
        section = names[0].rpartition(".")[0]
        found = re.findall(r"`([a-z][a-z0-9_]*)`", f"{meaning} {default}")
        yield [f"{section}{n}" if n.startswith(".") else n for n in names], set(found)


#: keys that need a server; engine/test_shared_study.py runs studies with them
WITH_A_SERVER: Final = ["storage"]


#: values that measure this machine; commands/test_host.py runs a study with each
MEASURED: Final = {"space": {"host"}}


def test_all_that_the_docs_name_is_used() -> None:
    rows = [(keys, words) for keys, words in documented() if keys != WITH_A_SERVER]
    assert len(rows) > 30
    for keys, words in rows:
        for key in keys:
            top, _, option = key.partition(".")
            assert any(path == key or path.startswith(f"{key}.") for path, _ in USED) or any(
                option in data.get(top, {}) for data in STUDIES.values()
            ), key
        # options of one part name the parts that have them
        parts = used(f"{keys[0].partition('.')[0]}.name") | used("software.fusion")
        values = {value for key in keys for value in used(key)}
        others = NOT_VALUES.get(keys[0], set()) | MEASURED.get(keys[0], set())
        assert words - values - parts - others == set(), keys


def test_all_words_of_the_other_tables_are_used() -> None:
    text = (ROOT / "docs" / "reference" / "study_files.md").read_text()
    for head, values in (
        ("| name | how it chooses designs | learns from results |", used("optimizer.name")),
        ("| metric | key of its limit | figure | better |", set(METRICS)),
        ("| method | optimizer | halving | fusion |", set(METHODS)),
        ("| `pick` | picks from the front |", {"ideal", "knee", "name"}),
    ):
        table = text.split(head)[1].split("\n\n")[0].splitlines()[2:]
        named = {n for row in table for n in re.findall(r"[`{](\w+)[`:]", row.split("|")[1])}
        assert named == values
    assert {f"{kind}_stationary" for kind in DATAFLOWS} == used("software.constraints.dataflow")
