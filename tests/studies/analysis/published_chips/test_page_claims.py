"""Numbers in the texts of chips' pages are those of the figures below them."""

import pytest

from archloom.studies.analysis.published_chips.chip_files.chapter import chip_chapter
from archloom.studies.analysis.published_chips.chip_files.chip_file import own_chips, read_chip
from archloom.studies.analysis.published_chips.figures import Chapter


def chapter(name: str) -> Chapter:
    return chip_chapter(read_chip(own_chips()[name]))


def says(found: Chapter, *texts: str) -> None:
    text = " ".join(found.text.split())
    for said in texts:
        assert said in text


def ratios(found: Chapter, part: str) -> dict[str, float]:
    return {f.name: f.ratio for f in found.figures if part in f.name}


def test_tpu_v1() -> None:
    found = chapter("tpu_v1")
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


def test_coral() -> None:
    found = chapter("edge_tpu_coral")
    figures = {f.name.split(",")[0]: f for f in found.figures}
    says(found, "it is 9% and 19% below the published one")
    assert round(figures["ResNet-50"].ratio, 2) == 0.91
    assert round(figures["VGG-16"].ratio, 2) == 0.81
    small = ("MobileNet v1", "MobileNet v2", "SqueezeNet 1.1", "Inception v1")
    more = [figures[name].theirs - figures[name].ours for name in small]
    says(found, "by 1.4 to 1.8 ms", "by 3.2 ms for Inception v1", "2.3 to 8 times too fast")
    assert (round(min(more[:3]), 1), round(max(more[:3]), 1)) == (1.4, 1.8)
    assert round(more[3], 1) == 3.2
    times = [1 / figures[name].ratio for name in small]
    assert (round(min(times), 1), round(max(times))) == (2.3, 8)
    # 1 TOP/s is still faster than the published times
    assert all(
        figures[name].switched["quarter of the lanes"] < figures[name].theirs for name in small
    )


def test_simba() -> None:
    found = chapter("simba_package")
    rates = [f for f in found.figures if "inferences/s" in f.name]
    says(found, "up to 5.5 times too fast", "both published throughputs within 20%")
    fastest = max(f.switched["any memory"] / f.theirs for f in rates)
    assert round(fastest, 1) == 5.5
    assert all(0.8 < f.switched["102 GB/s"] / f.theirs < 1.2 for f in rates)
    chiplet = {f.name: f.ours for f in chapter("simba_chiplet").figures}
    says(chapter("simba_chiplet"), "the model has 2.1 mm2")
    assert round(chiplet["area of the die, mm2"], 1) == 2.1


def test_the_first_paper_of_eyeriss() -> None:
    found = chapter("eyeriss_isca16")
    dram = {f.name[:5]: f for f in found.figures if f.name.startswith("conv") and "DRAM" in f.name}
    says(found, "up to 1.7 times less", "conv2 to conv5 read more than in the paper")
    assert round(max(1 / f.ratio for f in dram.values()), 1) == 1.7
    twice = {name: f.switched["tiles held twice"] / f.theirs for name, f in dram.items()}
    assert [name for name, ratio in twice.items() if ratio < 1] == ["conv1"]
    # 2,473,392 inputs, 4,646,400 outputs and 34,848 weights of 200 units, 16 images
    assert dram["conv1"].ours == pytest.approx(200e-9 * (2_473_392 + 4_646_400 + 34_848), rel=0.001)
