"""Forms of a network: their networks, their text, and what they refuse."""

import json
from dataclasses import replace

import pytest

from archloom.space.design_space.compression.forms import CompressedForms, PrunedGroup, Widths
from archloom.space.design_space.compression.forms_json import (
    forms_from_text,
    forms_to_text,
    is_forms_text,
)
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import to_text as network_text

from ....cases.compressed import LEVELS, forms


def test_a_form_has_the_densities_of_its_levels_and_nothing_else_changes() -> None:
    found = forms()
    assert len(list(found.forms())) == 9
    assert found.widths == (Widths(4, 4), Widths(8, 8))
    for early, late in found.forms():
        made = found.network_of((early, late))
        shares = {layer.name: layer.density for layer in made.layers}
        assert shares["conv1"] == (1 - early, 1.0)
        assert shares["block.conv1"] == (1 - 0.9 * late, 1.0)
        assert shares["block.conv2"] == (1 - 1.1 * late, 1.0)
        assert shares["fc"] == (1.0, 1.0)
        dense = tuple(replace(layer, density=(1.0, 1.0)) for layer in made.layers)
        assert replace(made, layers=dense) == found.network


def test_text_and_back() -> None:
    found = forms()
    assert forms_from_text(forms_to_text(found)) == found
    assert is_forms_text(forms_to_text(found))
    assert not is_forms_text(network_text(found.network))
    # forms and accuracies stand in lines of their own, for people
    (line,) = (
        x for x in forms_to_text(found).splitlines() if x.startswith('{"pruned": [0.5, 0.9]')
    )
    assert json.loads(line.rstrip(",")) == {"pruned": [0.5, 0.9], "percent": [93.7, 95.2]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("widths"), "widths"),
        (lambda d: d["accuracy"].pop(), "an accuracy for each form and width"),
        (lambda d: d["accuracy"][0].update(percent=[101, 99]), "from 0 to 100"),
        (lambda d: d["groups"][0].update(levels=["0", 0.5, 0.9]), "must be numbers"),
        (lambda d: d["groups"][0].update(layers=["conv9"]), "conv9 is no layer of tiny_cnn"),
        (lambda d: d["groups"][0].update(layers=["block.conv1"]), "in two groups"),
        (lambda d: d["network"].update(layers=[]), "layers is"),
        (lambda d: d.update(widths=[[4, 4], [8, 8.5]]), "whole number"),
        (lambda d: d.update(format="archloom compressed network 2"), "format is"),
    ],
)
def test_a_text_that_was_changed_is_refused(change: object, message: str) -> None:
    data = json.loads(forms_to_text(forms()))
    change(data)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        forms_from_text(json.dumps(data))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"levels": (0.5, 0.0)}, "must be in ascending order"),
        ({"levels": (0.0, 1.0)}, "below 1"),
        ({"layers": ()}, "has no layers"),
        ({"densities": ((1.0,),)}, "a density for each level and layer"),
        ({"densities": ((1.0,), (0.0,))}, "above 0 and at most 1"),
    ],
)
def test_groups_that_cannot_be_are_refused(fields: dict[str, object], message: str) -> None:
    sound = {"levels": (0.0, 0.5), "layers": ("conv1",), "densities": ((1.0,), (0.5,))}
    with pytest.raises(ValueError, match=message):
        PrunedGroup("early", **(sound | fields))  # type: ignore[arg-type]


def test_forms_need_groups() -> None:
    with pytest.raises(ValueError, match="groups must have names that differ"):
        CompressedForms(network("tiny_cnn"), (), {})
    group = PrunedGroup("a", LEVELS, ("conv1",), ((1.0,), (0.5,), (0.1,)))
    with pytest.raises(ValueError, match="groups must have names that differ"):
        CompressedForms(network("tiny_cnn"), (group, group), {})
