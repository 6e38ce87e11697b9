"""Studies whose mappings are constrained: what their files may say, and what comes of it."""

from pathlib import Path

import numpy as np
import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.mapping.constraints import LevelConstraints, MappingConstraints
from archloom.space.mapping.mapping import Mapping
from archloom.studies.analysis.study_view import load_view
from archloom.studies.config.errors import ConfigError
from archloom.studies.config.software.mapping_constraints import read_constraints_file
from archloom.studies.config.study_config import load_config, parse_stored
from archloom.studies.engine.study import header_of
from archloom.studies.storage.records import read_trials

from ....cases.studies import TINY, run_here, tiny_config, write_study

RULES = """\
  constraints:
    dataflow: output_stationary
    both_axes: false
    levels:
      l2: {unroll_x: {K: 4}, unroll_y: [P, Q], keep: [outputs]}
"""
SOFTWARE = "software: {fusion: casco, population: 4, mapping: random, mapping_evaluations: 40}\n"
SHORT = TINY.replace("trials: 10", "trials: 2").replace("batch_size: 6", "batch_size: 2")


def with_rules(rules: str, mapping: str = "random", text: str = SHORT) -> str:
    section = f"software:\n  fusion: none\n  mapping: {mapping}\n  mapping_evaluations: 2000\n"
    return text.replace(SOFTWARE, section + rules)


MANY = """\
  constraints:
    dataflow: output_stationry
    both_axes: 1
    level: {}
    levels:
      l3: {unroll_x: [K]}
      l2: {unroll_y: [Z], orders: [RS, SRS], keep: [weight], bypas: [inputs]}
"""


def test_all_errors_come_at_once_with_line_and_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write_study(tmp_path, with_rules(MANY)))
    below = "software.constraints"
    assert [(f.place.line, f.place.path) for f in caught.value.faults] == [
        (13, f"{below}.dataflow"),
        (14, f"{below}.both_axes"),
        (15, f"{below}.level"),
        *((18, f"{below}.levels.l2.{key}") for key in ("bypas", "keep", "orders", "unroll_y")),
    ]
    hints = [f.message for f in caught.value.faults]
    assert "did you mean output_stationary" in hints[0]
    assert "did you mean levels" in hints[2]
    assert "did you mean bypass?" in hints[3]


@pytest.mark.parametrize(
    ("rules", "key", "message"),
    [
        ("{l3: {unroll_x: [K]}}", ".levels.l3", "no level of casco_edge; known: spad, l2, dram"),
        ("{spad: {bypass: [weights]}}", ".levels.spad.bypass", "may not bypass spad"),
        ("{l2: {orders: K}}", "", "orders_constraint at l2"),
    ],
)
def test_what_the_template_cannot_obey_is_an_error_of_the_file(
    tmp_path: Path, rules: str, key: str, message: str
) -> None:
    text = with_rules(f"  constraints: {{dataflow: output_stationary, levels: {rules}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(write_study(tmp_path, text))
    (found,) = caught.value.faults
    assert found.place.path == f"software.constraints{key}"
    assert message in found.message


def test_they_are_part_of_the_identity_and_kept(tmp_path: Path) -> None:
    plain, ruled = tiny_config(tmp_path, SHORT), tiny_config(tmp_path, with_rules(RULES))
    assert ruled.software.constraints == MappingConstraints(
        "output_stationary",
        False,
        (LevelConstraints("l2", (("K", 4),), (("P", None), ("Q", None)), keep=("outputs",)),),
    )
    assert header_of(plain).identity != header_of(ruled).identity
    assert parse_stored(ruled.to_dict(), tmp_path / "study.yaml") == ruled


@pytest.mark.parametrize("mapping", ["random", "local", "exact"])
def test_all_mappings_of_a_study_satisfy_them(tmp_path: Path, mapping: str) -> None:
    config = tiny_config(tmp_path, with_rules(RULES, mapping))
    records = run_here(config, tmp_path / "study")
    checked = 0
    for record in read_trials(tmp_path / "study"):
        for best in record.networks.values():
            for text in best.mappings.values():
                loops, keep = Mapping.from_text(text).arrays()
                x, y = loops[1, 1], loops[1, 2]
                # of the dimensions only K along x, and P and Q along y
                assert x.prod() == x[2] <= 4
                assert y.prod() == y[4] * y[5]
                assert (np.minimum(loops[:, 1], loops[:, 2]) == 1).all()
                assert keep[1, 2]
                for level in (1, 2):
                    moving = [d for d in loops[level, 3] if loops[level, 0, d] > 1]
                    # C, R and S leave outputs where they are
                    outside = [d for d in moving if d not in (3, 6, 7)]
                    assert moving[len(moving) - len(outside) :] == outside
                checked += 1
    assert checked >= 4
    assert len(records) == 2
    facts = dict(load_view(tmp_path / "study").facts)
    assert facts["mapping constraints"] == (
        "output stationary; each dimension along one axis; l2: x K4, y P Q, keeps outputs"
    )


def test_designs_that_cannot_obey_are_infeasible_with_a_reason(tmp_path: Path) -> None:
    space = HardwareSpace.load("casco_edge")
    first = space.build({p.name: p.values[0] for p in space.parameters})
    assert not isinstance(first, Infeasible)
    most = max(p.values[-1] for p in space.parameters if p.name == "pe_x")
    rules = f"  constraints: {{levels: {{l2: {{unroll_x: {{K: {most}}}}}}}}}\n"
    records = run_here(tiny_config(tmp_path, with_rules(rules)), tmp_path / "study")
    wrong = [r for r in records if r.state == "infeasible"]
    assert wrong
    for record in wrong:
        assert record.reason.reason == "unroll_x_constraint"
        assert record.reason.needed == most > record.reason.available


def test_a_file_of_its_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("dataflow: weight_stationary\nlevels:\n  l2: {orders: [RS]}\n")
    assert read_constraints_file(path) == MappingConstraints(
        "weight_stationary", levels=(LevelConstraints("l2", orders=(("R", "S"),)),)
    )
    path.write_text("dataflow: any\nlevels:\n  l2: {order: [RS]}\n")
    with pytest.raises(ConfigError, match=r"line 3: levels\.l2\.order: .*did you mean orders"):
        read_constraints_file(path)
