"""Write down which kernels a study with default software calls, and with what types.

``make kernels`` runs it; ``tests/studies/commands/machine/test_kernels.py`` fails where the list
has become wrong.
"""

import json
import sys
import tempfile
from pathlib import Path

import yaml

from archloom.evaluators.jit.ahead import cached_files
from archloom.evaluators.jit.signatures import called_kernels
from archloom.evaluators.loopnest import MappingProblem
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.search import SoftwareSettings
from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import network
from archloom.studies.cli import main
from archloom.studies.commands.machine import kernels

#: what makes a quickstart of two trials in one process
SHORT = {"trials": 2, "batch_size": 2, "executor": {"name": "inline"}}


def called_by_a_study() -> dict[str, list[object]]:
    """Run two trials of the quickstart and one more mapping in this process; return the kernels
    that they call."""
    quickstart = Path(kernels.__file__).parents[2] / "quickstart.yaml"
    study = yaml.safe_load(quickstart.read_text("utf-8")) | SHORT
    study["optimizer"]["initial"] = 2
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.yaml")
        file.write_text(yaml.safe_dump(study), "utf-8")
        sys.argv = ["archloom", "run", str(file), "--out", f"{folder}/run"]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    map_many_choices()
    return {name: list(types) for name, types in called_kernels().items()}


def map_many_choices() -> None:
    """Map a layer with more choices than are listed at once, as larger designs have them."""
    layer = network("vit_b_16").with_batch(64).layers[0]
    problem = MappingProblem.of_layer(layer, preset("fast_small"))
    settings = SoftwareSettings()
    search = MAPPING_SEARCHES[settings.mapping]()
    search.advance(problem, search.start(problem, 1), settings.mapping_evaluations)


def size_of_code(name: str) -> int:
    """Return how much machine code a kernel has, which tells how long it takes to compile."""
    return max(file.stat().st_size for file in cached_files(name, "nbc"))


if __name__ == "__main__":
    found = called_by_a_study()
    ordered = {name: found[name] for name in sorted(found, key=size_of_code, reverse=True)}
    kernels.KERNELS.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
