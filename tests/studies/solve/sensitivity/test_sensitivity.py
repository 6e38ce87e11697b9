"""What assumed values decide: closed forms, and what designs share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from archloom.evaluators.hardware import hardware_cost
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.networks import network
from archloom.studies.config.hardware_reference import HardwareVariants, find_hardware
from archloom.studies.engine.progress import SILENT
from archloom.studies.solve.sensitivity.designs import sensitivity
from archloom.studies.solve.sensitivity.pooled_mappings import Figures, MappingsEffort, figures_of
from archloom.studies.solve.sensitivity.result import METRICS, Effect, Sensitivity

FEW = MappingsEffort(evaluations=200)

#: a word of DRAM takes 64 cycles, and nothing else takes long; the buffer holds all of tiny_mlp
SLOW_DRAM = """\
technology: cacti_45nm
dram: lpddr4
define:
  rows: 4
  columns: 4
frequency_mhz: 200
word_bits: 8
pe_mesh: ["= columns", "= rows"]
vector_lanes: 16
levels:
  - {name: spad, storage: register, keeps: [weights, inputs, outputs],
     mesh: ["= columns", "= rows"], capacity_bytes: {weights: 8, inputs: 8, outputs: 8},
     bandwidth_words: 4}
  - {name: glb, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: 65536, bandwidth_words: 1024, width_words: 8}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: 0.015625}
assumptions:
  dram: to be seen
  levels.dram.bandwidth_words: to be seen
  levels.glb.bandwidth_words: to be seen
  levels.spad.capacity_bytes.weights: to be seen
  define.columns: {reason: a square, product_with: define.rows}
"""

Found = Callable[..., Sensitivity]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Returns what is found for a template on networks."""

    def of(text: str, *networks: str, factor: float = 2.0) -> Sensitivity:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        chosen = find_hardware(str(path), [], None, None)
        named = [network(name) for name in networks]
        return sensitivity(chosen.hardware, HardwareVariants(chosen), named, FEW, factor)

    return of


def effect_of(result: Sensitivity, key: str) -> Effect:
    return next(one for one in result.effects if one.assumed.mark.key == key)


def changes(result: Sensitivity, key: str) -> list[list[float]]:
    """Return the changes of all figures, with less and with more of a value."""
    effect = effect_of(result, key)
    return [
        [result.change(one, metric, 0) for metric in METRICS] for one in (effect.less, effect.more)
    ]


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_where_dram_decides_latency_is_what_its_bandwidth_says(found: Found, factor: float) -> None:
    result = found(SLOW_DRAM, "tiny_mlp", factor=factor)
    less, more = changes(result, "levels.dram.bandwidth_words")
    latency, energy, edp, _ = more
    assert latency == 1 / factor - 1
    # the chip leaks for a shorter time
    assert 1 / factor - 1 < energy < 0
    assert 1 + edp == pytest.approx((1 + latency) * (1 + energy))
    assert less[0] == factor - 1
    assert less[1] > 0
    effect = effect_of(result, "levels.dram.bandwidth_words")
    assert effect.more.values == {"levels.dram.bandwidth_words": 0.015625 * factor}


def test_what_decides_nothing_changes_nothing(found: Found) -> None:
    result = found(SLOW_DRAM, "tiny_mlp")
    assert [row[0] for row in changes(result, "levels.glb.bandwidth_words")] == [0, 0]
    keys = [one.assumed.mark.key for one in result.deciding(0)]
    assert keys[0] == "levels.dram.bandwidth_words"
    assert "levels.glb.bandwidth_words" not in keys
    assert [one.assumed.mark.key for one in result.ranked(0)][-1] == "dram"
    assert sorted(map(id, result.ranked())) == sorted(map(id, result.effects))


def test_area_is_that_of_the_other_design(found: Found) -> None:
    result = found(SLOW_DRAM, "tiny_mlp")
    effect = effect_of(result, "levels.spad.capacity_bytes.weights")
    text = SLOW_DRAM.replace("weights: 8", "weights: 16")
    other = found(text, "tiny_mlp").hardware
    assert effect.more.area_mm2 == hardware_cost(other).area_mm2 > result.base.area_mm2


def test_a_product_that_is_known_stays(found: Found) -> None:
    effect = effect_of(found(SLOW_DRAM, "tiny_mlp"), "define.columns")
    assert effect.less.values == {"define.columns": 2, "define.rows": 8}
    assert effect.more.values == {"define.columns": 8, "define.rows": 2}
    text = SLOW_DRAM.replace("rows: 4", "rows: 3")
    refused = effect_of(found(text, "tiny_mlp"), "define.columns")
    assert refused.more.refused == "no other whole numbers have the product 12"
    assert not refused.less.refused


def test_texts_are_not_varied(found: Found) -> None:
    effect = effect_of(found(SLOW_DRAM, "tiny_mlp"), "dram")
    assert not effect.varied
    assert effect.less.refused == effect.more.refused == "it is not a number"


def test_hardware_that_cannot_be_is_told_in_a_few_words(found: Found) -> None:
    text = SLOW_DRAM.replace("width_words: 8", "width_words: 8, multiple_buffering: 1.5")
    result = found(text + "  levels.glb.multiple_buffering: to be seen\n", "tiny_mlp")
    effect = effect_of(result, "levels.glb.multiple_buffering")
    assert effect.less.refused.startswith("level glb: multiple_buffering must be")
    assert effect.less.runs == ()
    assert not effect.more.refused
    assert result.largest(effect, 0) < 1


def test_a_network_that_cannot_run_with_another_value_decides(found: Found) -> None:
    text = SLOW_DRAM.replace("weights: 8, inputs: 8", "weights: 1, inputs: 2")
    text = text.replace("spad.capacity_bytes.weights", "spad.capacity_bytes.inputs")
    text = text.replace("word_bits: 8", "word_bits: 16").replace("weights: 1,", "weights: 2,")
    result = found(text, "tiny_mlp")
    effect = effect_of(result, "levels.spad.capacity_bytes.inputs")
    assert isinstance(effect.less.runs[0], Infeasible)
    assert result.largest(effect, 0) == float("inf")
    assert result.deciding(0)[0] is effect


def test_a_network_that_cannot_run_at_all_is_told(found: Found) -> None:
    text = SLOW_DRAM.replace("weights: 8, inputs: 8", "weights: 8, inputs: 1")
    with pytest.raises(InfeasibleError, match="spad"):
        found(text.replace("word_bits: 8", "word_bits: 16"), "tiny_mlp")


def test_the_same_seed_gives_the_same_results(found: Found) -> None:
    first, again = (found(SLOW_DRAM, "tiny_cnn", "tiny_mlp") for _ in range(2))
    assert first.base == again.base
    assert [(one.less, one.more) for one in first.effects] == [
        (one.less, one.more) for one in again.effects
    ]


def test_networks_do_not_change_each_other(found: Found) -> None:
    both = found(SLOW_DRAM, "tiny_cnn", "tiny_mlp")
    alone = found(SLOW_DRAM, "tiny_mlp")
    for one, other in zip(both.effects, alone.effects, strict=True):
        assert one.more.runs[1:] == other.more.runs


def test_no_design_is_worse_than_the_mappings_of_another_make_it() -> None:
    """With few evaluations each search finds another mapping; more bandwidth never costs any."""
    chosen = find_hardware("tpu_v3", [], None, None)
    variants = HardwareVariants(chosen)
    one = next(v for v in variants.assumed if v.mark.key == "levels.vmem.bandwidth_words")
    designs = [variants.built(one.scaled(factor)) for factor in (0.25, 0.5, 2, 4)]
    designs.insert(2, chosen.hardware)
    effort = MappingsEffort("random", 30, 3)
    runs = figures_of(network("tiny_cnn"), designs, effort, SILENT)
    edps = [run.edp_js for run in runs if isinstance(run, Figures)]
    assert len(edps) == len(designs)
    assert edps == sorted(edps, reverse=True)
    alone = [figures_of(network("tiny_cnn"), [design], effort, SILENT)[0] for design in designs]
    assert all(
        both.edp_js <= own.edp_js
        for both, own in zip(runs, alone, strict=True)
        if isinstance(both, Figures) and isinstance(own, Figures)
    )
