"""The wheel holds what the source tree holds, and works without the source tree."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from shutil import copy, copystat, copytree, ignore_patterns
from tomllib import loads
from venv import EnvBuilder

import pytest

from archloom.evaluators.jit import compile_ahead, missing
from archloom.evaluators.jit.signatures import kernel_at
from archloom.studies.commands.machine import default_kernels

from .source_tree import LAYERS, ROOT, files

PROJECT = loads((ROOT / "pyproject.toml").read_text())["project"]

ONE_TRIAL = """\
workloads: [tiny_cnn]
space: casco_edge
optimizer: {name: random}
halving: {name: none, evaluations: 1}
trials: 1
batch_size: 1
software: {fusion: none, mapping: random, mapping_evaluations: 60}
executor: {name: inline}
"""


#: a kernel that it calls and that compiles in a second
LEFT_OUT = "archloom.evaluators.bounds.level_capacity.shares_of"


def run(*command: str | Path, cwd: Path) -> str:
    """Return what the command prints; show its errors if it fails."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy so that a stale build folder cannot add to it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("archloom", *LAYERS):
        copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", *PROJECT["license-files"], PROJECT["readme"]):
        copy(ROOT / name, source)
    target = source / "dist"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", target, cwd=source)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment with the wheel in it.

    Its dependencies come from the environment of the tests by a path file. Path files of the
    latter are not read that way, so its editable archloom cannot be seen.
    """
    folder = tmp_path_factory.mktemp("environment")
    EnvBuilder(with_pip=False, symlinks=True).create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(
        "\n".join(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    )
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install"]
    run(*pip, "--quiet", "--no-deps", "--no-index", "--ignore-installed", wheel, cwd=folder)
    return folder / "bin"


def test_the_wheel_holds_every_file_of_the_layers_and_nothing_else(wheel: Path) -> None:
    expected = {f"archloom/{path.relative_to(ROOT)}" for path in files(*LAYERS)}
    expected |= {str(path.relative_to(ROOT)) for path in files("archloom")}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


def test_the_wheel_carries_licence_and_entry_point(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    info = f"archloom-{PROJECT['version']}.dist-info"
    assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert (
        "archloom = archloom.studies.commands.program:main"
        in archive.read(f"{info}/entry_points.txt").decode()
    )


def test_every_requirement_is_pinned_in_the_constraints() -> None:
    pinned = {
        line.split("==")[0].lower()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(entry for extra in extras for entry in extra)]
    names = {entry.split(">=")[0].split("[")[0].lower() for entry in wanted}
    assert names - {"archloom"} <= pinned


def test_the_installed_command_runs_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    code = "import archloom.studies.commands.cli as cli; print(cli.__file__)"
    place = run(environment / "python", "-c", code, cwd=tmp_path).strip()
    assert place.startswith(str(environment.parent))
    text = run(environment / "archloom", "--help", cwd=tmp_path)
    assert "resume" in text


#: prints where the kernels whose names it gets are cached
CACHES = """\
import json, sys
from archloom.evaluators.jit.signatures import kernel_at
print(json.dumps({name: kernel_at(name)._cache.cache_path for name in sys.argv[1:]}))
"""


def give_kernels(environment: Path, folder: Path) -> Path:
    """Give an environment the kernels of this one, but one of them; return where that one belongs.

    numba takes machine code whose source has the same size and time.
    """
    kernels = default_kernels()
    for _ in compile_ahead({name: kernels[name] for name in missing(kernels)}, 2):
        pass
    there = json.loads(run(environment / "python", "-c", CACHES, *kernels, cwd=folder))
    for name, place in there.items():
        kernel = kernel_at(name)
        here = Path(kernel._cache.cache_path)
        if name != LEFT_OUT:
            for file in here.glob(f"*.{kernel.__name__}-*.nb?"):
                copy(file, place)
        source = Path(kernel.__code__.co_filename)
        (installed,) = {p for p in Path(place).parents if p.name == "__pycache__"}
        copystat(source, installed.with_name(source.name))
    return Path(there[LEFT_OUT])


def test_the_installed_command_runs_a_study_of_one_trial(environment: Path, tmp_path: Path) -> None:
    left_out = give_kernels(environment, tmp_path)
    (tmp_path / "one.yaml").write_text(ONE_TRIAL)
    archloom = environment / "archloom"
    assert not [*left_out.glob("*.nbi")]
    run(archloom, "run", "one.yaml", "--out", "one", cwd=tmp_path)
    assert [*left_out.glob("*.nbi")], "it was compiled, and kept where the wheel is installed"
    (member,) = json.loads(run(archloom, "pareto", "one", "--json", cwd=tmp_path))["front"]
    assert member["trial"] == 0
    run(archloom, "report", "one", cwd=tmp_path)
    assert (tmp_path / "one" / "report.html").stat().st_size > 1e6


#: a script of somebody who never saw the repository
SCRIPT = """\
import sys
from pathlib import Path

import archloom as al


def tell(trial: al.Trial) -> None:
    edp_js: float | None = trial.edp_js
    print(trial.number, trial.state, edp_js)


def main(out: str) -> float:
    config = {
        "workloads": ["tiny_cnn"],
        "space": "casco_edge",
        "optimizer": {"name": "random"},
        "halving": {"name": "none", "evaluations": 1},
        "trials": 1,
        "batch_size": 1,
        "software": {"fusion": "none", "mapping": "random", "mapping_evaluations": 60},
    }
    study: al.Study = al.run_study(config, Path(out), workers=1, callbacks=[tell])
    design: al.Design = study.design(0)
    plan: al.NetworkPlan = design.networks[0]
    print([trial.number for trial in study.front()], study.front()[0].area_mm2)
    try:
        al.load_hardware("eyerss")
    except al.ArchloomError as error:
        print(error)
    return plan.edp_js


def other(chip: al.Hardware) -> list[float]:
    # is checked and not called: its kernels would be compiled anew for this environment
    network: al.Network = al.load_network("tiny_cnn", batch=2)
    layer: al.Layer = network["conv1"]
    mapping: al.LayerMapping = al.map_layer(layer, chip, evaluations=50)
    reason: al.Infeasible | None = mapping.infeasible
    cost: al.LayerCost = al.evaluate(layer, chip, mapping=mapping)
    plan: al.Schedule = al.evaluate(network, chip, mapping="random", fusion=[])
    found: al.Schedule = al.schedule(network, "eyeriss", fusion="joint")
    print(reason, plan.lower_bound.edp_js, found.proven, cost.energy_pj)
    return [level.energy_pj["weights"] for level in cost.levels]


print(al.__version__, main(sys.argv[1]))
"""

#: packages whose types no type of the API has, and that take most of the time
APART = """\
[mypy-torch.*,scipy.*,sympy.*,botorch.*,gpytorch.*,onnx.*,optuna.*,sqlalchemy.*,psycopg.*,rich.*]
follow_imports = skip

[mypy-pydantic.*,numba.*,llvmlite.*,click.*,matplotlib.*,halide.*,PIL.*,sklearn.*]
follow_imports = skip
"""

#: calls that a type checker must refuse, one a line
WRONG = """\
import archloom as al

al.no_such_name
al.schedule("tiny_cnn", "eyeriss", evaluatons=3)
al.load_study("runs/small").trials[0].edp_js + 1.0
al.load_network("tiny_cnn").batch = 3
al.evaluate(al.load_network("tiny_cnn")["conv1"], "eyeriss", mapping=al.load_hardware("eyeriss"))
"""


def test_a_script_outside_of_the_repository_runs_and_has_types(
    environment: Path, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    said = run(environment / "python", "script.py", "one", cwd=tmp_path).splitlines()
    assert said[0].startswith("0 complete ")
    assert said[1].startswith("[0] ")
    assert "did you mean eyeriss" in said[2]
    assert said[-1].startswith(f"{PROJECT['version']} ")
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n{APART}")
    strict = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache"]
    strict += ["--python-executable", str(environment / "python"), "script.py", "wrong.py"]
    checked = subprocess.run(strict, cwd=tmp_path, capture_output=True, text=True)
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    faulty = {":".join(line.split(":")[:2]) for line in errors}
    assert sorted(faulty) == [f"wrong.py:{number}" for number in range(3, 8)]
    assert "(checked 2 source files)" in checked.stdout


@pytest.mark.parametrize("python", ["wheel", "editable"])
def test_the_repository_as_the_current_folder_hides_nothing(python: str, environment: Path) -> None:
    """The folder of the root package is found first there, without the others inside it."""
    code = (
        "import archloom, archloom.space.workload as w, archloom.studies.api as api; "
        "print(archloom.__file__, w.__file__, api.__file__, archloom.load_network('tiny_cnn'))"
    )
    executable = environment / "python" if python == "wheel" else Path(sys.executable)
    said = run(executable, "-c", code, cwd=ROOT).split(maxsplit=3)
    assert said[0] == str(ROOT / "archloom" / "__init__.py")
    assert said[1] == str(ROOT / "space" / "workload" / "__init__.py")
    assert said[2] == str(ROOT / "studies" / "api" / "__init__.py")
    assert said[3].startswith("<archloom.Network tiny_cnn")
    assert "resume" in run(executable, "-m", "archloom", "--help", cwd=ROOT)


def test_the_wheel_adds_no_folder_to_the_path_of_the_package(
    environment: Path, tmp_path: Path
) -> None:
    """Else everything that is installed beside it would be found inside it as well."""
    code = "import archloom; print(*archloom.__path__)"
    (place,) = run(environment / "python", "-c", code, cwd=tmp_path).split()
    assert place.startswith(str(environment.parent))
    assert place.endswith("archloom")
