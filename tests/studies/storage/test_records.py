"""Records are read line by line; the software of a trial when somebody looks at it."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from archloom.search.budget.protocol import Curve
from archloom.space.errors import Infeasible
from archloom.studies.errors import UserError
from archloom.studies.storage.records import KeptNetworks, read_trials, record_line
from archloom.studies.storage.trial import Crash, Trial


def test_trials_are_what_was_written(finished_study: Path) -> None:
    trials = read_trials(finished_study)
    assert all(isinstance(trial.networks, KeptNetworks) for trial in trials)
    lines = (finished_study / "trials.jsonl").read_bytes().splitlines()
    assert trials == [Trial.from_dict(json.loads(line)) for line in lines]
    assert b"".join(map(record_line, trials)) == (finished_study / "trials.jsonl").read_bytes()


def test_texts_that_look_like_keys_are_texts(tmp_path: Path) -> None:
    tricky = '{},"networks":{"a":1},"curve":{}'
    trial = Trial(
        number=0,
        batch=0,
        state="failed",
        rounds=1,
        point=None,
        hardware=tricky,
        area_mm2=1.0,
        tdp_w=1.0,
        edp_js=None,
        reason=Infeasible(tricky, tricky, 1, 2, "", tricky),
        crash=Crash(tricky, tricky, tricky),
        curve=Curve((1,), (2.0,)),
    )
    (tmp_path / "trials.jsonl").write_bytes(record_line(trial))
    assert read_trials(tmp_path) == [trial]


def test_damaged_software_is_named_when_it_is_looked_at(
    finished_study: Path, tmp_path: Path
) -> None:
    copytree(finished_study, tmp_path / "study")
    path = tmp_path / "study" / "trials.jsonl"
    path.write_text(path.read_text().replace('"mappings"', '"mappngs"', 1))
    first, second, *_ = read_trials(tmp_path / "study")
    assert second.networks
    with pytest.raises(UserError, match=r"software of a trial .* is damaged; the journal has"):
        list(first.networks)
