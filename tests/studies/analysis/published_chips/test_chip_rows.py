"""What rows of chip files may have of their own: network, constraints, hardware, a divisor; and
tensors that stay on the chip."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from archloom.evaluators.hardware import access_costs, hardware_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import network
from archloom.studies.analysis.published_chips.chip_files.chapter import chip_chapter
from archloom.studies.analysis.published_chips.chip_files.chip_file import read_chip
from archloom.studies.analysis.published_chips.chip_files.on_chip import resident
from archloom.studies.analysis.published_chips.figures import Figure
from archloom.studies.commands.cli import app
from archloom.studies.config import find_hardware
from archloom.studies.config.errors import ConfigError

SEARCH = {"search": "local", "evaluations": 300, "factors": "exact"}
EYERISS: dict[str, Any] = {
    "source": "a bench",
    "hardware": "eyeriss",
    "network": {"network": "alexnet_original", "batch": 4},
    "mapping": SEARCH,
}
#: of conv4 of AlexNet on Eyeriss (JSSC 2017, table III)
CONV4 = {"m": 64, "n": 4, "e": 13, "p": 16, "q": 3, "r": 2, "t": 2}


def written(folder: Path, **keys: Any) -> Path:
    path = folder / "chip.yaml"
    path.write_text(yaml.safe_dump({**EYERISS, **keys}, sort_keys=False))
    return path


def figures(folder: Path, **keys: Any) -> dict[str, Figure]:
    return {f.name: f for f in chip_chapter(read_chip(written(folder, **keys))).figures}


def ours(folder: Path, **keys: Any) -> dict[str, float]:
    return {name: figure.ours for name, figure in figures(folder, **keys).items()}


def mistakes(folder: Path, **keys: Any) -> str:
    with pytest.raises(ConfigError) as error:
        read_chip(written(folder, **keys))
    return str(error.value)


def test_energies_of_parts_add_up_and_rates_follow_from_time(tmp_path: Path) -> None:
    keys = ["spad_energy_mj", "glb_energy_mj", "dram_energy_mj", "mac_energy_mj"]
    others = ["energy_with_dram_mj", "energy_mj", "latency_ms", "latency_cycles", "pj_per_op"]
    rates = ["inferences_per_s", "achieved_tops", "peak_tops", "utilisation_percent"]
    row = {"mapping": CONV4, **dict.fromkeys([*keys, *others, *rates], 1)}
    found = ours(tmp_path, layers={"conv4": row})

    def of(name: str) -> float:
        return found[f"conv4, {name}"]

    parts = sum(of(f"energy of {name}, mJ") for name in ("spad", "glb", "DRAM", "MACs"))
    leaked = access_costs(preset("eyeriss")).leakage_pj_per_cycle * of("latency, cycles") * 1e-9
    assert parts + leaked == pytest.approx(of("energy with DRAM, mJ"), rel=1e-12)
    alexnet = network("alexnet_original").with_batch(4)
    operations = 2 * alexnet.layers[alexnet.index("conv4")].macs
    seconds = of("latency, ms") * 1e-3
    assert of("energy without DRAM, pJ/operation") == pytest.approx(
        of("energy without DRAM, mJ") * 1e9 / operations
    )
    assert of("inferences/s") == pytest.approx(4 / seconds)
    assert of("achieved TOP/s") == pytest.approx(operations / seconds * 1e-12)
    # 168 MACs at 200 MHz
    assert of("peak, TOP/s") == pytest.approx(0.0672)
    assert of("achieved TOP/s") / 0.0672 == pytest.approx(of("utilisation, %") / 100)


def test_maps_in_dram_are_packed_by_their_zeros_and_weights_are_not(tmp_path: Path) -> None:
    """64 bits for three nonzero words of 16; never more than the words as they are."""
    row = {"mapping": CONV4, "dram_mb": 1, "dram_packed_mb": 1}

    def of(inputs: float | None, outputs: float | None) -> tuple[float, float]:
        zeros = {"input_zeros": inputs, "output_zeros": outputs}
        given = {key: share for key, share in zeros.items() if share is not None}
        found = ours(tmp_path, layers={"conv4": {**row, **given}})
        return found["conv4, DRAM traffic, MB"], found["conv4, DRAM traffic, maps packed, MB"]

    plain, packed = of(None, None)
    assert packed == pytest.approx(plain)
    # a quarter of all values is where packing begins to gain
    assert of(0.25, 0.25)[1] == pytest.approx(plain)
    assert of(0.1, 0.2)[1] == pytest.approx(plain)
    # with five eighths of zeros half of the words are left
    inputs, outputs = (2 * (plain - of(*zeros)[1]) for zeros in ((0.625, 0.0), (0.0, 0.625)))
    assert of(None, 0.7)[0] == plain
    assert of(0.4, 0.7)[1] == pytest.approx(plain - 0.2 * inputs - 0.6 * outputs)
    # four images of 384 maps of 13 x 13 are written once
    assert outputs == pytest.approx(4 * 384 * 169 * 2e-6)


def test_areas_of_parts_are_those_of_the_hardware(tmp_path: Path) -> None:
    keys = ["glb_area_mm2", "spad_area_mm2", "mac_area_mm2", "area_mm2", "tops_per_mm2"]
    found = ours(tmp_path, chip=dict.fromkeys([*keys, "peak_tops"], 1))
    parts = hardware_cost(preset("eyeriss")).area_breakdown_mm2
    assert found["area of glb, mm2"] == parts["glb"]
    assert found["area of spad, mm2"] == parts["spad"]
    assert found["area of MACs, mm2"] == parts["macs"]
    density = found["peak, TOP/s"] / found["area, mm2"]
    assert found["peak over area, TOP/s/mm2"] == pytest.approx(density)


def test_a_row_with_a_network_of_its_own_is_as_a_file_of_that_network(tmp_path: Path) -> None:
    own = {"network": "squeezenet1_1", "batch": 2}
    keys = {"latency_cycles": 1, "energy_mj": 1, "inferences_per_s": 1, "macs_share_percent": 100}
    found = ours(
        tmp_path,
        layers={
            "conv3": {"latency_cycles": 1, "macs_share_percent": 1},
            "all of it": {"network": own, **keys},
            "a part": {"network": own, "layers": "fire2*", **keys},
        },
    )
    alone = ours(
        tmp_path,
        network=own,
        layers={"all of it": {"layers": "*", **keys}, "a part": {"layers": "fire2*", **keys}},
    )
    assert {name: found[name] for name in alone} == alone
    assert found["all of it, share of MACs, %"] == pytest.approx(100)
    assert found["a part, share of MACs, %"] < 100
    # shares are of the row's network
    assert 0 < found["conv3, share of MACs, %"] < 100
    path = written(tmp_path, layers={"x": {"network": own, "latency_cycles": 1}})
    (said, *_) = chip_chapter(read_chip(path)).run
    assert said.endswith("It runs `squeezenet1_1`, 2 inputs in a pass.")


def test_without_a_network_every_row_needs_one(tmp_path: Path) -> None:
    rows = {"a": {"network": "squeezenet1_1", "latency_ms": 1}}
    path = written(tmp_path, layers=rows)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "network": None}))
    assert len(chip_chapter(read_chip(path)).figures) == 1
    message = mistakes(tmp_path, network=None, layers={**rows, "b": {"latency_ms": 1}})
    assert "layers.b: needs a network: that of the file, or its own" in message
    assert "1 error" in message


def test_constraints_of_a_row_are_as_those_of_the_file(tmp_path: Path) -> None:
    keys = {"layers": "conv[34]", "latency_cycles": 1, "energy_mj": 1}
    rules = {"dataflow": "output_stationary"}
    both = ours(tmp_path, layers={"free": keys, "bound": {**keys, "constraints": rules}})
    bound = ours(tmp_path, layers={"bound": keys}, mapping={**SEARCH, "constraints": rules})
    free = ours(tmp_path, layers={"free": keys})
    assert both == {**free, **bound}
    assert both["bound, energy without DRAM, mJ"] != both["free, energy without DRAM, mJ"]


def test_changes_of_a_row_are_as_those_of_the_hardware_and_go_with_switches(
    tmp_path: Path,
) -> None:
    keys = {"layers": "conv[34]", "latency_ms": 1, "energy_mj": 1, "peak_tops": 1}
    change, slow = {"levels.glb.bandwidth_words": 2}, {"define.clock_mhz": 100}
    found = figures(
        tmp_path,
        layers={"plain": keys, "narrow": {**keys, "change": change}},
        switches={"slow": slow},
    )
    narrow = {"name": "eyeriss", "change": change}
    alone = ours(tmp_path, hardware=narrow, layers={"narrow": keys})
    both = {"name": "eyeriss", "change": {**change, **slow}}
    slower = ours(tmp_path, hardware=both, layers={"narrow": keys})
    assert {name: found[name].ours for name in alone} == alone
    assert {name: found[name].switched["slow"] for name in alone} == slower
    assert found["narrow, latency, ms"].ours > found["plain, latency, ms"].ours
    path = written(tmp_path, layers={"narrow": {**keys, "change": change}})
    said = " ".join(chip_chapter(read_chip(path)).run)
    assert "In row *narrow* the hardware has `levels.glb.bandwidth_words: 2` (26 in" in said


def test_a_figure_may_be_divided_by_that_of_another_row(tmp_path: Path) -> None:
    keys = {"layers": "conv[34]", "change": {"levels.glb.bandwidth_words": 2}}
    found = figures(
        tmp_path,
        switches={"slow": {"define.clock_mhz": 100}},
        layers={
            "wide": {"layers": "conv[34]", "latency_ms": 1},
            "narrow": {
                **keys,
                "latency_ms": 1,
                "latency_cycles": {"measured": 2, "divided_by": "x"},
            },
            "x": {"layers": "conv[34]", "change": {"levels.glb.bandwidth_words": 26}},
        },
    )
    ratio = found["narrow, latency, over that of x"]
    narrow, wide = found["narrow, latency, ms"], found["wide, latency, ms"]
    assert ratio.ours == pytest.approx(narrow.ours / wide.ours)
    assert ratio.ours > 1
    assert ratio.ratio == ratio.ours / 2
    assert ratio.switched["slow"] == pytest.approx(narrow.switched["slow"] / wide.switched["slow"])


#: one SRAM for all tensors, of which the size is chosen
SHARED = """
technology: n16
dram: lpddr4
frequency_mhz: 500
word_bits: 8
pe_mesh: [8, 8]
vector_lanes: 8
define: {kib: 1024}
levels:
  - {name: rf, storage: register, keeps: [weights, inputs, outputs], mesh: [8, 8],
     capacity_bytes: 64, bandwidth_words: 4}
  - {name: buffer, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: "= 1024 * kib", bandwidth_words: 32, width_words: 8}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: 4}
"""


def shared(folder: Path, kib: int) -> dict[str, Any]:
    (folder / "shared.yaml").write_text(SHARED)
    return {"name": "shared.yaml", "change": {"define.kib": kib}}


def test_tensors_that_stay_on_the_chip_cost_no_dram(tmp_path: Path) -> None:
    """One layer of 192 x 192 weights over 28 x 28 pixels: 147, 147 and 36 KiB."""
    (tmp_path / "net.yaml").write_text(
        "name: net\nranks: {k: 192, c: 192, p: 28, q: 28}\nweights: [W]\n"
        "einsums: ['O[k,p,q] = I[c,p,q] * W[k,c]']\n"
    )
    maps, weights = 192 * 28 * 28, 192 * 192
    rows = {"O": {"dram_mb": 1, "dram_energy_mj": 1}}

    def traffic(kib: int, *names: str) -> float:
        found = ours(
            tmp_path,
            hardware=shared(tmp_path, kib),
            network={"file": "net.yaml"},
            on_chip=list(names),
            mapping={"search": "local", "evaluations": 20_000, "objective": "energy"},
            layers=rows,
        )
        return found["O, DRAM traffic, MB"] * 1e6

    assert traffic(1024) == 2 * maps + weights
    assert traffic(1024, "inputs") == maps + weights
    assert traffic(1024, "inputs", "outputs") == weights
    assert traffic(1024, "weights", "inputs", "outputs") == 0
    # 180 KiB hold one map and the weights
    assert traffic(200, "outputs", "inputs", "weights") == maps
    assert traffic(200, "inputs", "weights", "outputs") == maps
    # 30 KiB hold none
    assert traffic(30, "inputs", "outputs", "weights") >= 2 * maps + weights


def test_weights_stay_only_if_those_of_the_whole_network_do(tmp_path: Path) -> None:
    net = network("squeezenet1_1")
    layer = next(one for one in net.layers if one.uses_macs)
    all_weights = sum(one.weight_words for one in net.layers)
    (tmp_path / "shared.yaml").write_text(SHARED)
    for kib, here in ((all_weights // 1024 + 1024, True), (all_weights // 1024 - 1, False)):
        hardware = find_hardware(
            str(tmp_path / "shared.yaml"), [], None, None, changes={"define.kib": kib}
        ).hardware
        problem = MappingProblem.of_layer(layer, hardware)
        found = resident(problem, layer, net, ["weights"])
        assert found.staged == (here, False, False)
        assert found.impossible() is None
        assert (found is problem) is not here


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"on_chip": "inputs"}, "on_chip: 'inputs' must be a list of tensors: weights, inputs"),
        ({"on_chip": ["input"]}, "on_chip: 'input' is no tensor; did you mean inputs?"),
        ({"on_chip": ["inputs", "inputs"]}, "must name each tensor once"),
        ({"on_chip": ["weights"]}, "weights: level glb of eyeriss keeps inputs, outputs"),
        ({"on_chip": ["inputs"], "hardware": "simba_two"}, "hardware: simba_two: no such preset"),
        ({"hardware": "tpu_v3", "on_chip": ["inputs"]}, "tpu_v3 has no buffer that could hold who"),
        ({"on_chip": ["inputs"], "row": {"mapping": CONV4}}, "leave it or on_chip out"),
        ({"row": {"mapping": CONV4, "constraints": {}}}, "leave it or constraints out"),
        ({"row": {"mapping": CONV4, "change": {}}}, "leave it or change out"),
        ({"row": {"constraints": {"dataflow": "rows"}}}, "conv4.constraints.dataflow: 'rows' is"),
        ({"row": {"constraints": {"levels": {"l2": {}}}}}, "levels.l2: is no level of eyeriss"),
        ({"row": {"change": {"levels.l2.mesh": 1}}}, "layers.conv4.change: "),
        ({"row": {"network": "vgg61"}}, "conv4.network: network 'vgg61' is unknown; did you mean"),
        (
            {"row": {"latency_ms": {"measured": 1, "divided_by": "conv5"}}},
            "layers.conv4.latency_ms.divided_by: no row is called 'conv5'; did you mean conv4?",
        ),
        (
            {"row": {"latency_ms": {"measured": 1, "divided_by": "conv4"}}},
            "a row divided by itself is 1; name another row",
        ),
        (
            {"chip": {"area_mm2": {"measured": 1, "divided_by": "conv4"}}},
            "chip.area_mm2.divided_by: is for figures of layers; leave it out",
        ),
        ({"chip": {"l2_area_mm2": 1}}, "chip.l2_area_mm2: is an unknown figure; did you mean"),
        ({"row": {"l2_energy_mj": 1}}, "conv4.l2_energy_mj: is an unknown key; did you mean"),
        ({"figures": {"l2_area_mm2": {}}}, "figures.l2_area_mm2: is an unknown figure"),
    ],
)
def test_mistakes_have_their_place(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    row = {"latency_ms": 1, **keys.pop("row", {})}
    assert message in mistakes(tmp_path, **keys, layers={"conv4": row})


def test_the_command_line_runs_a_file_with_all_of_them(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        hardware=shared(tmp_path, 512),
        network="squeezenet1_1",
        on_chip=["inputs", "outputs", "weights"],
        figures={"buffer_area_mm2": {"allowed": "none"}, "rf_energy_mj": {"allowed": "none"}},
        chip={"buffer_area_mm2": 1},
        layers={
            "one": {"layers": "fire2*", "rf_energy_mj": 1},
            "two": {
                "network": "alexnet",
                "layers": "conv3",
                "constraints": {"dataflow": "weight_stationary"},
                "change": {"define.kib": 256},
                "latency_ms": {"measured": 1, "divided_by": "one", "allowed": "none"},
            },
        },
    )
    done = CliRunner().invoke(app, ["validate", str(path), "--markdown"])
    assert done.exit_code == 0, done.output
    for said in (
        "| area of buffer, mm2 |",
        "| one, energy of rf, mJ |",
        "| two, latency, over that of one |",
        "inputs and outputs and weights are in `buffer` if they fit (in this order); weights only",
        "It runs `squeezenet1_1`; `alexnet`.",
        "In row *two* the hardware has `define.kib: 256` (1024 in the template).",
    ):
        assert said in done.stdout, said
