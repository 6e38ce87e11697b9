"""``archloom validate``: agreement of recorded cases, the worst first, and files that hold none."""

import json
from io import StringIO

import pytest
from rich.console import Console

from archloom.studies.commands.cli import main
from archloom.studies.commands.published.recorded_cases import compared, summary, validate_cases

from ....source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"
RECORDS = [json.loads(line) for line in FILE.read_text().splitlines()]
SOUND = [record for record in RECORDS if record["closed_form_agrees"]][:4]
OFF = next(record for record in RECORDS if not record["closed_form_agrees"])
KEYS = ["cases", "counts_equal", "energy_equal", "cycles_equal", "failures"]


def copies(*records):
    return json.loads(json.dumps(records))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write records to a file, and return exit code, output and messages of the command."""

    def call(*records, more=(), raw=None) -> tuple[int, str, str]:
        path = tmp_path / "cases.jsonl"
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        path.write_bytes(raw if raw is not None else "\n".join(lines).encode())
        monkeypatch.setattr("sys.argv", ["archloom", "validate", str(path), *more])
        try:
            main()
        except SystemExit as stop:
            printed = capsys.readouterr()
            return int(stop.code or 0), printed.out.replace(f"{tmp_path}/", ""), printed.err
        raise AssertionError("the command line always exits")

    return call


def as_json(out: str):
    return json.loads(out.splitlines()[-1])


def test_cases_that_agree(run):
    code, out, err = run(*SOUND)
    assert (code, err) == (0, "")
    assert out == ("cases.jsonl: 4 cases; access counts equal in 4, energy in 4, cycles in 4\n")
    code, out, _ = run(*SOUND, more=["--json"])
    assert code == 0
    assert list(as_json(out)) == KEYS
    assert as_json(out) == dict(zip(KEYS, (4, 4, 4, 4, []), strict=True))


def test_each_figure_is_compared_alone(run):
    wrong = copies(*SOUND)
    wrong[0]["result"]["cycles"] += 2
    wrong[1]["result"]["energy_pJ"] *= 1.001
    wrong[2]["result"]["levels"][0]["tensors"]["Weights"]["fills_per_instance"] += 1
    code, out, _ = run(*wrong, more=["--json"])
    assert code == 1
    data = as_json(out)
    assert [data[key] for key in KEYS[:4]] == [4, 3, 3, 3]
    by_id = {f["id"]: f for f in data["failures"]}
    assert set(by_id) == {w["id"] for w in wrong[:3]}
    (cycles,) = by_id[wrong[0]["id"]]["differences"]
    recorded = wrong[0]["result"]["cycles"]
    assert cycles == {"what": "cycles", "ours": recorded - 2, "theirs": recorded}
    (count,) = by_id[wrong[2]["id"]]["differences"]
    name = wrong[2]["arch"]["levels"][0]["name"]
    assert count["what"] == f"{name}.Weights.fills_per_instance"


def test_rounding_is_allowed_for(run):
    near = copies(*SOUND)
    near[0]["result"]["cycles"] += 1
    near[1]["result"]["energy_pJ"] *= 1 + 9e-10
    assert run(*near)[0] == 0
    near[1]["result"]["energy_pJ"] *= 1 + 2e-9
    assert run(*near)[0] == 1


def test_the_worst_comes_first(run):
    wrong = copies(*SOUND)
    for record, factor in zip(wrong, (1.01, 2.0, 1.5, 1.0), strict=True):
        record["result"]["energy_pJ"] *= factor
    del wrong[3]["mapping"]
    ids = [wrong[i]["id"] for i in (3, 1, 2, 0)]
    _, out, _ = run(*wrong, OFF, more=["--json"])
    failures = as_json(out)["failures"]
    # what could not be evaluated, then by size; records that are known to be off last
    assert [f["id"] for f in failures] == [*ids, OFF["id"]]
    assert failures[-1]["closed_form_agrees"] is False
    code, out, _ = run(*wrong, OFF)
    assert code == 1
    places = [out.index(name) for name in (*ids, OFF["id"])]
    assert places == sorted(places)
    assert "the case has no mapping" in out
    assert f"{OFF['id']} *" in out
    assert "* known difference: the record itself marks its figures as inexact" in out
    assert "4 cases differ unexpectedly" in out


def test_records_that_are_known_to_be_off_do_not_fail(run):
    code, out, _ = run(SOUND[0], OFF)
    assert code == 0
    assert "1 of the other cases have records that are marked as inexact" in out


def test_rows_limit_the_table_only(run):
    wrong = copies(*SOUND)
    for i, record in enumerate(wrong):
        record["result"]["energy_pJ"] *= 2 + i
    code, out, _ = run(*wrong, more=["--rows", "1"])
    assert code == 1
    assert "and 3 more cases; show more with --rows" in out
    assert sum(record["id"] in out for record in wrong) == 1
    _, out, _ = run(*wrong, more=["--rows", "1", "--json"])
    assert len(as_json(out)["failures"]) == 4
    assert run(*wrong, more=["--rows", "0"])[0] == 2


def test_many_figures_of_a_case_are_counted(run):
    (wrong,) = copies(SOUND[0])
    for level in wrong["result"]["levels"]:
        for kept in level["tensors"].values():
            kept["reads_per_instance"] += 5
    _, out, _ = run(wrong)
    assert "and 6 more figures" in out


def test_truncated_counts_are_told(run):
    (record,) = copies(next(r for r in RECORDS if r["id"] == "ref-0082"))
    code, out, _ = run(record)
    assert code == 0
    assert (
        "recorded one word lower (1,605,631 instead of 1,605,632) because Timeloop truncated it"
        in out
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("mapping"), "the case has no mapping"),
        (lambda r: r.pop("result"), "result.levels: must have an entry for each level"),
        (lambda r: r["result"].pop("cycles"), "result: cycles is missing or no number"),
        (lambda r: r["result"]["levels"].pop(), "result.levels: must have an entry for each"),
        (lambda r: r["result"]["levels"][0].pop("tensors"), "result.levels[0].tensors is missing"),
        (lambda r: r.pop("problem"), "problem: is missing"),
        (lambda r: r["arch"]["levels"][0].update(depth=1), "depth: is not a key of the format"),
        (lambda r: r["arch"]["levels"][0].update(size_words=0), "must be greater than or equal"),
        (lambda r: r["arch"]["levels"][0].update(size_words="many"), "must be a whole number"),
        (lambda r: r.update(arch=[]), "arch: must be keys with values, got []"),
        (lambda r: r["mapping"][-1]["temporal"]["factors"].update(Z=2), "'Z' is not a dimension"),
        (lambda r: r["arch"]["levels"][0].update(size_words=1), "words, has 1"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(run, change, message):
    (record,) = copies(SOUND[0])
    change(record)
    code, out, err = run(record, SOUND[1])
    assert (code, err) == (1, "")
    assert message in " ".join(out.split())
    assert "2 cases; access counts equal in 1, energy in 1, cycles in 1" in out
    (failure,) = as_json(run(record, SOUND[1], more=["--json"])[1])["failures"]
    assert failure["id"] == record["id"]
    assert message in failure["failure"]
    assert failure["differences"] == []


@pytest.mark.parametrize("line", ["{", "[1, 2]", '"x"', "nan", "{}", "[" * 5000])
def test_lines_that_are_no_records_are_failures_by_number(run, line):
    code, out, _ = run(SOUND[0], line, "", more=["--json"])
    assert code == 1
    (failure,) = as_json(out)["failures"]
    assert failure["id"] == "line 2"
    assert failure["failure"]


def test_json_stays_json_where_a_record_is_not(run):
    (record,) = copies(SOUND[0])
    record["result"]["energy_pJ"] = float("nan")
    code, out, _ = run(record, more=["--json"])
    assert code == 1
    data = json.loads(out.splitlines()[-1], parse_constant=pytest.fail)
    assert data["failures"][0]["differences"][0]["theirs"] == "nan"


def test_brackets_of_a_record_are_no_markup(run):
    (record,) = copies(SOUND[0])
    record["id"], record["result"]["cycles"] = "[/red] [link]", 1
    code, out, _ = run(record)
    assert code == 1
    assert "[/red] [link]" in out


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "cases.jsonl: holds no cases; it needs one JSON object per line"),
        (b"\n  \n", "cases.jsonl: holds no cases"),
        (bytes(range(128, 256)), "cases.jsonl: is not UTF-8 text"),
    ],
)
def test_a_file_without_cases_is_refused(run, raw, message):
    code, out, err = run(raw=raw)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")


def test_a_folder_and_nothing_are_no_files(tmp_path, monkeypatch, capsys):
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "no", "No such file")):
        monkeypatch.setattr("sys.argv", ["archloom", "validate", str(path)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        assert f"error: {path}: {reason}" in capsys.readouterr().err


def test_a_narrow_terminal_keeps_every_digit(tmp_path):
    (record,) = copies(SOUND[0])
    record["result"]["energy_pJ"] = 1234567890.5
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(record))
    shown = StringIO()
    assert not validate_cases(path, False, 20, Console(file=shown, width=40))
    assert "1,234,567,890" in shown.getvalue()
    assert "…" not in shown.getvalue()


def test_the_file_of_the_tests_agrees():
    found = summary(compared(FILE))
    assert (found.cases, found.counts_equal, found.energy_equal, found.cycles_equal) == (
        *(65, 63, 63, 65),
    )
    assert found.unexpected == ()
