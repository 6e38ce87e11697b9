from dataclasses import replace
from math import inf, prod

import pytest

from archloom.space.design_space.presets import preset, with_technology, with_word_bits
from archloom.space.design_space.shipped import PRESETS
from archloom.space.hardware.effects import AccessEnergy


@pytest.mark.parametrize(
    ("name", "macs", "peak_tops", "on_chip_kib", "dram_gbytes_per_s"),
    [
        # 168 PEs, 33.6 to 84 GOPS at 100 to 250 MHz; 181.5 KiB of SRAM, and the registers
        ("eyeriss", 168, 0.0672, 181.5 + 168 * 72 / 1024, 6.4),
        # 153.6 GOPS of 384 MACs; 192 kB, and scratchpads of 192 + 16 + 80 bytes
        ("eyeriss_v2", 384, 0.1536, 192 + 192 * 288 / 1024, 25.6),
        # 64 PEs at 1 GHz; 288 kB less 32 kB of instructions, and the registers
        ("shidiannao", 64, 0.128, 256 + 64 * 52 / 1024, 6.4),
        # 8.73 TOPS; 16 PEs with 384 + 32 kB, and the registers
        ("edgetpu", 4096, 8.73, 16 * (384 + 32) + 1024 * 40 / 1024, 32),
        # 123 TFLOPS, 2 x 16 MiB; accumulators and latches
        ("tpu_v3", 65536, 123, 2 * 16 * 1024 + 4 * 1024 + 65536 * 4 / 1024, 900),
        # 131 and 32 TFLOPS, 128 and 8 MiB; L1 and latches
        ("fast_large", 65536, 131, 128 * 1024 + 64 * 64 + 65536 * 4 / 1024, 448),
        # 4.01 TOPS; 64 kB, 16 PEs with 32 + 8 kB and 1024 sums, and the registers
        ("simba", 1024, 4.01, 64 + 16 * (32 + 8 + 1) + 1024 * 2 / 1024, 25.6),
        ("fast_small", 16384, 32.8, 8 * 1024 + 8 * 64 + 16384 * 4 / 1024, 448),
    ],
)
def test_published_figures(
    name: str, macs: int, peak_tops: float, on_chip_kib: float, dram_gbytes_per_s: float
) -> None:
    chip = preset(name)
    assert chip.name == name
    assert chip.macs == macs
    assert 2 * chip.macs * chip.frequency_mhz / 1e6 == pytest.approx(peak_tops, rel=0.002)
    assert chip.on_chip_bytes / 1024 == pytest.approx(on_chip_kib)
    assert chip.dram_gbytes_per_s == pytest.approx(dram_gbytes_per_s)


def test_presets_are_in_the_technology_of_their_chips() -> None:
    tables = {name: preset(name).technology for name in PRESETS}
    assert tables == {
        "eyeriss": "eyeriss_65nm",
        "eyeriss_v2": "eyeriss_65nm",
        "shidiannao": "cacti_65nm",
        "edgetpu": "n16",
        "simba": "n16",
        "tpu_v3": "n16",
        "fast_large": "n7",
        "fast_small": "n7",
    }


@pytest.mark.parametrize("name", PRESETS)
def test_another_technology_changes_nothing_else(name: str) -> None:
    chip = preset(name)
    other = with_technology(chip, "cacti_45nm")
    assert other.technology == "cacti_45nm"
    assert with_technology(other, chip.technology) == chip


@pytest.mark.parametrize(
    ("name", "ridge"), [("tpu_v3", 137), ("fast_large", 292), ("fast_small", 73)]
)
def test_ridges_are_those_of_fast(name: str, ridge: float) -> None:
    """FAST Table 4, in FLOP for each byte."""
    chip = preset(name)
    flops = 2 * chip.macs * chip.frequency_mhz * 1e6
    assert flops / (chip.dram_gbytes_per_s * 1e9) == pytest.approx(ridge, abs=0.6)


@pytest.mark.parametrize("name", PRESETS)
def test_the_memories_next_to_the_macs_can_feed_them(name: str) -> None:
    """Each MAC reads weight, input and partial sum and writes the partial sum every cycle.

    A tensor that a level shares along an axis of the array needs one word for all its MACs.
    """
    chip = preset(name)
    x, y = chip.array
    words = {"weights": x * y, "inputs": y, "outputs": 2 * x}
    pes = prod(chip.pe_mesh)
    for tensor, needed in words.items():
        level = next(lv for lv in chip.levels if tensor in lv.keeps)
        assert level.bandwidth_words * level.instances >= needed * pes


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("bits", [8, 16])
def test_another_word_width_keeps_the_bytes(name: str, bits: int) -> None:
    chip = preset(name)
    other = with_word_bits(chip, bits)
    assert other.word_bits == bits
    assert other.on_chip_bytes == chip.on_chip_bytes
    assert other.dram_gbytes_per_s == pytest.approx(chip.dram_gbytes_per_s)
    for level, before in zip(other.levels, chip.levels, strict=True):
        assert level.bandwidth_words * bits == pytest.approx(
            before.bandwidth_words * chip.word_bits
        )
        if before.width_words > 1:
            assert level.width_words * bits == before.width_words * chip.word_bits
        else:
            assert level.width_words == 1
    assert with_word_bits(chip, chip.word_bits) == chip


def test_ports_of_their_own_keep_their_bytes_and_tensors_their_width() -> None:
    chip = preset("eyeriss")
    glb = replace(
        chip.levels[1],
        read_bandwidth_words=6,
        tensor_bits=(("outputs", 32),),
        energy=AccessEnergy(1, 2, 3),
    )
    other = with_word_bits(replace(chip, levels=(chip.levels[0], glb, chip.levels[2])), 8)
    assert other.levels[1].read_bandwidth_words == 12
    assert other.levels[1].write_bandwidth_words == inf
    assert (other.bits(1, "outputs"), other.bits(1, "inputs")) == (32, 8)
    assert other.levels[1].energy == glb.energy


def test_impossible_widths_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match="word_bits must be at least 1, got 0"):
        with_word_bits(preset("eyeriss"), 0)
    with pytest.raises(ValueError, match="level glb: 12-bit words do not fill an access of 64"):
        with_word_bits(preset("eyeriss"), 12)
    with pytest.raises(ValueError, match="preset 'eyris' is not known; did you mean eyeriss"):
        preset("eyris")
