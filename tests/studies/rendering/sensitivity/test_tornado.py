"""Tornado charts."""

from dataclasses import replace

import pytest

from archloom.space.design_space.assumptions import AssumedValue, Assumption
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.networks import network
from archloom.studies.rendering.sensitivity.tornado import tornado
from archloom.studies.rendering.sensitivity.words import (
    change_text,
    deciding_texts,
    largest_text,
    value_text,
)
from archloom.studies.solve.sensitivity.pooled_mappings import Figures, MappingsEffort
from archloom.studies.solve.sensitivity.result import Effect, Outcome, Sensitivity

NO_ROOM = Infeasible("spad_overflow", "spad", 4, 2, "bytes", "use a larger spad")


def outcome(value: float, *latencies: float, area: float = 1.0) -> Outcome:
    runs = tuple(Figures(seconds, 1.0, seconds) for seconds in latencies)
    return Outcome({"x": value}, area, runs)


def effect(key: str, less: Outcome, more: Outcome) -> Effect:
    return Effect(AssumedValue(Assumption(key, "guessed"), 4, (key,)), less, more)


FOUND = Sensitivity(
    preset("eyeriss"),
    (network("tiny_mlp"), network("tiny_cnn")),
    MappingsEffort(),
    2.0,
    outcome(0, 1.0, 1.0),
    (
        effect("small", outcome(2, 1.05, 1.0), outcome(8, 0.95, 1.0)),
        effect("large", outcome(2, 2.0, 1.0), outcome(8, 0.5, 1.5)),
        effect("none", Outcome({}, refused="it stays 4"), Outcome({}, refused="it stays 4")),
        effect("fatal", Outcome({"x": 2}, 0.5, (NO_ROOM, NO_ROOM)), outcome(8, 1.0, 1.0)),
    ),
)


def test_bars_are_the_changes_and_the_largest_is_on_top() -> None:
    panels = tornado(FOUND).axes
    assert len(panels) == 8
    first, second = panels[0], panels[4]
    assert [text.get_text() for text in first.get_yticklabels()] == [
        "fatal = 4",
        "large = 4",
        "small = 4",
    ]
    # of the second network all but two values change nothing
    assert [text.get_text() for text in second.get_yticklabels()] == [
        "fatal = 4",
        "large = 4",
        "small = 4",
    ]
    widths = [bar.get_width() for bar in first.patches if bar.get_height() == pytest.approx(0.38)]
    assert widths == pytest.approx([0, 100, -50, 5, -5])
    assert [text.get_text() for text in first.texts] == ["cannot run"]
    low, high = first.get_xlim()
    assert (low, high) == pytest.approx((-52.5, 105))
    # an area is known of what cannot run
    assert list(panels[3].texts) == []
    assert first.yaxis_inverted()


def test_what_decides_is_said_in_words() -> None:
    assert list(deciding_texts(FOUND, 0)) == [
        "fatal: at 2 it cannot run: spad_overflow at spad: "
        "needs 4 bytes, 2 bytes available; use a larger spad",
        "large: at 2 latency +100.0%, EDP +100.0%; at 8 latency -50.0%, EDP -50.0%",
    ]
    assert list(deciding_texts(FOUND, 1))[1] == "large: at 8 latency +50.0%, EDP +50.0%"


def test_where_nothing_decides_the_largest_change_is_named() -> None:
    small = replace(FOUND, effects=FOUND.effects[:1])
    assert largest_text(small, 0) == "the largest change is latency +5.0% with small at 2"
    assert largest_text(small, 1) == "nothing changes"
    assert largest_text(replace(FOUND, effects=FOUND.effects[2:3]), 0) == "no value was varied"


@pytest.mark.parametrize(
    ("change", "text"),
    [(0.0, "0.0%"), (-0.0004, "0.0%"), (0.0006, "+0.1%"), (-0.5, "-50.0%"), (23.0, "+2,300.0%")],
)
def test_changes_have_signs_unless_they_are_none(change: float, text: str) -> None:
    assert change_text(change) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(4, "4"), (6.4, "6.4"), (0.1 + 0.2, "0.3"), ("n7", "n7"), (("K", "C"), "[K, C]")],
)
def test_values_are_as_files_have_them(value: object, text: str) -> None:
    assert value_text(value) == text
