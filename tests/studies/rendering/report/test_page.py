"""What the page of a study holds: figures of every design, pictures of the front; its size."""

from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.networks.registry import network
from archloom.studies.rendering.report.design_data import design_data, more_data, short
from archloom.studies.rendering.report.fates import fate_rows
from archloom.studies.rendering.report.material import Apart, Gatherer, Material
from archloom.studies.rendering.report.network_data import places_of
from archloom.studies.rendering.report.page import packed_designs, page_values, study_page
from archloom.studies.storage.trial import Crash

from ....cases.pages import Page

#: bytes that the page of a study of 200 trials stays below
LARGEST = 3_000_000


@pytest.fixture(scope="module")
def material(finished_study: Path) -> Material:
    return Gatherer(finished_study).gather()


@pytest.fixture(scope="module")
def page(material: Material) -> Page:
    return Page(study_page(page_values(material)))


def test_every_design_with_an_edp_can_be_opened(material: Material, page: Page) -> None:
    labels = [*(d.label for d in material.view.designs), "eyeriss"]
    assert sorted(page.designs) == sorted(labels)
    assert list(page.data["rows"]) == labels
    assert "included for all designs with an EDP" in page.text


def test_designs_of_the_front_and_the_baseline_have_pictures(
    material: Material, page: Page
) -> None:
    front = [design.label for design in material.view.front]
    assert page.data["front"] == front
    assert sorted(page.carried("pictures")) == sorted([*front, "eyeriss"])
    (plan,) = page.part(f'data-pictures="{front[0]}"')
    (tile, *_) = plan["nests"]["0"]
    assert tile[-1].startswith("dram")
    boxes, buffer = plan["buffer"]["boxes"], plan["buffer"]
    assert buffer["level"] == "l2"
    assert max(right for _, _, _, right, *_ in boxes) == buffer["cycles"]
    assert all(0 <= bottom < top <= buffer["capacity"] for *_, bottom, top in boxes)


def test_numbers_of_a_design_are_those_of_its_trial(material: Material) -> None:
    places = places_of(material.networks)
    for found in material.apart.values():
        assert found.details is not None
        data = design_data(found.details, places)
        (plan,), (recorded,) = data["networks"], found.details["networks"]
        assert [layer[3] for layer in plan["layers"]] == [
            layer["latency_cycles"] for layer in recorded["layers"]
        ]
        energy = sum(sum(layer[5]) + layer[4] for layer in plan["layers"])
        assert energy + plan["sums"][0][8] == pytest.approx(recorded["energy_pj"] * 1e-6, rel=1e-4)
        assert plan["sums"][1][0] == pytest.approx(recorded["unfused"]["edp_js"], rel=1e-4)


def test_busy_cycles_bound_the_latency_of_a_plan(material: Material) -> None:
    """The plots of latency say so: DRAM and compute of a plan never take longer than it does."""
    places = places_of(material.networks)
    for found in material.apart.values():
        assert found.details is not None
        data = design_data(found.details, places)
        (plan,) = data["networks"]
        on_macs = [layer.uses_macs for layer in network("tiny_cnn").layers]
        compute = sum(
            layer[2] / (data["macs"] if on_macs[layer[0]] else data["lanes"])
            for layer in plan["layers"]
        )
        for level, rate in enumerate(data["rates"]):
            busy = sum(layer[6][level] for layer in plan["layers"]) / rate
            assert busy <= plan["sums"][0][2] * 1.0001
        assert compute <= plan["sums"][0][2]


def test_numbers_that_json_lacks_are_left_out() -> None:
    assert [short(v) for v in (None, float("inf"), 7, 7.0, 1.23456789)] == [
        None, None, 7, 7, 1.2346,
    ]  # fmt: skip


def two_hundred(material: Material) -> Material:
    """The material of a study of 200 trials, a tenth of them on the front."""
    view, designs = material.view, []
    for number in range(200):
        design = view.designs[number % len(view.designs)]
        trial = replace(design.trial, number=number)
        designs.append(replace(design, trial=trial, on_front=number % 10 == 0))
    details = next(a for a in material.apart.values() if a.buffers)
    view = replace(view, designs=tuple(designs), picked=0, hypervolume=view.hypervolume * 34)
    return replace(material, view=view, apart={d.label: details for d in designs})


def test_the_page_of_200_trials_is_small(material: Material) -> None:
    html = study_page(page_values(two_hundred(material)))
    assert len(html.encode()) < LARGEST
    assert len(Page(html).designs) == 200


def test_where_there_is_no_more_room_the_page_says_what_is_left_out(
    material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = material.shown[0].label
    places = places_of(material.networks)
    alone = packed_designs(material.apart, [first], places)
    where = "archloom.studies.rendering.report.page"
    room = len(alone.numbers)
    monkeypatch.setattr(f"{where}.NUMBERS_BYTES", room)
    monkeypatch.setattr(f"{where}.DESIGNS_BYTES", room + len(alone.pictures[first]) - 1)
    page = Page(study_page(page_values(material)))
    assert (page.designs, page.carried("pictures")) == ([first], [])
    count = len(material.view.designs)
    assert f"The details of {count} of {count + 1} designs are not in this page" in page.text
    assert "archloom show DIR TRIAL" in page.text


def test_why_a_design_cannot_be_taken_apart_is_said(material: Material) -> None:
    label = material.shown[0].label
    apart = {**material.apart, label: Apart(why="recorded otherwise")}
    page = Page(study_page(page_values(replace(material, apart=apart))))
    assert label not in page.designs
    assert f"{label}: recorded otherwise" in " ".join(page.text.split())


def test_a_buffer_that_cannot_be_drawn_leaves_a_reason(material: Material) -> None:
    found = material.apart[material.shown[0].label]
    assert found.details is not None
    (plan,) = more_data(found.details, ["several buffers"], places_of(material.networks))
    assert plan["buffer"] == "several buffers"


def test_trials_are_counted_by_what_became_of_them(material: Material) -> None:
    view = material.view
    lost = [
        replace(d.trial, edp_js=None, state="failed", crash=Crash("KeyError", "gone", ""))
        for d in view.designs[:2]
    ]
    heads, rows = fate_rows(replace(view, losses=tuple(lost)))
    assert heads[:2] == ["outcome", "designs"]
    assert rows[-1] == ["failed: KeyError", 2, "gone", ""]
    assert sum(row[1] for row in rows[:2] if isinstance(row[1], int)) == len(view.designs)
