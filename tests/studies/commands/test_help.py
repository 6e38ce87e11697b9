"""The help of each command: examples that run, defaults, and all values that an option takes."""

import re
from collections.abc import Collection
from typing import Any

import click
import pytest
from click.testing import CliRunner

from archloom.evaluators.accuracy.data import DATASETS
from archloom.evaluators.accuracy.models import MODELS
from archloom.evaluators.host import ALGORITHMS, DTYPES
from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES, WEAVERS
from archloom.search.hardware.schedules import TUNERS
from archloom.search.mapping import FACTORS
from archloom.search.registry import Family
from archloom.search.weaving.serving import RULES, SHED_AT
from archloom.space.mapping.constraints import DATAFLOWS
from archloom.studies.commands.cli import app
from archloom.studies.commands.map.cases import BYPASSES, OBJECTIVES
from archloom.studies.commands.serve.streams import KINDS
from archloom.studies.commands.setup.starter import templates
from archloom.studies.config import PICKED
from archloom.studies.config.methods import METHODS as STUDY_METHODS
from archloom.studies.solve.compressing import METHODS

COMMANDS = app.list_commands(click.Context(app))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_defaults_in_its_help(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"\nExamples:\n  archloom {command}" in result.output
    for example in result.output.partition("\nExamples:\n")[2].splitlines():
        options = re.findall(r"(?<!\S)--[a-z][\w-]*", example)
        assert [option for option in options if f"  {option}" not in result.output] == []
    for parameter in _parameters(command):
        if isinstance(parameter, click.Option) and isinstance(parameter.default, str | int | float):
            if parameter.is_flag:
                continue
            assert f"(default: {parameter.default})" in (parameter.help or "")


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("schedule", "--fusion", FUSION_SEARCHES),
        ("schedule", "--mapping", MAPPING_SEARCHES),
        ("schedule", "--factors", FACTORS),
        ("map", "--search", MAPPING_SEARCHES),
        ("map", "--objective", OBJECTIVES),
        ("map", "--dataflow", DATAFLOWS),
        ("map", "--bypass", BYPASSES),
        ("weave", "--plan", FUSION_SEARCHES),
        ("weave", "--scheduler", WEAVERS),
        ("serve", "--policy", RULES),
        ("serve", "--arrivals", KINDS),
        ("serve", "--shed-at", SHED_AT),
        ("compress", "MODEL", MODELS),
        ("compress", "--data", DATASETS),
        ("compress", "--method", METHODS),
        ("measure", "--algorithm", ALGORITHMS),
        ("measure", "--dtype", DTYPES),
        ("measure", "--optimizer", TUNERS),
        ("run", "--method", STUDY_METHODS),
        ("pareto", "--pick", PICKED),
        ("init", "--template", templates()),
    ],
)
def test_help_names_all_values_of_an_option(
    command: str, option: str, names: Collection[str]
) -> None:
    found = next(
        parameter
        for parameter in _parameters(command)
        if option in (*parameter.opts, parameter.metavar)
    )
    text = found.help if isinstance(found, click.Option) else found.about
    built_in = names.built_in if isinstance(names, Family) else names
    assert [name for name in built_in if not re.search(rf"\b{name}\b", text)] == []


def _parameters(command: str) -> list[Any]:
    found = app.get_command(click.Context(app), command)
    assert found is not None
    return found.params
