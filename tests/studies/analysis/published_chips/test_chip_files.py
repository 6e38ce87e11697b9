"""Chip files: what is computed for each figure, how remarks and switches work, and all mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from archloom.evaluators.hardware import access_costs, hardware_cost
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset, preset_file
from archloom.space.importers.cases.mapping import loops_of
from archloom.space.mapping.constraints import MappingConstraints
from archloom.space.networks.registry import network
from archloom.space.workload.dims import DIMS
from archloom.studies.analysis.published_chips.catalogue import built_in
from archloom.studies.analysis.published_chips.chip_files.chapter import chip_chapter
from archloom.studies.analysis.published_chips.chip_files.chip_file import (
    ChipFile,
    own_chips,
    read_chip,
)
from archloom.studies.analysis.published_chips.chip_files.hardware_part import HardwareNames
from archloom.studies.analysis.published_chips.chip_files.kinds import CHIP_KINDS, KINDS
from archloom.studies.analysis.published_chips.chip_files.mapping_part import MappingSearch
from archloom.studies.analysis.published_chips.chip_files.remarks import DEFAULT_ALLOWED, Measured
from archloom.studies.analysis.published_chips.figures import Chapter
from archloom.studies.analysis.published_chips.fixed_mappings import Pass, row_stationary
from archloom.studies.config.errors import ConfigError
from archloom.studies.config.sections import Reading
from archloom.studies.errors import UserError

from ....source_tree import ROOT

#: passes of conv3 and conv4 of AlexNet on Eyeriss (JSSC 2017, table III)
CONV3 = {"m": 64, "n": 4, "e": 13, "p": 16, "q": 4, "r": 1, "t": 4}
CONV4 = {"m": 64, "n": 4, "e": 13, "p": 16, "q": 3, "r": 2, "t": 2}
EYERISS: dict[str, Any] = {
    "source": "a bench",
    "hardware": "eyeriss",
    "network": {"network": "alexnet_original", "batch": 4},
}
ALEXNET = network("alexnet_original").with_batch(4)


def read(tmp_path: Path, **keys: Any) -> ChipFile:
    path = tmp_path / "chip.yaml"
    path.write_text(yaml.safe_dump({**EYERISS, **keys}, sort_keys=False))
    return read_chip(path)


def chapter(tmp_path: Path, **keys: Any) -> Chapter:
    return chip_chapter(read(tmp_path, **keys))


def ours(found: Chapter) -> dict[str, float]:
    return {figure.name: figure.ours for figure in found.figures}


def cost(name: str, shape: dict[str, int]) -> Any:
    hardware = preset("eyeriss")
    layer = ALEXNET.layers[ALEXNET.index(name)]
    mapping = row_stationary(layer, Pass(**shape), hardware)
    return mapped_cost(MappingProblem.of_layer(layer, hardware), mapping), mapping, layer


def test_every_figure_of_a_row_is_what_its_definition_says(tmp_path: Path) -> None:
    """Two layers together: sums, a mean power, and shares of all layers of the MAC array."""
    hardware = preset("eyeriss")
    keys = [*KINDS, "spad_mb", "glb_mb", "dram_mb"]
    found = ours(
        chapter(
            tmp_path,
            mapping={"search": "random", "evaluations": 20, "factors": "exact"},
            layers={
                "conv3": {"mapping": CONV3},
                "conv4": {"mapping": CONV4},
                "both": {"layers": ["conv4", "conv3"], **dict.fromkeys(keys, 1)},
            },
        )
    )
    (a, _, first), (b, _, second) = cost("conv3", CONV3), cost("conv4", CONV4)
    cycles = a.latency_cycles + b.latency_cycles
    macs = first.macs + second.macs
    seconds = cycles / 200e6
    leaked = access_costs(hardware).leakage_pj_per_cycle * cycles
    total = a.dynamic_pj + b.dynamic_pj + leaked
    chip = total - float(a.energy_pj[2].sum()) - float(b.energy_pj[2].sum())
    expected = {
        "latency, ms": seconds * 1e3,
        "latency, cycles": cycles,
        "power without DRAM, mW": chip * 1e-12 / seconds * 1e3,
        "power with DRAM, mW": total * 1e-12 / seconds * 1e3,
        "energy without DRAM, mJ": chip * 1e-9,
        "energy with DRAM, mJ": total * 1e-9,
        "utilisation, %": 100 * macs / cycles / 168,
        "share of MACs, %": 100 * macs / sum(v.macs for v in ALEXNET.layers if v.uses_macs),
        "spad traffic, MB": (a.words[0].sum() + b.words[0].sum()) * 2 / 1e6,
        "glb traffic, MB": (a.words[1].sum() + b.words[1].sum()) * 2 / 1e6,
        "DRAM traffic, MB": (a.words[2].sum() + b.words[2].sum()) * 2 / 1e6,
    }
    for name, value in expected.items():
        assert found[f"both, {name}"] == pytest.approx(value, rel=1e-12), name
    assert 0 < found["both, share of latency, %"] < 100
    assert len(found) == len(keys)


def test_figures_of_the_chip_are_those_of_the_hardware(tmp_path: Path) -> None:
    chip = dict.fromkeys(("area_mm2", "tdp_w", "peak_tops", "ridge_ops_per_byte"), 1)
    hardware, found = preset("eyeriss"), ours(chapter(tmp_path, chip=chip))
    parts = hardware_cost(hardware)
    assert found["area, mm2"] == pytest.approx(
        parts.area_mm2 - parts.area_breakdown_mm2.get("dram phy", 0.0)
    )
    assert found["TDP, W"] == parts.tdp_w
    # 168 MACs at 200 MHz, two operations each; 6.4 GB/s
    assert found["peak, TOP/s"] == pytest.approx(0.0672)
    assert found["ridge, operations/byte"] == pytest.approx(67.2 / 6.4)


def test_shares_of_all_layers_add_up(tmp_path: Path) -> None:
    keys = {"latency_share_percent": 1, "macs_share_percent": 1}
    found = ours(
        chapter(
            tmp_path,
            mapping={"search": "random", "evaluations": 20},
            layers={"conv": {"layers": "conv*", **keys}, "fc": {"layers": "fc?", **keys}},
        )
    )
    for name in ("share of latency, %", "share of MACs, %"):
        assert found[f"conv, {name}"] + found[f"fc, {name}"] == pytest.approx(100)


def test_a_mapping_may_be_written_in_three_forms(tmp_path: Path) -> None:
    _, mapping, _ = cost("conv4", CONV4)
    slots = {dim: place for place, dim in enumerate(DIMS)}
    loops = json.loads(json.dumps(loops_of(mapping, preset("eyeriss"), slots)))
    keys = {"latency_cycles": 1, "energy_mj": 1, "glb_mb": 1, "dram_mb": 1}
    found = [
        ours(chapter(tmp_path, layers={"conv4": {**keys, "mapping": written}}))
        for written in (CONV4, mapping.to_text(), loops)
    ]
    assert found[0] == found[1] == found[2]


def test_strips_and_passes_that_are_not_full_are_counted_exactly(tmp_path: Path) -> None:
    """A pass of 5 rows, 40 filters and 3 images: none of them divides the layer's 13, 192 and 4."""
    odd = {**CONV4, "e": 5, "m": 40, "p": 20, "n": 3}
    layers = {"conv4": {"latency_cycles": 1, "utilisation_percent": 100, "mapping": odd}}
    found = chapter(tmp_path, layers=layers).figures
    layer = ALEXNET.layers[ALEXNET.index("conv4")]
    assert found[1].ours == pytest.approx(100 * layer.macs / found[0].ours / 168)
    assert found[1].ours < 100


def test_a_search_finds_what_the_mapper_finds(tmp_path: Path) -> None:
    settings = {"search": "local", "evaluations": 300, "factors": "exact", "seed": 3}
    rules = {"dataflow": "row_stationary"}
    found = ours(
        chapter(
            tmp_path,
            mapping={**settings, "constraints": rules},
            layers={"conv3": {"latency_cycles": 1, "energy_with_dram_mj": 1}},
        )
    )
    mapper = Mapper(
        MAPPING_SEARCHES["local"](), 300, 3, "exact", MappingConstraints("row_stationary")
    )
    hardware, layer = preset("eyeriss"), ALEXNET.layers[ALEXNET.index("conv3")]
    best = mapper(MappingProblem.of_layer(layer, hardware))
    assert found["conv3, latency, cycles"] == best.latency_cycles
    leaked = access_costs(hardware).leakage_pj_per_cycle * best.latency_cycles
    assert found["conv3, energy with DRAM, mJ"] == pytest.approx((best.dynamic_pj + leaked) * 1e-9)


def test_an_objective_decides_what_is_searched(tmp_path: Path) -> None:
    layers = {"conv3": {"latency_cycles": 1, "energy_with_dram_mj": 1}}
    found = {
        objective: ours(
            chapter(
                tmp_path,
                mapping={"search": "local", "evaluations": 3000, "objective": objective},
                layers=layers,
            )
        )
        for objective in ("latency", "energy")
    }
    time, energy = "conv3, latency, cycles", "conv3, energy with DRAM, mJ"
    assert found["latency"][time] < found["energy"][time]
    assert found["energy"][energy] < found["latency"][energy]


def test_zeros_count_in_every_row_that_has_their_layer(tmp_path: Path) -> None:
    gated = {"name": "eyeriss", "change": {"effects.input_zeros": "gated"}}
    layers = {
        "conv3": {"mapping": CONV3, "input_zeros": 0.5},
        "again": {"layers": "conv3", "energy_mj": 1},
    }
    half = ours(chapter(tmp_path, hardware=gated, layers=layers))
    layers["conv3"].pop("input_zeros")
    none = ours(chapter(tmp_path, hardware=gated, layers=layers))
    assert half["again, energy without DRAM, mJ"] < none["again, energy without DRAM, mJ"]


CHANGES = st.dictionaries(
    st.sampled_from(["levels.glb.bandwidth_words", "define.clock_mhz", "levels.spad.mesh"]),
    st.just(None),
    min_size=1,
)
VALUES = {
    "levels.glb.bandwidth_words": 5,
    "define.clock_mhz": 100,
    "levels.spad.mesh": [14, 12],
}


@given(CHANGES)
def test_a_switch_gives_what_a_file_with_its_changes_gives(
    tmp_path_factory: pytest.TempPathFactory, chosen: dict[str, None]
) -> None:
    folder = tmp_path_factory.mktemp("chip")
    changes = {path: VALUES[path] for path in chosen}
    layers = {"conv4": {"latency_ms": 16, "power_mw": 235, "glb_mb": 37, "mapping": CONV4}}
    chip = {"area_mm2": 12}
    plain = chapter(folder, layers=layers, chip=chip, switches={"a b": changes})
    changed = chapter(
        folder, layers=layers, chip=chip, hardware={"name": "eyeriss", "change": changes}
    )
    assert {f.name: f.switched["a b"] for f in plain.figures} == ours(changed)
    assert plain.switches == ("a b",)
    for path in changes:
        assert any(path in sentence for sentence in plain.run)
        assert any(path in sentence for sentence in changed.run)


def test_a_switch_that_a_reason_quotes_has_no_column(tmp_path: Path) -> None:
    layers = {"conv4": {"latency_ms": 16, "mapping": CONV4, "reason": "{slow} with half the clock"}}
    switches = {"slow": {"define.clock_mhz": 100}, "narrow": {"levels.glb.bandwidth_words": 5}}
    found = chapter(tmp_path, layers=layers, switches=switches)
    (figure,) = found.figures
    assert found.switches == ("narrow",)
    ratio = figure.switched["slow"] / 16
    assert figure.reason == f"{ratio:.2f} with half the clock"
    # twice the words a cycle for DRAM do not matter here
    assert figure.switched["slow"] == pytest.approx(2 * figure.ours)


@given(
    st.lists(st.booleans(), min_size=3, max_size=3), st.lists(st.booleans(), min_size=3, max_size=3)
)
def test_what_is_said_of_a_figure_goes_before_what_is_said_of_all(
    tmp_path_factory: pytest.TempPathFactory, reasons: list[bool], sources: list[bool]
) -> None:
    """The figure, then its row, then its kind; of sources at last the file's."""
    said = [
        {key: f"{key} of the {level}" for key, given in (("reason", r), ("source", s)) if given}
        for level, r, s in zip(("figure", "row", "kind"), reasons, sources, strict=True)
    ]
    found = chapter(
        tmp_path_factory.mktemp("chip"),
        figures={"latency_ms": said[2]},
        layers={"conv4": {"latency_ms": {"measured": 16, **said[0]}, "mapping": CONV4, **said[1]}},
    )
    (figure,) = found.figures
    assert figure.reason == next((one["reason"] for one in said if "reason" in one), "")
    assert figure.source == next((one["source"] for one in said if "source" in one), "a bench")


def test_ranges_and_names(tmp_path: Path) -> None:
    rows = {
        "conv3": {"latency_ms": 16, "power_mw": 9, "glb_mb": 1, "mapping": CONV3},
        "conv4": {"latency_ms": {"measured": 16, "allowed": "none", "name": "x"}, "mapping": CONV4},
    }
    found = chapter(
        tmp_path,
        layers=rows,
        figures={"power_mw": {"allowed": [1, 99], "name": "watts"}, "glb_mb": {"allowed": "none"}},
    ).figures
    assert [(f.name, f.band) for f in found] == [
        ("conv3, latency, ms", DEFAULT_ALLOWED),
        ("conv3, watts", (1, 99)),
        ("conv3, glb traffic, MB", None),
        ("x", None),
    ]


def test_parts_stand_as_in_the_file(tmp_path: Path) -> None:
    parts = {"chip": {"area_mm2": 12}, "layers": {"conv4": {"latency_ms": 1, "mapping": CONV4}}}
    for order in (("chip", "layers"), ("layers", "chip")):
        found = chapter(tmp_path, **{key: parts[key] for key in order})
        assert found.figures[0].name.startswith("area") == (order[0] == "chip")


@pytest.mark.parametrize("name", own_chips())
def test_a_file_writes_what_it_reads(name: str) -> None:
    read_once = read_chip(own_chips()[name])
    again = ChipFile.read(read_once.to_dict(), Reading(own_chips()[name].parent))
    assert again.to_dict() == read_once.to_dict()


def test_what_is_run_is_told_layer_by_layer(tmp_path: Path) -> None:
    told = list[tuple[str, int, int]]()
    chip = read(
        tmp_path,
        layers={
            n: {"latency_ms": 1, "mapping": m} for n, m in (("conv3", CONV3), ("conv4", CONV4))
        },
        switches={"a": {"define.clock_mhz": 100}},
    )
    chip_chapter(chip, lambda *stand: told.append(stand))
    names = ["conv3", "conv4"] * 2
    assert told == [(name, i, 4) for i, name in enumerate(names)]


def test_hardware_that_is_too_small_for_any_mapping_is_a_mistake(tmp_path: Path) -> None:
    tiny = {"levels.glb.capacity_bytes": 2}
    layers = {"conv3": {"latency_ms": 1}, "conv4": {"latency_ms": 1}}
    search = {"search": "random", "evaluations": 5}
    for keys, named in (
        ({"hardware": {"name": "eyeriss", "change": tiny}}, ""),
        ({"switches": {"tiny": tiny}}, " with switch tiny"),
    ):
        with pytest.raises(UserError) as error:
            chapter(tmp_path, layers=layers, mapping=search, **keys)
        lines = str(error.value).splitlines()
        heads = [f"chip: conv3{named}", f"chip: conv4{named}"]
        assert [": ".join(line.split(": ")[:2]) for line in lines] == heads
        assert all("glb" in line and "bytes" in line for line in lines)


@given(
    st.fixed_dictionaries({key: st.integers(1, 40) for key in "mnepqrt"}).map(
        lambda numbers: {**numbers, "m": numbers["m"] + numbers["p"] * numbers["t"]}
    ),
    st.integers(0, 4),
)
def test_passes_cover_the_layer_whatever_their_numbers_are(
    numbers: dict[str, int], number: int
) -> None:
    layer = ALEXNET.layers[ALEXNET.index(f"conv{number + 1}")]
    mapping = row_stationary(layer, Pass(**numbers), preset("eyeriss"))
    assert all(a >= b for a, b in zip(mapping.factors, layer.bounds, strict=True))
    spad, glb, _ = mapping.levels
    side = {dim: glb.spatial_x[i] * glb.spatial_y[i] for i, dim in enumerate(DIMS)}
    assert spad.temporal[DIMS.index("K")] == numbers["p"]
    assert side["R"] == layer.r
    assert side["C"] == numbers["r"]
    assert side["K"] == numbers["t"]
    assert side["P"] >= numbers["e"]


def test_a_template_beside_the_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(preset_file("eyeriss").read_text())
    layers = {"conv4": {"latency_ms": 16, "glb_mb": 3, "mapping": CONV4}}
    mine = chapter(tmp_path, hardware="mine.yaml", layers=layers)
    assert ours(mine) == ours(chapter(tmp_path, layers=layers))
    with pytest.raises(
        ConfigError, match=r"hardware: mien\.yaml: no such preset, template or file"
    ):
        read(tmp_path, hardware="mien.yaml", layers=layers)


def test_the_page_names_every_key() -> None:
    page = (ROOT / "docs" / "how_to" / "own_chip_validation.md").read_text()
    keys = [*KINDS, *CHIP_KINDS, *ChipFile.layout, *MappingSearch.layout, *Measured.layout]
    keys += [*HardwareNames.layout, "input_zeros", "weight_zeros"]
    assert [key for key in keys if f"`{key}`" not in page] == []
    assert str(list(DEFAULT_ALLOWED)) in page
    assert all(f"`{name}`" in page for name in built_in())
