"""The walk through one trial names files and definitions that are there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "one_trial.md"
STEPS = re.split(r"^\d+\. ", PAGE.read_text(), flags=re.MULTILINE)[1:]


def test_a_reader_opens_ten_files_at_most() -> None:
    assert len(STEPS) <= 10


@pytest.mark.parametrize("step", STEPS)
def test_links_exist_and_have_what_the_step_names(step: str) -> None:
    links = [PAGE.parent / link for link in re.findall(r"\]\(([^)]+)\)", step)]
    assert links
    assert all(link.is_file() for link in links)
    for name in re.findall(r"\): `(\w+)", step):
        assert re.search(rf"(def|class) {name}\b", links[0].read_text()), name
