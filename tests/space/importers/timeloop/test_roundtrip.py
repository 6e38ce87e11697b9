"""Recorded cases, written as Timeloop users write them, read back as the same records."""

import json

import pytest

from archloom.space.importers.timeloop.reader import read_timeloop

from ....cases.timeloop_files import write_new, write_old
from ....source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"
COEFFICIENTS = ("Wstride", "Hstride", "Wdilation", "Hdilation")
STANDARD = {tensor: tensor for tensor in ("Weights", "Inputs", "Outputs")}
OTHER = {"Weights": "Filter", "Inputs": "Ifmap", "Outputs": "Sums"}


def as_read(line, names):
    """Return a record as the reader makes it: without remarks, with names of data spaces."""
    case = json.loads(line)
    arch, problem = case["arch"], case["problem"]
    arch.pop("description", None)
    problem.pop("note", None)
    problem["coefficients"] = {name: problem[name] for name in COEFFICIENTS}
    return {
        "arch": arch,
        "problem": problem,
        "data_space_names": names,
        "mapping": case["mapping"],
    }


LINES = FILE.read_text().splitlines()


@pytest.mark.parametrize(
    ("write", "names"), [(write_old, STANDARD), (write_new, OTHER)], ids=["v0.3", "v0.4"]
)
def test_files_hold_what_the_record_does(write, names, tmp_path):
    for line in LINES:
        record = as_read(line, names)
        paths = write(record, tmp_path)
        got = read_timeloop(
            [paths["arch"]], paths["problem"], paths["mapping"], ert_path=paths["ert"]
        )
        assert got == record, json.loads(line)["id"]
        # the order of dimensions is the shape's, wherever they stand
        assert list(got["problem"]["dims"]) == list(record["problem"]["dims"])


def test_the_cases_differ_enough():
    cases = [json.loads(line) for line in LINES]
    assert len(cases) >= 20
    assert len({case["arch"]["name"] for case in cases}) >= 9
    assert {case["problem"]["kind"] for case in cases} == {"conv", "depthwise", "grouped"}
    assert any(loops["no_multicast"] for case in cases for loops in case["mapping"])
    assert any(loops["bypass"] for case in cases for loops in case["mapping"])
    assert any(level["net_energy_per_hop_pJ"] for c in cases for level in c["arch"]["levels"])


def test_energies_stay_open_without_a_table(tmp_path):
    record = as_read(LINES[0], STANDARD)
    paths = write_old(record, tmp_path)
    got = read_timeloop([paths["arch"]], paths["problem"], paths["mapping"])
    assert {level["energy_pJ"] for level in got["arch"]["levels"]} == {None}
    assert got["arch"]["mac"]["energy_pJ"] is None


def test_a_record_without_mapping_has_no_mapping(tmp_path):
    record = as_read(LINES[0], STANDARD)
    paths = write_old(record, tmp_path)
    got = read_timeloop([paths["arch"]], paths["problem"], None, ert_path=paths["ert"])
    assert "mapping" not in got
    assert got["arch"] == record["arch"]


def test_one_file_may_hold_everything(tmp_path):
    record = as_read(LINES[0], STANDARD)
    paths = write_old(record, tmp_path)
    whole = tmp_path / "whole.yaml"
    whole.write_text("".join(path.read_text() for path in paths.values()))
    assert read_timeloop([whole], whole, whole) == record
