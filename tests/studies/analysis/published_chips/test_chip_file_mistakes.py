"""Mistakes in chip files: each with its place, the rule and what is near; all at once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.studies.analysis.published_chips.chip_files.chip_file import ChipFile, read_chip
from archloom.studies.config.errors import ConfigError
from archloom.studies.errors import UserError

#: a pass of conv4 of AlexNet on Eyeriss (JSSC 2017, table III)
CONV4 = {"m": 64, "n": 4, "e": 13, "p": 16, "q": 3, "r": 2, "t": 2}
EYERISS: dict[str, Any] = {
    "source": "a bench",
    "hardware": "eyeriss",
    "network": {"network": "alexnet_original", "batch": 4},
}


def read(tmp_path: Path, **keys: Any) -> ChipFile:
    path = tmp_path / "chip.yaml"
    path.write_text(yaml.safe_dump({**EYERISS, **keys}, sort_keys=False))
    return read_chip(path)


#: all parameters of a template but one
EDGE = {
    p.name: p.values[0] for p in HardwareSpace.load("casco_edge").parameters if p.name != "pe_x"
}

FAULTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"source": " "}, "source: ' ' must say where the values come from"),
    (
        {"hardware": "eyris"},
        "hardware: eyris: no such preset, template or file; did you mean eyeri",
    ),
    ({"hardware": {}}, "hardware.name: is missing"),
    ({"hardware": {"name": "eyeriss", "set": {"a": 1}}}, "hardware: preset eyeriss has no parame"),
    ({"hardware": {"name": "eyeriss", "change": {"x": 1}}}, "x: unknown key"),
    ({"hardware": {"name": "eyeriss", "change": [1]}}, "hardware.change: [1] must be a mapping"),
    ({"hardware": {"name": "eyeriss", "technology": "n8"}}, "technology: 'n8' is not known"),
    ({"hardware": {"name": "casco_edge", "set": EDGE}}, "set.pe_x=... is missing; allowed values"),
    ({"network": "vgg61"}, "network: network 'vgg61' is unknown; did you mean vgg16"),
    ({"network": {"network": "vgg16", "batch": 0}}, "network.batch: 0 must be a whole number"),
    ({"mapping": {"search": "locl"}}, "mapping.search: mapping search 'locl' is unknown; did you"),
    ({"mapping": {"objective": "edpp"}}, "mapping.objective: 'edpp' is unknown; did you mean edp?"),
    ({"mapping": {"constraints": {"levels": {"a": {}}}}}, "levels.a: is no level of eyeriss; kno"),
    ({"switches": {"a": {}}}, "switches.a: changes nothing"),
    ({"switches": {"a": {"levels.a.mesh": 1}}}, "switches.a: "),
    ({"switches": 3}, "switches: 3 must be a mapping of names to changes"),
    ({"figures": {"latency": {}}}, "figures.latency: is an unknown figure; did you mean latency_"),
    ({"figures": {"l2_mb": {}}}, "figures.l2_mb: is an unknown figure; did you mean"),
    (
        {"figures": {"latency_ms": {"allowed": [2, 1]}}},
        "figures.latency_ms.allowed: [2, 1] must be",
    ),
    (
        {"figures": {"latency_ms": {"allowed": None}}},
        "figures.latency_ms.allowed: None must be two",
    ),
    ({"figures": {"latency_ms": {"allowed": [0.1, 10**9]}}}, "figures.latency_ms.allowed: "),
    ({"figures": {"latency_ms": {"reason": "{a}"}}}, "reason: quotes {a}, which is no switch; the"),
    ({"figures": {"latency_ms": {"measured": 1}}}, "latency_ms.measured: is an unknown key"),
    ({"chip": {"area": 1}}, "chip.area: is an unknown figure; did you mean area_mm2?"),
    ({"chip": {"area_mm2": "12"}}, "chip.area_mm2: '12' must be a valid number; YAML reads this"),
    ({"chip": {"area_mm2": {"allowed": [1, 2]}}}, "chip.area_mm2.measured: is missing"),
    ({"layers": []}, "layers: [] must be a mapping of layers"),
    ({"layers": {"conv4": 3}}, "layers.conv4: 3 must be a mapping of figures"),
    ({"layers": {"conv4": {}}}, "layers.conv4: has no figure; known: latency_ms"),
    (
        {"layers": {"cnv4": {"latency_ms": 1}}},
        "layers.cnv4: no layer of alexnet_original is called",
    ),
    ({"layers": {"pool1": {"latency_ms": 1}}}, "layers.pool1: pool1 of alexnet_original runs on"),
    ({"layers": {"a": {"layers": [], "latency_ms": 1}}}, "layers.a.layers: [] must be a name or"),
    ({"layers": {"a": {"layers": "b*", "latency_ms": 1}}}, "layers.a.layers: no layer of alexnet"),
    ({"layers": {"conv4": {"latency_ms": 0}}}, "layers.conv4.latency_ms: 0 must be greater than 0"),
    (
        {"layers": {"conv4": {"latency": 1}}},
        "layers.conv4.latency: is an unknown key; did you mean",
    ),
    ({"layers": {"conv4": {"l2_mb": 1}}}, "layers.conv4.l2_mb: is an unknown key"),
    (
        {"layers": {"conv4": {"power_mw": 1, "input_zeros": 1}}},
        "input_zeros: 1 must be a share from",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": 1}}},
        "layers.conv4.mapping: 1 must be a list",
    ),
    ({"layers": {"conv4": {"power_mw": 1, "mapping": "WIO"}}}, "innermost first: spad, glb, dram"),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": []}}},
        "is empty; it must have an entry for e",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": {**CONV4, "n": 0}}}},
        "mapping.n: 0 must be greater",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": "WIO:// -IO:// WIO:N4//"}}},
        "layers.conv4.mapping: G: factors multiply to 1, must multiply to the bound 2",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": {**CONV4, "p": 99, "m": 198}}}},
        "spad: weights need 891 words, has 224; spad: outputs need 99 words, has 24",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": {**CONV4, "m": 31}}}},
        "layers.conv4.mapping: m: a pass has 31 filters, must have at least the 32 that are in",
    ),
    (
        {"layers": {"conv4": {"power_mw": 1, "mapping": {**CONV4, "r": 4}}}},
        "layers.conv4.mapping: glb: unrolls over 24 children along y, has 12",
    ),
    (
        {
            "layers": {"conv4": {"power_mw": 1, "mapping": CONV4}},
            "switches": {"tiny": {"levels.glb.capacity_bytes": 2048}},
        },
        "layers.conv4.mapping: with switch tiny: glb: tiles need",
    ),
    (
        {"layers": {"a": {"layers": "conv*", "power_mw": 1, "mapping": CONV4}}},
        "layers.a.mapping: is for rows of one layer; a has 5",
    ),
    (
        {
            "layers": {
                "conv4": {"power_mw": 1, "mapping": CONV4},
                "a": {"layers": "conv4", "input_zeros": 0.1},
            }
        },
        "layers.a: another row has mapping or zeros of the same layer",
    ),
    (
        {"hardware": "tpu_v3", "layers": {"conv4": {"power_mw": 1, "mapping": CONV4}}},
        "a row-stationary pass needs hardware with three levels (scratchpads, buffer, DRAM)",
    ),
    ({"layers": {}}, "has no measured figure"),
    ({"layers": {"conv4": {"mapping": CONV4}}}, "has no measured figure"),
    ({"extra": 1}, "extra: is an unknown key; known: title, about"),
)


@pytest.mark.parametrize(("keys", "message"), FAULTS, ids=lambda value: str(value)[:60])
def test_a_mistake_is_told_with_its_place(
    tmp_path: Path, keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, **{"layers": {"conv4": {"latency_ms": 1}}, **keys})
    assert message in str(error.value)
    assert len(error.value.faults) == 1
    assert str(error.value).startswith(f"{tmp_path / 'chip.yaml'}: 1 error\n")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        read(
            tmp_path,
            source="",
            hardware={"name": "eyeriss", "change": {"a": 1, "levels.b.c": 2}},
            network="vgg61",
            mapping={"evaluations": 0},
            chip={"area": 1},
            figures={"latency_ms": {"allow": 1}},
            layers={"a": {"latency": 1}, "b": {"mapping": 3, "source": 1}},
            extra=1,
        )
    places = [fault.place.path for fault in error.value.faults]
    assert places == sorted(places, key=places.index)
    assert set(places) == {
        *("source", "hardware.change", "network", "mapping.evaluations", "chip.area"),
        *("figures.latency_ms.allow", "layers.a.latency", "layers.b.mapping"),
        *("layers.b.source", "extra"),
    }
    assert places.count("hardware.change") == 2
    assert all(fault.place.line for fault in error.value.faults)


def test_an_unreadable_file_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_chip(tmp_path / "none.yaml")
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ConfigError, match="is empty; a chip file needs source, hardware, network"):
        read_chip(tmp_path / "empty.yaml")
