"""Studies of imperfect factors and of sparse networks can be taken apart like others."""

from pathlib import Path

import pytest

from archloom.studies.analysis.details import trial_details
from archloom.studies.analysis.study_view import load_view
from archloom.studies.config.errors import ConfigError
from archloom.studies.config.study_config import load_config

from ...cases.studies import TINY, run_here, tiny_config, without_breakdowns, write_study

SHORT = TINY.replace("trials: 10", "trials: 2").replace("batch_size: 6", "batch_size: 2")


@pytest.mark.parametrize(
    ("key", "factors"), [("factors: padded", "padded"), ("factors: imperfect", "imperfect")]
)
def test_trials_are_priced_from_their_record(tmp_path: Path, key: str, factors: str) -> None:
    text = SHORT.replace("evaluations: 40}", f"evaluations: 40, {key}}}")
    records = run_here(tiny_config(tmp_path, text), tmp_path / "study")
    old = without_breakdowns(tmp_path / "study", tmp_path / "old")
    for number, record in enumerate(records):
        details = trial_details(tmp_path / "study", number)
        assert details == trial_details(old, number), "recorded, and evaluated again"
        assert details["networks"][0]["energy_pj"] == record.networks["tiny_cnn"].energy_pj
    facts = dict(load_view(tmp_path / "study").facts)
    assert facts["mapping search"] == f"random (40 per layer, {factors} factors)"


def test_sparse_networks_are_priced_from_their_record(tmp_path: Path) -> None:
    records = run_here(
        tiny_config(tmp_path, SHORT + "density: {weights: 0.5, inputs: 0.25}\n"), tmp_path / "study"
    )
    details = trial_details(tmp_path / "study", 0)
    assert details["edp_js"] == records[0].edp_js
    assert details == trial_details(without_breakdowns(tmp_path / "study", tmp_path / "old"), 0)


def test_unknown_factors_are_named_with_the_nearest(tmp_path: Path) -> None:
    text = TINY.replace("evaluations: 40}", "evaluations: 40, factors: imperfct}")
    with pytest.raises(ConfigError, match=r"software\.factors: .*did you mean imperfect\?"):
        load_config(write_study(tmp_path, text))
