"""Published figures of chips: the model stays in its bands, and the page is what it computes."""

import json

import pytest
from click.testing import CliRunner

from archloom.space.hardware.effects import Effects
from archloom.studies.analysis.published_chips.eyeriss_alexnet import CHIP, layer_run
from archloom.studies.analysis.published_chips.figures import Figure
from archloom.studies.commands.cli import app
from archloom.studies.commands.published.validate import HEAD, chapters, markdown

from ....source_tree import ROOT

PAGE = ROOT / "docs" / "validation" / "validation.md"


@pytest.fixture(scope="module")
def found():
    return chapters()


def test_every_band_holds(found):
    figures = [f for chapter in found for f in chapter.figures]
    assert [f.name for f in figures if not f.holds] == []
    assert sum(f.band is not None for f in figures) == 22
    assert all(f.source and f.reason for f in figures)


def test_the_page_is_what_the_command_writes(found):
    text = markdown(found)
    assert text.startswith(HEAD)
    assert PAGE.read_text() == text


def test_json_has_every_figure(found):
    answer = CliRunner().invoke(app, ["validate", "--json"])
    assert answer.exit_code == 0
    chips = json.loads(answer.stdout)
    assert [c["title"] for c in chips] == [c.title for c in found]
    assert [f["ours"] for c in chips for f in c["figures"]] == [
        f.ours for c in found for f in c.figures
    ]


@pytest.mark.parametrize("name", CHIP)
def test_steps_are_those_of_the_active_pes(name):
    """MACs over cycles are the PEs that work on average: at most those of the chip's table."""
    active = {"conv1": 154, "conv2": 135, "conv3": 156, "conv4": 156, "conv5": 156}[name]
    cost, _ = layer_run(name, Effects())
    assert 0.93 * active < cost.operations / cost.chip_cycles <= active


def test_zeros_save_power_and_wires_cost_it():
    _, plain = layer_run("conv4", Effects())
    _, gated = layer_run("conv4", Effects(input_zeros="gated"))
    _, wired = layer_run("conv4", Effects(network="mesh"))
    assert gated < plain < wired


def test_a_ratio_outside_its_band_does_not_hold():
    assert not Figure("x", 1.1, 1.0, "s", (0.8, 1.0), "r").holds
    assert Figure("x", 1.0, 1.0, "s", (0.8, 1.0), "r").holds
    assert Figure("x", 9.0, 1.0, "s", None, "r").holds
