"""``archloom schedule``: why neighbouring groups of a plan are not one."""

import json
from pathlib import Path

from archloom.space.networks.registry import network
from archloom.studies.rendering.text.borders import border_lines

from .test_schedule import shown


def said(more: float) -> str:
    border = {"before": ["a"], "after": ["b"], "alike": 0, "infeasible": None, "edp_percent": more}
    return list(border_lines([border]))[1]


def test_what_makes_no_difference_is_not_said_to_raise_anything() -> None:
    assert said(0.0) == said(-1e-11) == "  a + b: would not change the EDP"
    assert said(0.25) == "  a + b: would raise the EDP by 0.25 %"
    assert said(-2.5) == "  a + b: would lower the EDP by 2.5 %"


def test_it_says_why_neighbours_are_not_one_group(tmp_path: Path) -> None:
    (tmp_path / "apart.json").write_text("[]")
    arguments = ("resnet18", "--hardware", "eyeriss", "--mapping", "random")
    arguments += ("--mapping-evaluations", "20", "--plan", f"{tmp_path}/apart.json")
    text, found = shown(*arguments), json.loads(shown(*arguments, "--json"))
    assert "Neighbouring groups that are not merged" in text
    layers = [layer.name for layer in network("resnet18").layers]
    pairs = [(border["before"], border["after"]) for border in found["borders"]]
    assert (["conv1"], ["maxpool"]) in pairs
    assert all(set(before + after) <= set(layers) for before, after in pairs)
    assert sum(1 + border["alike"] for border in found["borders"]) > len(layers) - 3
    lacking = [border["infeasible"] for border in found["borders"] if border["infeasible"]]
    priced = [border for border in found["borders"] if border["edp_percent"] is not None]
    assert len(lacking) + len(priced) == len(found["borders"])
    # maps of 56 x 56 x 64 bytes twice do not fit 108 KiB beside what the second adds up
    assert priced
    assert f"the EDP by {abs(priced[0]['edp_percent']):.3g} %" in text
    # nobody asked what else could be done
    alone = json.loads(shown("tiny_cnn", "--hardware", "eyeriss", "--json", "--fusion", "none"))
    assert alone["borders"] == []
