"""The template of a study as a file, also of studies that began when keys could be left out."""

from dataclasses import replace
from pathlib import Path

import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.template import TemplateError
from archloom.space.hardware.hardware import Hardware
from archloom.studies.storage.header import Header
from archloom.studies.storage.networks import template_file

LANES = '"= pe_x"'


def lanes(file: Path) -> int:
    space = HardwareSpace.load(file)
    built = space.build({p.name: p.values[0] for p in space.parameters})
    assert isinstance(built, Hardware)
    return built.vector_lanes


def test_a_study_reads_the_template_that_it_keeps(tmp_path: Path, header: Header) -> None:
    assert template_file(tmp_path, header) == tmp_path / header.space_file


@pytest.mark.parametrize("left", ["", "# vector_lanes: none\n", "  # vector_lanes:\n"])
def test_one_that_began_without_lanes_goes_on_with_one(
    tmp_path: Path, header: Header, left: str
) -> None:
    line = f"vector_lanes: {LANES}\n"
    assert line in header.space_text
    old = replace(header, space_text=header.space_text.replace(line, left))
    (tmp_path / "old.yaml").write_text(old.space_text)
    with pytest.raises(TemplateError, match="vector_lanes: is missing"):
        lanes(tmp_path / "old.yaml")
    assert lanes(template_file(tmp_path, old)) == 1
    (tmp_path / "new.yaml").write_text(header.space_text)
    assert lanes(tmp_path / "new.yaml") == 4
