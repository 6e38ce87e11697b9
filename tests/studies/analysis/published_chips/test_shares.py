"""Shares in chip files that follow from published values and the model's, and what pages say."""

import math
from collections.abc import Mapping

import pytest

from archloom.evaluators.hardware import hardware_cost
from archloom.evaluators.technology import technology
from archloom.space.networks import network
from archloom.studies.analysis.published_chips import Chapter, built_in
from archloom.studies.analysis.published_chips.chip_files import own_chips, read_chip
from archloom.studies.analysis.published_chips.chip_files.chip_file import ChipFile
from archloom.studies.analysis.published_chips.figures import Figure


def chip(name: str) -> ChipFile:
    return read_chip(own_chips()[name])


def shares(found: ChipFile, key: str) -> dict[str, float]:
    return {name: lack.share for name, lack in found.chip[key].lacks.items()}


def chapter(name: str) -> Chapter:
    return built_in()[name](lambda *_: None)


def figures(found: Chapter) -> Mapping[str, Figure]:
    return {f.name: f for f in found.figures}


def with_switch(figure: Figure, name: str) -> float:
    return round(figure.switched[name] / figure.theirs, 2)


def test_shares_of_tpu_v4i_are_published_values_without_what_the_model_has() -> None:
    found = chip("tpu_v4i")
    design = found.hardware.design
    cost, table = hardware_cost(design), technology("n7")
    parts = cost.area_breakdown_mm2
    beside = sum(v for k, v in parts.items() if k not in ("cmem", "macs", "dram phy"))
    area = shares(found, "area_mm2")
    assert area == pytest.approx(
        {"parts beside CMEM and arrays": 1 - 0.28 - 0.11 - beside / 400}, abs=1e-3
    )
    # the factor from 45 to 7 nm is that of the table's own multiplier (282 um2 at 45 nm)
    scaled = dict(table.multiply_um2)[8] / 282 * table.layout_factor
    units = design.macs * (1640 + 4184) * scaled * 1e-6
    assert shares(found, "mac_area_mm2") == pytest.approx(
        {"floating-point units": (units - parts["macs"]) / 44}, abs=2e-3
    )
    watts = cost.tdp_breakdown_w
    more = design.macs * design.frequency_mhz * 1e-6 * (0.21 + 0.38 - table.mac_pj(16))
    lanes, clock_hz = design.vector_lanes, design.frequency_mhz * 1e6
    registers = design.macs * (16 + 32 / 4) * table.register_pj_per_bit * 1e-12 * clock_hz
    (cmem,) = (level for level in design.levels if level.name == "cmem")
    bits_per_s = cmem.bandwidth_words * design.word_bits * clock_hz
    assert bits_per_s == pytest.approx(2.048e12 * 8)
    # 20 mm by 20 mm
    wires = bits_per_s * math.sqrt(400) / 2 * 0.2e-12 * 0.75**2 / 4
    assert lanes == 2048
    vector = lanes * (1.31 + 0.38) / 2 * 1e-12 * clock_hz - watts["vector unit"]
    assert shares(found, "tdp_w") == pytest.approx(
        {
            "idle power": (55 - watts["leakage"]) / 175,
            "floating-point units": more / 175,
            "vector unit at work": vector / 175,
            "registers between MACs": registers / 175,
            "wires to CMEM": wires / 175,
        },
        abs=1e-4,
    )
    said = " ".join(found.about.split())
    assert "of which the model has 7%" in said
    assert round(100 * beside / 400) == 7
    assert "make 756 um2 for each MAC, where the table's integer MAC takes 147" in said
    assert round(units / design.macs * 1e6) == pytest.approx(756, abs=1)
    assert round(parts["macs"] / design.macs * 1e6) == 147
    assert "18% of the TDP are left unexplained" in said
    assert round(cost.tdp_w / 175 + sum(shares(found, "tdp_w").values()), 2) == 0.82


def test_the_share_of_simba_is_what_its_peak_over_area_leaves_of_the_die() -> None:
    (share,) = shares(chip("simba_chiplet"), "area_mm2").values()
    assert share == pytest.approx(1 - 4.01 / 1.29 / 6, abs=1e-3)


#: bytes that cross the link of Coral's accelerator for an image: instructions, weights that were
#: not kept, image and result
CORAL_BYTES = {
    "MobileNet v1": (225_824, 0, 150_528, 1_008),
    "MobileNet v2": (261_920 + 10_224, 0, 150_528, 1_008),
    "Inception v1": (254_656 + 103_200, 393_664, 150_528, 1_008),
    "SqueezeNet 1.0": (225_824, 0, 150_528, 1_008),
}


def test_shares_of_coral_are_measured_sizes_at_the_rate_of_the_same_table() -> None:
    found, named = chip("edge_tpu_coral"), figures(chapter("edge_tpu_coral"))
    rows = {row.name: row for row in found.layers if row.figures["latency_ms"].lacks}
    assert list(rows) == list(CORAL_BYTES)
    # bytes of VGG-19 without those of VGG-16, in the time of the one without that of the other
    bytes_per_ms = (143_667_240 - 138_357_544) / (357 - 343)
    for name, parts in CORAL_BYTES.items():
        measured = rows[name].figures["latency_ms"]
        link, start = measured.lacks.values()
        assert link.share * measured.measured == pytest.approx(sum(parts) / bytes_per_ms, rel=2e-3)
        assert start.share * measured.measured == pytest.approx(0.21, rel=1e-3)
    assert next(
        iter(rows["SqueezeNet 1.0"].figures["latency_ms"].lacks.values())
    ).source.startswith("assumption")
    said = " ".join(found.about.split())
    assert "226 KB for MobileNet v1, 272 KB for v2" in said
    assert "358 KB for Inception v1" in said
    assert "leaves 394 KB with the host" in said
    assert "Both are 0.38 GB/s" in said
    assert round(bytes_per_ms * 1e-6, 2) == 0.38
    assert round((60_380_648 - 25_613_800) / (151 - 59) * 1e-6, 2) == 0.38
    both = "transfers for each image and start of a run"
    ratios = [with_switch(named[f"{name}, latency, ms"], both) for name in CORAL_BYTES]
    assert "all four are within 14%" in said
    assert min(ratios) == 0.86
    assert max(ratios) < 1
    too_fast = [1 / named[f"{name}, latency, ms"].ratio for name in CORAL_BYTES]
    assert "the model is 2.3 to 4.4 times too fast" in said
    assert (round(min(too_fast), 1), round(max(too_fast), 1)) == (2.3, 4.4)


def test_times_on_the_cpu_tell_which_squeezenet_coral_ran() -> None:
    said = " ".join(chip("edge_tpu_coral").about.split())
    # 164 ms of MobileNet v1 in the same column
    rate = network("mobilenetv1").macs / 164
    assert "at the rate of MobileNet v1, 3.5 GMAC/s" in said
    assert round(rate * 1e-6, 1) == 3.5
    assert "version 1.0 takes 236 ms, version 1.1 takes 101 ms" in said
    assert [round(network(f"squeezenet1_{v}").macs / rate) for v in (0, 1)] == [236, 101]


def test_what_the_page_of_tpu_v1_says_of_its_cycles() -> None:
    found = chapter("tpu_v1")
    named, said = figures(found), " ".join(found.text.split())
    both = "weight shifts and cycles without the matrix unit"
    lstm1, cnn1 = named["LSTM1, achieved TOP/s"], named["CNN1, achieved TOP/s"]
    assert "the ratio of LSTM1 is 1.02" in said
    assert with_switch(lstm1, f"LSTM1 in whole tiles, {both}") == 1.02
    assert "With the counters' figure and both shares the ratio is 1.10" in said
    assert with_switch(cnn1, f"CNN1 by counters, {both}") == 1.10
    assert "without the counters' figure 1.43 are left" in said
    assert with_switch(cnn1, both) == 1.43
    # rows 1, 4, 5 and 6 of table 3 are all cycles: active, and those that wait for weights, are not
    # in the shares
    for name, active, weights in (("LSTM1 in whole tiles", 10.5, 62.1), ("CNN1", 46.2, 28.1)):
        row = next(row for row in chip("tpu_v1").layers if row.name == name)
        own = sum(lack.share for lack in row.figures["achieved_tops"].lacks.values())
        assert own == pytest.approx(1 - (active + weights) / 100, abs=1e-3)


def test_what_the_page_of_vgg_says_of_packed_maps_and_other_passes() -> None:
    found = chapter("eyeriss_vgg16")
    named, said = figures(found), " ".join(found.text.split())
    packed = {
        name.split(",")[0]: f.ratio for name, f in named.items() if "packed" in name and "_" in name
    }
    fitted = {name: ratio for name, ratio in packed.items() if " " not in name}
    off = {name for name, ratio in fitted.items() if not 1 / 1.16 < ratio < 1.16}
    assert "within 16% of the chip's in all layers but two" in said
    assert off == {"conv1_2", "conv4_3"}
    others = {name: ratio for name, ratio in packed.items() if " " in name}
    rows28 = [ratio for name, ratio in others.items() if name.startswith("conv4")]
    assert len(rows28) == 3
    assert "brings all three within 5%" in said
    assert all(0.95 < ratio < 1.05 for ratio in rows28)
    half = "conv1_2 in passes of half rows"
    assert "within 9%, with the buffer's traffic 6% high and the time 2% low" in said
    assert round(others[half], 2) == 1.08
    assert round(named[f"{half}, buffer traffic, MB"].ratio, 2) == 1.06
    assert round(named[f"{half}, processing, ms"].ratio, 2) == 0.98
