"""Forms as parameters of a space: what a design runs, at which accuracy."""

from pathlib import Path

import pytest

from archloom.space.design_space.compression.choices import FormChoices
from archloom.space.design_space.compression.forms import Widths
from archloom.space.design_space.template import TemplateError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ....cases.compressed import TEMPLATE, choices, forms, space


def test_levels_are_parameters_behind_those_of_the_hardware(tmp_path: Path) -> None:
    plain, found = space(tmp_path), choices()
    whole = plain.with_parameters(found.parameters)
    assert [p.name for p in whole.parameters[-2:]] == ["pruned_early", "pruned_late"]
    assert whole.cardinality == 9 * plain.cardinality == 9 * 16
    assert whole.operand_widths() == [(4, 4), (8, 8)]
    for point in whole.enumerate():
        bare = {k: v for k, v in point.items() if not k.startswith("pruned")}
        with_forms, without = whole.build(point), plain.build(bare)
        assert isinstance(with_forms, Hardware)
        assert isinstance(without, Hardware)
        assert with_forms.levels == without.levels
        assert with_forms.operand_widths in whole.operand_widths()
        expected = found.forms[0].accuracy_percent[
            (point["pruned_early"], point["pruned_late"]), Widths(*without.operand_widths)
        ]
        assert found.accuracy_percent(point, with_forms) == expected
        (net,) = found.networks_at(point)
        assert net is found.networks_at(point)[0]
        assert net.layers[0].density == (1 - float(point["pruned_early"]), 1.0)


def test_a_name_that_the_template_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    taken = TEMPLATE.replace("  pe: {", "  pruned_late: {values: [1]}\n  pe: {")
    path = tmp_path / "own" / "packed.yaml"
    path.write_text(taken)
    plain = type(space(tmp_path)).load(path)
    with pytest.raises(TemplateError, match="pruned_late is a name of the template"):
        plain.with_parameters(choices().parameters)


def test_two_networks_have_their_own_groups() -> None:
    first, other = forms(), network("tiny_mlp")
    with pytest.raises(ValueError, match="two networks have a group 'early'"):
        FormChoices((first.network, other), (first, first))
    found = FormChoices((other, first.network), (first,), (0.5, 1.0))
    point = {"pruned_early": 0.5, "pruned_late": 0.0}
    mlp, cnn = found.networks_at(point)
    # shares of the study multiply those of the form
    assert mlp.layers[0].density == (0.5, 1.0)
    assert cnn.layers[0].density == (0.25, 1.0)
    # a preset is no point: it runs what loses least
    assert found.networks_at(None)[1].layers[0].density == (0.5, 1.0)
    assert found.networks_at(None) == found.networks_at({"pruned_early": 0, "pruned_late": 0})
    with pytest.raises(ValueError, match="compressed forms belong to"):
        FormChoices((other,), (first,))
