"""Constraints of a problem: what its setup holds, and what no hardware can obey."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.loopnest.constraint_arrays import conflict, pe_level
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.space.design_space.presets import preset
from archloom.space.errors import InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.constraints import LevelConstraints, MappingConstraints
from archloom.space.networks.registry import network
from archloom.space.workload.dims import DIMS
from archloom.space.workload.layer import Layer
from archloom.studies.analysis.published_chips.chip_files import own_chips, read_chip
from archloom.studies.analysis.published_chips.fixed_mappings import Pass, row_stationary

from ...cases.small_designs import casco_edge, conv, three_levels

K, C, P, Q, R, S = (DIMS.index(d) for d in "KCPQRS")


def problem(layer: Layer, hardware: Hardware, **rules: object) -> MappingProblem:
    whole = MappingProblem.of_layer(layer, hardware)
    return replace(whole, constraints=MappingConstraints(**rules))  # type: ignore[arg-type]


def level(name: str, **rules: object) -> tuple[LevelConstraints, ...]:
    return (LevelConstraints(name, **rules),)  # type: ignore[arg-type]


def test_a_problem_without_constraints_keeps_its_key() -> None:
    plain = MappingProblem.of_layer(conv(), three_levels())
    assert replace(plain, constraints=MappingConstraints()).key == plain.key
    other = problem(conv(), three_levels(), dataflow="weight_stationary")
    assert other.key != plain.key


def test_a_number_is_the_largest_divisor_up_to_it_from_the_innermost_level() -> None:
    hardware = casco_edge()
    layer = Layer("m", "conv", k=24, c=12, p=5, input_size=(5, 1))
    rules = level("l2", unroll_x=(("K", 8), ("C", None)), unroll_y=(("C", 8),))
    setup = problem(layer, hardware, levels=rules).setup
    assert (setup.fixed[1, 0, K], setup.fixed[1, 1, C]) == (8, 6)
    assert setup.fixed.prod() == 48
    # only what is named is unrolled, and what has a number is no choice
    assert [DIMS[d] for d in np.flatnonzero(setup.spatial[1, 0])] == ["C"]
    assert not setup.spatial[1, 1].any()


def test_orders_and_dataflows_are_ranks() -> None:
    hardware = three_levels()
    rules = level("dram", orders=(("P", "N"), ("Q",), ("K",)))
    setup = problem(conv(), hardware, levels=rules, dataflow="weight_stationary").setup
    # weights stay in the spad, so N, P, Q stand innermost in the other levels
    assert setup.ranks[1, 0].tolist() == [0, 1, 1, 1, 0, 0, 1, 1]
    # P, N, Q, then the rest; or Q first; K first contradicts the dataflow
    assert setup.ranks[2].tolist() == [[1, 3, 3, 3, 0, 2, 3, 3], [1, 2, 2, 2, 1, 0, 2, 2]]
    assert setup.ranks[1, 1, 0] == -1
    assert problem(conv(), hardware).setup.ranks.shape == (3, 0, 8)


def test_the_mapping_of_a_chip_is_row_stationary() -> None:
    """What Eyeriss ran (Chen et al., ISSCC 2016) satisfies the constraint of its dataflow."""
    hardware = preset("eyeriss")
    assert hardware.levels[pe_level(hardware)].name == "glb"
    alexnet = network("alexnet_original").with_batch(4)
    for row in read_chip(own_chips()["eyeriss_alexnet"]).layers:
        (position,) = row.layers
        name, layer = row.name, alexnet.layers[position]
        assert isinstance(row.mapping, Pass)
        loops, keep = row_stationary(layer, row.mapping, hardware).arrays()
        whole = problem(layer, hardware, dataflow="row_stationary")
        setup = replace(whole, loop_bounds=tuple(loops[:, :3].prod(axis=(0, 1)))).setup
        assert (loops[:, 1:3] == setup.fixed)[setup.spatial == 0].all(), name
        assert setup.fixed[1, 1, R] == layer.r
        assert (loops[1:, 0, S] == 1).all()
        order = loops[1, 3]
        ranks = setup.ranks[1, 0][order[loops[1, 0][order] > 1]]
        assert (np.diff(ranks) >= 0).all()
        assert (keep == setup.allowed).all()


@pytest.mark.parametrize(
    ("rules", "reason", "where", "amounts"),
    [
        (
            {"levels": level("l2", unroll_x=(("K", 16), ("C", 4)))},
            "unroll_x_constraint",
            "l2",
            (64, 16),
        ),
        ({"levels": level("spad", bypass=("inputs",))}, "bypass_constraint", "spad", (1, 0)),
        (
            {"levels": level("l2", orders=(("K", "C"),)), "dataflow": "output_stationary"},
            "orders_constraint",
            "l2",
            (1, 0),
        ),
        (
            {"levels": level("l2", unroll_y=(("K", None),)), "dataflow": "row_stationary"},
            "dataflow_constraint",
            "l2",
            (1, 0),
        ),
    ],
)
def test_what_no_mapping_can_obey_has_a_name(
    rules: dict[str, object], reason: str, where: str, amounts: tuple[float, float]
) -> None:
    whole = problem(conv(), casco_edge(), **rules)
    why = whole.impossible()
    assert why is not None
    assert (why.reason, why.where, (why.needed, why.available)) == (reason, where, amounts)
    assert why == conflict(whole.constraints, whole.hardware)
    with pytest.raises(InfeasibleError, match=reason):
        _ = whole.setup


def test_a_tensor_that_a_level_cannot_hold_has_a_name() -> None:
    why = problem(conv(), preset("eyeriss"), levels=level("glb", keep=("weights",))).impossible()
    assert why is not None
    assert (why.reason, why.amounts) == ("keep_constraint", "")
    assert "it can hold inputs, outputs" in why.hint


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="'gbl', which is unknown; did you mean glb"):
        problem(conv(), preset("eyeriss"), levels=level("gbl"))


def test_what_is_unrolled_needs_room() -> None:
    """A buffer that feeds 8 x 8 PEs with a word each holds 64 words of weights."""
    layer = Layer("m", "conv", k=64, c=64, p=4, input_size=(4, 1))
    rules = level("l2", unroll_x=(("K", 8),), unroll_y=(("C", 8),), keep=("weights",))
    wide = problem(layer, casco_edge(l2_kib=64), levels=rules)
    assert wide.impossible() is None
    small = tuple(
        replace(v, capacity_bytes=60) if v.name == "l2" else v for v in wide.hardware.levels
    )
    why = replace(wide, hardware=replace(wide.hardware, levels=small)).impossible()
    assert why is not None
    assert (why.where, why.needed) == ("l2 (weights)", 64 * wide.hardware.word_bits / 8)


def test_an_operand_that_lives_in_a_buffer_is_held_there() -> None:
    whole = problem(conv(), casco_edge(), levels=level("l2", bypass=("inputs", "outputs")))
    staged = replace(whole, staged=(False, True, True))
    assert staged.setup.allowed[1].tolist() == [1, 1, 1]
    found = prove(staged, 10**7)
    assert found.proven
    assert found.best is not None
    status, *_ = evaluate_batch(staged.setup, found.best.loops[None], found.best.keep[None])
    assert status[0] == VALID
    assert found.best.keep[1, 1:].tolist() == [1, 1]
