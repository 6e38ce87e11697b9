"""Mappings written in the record format are read back as they were."""

import json

from archloom.space.importers.cases.mapping import loops_of
from archloom.space.importers.cases.reader import case_of
from archloom.studies.analysis.conformance import evaluated

from .test_reader import LINES, RECORDS, copy_of


def test_every_recorded_mapping_comes_back() -> None:
    for record in RECORDS:
        case = case_of(record)
        assert case.mapping is not None
        written = loops_of(case.mapping, case.hardware, case.slots)
        again = case_of({**record, "mapping": json.loads(json.dumps(written))})
        assert again.hardware == case.hardware
        ours, theirs = evaluated(again), evaluated(case)
        assert (ours.energy_pj, ours.cycles) == (theirs.energy_pj, theirs.cycles)
        assert again.mapping is not None
        for one, two in zip(again.mapping.levels, case.mapping.levels, strict=True):
            assert (one.temporal, one.spatial_x, one.spatial_y) == (
                two.temporal,
                two.spatial_x,
                two.spatial_y,
            )
            assert one.keeps == two.keeps
            # loops of one step stand anywhere
            moving = [d for d in two.order if two.temporal[d] > 1]
            assert [d for d in one.order if d in moving] == moving


def test_a_mapping_has_the_keys_of_a_record() -> None:
    assert len(LINES) == len(RECORDS)
    for record in RECORDS:
        case = case_of(record)
        assert case.mapping is not None
        for ours, theirs in zip(
            loops_of(case.mapping, case.hardware, case.slots), record["mapping"], strict=True
        ):
            assert list(ours) == list(theirs)
            assert ours["temporal"]["factors"] == theirs["temporal"]["factors"]
            assert sorted(ours["temporal"]["permutation_inner_to_outer"]) == sorted(
                theirs["temporal"]["permutation_inner_to_outer"]
            )
            if theirs["spatial"] is not None:
                assert list(ours["spatial"]) == list(theirs["spatial"])
            for key in ("level", "keep", "bypass", "no_multicast"):
                assert sorted(ours[key]) == sorted(theirs[key])


def test_names_of_several_letters_are_listed() -> None:
    record = copy_of(RECORDS[0])
    text = json.dumps({k: record[k] for k in ("problem", "mapping")}).replace('"K"', '"out"')
    record.update(json.loads(text))
    for level in record["mapping"]:
        loops = level["temporal"]
        order = loops["permutation_inner_to_outer"]
        loops["permutation_inner_to_outer"] = [{"K": "out"}.get(d, d) for d in order]
        if level["spatial"]:
            for axis in "XY":
                key = f"order_{axis}_inner_to_outer"
                level["spatial"][key] = [{"K": "out"}.get(d, d) for d in level["spatial"][key]]
    case = case_of(record)
    assert case.mapping is not None
    written = loops_of(case.mapping, case.hardware, case.slots)
    assert "out" in written[0]["temporal"]["permutation_inner_to_outer"]
    assert case_of({**record, "mapping": written}).mapping is not None
