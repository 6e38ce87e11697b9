"""``archloom map``: what it finds, that it can be read back, and what it refuses."""

import json
import re
from signal import SIGINT, raise_signal

import pytest
from numba import njit

from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.importers.cases.reader import case_of
from archloom.studies.analysis.conformance import evaluated
from archloom.studies.commands.cli import main
from archloom.studies.commands.map.cases import Sought, read_tasks
from archloom.studies.commands.map.command import solutions
from archloom.studies.commands.map.tables import MapProgress
from archloom.studies.solve.mapping import MappingEffort, MappingProgress, compiling, solve

from ...source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"
RECORDS = [json.loads(line) for line in FILE.read_text().splitlines()]
CONV = RECORDS[0]

#: small problems on hardware of every kind: with hops, clusters, wide blocks, no multicast
TINY = [r for r in RECORDS if r["problem"]["name"] in ("tiny", "odd_sizes", "conv1d_k9")]
KEYS = [
    "id",
    "best",
    "mapping",
    "evaluations",
    "cpu_s",
    "lower_bound",
    "proven_optimal",
    "gap_percent",
]


def copy_of(record, **changes):
    return json.loads(json.dumps({**record, **changes}))


def without(record, *keys):
    return {key: value for key, value in copy_of(record).items() if key not in keys}


#: what most tests say, of what the exact search proves; by default factors are of any size
EXACT = ("--factors", "exact")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write records to a file, and return exit code, output and messages of the command."""

    def call(records, *options: str, raw: bytes | None = None, say=EXACT) -> tuple[int, str, str]:
        path = tmp_path / "cases.jsonl"
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        path.write_bytes(raw if raw is not None else "\n".join(lines).encode())
        monkeypatch.setattr("sys.argv", ["archloom", "map", str(path), *say, *options])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err.replace(f"{tmp_path}/", "")

    return call


@pytest.fixture
def found(run):
    """Return what ``--json`` prints for records, without a limit of time."""

    def call(records, *options: str, say=EXACT):
        effort = ("--json", "--evaluations", "100000000")
        code, out, err = run(records, *effort, *options, say=say)
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return call


def priced(record, line):
    """Evaluate the mapping of a line in the record that it was found for."""
    return evaluated(case_of(copy_of(record, mapping=line["mapping"])))


def test_a_known_optimum_is_proven_and_can_be_read_back(found):
    (line,) = found([CONV])
    assert list(line) == KEYS
    assert line["id"] == CONV["id"]
    assert line["best"]["edp"] == pytest.approx(2.78233713e14, rel=1e-8)
    assert line["best"]["edp"] == line["best"]["energy_pj"] * line["best"]["cycles"]
    assert (line["proven_optimal"], line["gap_percent"]) == (True, 0)
    assert line["lower_bound"] == line["best"]["edp"]
    assert line["cpu_s"] > 0
    again = priced(CONV, line)
    assert (again.energy_pj, again.cycles) == (line["best"]["energy_pj"], line["best"]["cycles"])


@pytest.mark.parametrize("search", MAPPING_SEARCHES)
def test_every_search_prints_mappings_that_cost_what_it_says(run, search):
    code, out, _ = run(TINY, "--json", "--search", search, "--evaluations", "2000")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [line["id"] for line in lines] == [record["id"] for record in TINY]
    for record, line in zip(TINY, lines, strict=True):
        again = priced(record, line)
        best = line["best"]
        assert (again.energy_pj, again.cycles) == pytest.approx((best["energy_pj"], best["cycles"]))
        recorded = record["mapping"]
        assert [v["keep"] for v in line["mapping"]] == [
            [t for t in ("Weights", "Inputs", "Outputs") if t in v["keep"]] for v in recorded
        ]
        for level in line["mapping"]:
            spatial = level["spatial"] or {"X": {}, "Y": {}}
            assert not set(spatial["X"]) & set(spatial["Y"])
        if line["lower_bound"] is not None:
            assert line["lower_bound"] <= best["edp"]
        assert line["proven_optimal"] == (line["gap_percent"] == 0)


def test_the_same_evaluations_give_the_same_lines(run):
    def lines():
        out = run(TINY[:3], "--json", "--search", "local", "--evaluations", "500")[1]
        return [without(json.loads(line), "cpu_s") for line in out.splitlines()]

    assert lines() == lines()


def test_no_recorded_mapping_is_better(found):
    records = [r for r in RECORDS if r["arch"]["name"] == "A3_twolevel"]
    assert len(records) > 3
    for record, line in zip(records, found(records), strict=True):
        result = record["result"]
        assert line["best"]["edp"] <= result["energy_pJ"] * result["cycles"] * (1 + 1e-9)


def test_bypass_is_as_given_or_free_and_free_without_a_mapping(found):
    given = found([CONV])[0]["best"]["edp"]
    (free,) = found([CONV], "--bypass", "free")
    assert free["best"]["edp"] < given
    (bare,) = found([without(CONV, "mapping", "result")])
    assert bare["best"] == free["best"]
    assert bare["mapping"] == free["mapping"]
    (null,) = found([copy_of(CONV, mapping=None, result=None)])
    assert null["best"] == free["best"]


def test_objectives_minimise_what_they_say(found):
    record = next(r for r in RECORDS if r["problem"]["name"] == "conv1x1")
    best = {name: found([record], "--objective", name)[0] for name in ("edp", "energy", "latency")}
    for name, key in (("edp", "edp"), ("energy", "energy_pj"), ("latency", "cycles")):
        assert best[name]["best"][key] == min(line["best"][key] for line in best.values())
        assert best[name]["lower_bound"] == pytest.approx(best[name]["best"][key])
    assert best["energy"]["best"]["energy_pj"] < best["edp"]["best"]["energy_pj"]


def test_a_dimension_is_unrolled_along_both_axes_only_if_that_is_allowed(found):
    record = without(CONV, "mapping", "result")
    record["problem"]["dims"] = dict.fromkeys("RSPQCN", 1) | {"K": 256}
    (one,), (both,) = found([record]), found([record], "--both-axes")
    assert both["best"]["cycles"] == 1
    assert one["best"]["cycles"] == 16


def test_a_dataflow_and_a_file_constrain_what_is_found(found, tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(
        "dataflow: output_stationary\n"
        "levels:\n  GlobalBuffer: {unroll_x: {K: 4}, unroll_y: [C], bypass: [weights]}\n"
    )
    free = found([CONV])[0]["best"]["edp"]
    (flow,) = found([CONV], "--dataflow", "row_stationary")
    assert flow["best"]["edp"] > free
    assert flow["proven_optimal"]
    assert flow["mapping"][1]["spatial"]["Y"]["R"] == 3
    assert not {"S", "Q"} & {*flow["mapping"][1]["spatial"]["X"]}
    assert flow["mapping"][0]["temporal"]["factors"]["S"] == 3
    (ruled,) = found([CONV], "--constraints", str(path))
    level = ruled["mapping"][1]
    assert level["spatial"]["X"] == {"K": 4}
    assert set(level["spatial"]["Y"]) <= {"C"}
    assert level["keep"] == ["Inputs", "Outputs"]
    assert ruled["mapping"][0]["keep"] == ["Weights", "Inputs", "Outputs"]
    again = priced(CONV, ruled)
    assert again.energy_pj == pytest.approx(ruled["best"]["energy_pj"])


def test_constraints_that_cannot_be_are_told(run, tmp_path):
    path = tmp_path / "rules.yaml"
    for text, message in (
        ("levels: {GlobalBufer: {keep: [weights]}}", "no architecture has a level 'GlobalBufer'"),
        ("levels: {GlobalBuffer: {keep: [weight]}}", "rules.yaml: 1 error"),
        (
            "levels: {GlobalBuffer: {unroll_x: {K: 2}, unroll_y: {K: 2}}}",
            "along y, which both_axes: false forbids; --both-axes permits it",
        ),
    ):
        path.write_text(text)
        code, out, err = run([CONV], "--constraints", str(path))
        assert (code, out) == (2, "")
        assert message in err
    assert run([CONV], "--both-axes", "--constraints", str(path), "--evaluations", "99")[0] == 0
    code, _, err = run([CONV], "--constraints", str(tmp_path / "none.yaml"))
    assert (code, err) == (2, "error: --constraints none.yaml: No such file or directory\n")
    code, _, err = run([CONV], "--dataflow", "weight_stationery")
    assert code == 2
    assert "--dataflow 'weight_stationery' is not known; did you mean weight_stationary" in err


def test_equal_problems_are_solved_once(found):
    twin = copy_of(CONV, id="twin")
    other = copy_of(CONV, id="other")
    other["arch"]["levels"][1]["size_words"] //= 2
    lines = found([CONV, other, twin])
    assert [line["id"] for line in lines] == [CONV["id"], "other", "twin"]
    assert lines[0] == {**lines[2], "id": CONV["id"]}
    assert lines[1]["cpu_s"] != lines[0]["cpu_s"]


def test_the_table_of_one_case_has_its_loops(run):
    code, out, err = run([CONV])
    assert (code, err) == (0, "")
    assert "Mappings of lowest EDP" in out
    assert "2.782337132e+14" in out
    assert "proven" in out
    assert "resnet18_conv3x3 on A1_rf256 (K:64 C:64 P:56 Q:56 R:3 S:3)" in out
    assert "GlobalBuffer  [WIO] " in out
    assert "1 problem: 1 proven" in out


def test_the_table_of_more_cases(run):
    code, out, _ = run([CONV, copy_of(CONV, id="twin"), TINY[0]], "--search", "random",
                       "--evaluations", "50", "--objective", "latency")  # fmt: skip
    assert code == 0
    assert "Mappings of lowest latency" in out
    assert f"{CONV['id']} and 1 more" in out
    assert "2 problems of 3 cases: " in out
    assert "[WIO]" not in out


def test_one_case_of_a_file(run):
    code, out, _ = run(TINY, "--case", TINY[1]["id"], "--json", "--evaluations", "99")
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [TINY[1]["id"]]
    code, out, err = run(TINY, "--case", TINY[1]["id"] + "0")
    assert (code, out) == (2, "")
    assert "has none of that id; did you mean" in err
    assert TINY[1]["id"] in err


def test_what_has_no_mapping_says_what_it_needs(run):
    small = copy_of(CONV, id="small")
    small["arch"]["levels"][0]["size_words"] = 2
    code, out, _ = run([small, TINY[0]], "--json")
    assert code == 1
    line, other = map(json.loads, out.splitlines())
    assert list(line) == [*KEYS, "infeasible"]
    assert (line["best"], line["mapping"], line["lower_bound"]) == (None, None, None)
    assert line["infeasible"]["where"] == "RegFile (weights, inputs, outputs)"
    assert (line["infeasible"]["needed"], line["infeasible"]["available"]) == (6, 4)
    assert other["best"] is not None
    code, out, _ = run([small])
    assert code == 1
    assert "small, resnet18_conv3x3 on A1_rf256: no_mapping at RegFile" in out
    assert "give RegFile at least 6 bytes" in " ".join(out.split())
    assert "1 problem: 0 proven optimal, 1 without a mapping" in out
    # the named bytes are enough
    small["arch"]["levels"][0]["size_words"] = 3
    assert run([small], "--json", "--evaluations", "100")[0] == 0


REFUSED = [
    (["--search", "exct"], "--search 'exct' is not known; did you mean exact?"),
    (["--objective", "time"], "--objective 'time' is not known; known: edp, energy, latency"),
    (["--bypass", "given"], "--bypass 'given' is not known; did you mean as-given?"),
    (["--budget-seconds", "0"], "--budget-seconds must be above 0, got 0"),
    (["--budget-seconds", "nan"], "--budget-seconds must be above 0, got nan"),
    (["--plot", "x.pdf"], "--plot x.pdf: must end in .png or .svg"),
    (["--front", "none/x.svg"], "--front none/x.svg: there is no folder none"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_slips_of_options_are_one_message(run, options, message):
    code, out, err = run([CONV], *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


def test_all_bad_records_are_told_at_once(run):
    slip = copy_of(CONV, id="slip")
    slip["arch"]["levels"][0]["size_word"] = 3
    deep = copy_of(CONV, id="deep")
    deep["arch"]["levels"] = [
        {**level, "name": f"{level['name']} {i}"}
        for i, level in enumerate([deep["arch"]["levels"][1]] * 8 + deep["arch"]["levels"][2:])
    ]
    del deep["mapping"]
    code, out, err = run([CONV, "", "no json", slip, deep])
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0] == "error: cases.jsonl: 3 of 4 cases cannot be read"
    assert lines[1].startswith("  cases.jsonl:3: is not JSON")
    assert lines[2].startswith("  cases.jsonl:4: slip: arch.levels[0].size_word: is not a key")
    assert lines[3].startswith("  cases.jsonl:5: deep: A1_rf256: 9 levels, must have at most 8")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "cases.jsonl: holds no cases; it needs one JSON object per line"),
        (b"\n\n", "cases.jsonl: holds no cases"),
        (b"\xff\xfe", "cases.jsonl: is not UTF-8 text"),
    ],
)
def test_a_file_without_cases(run, raw, message):
    code, out, err = run([], raw=raw)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_a_file_that_is_not_there(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["archloom", "map", "nowhere.jsonl"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "error: nowhere.jsonl: No such file or directory\n"


class Impatient(MapProgress):
    """Presses Ctrl-C as soon as anything is found."""

    def tell(self, stand: MappingProgress) -> None:
        assert stand.evaluations > 0
        raise_signal(SIGINT)


@pytest.mark.parametrize("search", ["local", "exact"])
def test_ctrl_c_leaves_what_was_found(search, tmp_path):
    from rich.console import Console

    path = tmp_path / "cases.jsonl"
    # more than a moment's work: free bypass on four levels, large composite bounds
    record = without(CONV, "mapping", "result")
    levels = record["arch"]["levels"]
    levels.insert(1, {**levels[1], "name": "L2", "size_words": 4096, "meshX": 4, "instances": 4})
    record["problem"]["dims"] |= {"K": 5040, "C": 5040, "P": 720}
    path.write_text(json.dumps(record) + "\n" + json.dumps(CONV) + "\n")
    tasks = read_tasks(path, Sought())
    (only,) = solutions(tasks, MappingEffort(search), Impatient(2, Console()))
    solution = only[1]
    assert solution.interrupted
    assert not solution.proven
    assert solution.mapping is not None
    assert solution.lower_bound is None or solution.lower_bound < solution.objective


def test_curves_only_get_better():
    (task,) = read_tasks(FILE, Sought(), CONV["id"])
    solution = solve(task.problem, MappingEffort("exact"))
    assert solution.curve[-1].bound == pytest.approx(solution.curve[-1].objective)
    for one, two in zip(solution.curve, solution.curve[1:], strict=False):
        assert one.cpu_s <= two.cpu_s
        assert one.objective >= two.objective * (1 - 1e-12)
        assert one.bound <= two.bound * (1 + 1e-12)


def test_what_is_compiled_is_noticed():
    twice = njit(lambda number: 2 * number)
    with compiling() as took:
        twice(3)
    assert sum(took) > 0
    with compiling() as took:
        twice(4)
    assert took == []


def awkward(**bounds: int):
    """The case of a 3x3 convolution with other bounds, without a mapping and results."""
    record = without(CONV, "mapping", "result")
    record["problem"]["dims"].update(bounds)
    return record


def test_bounds_that_do_not_divide_are_mapped_without_loss_unless_said(found):
    prime = awkward(K=61, C=67, P=53, Q=53)
    (exact,), (any_factors,) = found([prime]), found([prime], say=())
    assert "exact" not in exact
    assert any_factors["exact"] == {key: exact[key] for key in any_factors["exact"]}
    assert any_factors["best"]["edp"] < exact["best"]["edp"] / 2
    assert any_factors["lower_bound"] <= any_factors["best"]["edp"]
    # as many multiply-accumulates as there are at least, on 256 of them
    assert any_factors["best"]["cycles"] >= 61 * 67 * 53 * 53 * 9 / 256


def test_a_table_says_what_exact_factors_give(run):
    out = run([awkward(K=61, C=67, P=53, Q=53)], "--evaluations", "100000", say=())[1]
    assert "exact factors" in out
    assert re.search(r"x\d+\.\d+, proven", out)
