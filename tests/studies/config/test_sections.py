from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from archloom.studies.config.errors import EntryError
from archloom.studies.config.sections import (
    Reading,
    Section,
    each,
    named_one,
    number,
    section,
    text,
    whole,
    word,
)


@dataclass(frozen=True, kw_only=True)
class Inner(Section):
    share: Annotated[float, number(above=0, most=1)] = 1.0
    kind: Annotated[str, word("one", "two").silent_if(lambda k: k == "one")] = "one"

    def __post_init__(self) -> None:
        if self.share == 0.5:
            raise ValueError("half is nothing")


def joined(value: str, beside: Reading) -> str:
    return f"{beside.before['name']}{value}"


@dataclass(frozen=True, kw_only=True)
class Outer(Section):
    name: Annotated[str, text("^[a-z]+$")]
    count: Annotated[int | None, whole(1, most=9).or_none()] = None
    inner: Annotated[Inner, section(Inner)] = Inner()
    more: Annotated[tuple[Inner, ...], each(Inner)] = ()
    part: Annotated[str, named_one("part", lambda: ["a", "b"])] = "a"
    after: Annotated[
        str, text().checked(lambda value, beside: f"{beside.before.get('name')}{value}")
    ] = ""


def faults(entry: Any) -> list[tuple[str, str]]:
    with pytest.raises(EntryError) as caught:
        Outer.read(entry, Reading())
    return [(fault.place.path, fault.message) for fault in caught.value.faults]


def test_what_is_written_is_read_again() -> None:
    entry = {"name": "x", "count": 3, "inner": {"share": 1, "kind": "two"}, "more": [{}]}
    found = Outer.read(entry, Reading(Path()))
    assert found == Outer(name="x", count=3, inner=Inner(kind="two"), more=(Inner(),), after="")
    stored = found.to_dict()
    assert stored["inner"] == {"share": 1.0, "kind": "two"}
    assert stored["more"] == [{"share": 1.0}]
    assert isinstance(stored["inner"]["share"], float)
    assert replace(Outer.read(stored, Reading()), after="") == found
    assert Outer.read(found, Reading()) is found
    assert Outer.read(replace(found, count=None).to_dict(), Reading()).count is None


def test_everything_that_is_wrong_comes_at_once() -> None:
    found = faults(
        {
            "count": 10,
            "inner": {"share": 2, "kind": "three", "shar": 1},
            "more": [{}, {"share": 0.5}, 3],
            "part": "c",
            "nmae": "x",
            1: 2,
        }
    )
    assert found == [
        ("name", "is missing"),
        ("count", "10 must be less than or equal to 9"),
        ("inner.share", "2 must be less than or equal to 1"),
        ("inner.kind", "'three' is unknown; known: one, two"),
        ("inner.shar", "is an unknown key; did you mean share?"),
        ("more[1]", "half is nothing"),
        ("more[2]", "3 must be a mapping of share, kind"),
        ("part", "part 'c' is unknown; known: a, b"),
        ("nmae", "is an unknown key; did you mean name?"),
        ("1", "is an unknown key; known: name, count, inner, more, part, after"),
    ]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", "A", "'A' must match pattern '^[a-z]+$'"),
        ("name", 3, "3 must be a valid string"),
        ("count", True, "True must be a valid integer"),
        ("count", 2.0, "2.0 must be a valid integer"),
        ("count", "1e3", "'1e3' must be a valid integer; YAML reads this as a text, write 1000"),
        ("count", 0, "0 must be greater than or equal to 1"),
        ("inner", {"share": True}, "True must be a valid number"),
        ("inner", {"share": float("nan")}, "nan must be a finite number"),
        ("inner", {"share": 0}, "0 must be greater than 0"),
        ("more", {}, "{} must be a list"),
    ],
)
def test_each_rule_is_said(key: str, value: Any, message: str) -> None:
    ((_, found),) = faults({"name": "x", key: value})
    assert found == message


def test_a_key_knows_the_sound_ones_before_it() -> None:
    assert Outer.read({"name": "x", "after": "y"}, Reading()).after == "xy"
    assert Outer.read({"after": "y", "name": "x"}, Reading()).after == "xy"


def test_an_integer_of_any_length_is_no_crash() -> None:
    ((place, message),) = faults({"name": "x", "inner": {"share": 10**400}})
    assert place == "inner.share"
    assert message.endswith("must be a finite number")
