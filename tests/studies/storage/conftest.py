"""What tests of storage share."""

from pathlib import Path

import pytest

from archloom.studies.config.space_reference import space_text
from archloom.studies.storage.header import Header

from ...cases.studies import tiny_config


@pytest.fixture
def header(tmp_path: Path) -> Header:
    """What a small study is."""
    config = tiny_config(tmp_path)
    return Header.new(config.to_dict(), space_text(config.space))
