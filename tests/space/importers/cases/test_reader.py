"""Records of other tools as our hardware, layers and mappings; and records that are none."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.space.importers.cases.problem import case_layer
from archloom.space.importers.cases.reader import BadCase, Case, case_of, read_cases
from archloom.space.importers.cases.record import RecordError, parse_record
from archloom.studies.analysis.conformance import agreement, evaluated

from ....source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"
LINES = FILE.read_text().splitlines()
RECORDS = [json.loads(line) for line in LINES]
TINY = next(
    r for r in RECORDS if r["problem"]["name"] == "tiny" and r["arch"]["name"] == "A8_1d_noc"
)


def copy_of(record):
    return json.loads(json.dumps(record))


def problem(dims, weights, inputs, outputs, **more):
    ranks = {"Weights": weights, "Inputs": inputs, "Outputs": outputs}
    record = copy_of(TINY)
    record["problem"] = {"name": "p", "dims": dims, "projections": ranks, **more}
    return parse_record(record).problem


def faults_of(record):
    with pytest.raises(RecordError) as error:
        case_of(record)
    return error.value.faults


def test_a_matrix_product_by_any_names():
    found = case_layer(
        problem(
            {"M": 5, "N": 7, "K": 3}, [[["K"]], [["N"]]], [[["M"]], [["K"]]], [[["M"]], [["N"]]]
        )
    )
    assert found.slots == {"M": 0, "N": 2, "K": 3}
    assert found.layer.bounds == (5, 1, 7, 3, 1, 1, 1, 1)


def test_two_batches_and_two_reductions_take_free_slots():
    found = case_layer(
        problem(
            {"A": 2, "B": 3, "K": 5, "C": 7, "D": 11},
            [[["K"]], [["C"]], [["D"]]],
            [[["A"]], [["B"]], [["C"]], [["D"]]],
            [[["A"]], [["B"]], [["K"]]],
        )
    )
    # B walks rows and D kernel columns: with no window between them that is what they do
    assert found.layer.bounds == (2, 1, 5, 7, 3, 1, 1, 11)
    assert found.layer.input_words == 2 * 3 * 7 * 11


def test_windows_keep_stride_and_dilation_with_their_axis():
    found = case_layer(
        problem(
            {"X": 4, "F": 3, "Y": 6, "K": 2},
            [[["F"]], [["K"]]],
            [[["F", "d"], ["X", "s"]], [["Y", "t"]]],
            [[["X"]], [["Y"]], [["K"]]],
            coefficients={"d": 2, "s": 3, "t": 4},
        )
    )
    assert found.slots["X"] % 2 == found.slots["F"] % 2 != found.slots["Y"] % 2
    assert found.layer.stride == (3, 4)
    assert found.layer.dilation == (2, 1)
    assert found.layer.input_size == (2 * 2 + 3 * 3 + 1, 5 * 4 + 1)


@pytest.mark.parametrize(
    ("dims", "ranks", "says"),
    [
        (
            {"A": 2, "B": 2},
            ([[["A"]], [["B"]]],) * 3,
            "dims.B: indexes Weights, Inputs, Outputs; A",
        ),
        ({"A": 2}, ([], [[["A"]]], []), "dims.A: indexes Inputs; the model has no dim"),
        ({"A": 2}, ([], [], []), "dims.A: indexes nothing"),
        ({"A": 2}, ([[["A"], ["A"]]], [], []), "only Inputs can have windows"),
        ({"A": 2}, ([[["Z"]]], [], []), "'Z' is not a dimension"),
        ({"A": 2}, ([[["A", "up"]]], [], []), "coefficient 'up' is not in problem.coefficients"),
    ],
)
def test_what_the_model_cannot_do_is_named(dims, ranks, says):
    with pytest.raises(RecordError) as error:
        case_layer(problem(dims, *ranks))
    assert any(says in fault for fault in error.value.faults), error.value.faults


def renamed(record, names):
    """Return the record with other names of dimensions."""
    new = copy_of(record)
    p = new["problem"]
    p["dims"] = {names[d]: n for d, n in p["dims"].items()}
    for ranks in p["projections"].values():
        for rank in ranks:
            for term in rank:
                term[0] = names[term[0]]
    for level in new["mapping"]:
        loops = level["temporal"]
        loops["factors"] = {names[d]: n for d, n in loops["factors"].items()}
        order = loops["permutation_inner_to_outer"]
        loops["permutation_inner_to_outer"] = [names[d] for d in order]
        if level["spatial"]:
            for key in ("X", "Y"):
                level["spatial"][key] = {names[d]: n for d, n in level["spatial"][key].items()}
                order = level["spatial"][f"order_{key}_inner_to_outer"]
                level["spatial"][f"order_{key}_inner_to_outer"] = [names[d] for d in order]
    return new


@pytest.mark.parametrize("record", RECORDS[::4], ids=lambda r: r["id"])
def test_names_of_dimensions_do_not_matter(record):
    names = {d: f"dim_{d.lower()}" for d in record["problem"]["dims"]}
    assert agreement(case_of(renamed(record, names))) == agreement(case_of(record))


@pytest.mark.parametrize("record", RECORDS[::4], ids=lambda r: r["id"])
def test_rows_and_columns_may_change_places(record):
    swap = dict(zip("PQRS", "QPSR", strict=True))
    other = renamed(record, {d: swap.get(d, d) for d in record["problem"]["dims"]})
    for key in ("stride", "dilation"):
        p = other["problem"]
        p[f"W{key}"], p[f"H{key}"] = p[f"H{key}"], p[f"W{key}"]
    for rank in other["problem"]["projections"]["Inputs"]:
        for term in rank:
            if len(term) == 2:
                term[1] = {"W": "H", "H": "W"}[term[1][0]] + term[1][1:]
    ours, theirs = evaluated(case_of(other)), evaluated(case_of(record))
    assert np.array_equal(ours.counts, theirs.counts)
    assert ours.energy_pj == pytest.approx(theirs.energy_pj, rel=1e-14)


def test_all_faults_are_named_at_once():
    record = copy_of(TINY)
    record["arch"]["levels"][0]["instances"] = 7
    record["mapping"][0]["temporal"]["factors"] = {"Z": 2, "P": 3}
    record["mapping"][1]["keep"] = ["Weight"]
    faults = faults_of(record)
    assert any("levels[0].instances: 7 is not meshX * meshY" in f for f in faults)
    assert any("'Z' is not a dimension" in f for f in faults)
    assert any("factors of P multiply to" in f for f in faults)
    assert any("'Weight' is not a tensor; did you mean Weights?" in f for f in faults)


TIMING = {
    ("device", "ddr9"): "arch.levels[2].timing.device: must be one of ddr3_1600_x16, ",
    ("device", "ddr4_3200_x9"): "lpddr4_2400_x16, got 'ddr4_3200_x9'; did you mean ddr4_3200_x8",
    ("device", 3): "arch.levels[2].timing.device: must be a text, got 3",
    ("channels", 0): "arch.levels[2].timing.channels: must be greater than or equal to 1, got 0",
    ("channels", 2000): "timing.channels: must be less than or equal to 1024, got 2000",
    ("ranks", True): "arch.levels[2].timing.ranks: must be a whole number, got True",
    ("ranks", 2.5): "arch.levels[2].timing.ranks: must be a whole number, got 2.5",
    ("layout", "rows_first"): "arch.levels[2].timing.layout: must be one of channels_first, ",
    ("chanels", 2): "arch.levels[2].timing.chanels: is not a key of the format; did you mean chan",
}


def with_timing(**keys):
    record = copy_of(TINY)
    level = record["arch"]["levels"][-1]
    for key in [key for key in level if key.endswith("_pJ")]:
        del level[key]
    level["timing"] = {"device": "ddr4_3200_x8", **keys}
    return record


def test_a_case_may_have_dram_with_rows_and_banks():
    timing = case_of(with_timing(channels=2)).hardware.levels[-1].timing
    assert (timing.device, timing.channels, timing.layout) == ("ddr4_3200_x8", 2, "channels_first")


@pytest.mark.parametrize(("fault", "says"), TIMING.items())
def test_what_is_wrong_with_timing_is_named_where_it_stands(fault, says):
    (told,) = faults_of(with_timing(**dict([fault])))
    assert says in told


def test_faults_of_timing_are_told_with_all_others():
    wrong = {"device": "ddr9", "channels": 0, "layout": "x", "rank": 1}
    record = with_timing(**wrong)
    record["mapping"][0]["temporal"]["factors"] = {"Z": 2}
    faults = faults_of(record)
    for key in wrong:
        assert any(f.startswith(f"arch.levels[2].timing.{key}: ") for f in faults), key
    # what stands in other parts of the record does not wait until the form of these is right
    record["problem"]["projections"]["Weights"] = [[["Y"]]]
    record["mapping"][1]["keep"] = ["Weight"]
    assert any("'Y' is not a dimension" in f for f in faults_of(record))
    record["arch"] = TINY["arch"]
    faults = faults_of(record)
    assert any("'Y' is not a dimension" in f for f in faults)
    assert any("'Z' is not a dimension" in f for f in faults)
    assert any("'Weight' is not a tensor; did you mean Weights?" in f for f in faults)


def test_timing_of_a_level_that_cannot_have_it_is_named_with_all_others():
    record = copy_of(TINY)
    for level in record["arch"]["levels"][:2]:
        level["timing"] = {"device": "hbm2_2000"}
    record["arch"]["levels"][-1]["timing"] = {"device": "hbm2_2000"}
    record["arch"]["levels"][1].update(meshX=2, instances=2)
    del record["arch"]["levels"][0]["energy_pJ"]
    record["arch"]["levels"][0]["addr_gen_energy_pJ"] = 1.0
    faults = faults_of(record)
    assert [f for f in faults if "for the outermost level, " in f and "[0]" in f]
    assert [f for f in faults if "for the outermost level, " in f and "[1]" in f]
    assert [f for f in faults if "arch.levels[2].timing: says what an access costs" in f]
    assert [f for f in faults if "arch.levels[1].timing: needs meshX and meshY of 1, got 2" in f]
    assert [f for f in faults if "arch.levels[0]: energies of network or addresses need" in f]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r["arch"]["levels"][0].update(energy_pJ={"read": -1}), "energy_pJ"),
        (lambda r: r["arch"]["levels"][0].update(read_bandwidth=0), "read_bandwidth"),
        (lambda r: r["arch"]["levels"][0].update(shared_bandwidth=float("nan")), "shared_band"),
        (lambda r: r["arch"]["levels"][0].update(sise=4), "sise: is not a key"),
        (lambda r: r["arch"]["levels"][0].update(size_words=0), "size_words"),
        (lambda r: r["arch"]["levels"][-1].update(size_words=8), "must hold all"),
        (lambda r: r["arch"]["levels"][0].update(multiple_buffering=0.5), "multiple_buffering"),
        (lambda r: r["arch"]["mac"].update(energy_pJ="3"), "must be a number, got '3'"),
        (lambda r: r["arch"]["mac"].update(energy_pJ=True), "must be a number, got True"),
        (lambda r: r.update(imperfect_factorization=1), "must be true or false, got 1"),
        (lambda r: r["problem"]["dims"].update(P=0), "problem.dims.P"),
        (lambda r: r["problem"]["dims"].update(P=4.5), "problem.dims.P"),
        (lambda r: r["problem"].update(Wstride=-1), "Wstride"),
        (lambda r: r["mapping"].pop(), "mapping: levels are"),
        (lambda r: r["mapping"][-1].update(keep=[]), "outermost level must keep every tensor"),
        (lambda r: r["mapping"][0].update(bypass=["Weights"], keep=["Weights"]), "bypass"),
        (lambda r: r["mapping"][0]["temporal"].update(permutation_inner_to_outer="PP"), "once"),
        (lambda r: r.update(imperfect_factorization=True), "imperfect_factorization"),
        (lambda r: r["arch"]["mac"].update(meshX=3, instances=3), "must divide"),
    ],
)
def test_a_fault_is_named_where_it_stands(change, says):
    record = copy_of(TINY)
    change(record)
    assert any(says in fault for fault in faults_of(record)), faults_of(record)


def test_a_fanout_that_is_not_the_meshes_is_refused():
    record = copy_of(next(r for r in RECORDS if any(v["spatial"] for v in r["mapping"])))
    level = next(v for v in record["mapping"] if v["spatial"])
    level["spatial"]["fanoutX"] += 1
    assert any("but the meshes give" in f for f in faults_of(record))


def test_word_widths_of_levels_may_differ():
    """Counts are in words, whatever their widths; energies are per access of a level."""
    record = copy_of(TINY)
    record["arch"]["levels"][0]["word_bits"] = 8
    record["arch"]["levels"][1]["word_bits"] = 24
    plain, mixed = agreement(case_of(TINY)), agreement(case_of(record))
    assert plain == mixed
    assert plain.agrees


def test_narrow_words_are_those_of_the_multipliers():
    record = copy_of(TINY)
    record["arch"]["levels"][0]["word_bits"] = 32
    record["arch"]["levels"][1]["word_bits"] = 8
    del record["arch"]["mac"]["energy_pJ"]
    assert case_of(record).hardware.operand_bits == 8
    assert evaluated(case_of(record)).mac_pj > 0


def test_one_level_is_enough():
    """Every MAC reads and updates words of the only level; first touches read nothing."""
    record = copy_of(TINY)
    record["arch"]["levels"] = record["arch"]["levels"][-1:]
    record["arch"]["mac"].update(instances=1, meshX=1, meshY=1)
    loops = record["mapping"][-1]
    loops["temporal"]["factors"] = dict(record["problem"]["dims"])
    record["mapping"] = [loops]
    ours = evaluated(case_of(record))
    macs = np.prod(list(record["problem"]["dims"].values()))
    made = np.prod([record["problem"]["dims"][d] for d in "NKPQ"])
    assert ours.cycles == macs
    assert ours.counts[0].tolist() == [[macs, 0, 0], [macs, 0, 0], [macs - made, 0, macs]]


def test_a_file_yields_cases_and_bad_lines_by_number(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join([LINES[0], "", "{", '{"id": "x"}', "[]", LINES[1]]) + "\n")
    found = list(read_cases(path))
    assert [isinstance(c, Case) for c in found] == [True, False, False, False, True]
    assert [c.name for c in found if isinstance(c, BadCase)] == ["line 3", "x", "line 5"]
    assert found[1].faults[0].startswith("is not JSON")


ODD = (None, True, -1, 0, 1e308, float("nan"), float("inf"), "", "P", [], {}, [[]], 2**70, 1.5)


def entries(value, path=()):
    """Yield the path of everything inside a JSON value."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from entries(value[key], (*path, key))


def mutated(record, seed):
    """Return a copy with one to three entries replaced, dropped, renamed or doubled."""
    draw = random.Random(seed)
    record = copy_of(record)
    record["result"] = {"cycles": 1, "energy_pJ": 1, "levels": []}
    for _ in range(draw.randint(1, 3)):
        paths = list(entries(record))
        *path, last = draw.choice(paths)
        inner = record
        for key in path:
            inner = inner[key]
        kind = draw.randrange(4)
        if kind == 0:
            del inner[last]
        elif kind == 1 and isinstance(inner, dict):
            inner[f"{last}x"] = inner.pop(last)
        elif kind == 2 and isinstance(inner, list):
            inner.append(copy_of(inner[last]))
        else:
            inner[last] = draw.choice(ODD)
    return record


def outcome(record):
    """Say what a record comes to; any exception but the named ones fails the test."""
    try:
        case = case_of(record)
    except RecordError as error:
        return "refused" if all(error.faults) else "refused without a reason"
    if case.mapping is None:
        return "no mapping"
    try:
        ours = evaluated(case)
    except ValueError as error:
        return "misfit" if str(error) else "misfit without a reason"
    sound = ours.cycles > 0 and 0 < ours.energy_pj < float("inf") and (ours.counts >= 0).all()
    return "sound" if sound else f"{ours.cycles} cycles, {ours.energy_pj} pJ"


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_a_mutated_record_is_evaluated_or_refused_with_reasons(seed):
    """100 mutants of each draw: none may raise anything else, or come to zero or nan."""
    for i in range(100):
        record = mutated(RECORDS[(seed + i) % len(RECORDS)], seed + i)
        assert outcome(record) in ("refused", "no mapping", "misfit", "sound"), seed + i


def test_a_layer_of_ten_to_the_twelve_macs_is_exact():
    record = copy_of(TINY)
    record["problem"]["dims"]["P"] *= 10**10
    record["mapping"][-1]["temporal"]["factors"]["P"] *= 10**10
    small, large = evaluated(case_of(TINY)), evaluated(case_of(record))
    macs = np.prod([float(n) for n in record["problem"]["dims"].values()])
    assert macs > 1e12
    # P advances at the outermost level alone, so what weights do there only repeats
    assert large.cycles == small.cycles * 10**10
