import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS, TEMPLATES
from archloom.studies.config.hardware_reference import baseline_hardware


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_baseline_is_in_the_technology_and_words_of_the_space(name: str, template: str) -> None:
    """A preset in its own process would win or lose by the process."""
    space = HardwareSpace.load(template)
    baseline = baseline_hardware(name, space)
    assert baseline.technology == space.technology
    # or that proves nothing; only the space of serving chips is in the process of some presets
    assert template == "serving" or space.technology != preset(name).technology
    assert baseline.word_bits == space.word_bits
    assert baseline.frequency_mhz == preset(name).frequency_mhz
    assert baseline.on_chip_bytes == preset(name).on_chip_bytes
