"""``archloom schedule`` on a template whose buffer is read for results that go to DRAM."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from archloom.evaluators.hardware import access_costs
from archloom.space.design_space.presets import preset
from archloom.space.workload.dims import OUTPUTS
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError

from ...source_tree import ROOT

DESIGNS = ROOT / "space" / "design_space"


def scheduled(template: Path, fusion: str) -> dict[str, float]:
    arguments = ("tiny_cnn", "--hardware", str(template), "--fusion", fusion, "--json")
    done = CliRunner().invoke(app, ["schedule", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("fusion", ["none", "joint"])
def test_a_template_may_count_reads_of_results_that_leave(fusion: str, tmp_path: Path) -> None:
    text = (DESIGNS / "accelerators" / "fast_small.yaml").read_text()
    plain, counted = tmp_path / "plain.yaml", tmp_path / "counted.yaml"
    plain.write_text(text)
    counted.write_text(f"{text}\neffects: {{drain_reads: counted}}\n")
    before, after = (scheduled(template, fusion) for template in (plain, counted))
    hardware = preset("fast_small")
    each = access_costs(hardware).read_pj[-2, OUTPUTS] / hardware.levels[-2].width_words
    # mappings are proven, and at least what leaves the network is read once more
    assert after["energy_pj"] >= before["energy_pj"] + 10 * each


def test_a_buffer_that_may_be_bypassed_is_told(tmp_path: Path) -> None:
    template = tmp_path / "loose.yaml"
    text = (DESIGNS / "templates" / "fast.yaml").read_text()
    template.write_text(f"{text}\neffects: {{drain_reads: counted}}\n")
    done = CliRunner().invoke(app, ["hardware", str(template)])
    assert isinstance(done.exception, UserError), done.output
    assert "drain_reads counted needs an on-chip level" in str(done.exception)
    assert "may be bypassed; choose free" in str(done.exception)
