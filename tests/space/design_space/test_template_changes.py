"""Changes of a template by key path: what they change, what follows, and what leads nowhere."""

from copy import deepcopy

import pytest
import yaml
from hypothesis import given, strategies as st

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS, preset_file
from archloom.space.design_space.template import TemplateError
from archloom.space.design_space.template_changes import changed, value_at
from archloom.space.yaml_reader import Faults

DATA = {"a": 1, "b": {"c": 2}, "levels": [{"name": "x", "n": 3}, {"name": "y", "n": {"d": 4}}]}


def paths(data, above=()):
    """Yield the key path of every value but items of lists, by whose names paths lead."""
    for key, value in data.items():
        here = (*above, key)
        if key != "name":
            yield ".".join(here)
        if isinstance(value, dict):
            yield from paths(value, here)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from paths(item, (*here, item["name"]))


@given(st.sampled_from(list(paths(DATA))), st.integers())
def test_a_value_is_found_where_it_was_put_and_nothing_else_changes(path, value):
    before, faults = deepcopy(DATA), Faults()
    found = changed(DATA, {path: value}, faults)
    assert not faults
    assert before == DATA
    assert value_at(found, path) == value
    assert changed(found, {path: value_at(DATA, path)}, faults) == DATA


@given(st.sampled_from(PRESETS), st.data())
def test_a_change_to_what_is_there_changes_nothing(name, data):
    template = yaml.safe_load(preset_file(name).read_text())
    # keys of marks are paths themselves
    path = data.draw(st.sampled_from([p for p in paths(template) if "assumptions" not in p]))
    space = HardwareSpace.load(name, {path: value_at(template, path)})
    assert space.build({}) == preset(name)


def test_what_the_template_derives_follows():
    slow = HardwareSpace.load("eyeriss", {"define.clock_mhz": 100}).build({})
    assert slow.frequency_mhz == 100
    # the same bytes a second are twice as many words a cycle
    assert slow.levels[-1].bandwidth_words == 2 * preset("eyeriss").levels[-1].bandwidth_words


def test_a_section_is_made_where_there_is_none():
    assert "effects" not in yaml.safe_load(preset_file("eyeriss").read_text())
    made = HardwareSpace.load("eyeriss", {"effects.network": "mesh"}).build({})
    assert made.effects.network == "mesh"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("levels.glp.mesh", [1, 1], "levels.glp.mesh: the template has no 'glp' there; did you me"),
        ("levels.glb.mash", [1, 1], "levels[1].mash: unknown key; did you mean mesh"),
        ("levels.glb.width_words.x", 1, "levels.glb.width_words.x: leads to no key"),
        ("levels.glb", 1, "levels.glb: leads to no key of the template"),
        ("word_bits.x.y", 1, "word_bits.x.y: the template has no 'x' there; nothing there has"),
        ("effects.network", "mash", "effects.network: 'mash' is not known; did you mean mesh?"),
        ("", 1, "leads to no key of the template"),
        ("levles.glb.mesh", [1, 1], "levles: unknown key; did you mean levels?"),
        ("frequency_mhz", "= clok", "frequency_mhz: 'clok' is not defined"),
    ],
)
def test_a_path_that_leads_nowhere_is_told(path, value, message):
    with pytest.raises(TemplateError) as error:
        HardwareSpace.load("eyeriss", {path: value})
    assert message in str(error.value)


def test_all_changes_are_told_at_once():
    with pytest.raises(TemplateError) as error:
        HardwareSpace.load("eyeriss", {"levels.a.mesh": 1, "levels.b.mesh": 1, "x": 1})
    assert len(error.value.errors) == 3


def test_what_is_not_there_has_no_value():
    assert value_at(DATA, "levels.z.n") is None
    assert value_at(DATA, "a.b") is None
    assert value_at(None, "a") is None
