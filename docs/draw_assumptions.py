"""Writes the tables and the picture of ``docs/validation/assumptions.md``.

``python -m docs.draw_assumptions`` evaluates all presets with each of their assumed values halved
and doubled, which takes a minute or two; a test evaluates one of them and compares.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from archloom.space.design_space import PRESETS
from archloom.space.hardware import Hardware, pass_batch
from archloom.space.networks import network
from archloom.studies.analysis.published_chips.chip_files.chip_file import own_chips, read_chip
from archloom.studies.analysis.published_chips.chip_files.mapping_part import written_cost
from archloom.studies.commands.catalogue.sensitivity import DEFAULT_NETWORKS
from archloom.studies.config import HardwareVariants, find_hardware
from archloom.studies.rendering.sensitivity import deciding_texts, draw_tornado, largest_text
from archloom.studies.solve.sensitivity import MappingsEffort, Sensitivity, sensitivity

from .made_parts import with_parts

PAGE = Path(__file__).parent / "validation" / "assumptions.md"
PICTURE = PAGE.with_suffix(".png")

#: the preset of the picture
DRAWN = "simba"

#: words a cycle of the buffer of Eyeriss: what the preset assumes, half of it, and less
WORDS = (26, 13, 6.5, 3.25)


def of_preset(name: str) -> Sensitivity:
    """Return what `archloom hardware NAME --sensitivity` finds."""
    chosen = find_hardware(name, [], None, None)
    networks = [network(each) for each in DEFAULT_NETWORKS]
    batches = [net.with_batch(pass_batch(net, chosen.hardware)) for net in networks]
    return sensitivity(chosen.hardware, HardwareVariants(chosen), batches, MappingsEffort())


def row(found: Sensitivity) -> str:
    """Return the line of a preset: how many values are assumed, and which decide."""
    cells = []
    for i in range(len(found.networks)):
        texts = [f"`{text.replace(': ', '`: ', 1)}" for text in deciding_texts(found, i)]
        cells.append("<br>".join(texts) or f"none; {largest_text(found, i)}")
    return line([f"`{found.hardware.name}`", str(len(found.effects)), *cells])


def line(cells: Sequence[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def presets(found: Sequence[Sensitivity]) -> Iterator[str]:
    """Yield the lines of the table of all presets."""
    heads = ["preset", "assumptions", *(f"that decide about {name}" for name in DEFAULT_NETWORKS)]
    yield line(heads)
    yield line(["---"] * len(heads))
    yield from map(row, found)


def fixed_mappings() -> Iterator[str]:
    """Yield the lines of a table of AlexNet with the chip's mappings and narrower buffers."""
    yield line(["layer", "published, ms", *(f"{words:g} words, ms" for words in WORDS)])
    yield line(["---"] * (len(WORDS) + 2))
    chip = read_chip(own_chips()["eyeriss_alexnet"])
    for row in chip.layers:
        if row.mapping is not None and not row.explains:
            layer = chip.network.network.layers[row.layers[0]]
            costs = (
                written_cost(row.mapping, layer, row.density, narrowed(chip.hardware.design, words))
                for words in WORDS
            )
            per_ms = chip.hardware.design.frequency_mhz * 1e3
            times = (f"{cost.latency_cycles / per_ms:.1f}" for cost in costs)
            yield line([row.name, f"{row.figures['latency_ms'].measured:g}", *times])


def narrowed(chip: Hardware, words: float) -> Hardware:
    """Return the chip with a buffer of so many words a cycle."""
    levels = (
        replace(level, bandwidth_words=words) if level.name == "glb" else level
        for level in chip.levels
    )
    return replace(chip, levels=tuple(levels))


if __name__ == "__main__":
    every = {name: of_preset(name) for name in PRESETS}
    made = {
        "presets": "\n".join(presets([*every.values()])),
        "fixed mappings": "\n".join(fixed_mappings()),
    }
    PAGE.write_text(with_parts(PAGE.read_text("utf-8"), made), "utf-8")
    draw_tornado(every[DRAWN], PICTURE)
