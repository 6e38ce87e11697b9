"""``archloom compile``, and the list of kernels that it compiles."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from archloom.evaluators.jit import compile_ahead, missing
from archloom.evaluators.jit.signatures import read_types, write_types
from archloom.studies.commands.machine import default_kernels

#: one of the kernels that compile in a second
SMALL = "archloom.search.fusion.joint.shortest_path._least_product"

#: what runs a short study in this process, and lists kernels
CALLED = (
    "import json; from docs.record_kernels import called_by_a_study as called;"
    "print(json.dumps(called()))"
)


def test_the_list_is_what_a_default_study_calls() -> None:
    root = Path(__file__).parents[4]
    ran = subprocess.run(
        [sys.executable, "-c", CALLED], capture_output=True, check=True, cwd=root, text=True
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found == default_kernels(), "run: make kernels"


def test_types_are_read_as_they_were_written() -> None:
    for name, written in default_kernels().items():
        assert write_types(read_types(written)) == list(written), name


@pytest.mark.parametrize(
    ("written", "said"),
    [("int65", "'int65' is no type"), ("float64[x]", "is no type")],
)
def test_a_text_that_is_no_type_is_refused(written: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_types([written])


def test_fields_of_a_record_that_have_changed_are_named() -> None:
    with pytest.raises(ValueError, match="has fields"):
        read_types([{"archloom.evaluators.loopnest.kernel_inputs.KernelInputs": {"one": "int64"}}])


def test_a_kernel_that_cannot_be_compiled_says_why_and_others_go_on() -> None:
    wrong = {SMALL: ["int64"], "archloom.nowhere.at_all": []}
    found = {one.name: one.error for done in compile_ahead(wrong, 2) for one in done}
    assert found.keys() == wrong.keys()
    assert "TypeError" in found[SMALL] or "TypingError" in found[SMALL]
    assert "ModuleNotFoundError" in found["archloom.nowhere.at_all"]


def archloom(*words: str, cache: Path | None = None) -> str:
    command = Path(sys.executable).with_name("archloom")
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    ran = subprocess.run(
        [command, *words], capture_output=True, check=True, env=environment, text=True
    )
    return ran.stdout


def test_compile_says_when_all_is_done() -> None:
    archloom("compile")
    assert missing(default_kernels()) == []
    assert archloom("compile") == f"all {len(default_kernels())} kernels are compiled\n"


@pytest.mark.exhaustive
def test_compiling_from_nothing_leaves_nothing_to_compile(tmp_path: Path) -> None:
    said = archloom("compile", "--workers", "2", cache=tmp_path)
    many = len(default_kernels())
    assert f"compiling kernels, once on this machine, 0 of {many}" in said
    assert f"{many} kernels compiled in" in said
    assert "all" in archloom("compile", cache=tmp_path)
