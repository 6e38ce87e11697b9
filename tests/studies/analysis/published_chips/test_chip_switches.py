"""Switches of single figures of a chip file: shares that are lacking, rows that explain others."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from archloom.studies.analysis.published_chips.chip_files import chip_chapter, read_chip
from archloom.studies.analysis.published_chips.figures import Figure
from archloom.studies.commands.cli import app

from .test_chip_rows import CONV4, figures, mistakes, written

#: of conv4 too: two channels and three groups of them (q, r) in place of three and two
OTHER = {**CONV4, "q": 2, "r": 1, "t": 4}
LACKS = {"waits": {"share": 0.2, "source": "counters"}, "shifts": {"share": 0.1, "source": "them"}}


def lacking(value: float, **more: Any) -> dict[str, Any]:
    return {"measured": value, "allowed": "none", "reason": "slow", "lacks": LACKS, **more}


def ratios(figure: Figure) -> dict[str, float]:
    return {name: value / figure.theirs for name, value in figure.switched.items()}


def test_shares_are_added_to_times_and_to_what_rates_are_of(tmp_path: Path) -> None:
    row = {"mapping": CONV4, "latency_ms": lacking(20), "achieved_tops": lacking(0.04)}
    found = figures(tmp_path, layers={"conv4": row}, chip={"tops_per_mm2": lacking(0.01)})
    time, rate, density = (
        found[name]
        for name in (
            "conv4, latency, ms",
            "conv4, achieved TOP/s",
            "peak over area, TOP/s/mm2",
        )
    )
    own = {name: ratio - time.ratio for name, ratio in ratios(time).items()}
    assert own == pytest.approx({"waits": 0.2, "shifts": 0.1, "waits and shifts": 0.3})
    for figure in (rate, density):
        own = {name: 1 / ratio - 1 / figure.ratio for name, ratio in ratios(figure).items()}
        assert own == pytest.approx({"waits": 0.2, "shifts": 0.1, "waits and shifts": 0.3})
    # a layer that takes ten milliseconds more than the model's is the model's with these
    assert f"slow; {time.ratio + 0.2:.2f} with waits; " in time.reason


def test_a_row_that_explains_another_has_its_own_mapping_and_zeros(tmp_path: Path) -> None:
    keys = {"glb_mb": 30, "latency_ms": 16, "dram_mb": 2, "dram_packed_mb": 2}
    alone = figures(tmp_path, layers={"conv4": {"mapping": OTHER, "input_zeros": 0.5, **keys}})
    found = figures(
        tmp_path,
        layers={
            "conv4": {"mapping": CONV4, **keys},
            "other pass": {
                "explains": "conv4",
                "layers": "conv4",
                "mapping": OTHER,
                "input_zeros": 0.5,
                **keys,
                "glb_mb": 60,
            },
            "both": {"layers": ["conv4", "conv5"], "glb_mb": 30},
            "plain": {"layers": "conv4", "glb_mb": 30},
        },
    )
    for name in ("latency, ms", "DRAM traffic, maps packed, MB", "glb traffic, MB"):
        assert found[f"other pass, {name}"].ours == alone[f"conv4, {name}"].ours
        assert found[f"other pass, {name}"].effect_of == f"conv4, {name}"
    # the ratio counts, not the value: measured values may differ
    base = found["conv4, glb traffic, MB"]
    assert ratios(base)["other pass"] == pytest.approx(found["other pass, glb traffic, MB"].ratio)
    assert base.ours != pytest.approx(found["other pass, glb traffic, MB"].ours)
    assert base.effect_of == ""
    # other rows of the layer do not run so
    assert found["plain, glb traffic, MB"].ours == base.ours
    dram = found["conv4, DRAM traffic, MB"]
    packed = "conv4, DRAM traffic, maps packed, MB"
    assert dram.switched["maps packed"] == found[packed].ours
    assert found[packed].effect_of == dram.name
    explained = found["other pass, DRAM traffic, maps packed, MB"]
    assert ratios(dram)["other pass, maps packed"] == pytest.approx(explained.ratio)


def test_shares_of_a_row_that_explains_go_with_its_ratio(tmp_path: Path) -> None:
    keys = {"measured": 20, "allowed": "none"}
    rows = {
        "conv4": {"mapping": CONV4, "latency_ms": keys},
        "slow": {
            "explains": "conv4",
            "layers": "conv4",
            "mapping": OTHER,
            "latency_ms": lacking(20),
        },
    }
    path = written(tmp_path, layers=rows)
    done = CliRunner().invoke(app, ["validate", str(path), "--markdown"])
    assert done.exit_code == 0, done.output
    base, slow = chip_chapter(read_chip(path)).figures
    assert ratios(base) == pytest.approx(
        {
            "slow": slow.ratio,
            "slow, waits": slow.ratio + 0.2,
            "slow, shifts": slow.ratio + 0.1,
            "slow, waits and shifts": slow.ratio + 0.3,
        }
    )
    for said in (
        "Row *slow* repeats *conv4* with other assumptions.",
        "Of *slow, latency_ms*, waits is 20% of the measured time, energy or area (counters)",
        f"{slow.ratio + 0.3:.2f} with slow, waits and shifts",
    ):
        assert said in done.stdout, said


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"explains": "conv5"},
            "layers.other.explains: no row that explains no other is called 'conv5'; did you mean",
        ),
        ({"explains": "other"}, "no row that explains no other is called 'other'"),
        (
            {"explains": "plain"},
            "explains: needs a figure of plain, with other assumptions: glb_mb",
        ),
        ({"latency_ms": lacking(1, lacks=3)}, "latency_ms.lacks: 3 must be a mapping of causes"),
        (
            {"latency_ms": lacking(1, lacks={"a": {"share": 2, "source": "s"}})},
            "latency_ms.lacks.a.share: 2 must be less than or equal to 1",
        ),
        (
            {"latency_ms": lacking(1, lacks={"a": {"share": 0.5}})},
            "latency_ms.lacks.a.source: is missing",
        ),
        (
            {
                "latency_ms": lacking(
                    1, lacks={c: {"share": 0.6, "source": "s"} for c in ("a", "b")}
                )
            },
            "latency_ms.lacks: has shares of 1.2 in all; they must be at most 1",
        ),
        ({"peak_tops": lacking(1)}, "peak_tops.lacks: is for figures of time, energy, traffic or"),
    ],
)
def test_mistakes_have_their_place(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    rows = {
        "conv4": {"latency_ms": 1},
        "plain": {"layers": "conv4", "glb_mb": 1},
        "other": {"layers": "conv4", "latency_ms": 1, **row},
    }
    assert message in mistakes(tmp_path, layers=rows)


def test_shares_of_the_chip_are_of_areas_and_powers(tmp_path: Path) -> None:
    said = mistakes(tmp_path, chip={"ridge_ops_per_byte": lacking(1)})
    assert "chip.ridge_ops_per_byte.lacks: is for figures of time, energy, traffic or area" in said
