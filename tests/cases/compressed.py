"""A network with made-up compressed forms, a small space in which they count, and a kept model."""

import json
from itertools import product
from pathlib import Path

import torch

from archloom.evaluators.accuracy.models.registry import build_model
from archloom.evaluators.accuracy.network import to_network
from archloom.space.design_space.compression.choices import FormChoices
from archloom.space.design_space.compression.forms import CompressedForms, PrunedGroup, Widths
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.networks.registry import network
from archloom.space.workload.network_json import write_network

#: 16 designs for each form, half of them of words of 4 bits
TEMPLATE = """
description: A mesh of scalar PEs that skip zero weights, below one buffer that holds them packed.
technology: cacti_45nm
dram: lpddr4
parameters:
  pe: {values: [2, 4], scale: pow2}
  l2_kib: {values: [8, 32], scale: pow2}
  bits: {values: [4, 8], scale: pow2}
  zeros: {values: [computed, skipped]}
effects: {weight_zeros: "= zeros", weight_format: bitmask}
frequency_mhz: 200
word_bits: "= bits"
pe_mesh: ["= pe", "= pe"]
vector_lanes: "= pe"
levels:
  - {name: spad, storage: register, keeps: [weights, inputs, outputs],
     mesh: ["= pe", "= pe"], capacity_bytes: 64, bandwidth_words: 4}
  - {name: l2, storage: sram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     capacity_bytes: "= 1024 * l2_kib", bandwidth_words: 8, width_words: 8}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1],
     bandwidth_words: "= 64 / bits"}
"""

LEVELS = (0.0, 0.5, 0.9)


def space(folder: Path) -> HardwareSpace:
    """Return the space of the template."""
    path = folder / "packed.yaml"
    path.write_text(TEMPLATE)
    return HardwareSpace.load(path)


def forms(name: str = "tiny_cnn", early: str = "early", late: str = "late") -> CompressedForms:
    """Return nine forms of a small network; accuracy falls with pruning and with fewer bits.

    Layers of a group lose unlike shares, as they do where magnitudes decide.
    """
    groups = (
        PrunedGroup(early, LEVELS, ("conv1",), tuple((1 - level,) for level in LEVELS)),
        PrunedGroup(
            late,
            LEVELS,
            ("block.conv1", "block.conv2"),
            tuple((1 - 0.9 * level, 1 - 1.1 * level) for level in LEVELS),
        ),
    )
    accuracies = {
        ((a, b), Widths(bits, bits)): 99.0 - 4 * a - 2 * b - (1.5 if bits == 4 else 0.0)
        for (a, b), bits in product(product(LEVELS, LEVELS), (4, 8))
    }
    return CompressedForms(network(name), groups, accuracies)


def choices() -> FormChoices:
    """Return the forms as what a study may choose from."""
    found = forms()
    return FormChoices((found.network,), (found,))


def write_untrained(folder: Path) -> Path:
    """Write what ``archloom compress`` keeps of a model, with the first weights: it takes no
    training."""
    image = (1, 8, 8)
    model = build_model("vgg16", image, 10, width=0.125)
    seed = folder / "seed0"
    seed.mkdir(parents=True)
    settings = {"model": "vgg16", "data": "digits", "width": 0.125}
    (folder / "settings.json").write_text(json.dumps(settings))
    torch.save(model.state_dict(), seed / "dense.pt")
    write_network(to_network(model, image, "vgg16_dense"), seed / "dense.network.json")
    return folder
