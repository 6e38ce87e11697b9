"""Write down which kernels the quickstart calls, and with what types; and which
other ones networks call that share a chip.

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
from archloom.studies.commands.cli import main
from archloom.studies.commands.machine import kernels

#: options of `archloom weave` that call all of its kernels
WOVEN = (
    ("--buffer-kib", "4096"),
    ("--stream",),
    ("--stream", "--scheduler", "ai_mt"),
    ("--stream", "--scheduler", "layerweaver"),
)

#: software that takes no time
FAST = {"software": {"fusion": "none", "mapping": "local", "mapping_evaluations": 60}}

#: what makes a quickstart of two trials in one process
SHORT = {"trials": 2, "batch_size": 2, "executor": {"name": "inline"}}


def called_by_a_study() -> dict[str, list[object]]:
    """Run two trials of the quickstart in this process; return the kernels that they call, which
    are those of all its trials."""
    quickstart = Path(kernels.__file__).parents[2] / "quickstart.yaml"
    study = yaml.safe_load(quickstart.read_text("utf-8")) | SHORT
    study["optimizer"]["initial"] = 2
    run_study(study)
    return {name: list(types) for name, types in called_kernels().items()}


def called_by_weaving() -> dict[str, list[object]]:
    """Weave, serve, and run a study with tenants in this process; return the kernels that they
    call beyond those of a study."""
    pair = ("resnet50", "bert_base:sequence_length=16", "--hardware", "memory_centric", "--json")
    for options in WOVEN:
        run("weave", *pair, *options)
    run("serve", *pair, "--deadline", "4x", "--shed", "1.3", "--stable", "--requests", "200")
    pair_of_tiny = ("tiny_cnn", "tiny_mlp")
    tenants = [{"workload": name, "deadline_ms": 10} for name in pair_of_tiny]
    searched = {"space": "serving", "objectives": ["goodput", "stable_load", "area"]}
    study = {"name": "shared", "seed": 1, "workloads": list(pair_of_tiny), "tenants": tenants}
    run_study(study | searched | FAST | SHORT)
    own = json.loads(kernels.KERNELS.read_text("utf-8"))
    # what mappings call is those of a study, or of another search
    names = [name for name in called_kernels() if ".weaving." in name and name not in own]
    return {name: list(called_kernels()[name]) for name in names}


def run_study(study: dict[str, object]) -> None:
    """Run a study in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "study.yaml")
        file.write_text(yaml.safe_dump(study), "utf-8")
        run("run", str(file), "--out", f"{folder}/run")


def run(*words: str) -> None:
    """Run a command in this process."""
    sys.argv = ["archloom", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def size_of_code(name: str) -> int:
    """Return how much machine code a kernel has, which tells how long it takes to compile."""
    return max(file.stat().st_size for file in cached_files(name, "nbc"))


def write(path: Path, found: dict[str, list[object]]) -> None:
    """Write a list, what has most code first."""
    ordered = {name: found[name] for name in sorted(found, key=size_of_code, reverse=True)}
    path.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    # of one process after another, since kernels that were called are remembered
    if sys.argv[1:] == ["weaving"]:
        write(kernels.WEAVING_KERNELS, called_by_weaving())
    else:
        write(kernels.KERNELS, called_by_a_study())
