"""Published figures of chips: the model stays in its bands, and the page is what it computes."""

import json

import pytest
from click.testing import CliRunner

from archloom.studies.analysis.published_chips.catalogue import PAGE as CHIPS, built_in
from archloom.studies.analysis.published_chips.chip_files import (
    chip_chapter,
    own_chips,
    read_chip,
)
from archloom.studies.analysis.published_chips.chip_files.mapping_part import written_cost
from archloom.studies.analysis.published_chips.eyeriss_v2_networks import REFILL
from archloom.studies.analysis.published_chips.figures import Figure
from archloom.studies.commands.cli import app
from archloom.studies.commands.published import chips
from archloom.studies.commands.published.all_chips import Counts, is_explained, is_far
from archloom.studies.commands.published.chip_pages import HEAD, markdown, page
from archloom.studies.commands.published.chips import chapters
from archloom.studies.config import find_hardware

from ....source_tree import ROOT

PAGE = ROOT / "docs" / "validation" / "validation.md"


#: chips with a page of their own
OTHERS = [name for name in built_in() if name not in CHIPS]


@pytest.fixture(scope="module")
def computed():
    """What ``archloom validate --all`` prints, and the chapters, which take long to compute."""
    found = {}

    def noted(sources, console):
        made = chapters(sources, console)
        found.update(zip(map(str, sources), made, strict=True))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chips, "chapters", noted)
        done = CliRunner().invoke(app, ["validate", "--all"])
    assert done.exit_code == 0, done.output
    return done.stdout, found


@pytest.fixture(scope="module")
def everything(computed):
    _, found = computed
    assert set(found) == {*CHIPS, *OTHERS}
    return {name: found[name] for name in (*CHIPS, *OTHERS)}


@pytest.fixture(scope="module")
def found(everything):
    return [everything[name] for name in CHIPS]


def test_every_band_holds(everything):
    figures = [(name, f) for name, chapter in everything.items() for f in chapter.figures]
    assert [(name, f.name) for name, f in figures if not f.holds] == []
    assert [(name, f.name) for name, f in figures if not (f.source and f.reason)] == []
    # a chip that nothing is checked of is no chip that we are held to
    checked = {name for name, f in figures if f.band is not None}
    assert set(everything) - checked == {"scnn", "dual_side_tensor_core"}


def test_the_table_of_all_has_the_switch_that_explains_most(computed):
    text = " ".join(computed[0].split())
    assert "ResNet-50, inferences/s 0.275 1.098: 102 GB/s" in text
    assert "with a switch" in text


def test_the_page_is_what_the_command_writes(everything):
    text = markdown(everything)
    assert text.startswith(HEAD)
    assert PAGE.read_text() == text
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert len(rows) == len(everything)
    for (name, chapter), row in zip(everything.items(), rows, strict=True):
        cells = [cell.strip() for cell in row.split(" | ")]
        assert chapter.title in cells[0], name
        assert cells[1] == str(len(chapter.figures))
        far = max(max(f.ratio, 1 / f.ratio) for f in chapter.figures)
        shown = float(cells[7].split(" ")[0])
        assert max(shown, 1 / shown) == pytest.approx(far, rel=0.01)


def test_every_figure_that_is_far_off_is_explained(everything):
    """Who adds one that is not lists it here, and says in its reason what remains, and why."""
    figures = [(name, f) for name, chapter in everything.items() for f in chapter.figures]
    left = {(name, f.name) for name, f in figures if is_far(f) and not is_explained(f)}
    assert left == set()
    counts = Counts.of([f for _, f in figures])
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"Of its {counts.figures} figures {counts.far} have no allowed range" in readme
    explained = "all" if counts.explained == counts.far else str(counts.explained)
    assert f"explains {explained} of them" in readme
    # figures that show a switch belong to one that has it
    names = {(name, f.name): f for name, f in figures}
    for name, f in figures:
        assert not f.effect_of or names[name, f.effect_of].switched, (name, f.name)


def test_what_the_page_says_of_a_stage_of_eyeriss_v2(everything):
    chapter = everything["eyeriss_v2"]
    assert "one more or less changes these ratios by 2 to 4%" in " ".join(chapter.text.split())
    named = {f.name: f.ratio for f in chapter.figures}
    windows = {n: r for n, r in named.items() if n.endswith("PEs wait for windows")}
    assert len(windows) == 3
    for name, ratio in windows.items():
        refilled = named[name.replace("PEs wait for windows", "pipelines refilled")]
        a_stage = (1 / refilled - 1 / ratio) / REFILL * refilled
        assert 0.02 < a_stage < 0.04, name


@pytest.mark.parametrize("name", OTHERS)
def test_pages_of_chips_are_what_the_command_writes(everything, name):
    assert (PAGE.parent / f"{name}.md").read_text() == page(everything[name], name)


def test_json_has_every_figure(found):
    answer = CliRunner().invoke(app, ["validate", "--json"])
    assert answer.exit_code == 0
    chips = json.loads(answer.stdout)
    assert [c["title"] for c in chips] == [c.title for c in found]
    assert [f["ours"] for c in chips for f in c["figures"]] == [
        f.ours for c in found for f in c.figures
    ]


@pytest.mark.parametrize("name", ["conv1", "conv2", "conv3", "conv4", "conv5"])
def test_steps_are_those_of_the_active_pes(name):
    """MACs over cycles are the PEs that work on average: at most those of the chip's table."""
    active = {"conv1": 154, "conv2": 135, "conv3": 156, "conv4": 156, "conv5": 156}[name]
    cost = cost_of(name, {})
    assert 0.93 * active < cost.operations / cost.chip_cycles <= active


def test_zeros_save_power_and_wires_cost_it():
    plain = cost_of("conv4", {}).dynamic_pj
    gated = cost_of("conv4", {"effects.input_zeros": "gated"}).dynamic_pj
    wired = cost_of("conv4", {"effects.network": "mesh"}).dynamic_pj
    assert gated < plain < wired


def cost_of(name, changes):
    """Return the cost of a layer of AlexNet on the preset with changes."""
    chip = read_chip(own_chips()["eyeriss_alexnet"])
    (row,) = (row for row in chip.layers if row.name == name)
    layer = chip.network.network.layers[row.layers[0]]
    hardware = find_hardware("eyeriss", [], None, None, changes=changes).hardware
    return written_cost(row.mapping, layer, row.density, hardware)


def test_the_page_of_vgg_is_what_the_command_writes():
    answer = CliRunner().invoke(app, ["validate", "eyeriss_vgg16", "--markdown"])
    assert answer.exit_code == 0
    assert (PAGE.parent / "eyeriss_vgg16.md").read_text() == answer.stdout


def test_what_the_page_of_vgg_says_of_eight_words_a_cycle(found, tmp_path):
    """conv3 leaves its range on AlexNet, and no other layer changes."""
    text = own_chips()["eyeriss_alexnet"].read_text()
    change = "effects.input_zeros: gated"
    assert f"{change}}}" in text
    path = tmp_path / "narrow.yaml"
    path.write_text(text.replace(f"{change}}}", f"{change}, levels.glb.bandwidth_words: 8}}"))
    narrow, plain = chip_chapter(read_chip(path)), found[0]
    times = [
        (f.name, round(f.ratio, 3), round(g.ratio, 3))
        for f, g in zip(narrow.figures, plain.figures, strict=True)
        if "processing" in f.name and f.ours != g.ours
    ]
    assert times == [("conv3, processing, ms", 1.015, 0.879)]
    text = (PAGE.parent / "eyeriss_vgg16.md").read_text()
    assert "the processing time of conv3 becomes 1.015 of the chip's (from 0.879)" in text


def test_words_a_cycle_of_the_chip_on_vgg_are_those_that_its_file_assumes():
    """Buffer traffic over time, 16-bit words at 200 MHz (table VI)."""
    for row in read_chip(own_chips()["eyeriss_vgg16"]).layers[:10]:
        traffic, time = (row.figures[key].measured for key in ("glb_mb", "latency_ms"))
        assert 7.4 <= round(traffic * 1e6 / 2 / (time * 1e-3 * 200e6), 1) <= 7.7


def test_a_ratio_outside_its_band_does_not_hold():
    assert not Figure("x", 1.1, 1.0, "s", (0.8, 1.0), "r").holds
    assert Figure("x", 1.0, 1.0, "s", (0.8, 1.0), "r").holds
    assert Figure("x", 9.0, 1.0, "s", None, "r").holds


def says(found, *texts):
    text = " ".join(found.text.split())
    for said in texts:
        assert said in text


def ratios(found, part):
    return {f.name: f.ratio for f in found.figures if part in f.name}


def test_text_of_tpu_v1(everything):
    found = everything["tpu_v1"]
    tops = {
        name.split(",")[0]: r for name, r in ratios(found, "TOP/s").items() if "peak" not in name
    }
    says(found, "with tiles loaded whole, the ratio is 1.42 instead of 2.33")
    assert round(tops["LSTM1"], 2) == 2.33
    assert round(tops["LSTM1 in whole tiles of 256 x 256"], 2) == 1.42
    says(found, "The chip takes 7 to 18% more")
    near = [tops[name] for name in ("MLP0", "MLP1", "LSTM0", "CNN0")]
    assert (round(min(near), 2), round(max(near), 2)) == (1.07, 1.18)
    # 600 x 600 of 768 x 768
    says(found, "fill 61% of the tiles")
    assert round(600**2 / 768**2, 2) == 0.61


def test_text_of_coral(everything):
    found = everything["edge_tpu_coral"]
    figures = {f.name.split(",")[0]: f for f in found.figures}
    says(found, "it is 9% and 19% below the published one")
    assert round(figures["ResNet-50"].ratio, 2) == 0.91
    assert round(figures["VGG-16"].ratio, 2) == 0.81
    small = ("MobileNet v1", "MobileNet v2", "SqueezeNet 1.0", "Inception v1")
    says(found, "quarter of the lanes, 1 TOP/s, would be faster than the published times")
    assert all(
        figures[name].switched["quarter of the lanes"] < figures[name].theirs for name in small
    )


def test_texts_of_simba(everything):
    found = everything["simba_package"]
    rates = [f for f in found.figures if "inferences/s" in f.name]
    says(found, "up to 5.5 times too fast", "both published throughputs within 20%")
    fastest = max(f.switched["any memory"] / f.theirs for f in rates)
    assert round(fastest, 1) == 5.5
    assert all(0.8 < f.switched["102 GB/s"] / f.theirs < 1.2 for f in rates)
    chiplet = {f.name: f.ours for f in everything["simba_chiplet"].figures}
    says(everything["simba_chiplet"], "the model has 2.1 mm2")
    assert round(chiplet["area of the die, mm2"], 1) == 2.1


def test_text_of_the_first_paper_of_eyeriss(everything):
    found = everything["eyeriss_isca16"]
    dram = {f.name[:5]: f for f in found.figures if f.name.startswith("conv") and "DRAM" in f.name}
    says(found, "up to 1.7 times less", "conv2 to conv5 read more than in the paper")
    assert round(max(1 / f.ratio for f in dram.values()), 1) == 1.7
    twice = {name: f.switched["tiles held twice"] / f.theirs for name, f in dram.items()}
    assert [name for name, ratio in twice.items() if ratio < 1] == ["conv1"]
    # 2,473,392 inputs, 4,646,400 outputs and 34,848 weights of 200 units, 16 images
    assert dram["conv1"].ours == pytest.approx(200e-9 * (2_473_392 + 4_646_400 + 34_848), rel=0.001)
