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

#: what runs a short study in this process, or weaves, and lists kernels
CALLED = (
    "import json; from docs.record_kernels import called_by_{} as called;"
    "print(json.dumps(called()))"
)


@pytest.mark.parametrize("what", ["a_study", "weaving"])
def test_the_lists_are_what_is_called(what: str) -> None:
    root = Path(__file__).parents[4]
    code = CALLED.format(what)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=root, text=True
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    own = default_kernels()
    listed = own if what == "a_study" else default_kernels(weaving=True)
    more = {name: types for name, types in listed.items() if what == "a_study" or name not in own}
    assert found == more, "run: make kernels"


def test_types_are_read_as_they_were_written() -> None:
    for name, written in default_kernels(weaving=True).items():
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
    assert archloom("compile") == f"all {len(default_kernels())} kernels were already compiled\n"
    archloom("compile", "--weaving")
    every = default_kernels(weaving=True)
    assert missing(every) == []
    assert archloom("compile", "--weaving") == f"all {len(every)} kernels were already compiled\n"


@pytest.mark.exhaustive
def test_compiling_from_nothing_leaves_nothing_to_compile(tmp_path: Path) -> None:
    said = archloom("compile", "--workers", "2", cache=tmp_path)
    many = len(default_kernels())
    assert f"compiling kernels (only once per machine), 0 of {many}" in said
    assert f"{many} kernels compiled in" in said
    assert "all" in archloom("compile", cache=tmp_path)
