"""The cache of compiled kernels must never serve code that was edited since."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from archloom.evaluators.jit import cache as jit, compiled
from archloom.evaluators.loopnest import kernel

#: a package of kernels as those of the product: what the last one is made of lies in the others
PACKAGE = {
    "__init__": "",
    "sizes": "WIDTH = 4\nNAMES = {'unused': 1}\n",
    "kinds": "from enum import IntEnum\n\nclass Kind(IntEnum):\n    OPEN = 0\n    SHUT = 1\n",
    "records": "from typing import NamedTuple\n\n"
    "class Pair(NamedTuple):\n    left: int\n    right: int\n",
    "inner": "from archloom.evaluators.jit import helper\n\n"
    "@helper\ndef least(a):\n    return a + 1\n",
    "helpers": "from archloom.evaluators.jit import helper\nfrom .inner import least\n\n"
    "@helper\ndef twice(a):\n    return 2 * least(a)\n",
    "plain": "def told():\n    return 'not compiled'\n",
    "kernels": "from archloom.evaluators.jit import compiled\n"
    "from .helpers import twice\nfrom .kinds import Kind\nfrom .plain import told\n"
    "from .records import Pair\nfrom .sizes import NAMES, WIDTH\n\n"
    "@compiled\ndef made(a):\n"
    "    pair = Pair(a, 2)\n    return twice(pair.left) * WIDTH + pair.right + Kind.SHUT\n",
}

Digest = Callable[..., str]


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Digest]:
    """Return a function that edits files of the package and returns the digest of its kernels."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(jit, "_DIGESTS", {})
    folder = tmp_path / "some_kernels"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / f"{name}.py").write_text(text)

    def forget() -> None:
        jit._DIGESTS.clear()
        importlib.invalidate_caches()
        for name in [n for n in sys.modules if n.split(".")[0] == "some_kernels"]:
            del sys.modules[name]

    def edited(name: str = "", old: str = "", new: str = "") -> str:
        if name:
            file = folder / f"{name}.py"
            assert old in file.read_text()
            file.write_text(file.read_text().replace(old, new))
        forget()
        return jit.digest(importlib.import_module("some_kernels.kernels").made.py_func)

    yield edited
    forget()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kernels", "+ Kind.SHUT", "- Kind.SHUT"),
        ("helpers", "2 * ", "3 * "),
        ("inner", "a + 1", "a + 2"),
        ("sizes", "WIDTH = 4", "WIDTH = 5"),
        ("sizes", "WIDTH = 4", "WIDTH = 4.0"),
        ("sizes", "WIDTH = 4", "WIDTH = (4, 5)"),
        ("kinds", "SHUT = 1", "SHUT = 2"),
        ("kinds", "SHUT = 1", "SHUT = 1\n    AJAR = 2"),
        ("records", "left: int\n    right: int", "right: int\n    left: int"),
        ("records", "right: int", "right: int\n    middle: int"),
    ],
)
def test_an_edit_of_what_kernels_are_made_of_is_noticed(
    digest: Digest, name: str, old: str, new: str
) -> None:
    before = digest()
    after = digest(name, old, new)
    assert after != before
    # and back again, so that it is the edit and nothing else
    assert digest(name, new, old) == before


def test_other_edits_leave_the_cache_as_it_is(digest: Digest) -> None:
    before = digest()
    assert digest("plain", "not compiled", "another text") == before
    assert digest("sizes", "'unused': 1", "'unused': 2") == before
    assert digest("sizes", "WIDTH", "# four\nWIDTH") == before
    assert digest("records", "class Pair", "# of ints\nclass Pair") == before


def test_the_edit_reaches_the_compiled_code(digest: Digest) -> None:
    digest()
    assert importlib.import_module("some_kernels.kernels").made(3) == 8 * 4 + 2 + 1
    digest("inner", "a + 1", "a + 2")
    assert importlib.import_module("some_kernels.kernels").made(3) == 10 * 4 + 2 + 1


def test_two_processes_find_the_same_cache() -> None:
    code = (
        "import json, sys; from archloom.evaluators.jit import cache as jit;"
        "from archloom.evaluators.loopnest import kernel;"
        "from archloom.evaluators.loopnest.simd import batch_kernel;"
        "made = kernel.evaluate_batch, batch_kernel.evaluate_blocks;"
        "print(json.dumps([jit.digest(one.py_func) for one in made]))"
    )
    found = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env=environment
        )
        found.append(json.loads(ran.stdout))
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]
    assert found[0][0] == jit.digest(kernel.evaluate_batch.py_func)


def some_kernel(folder: Path) -> Callable[..., object]:
    """Return a function whose file lies in a folder."""
    file = folder / "kernels.py"
    file.write_text("def made():\n    return 1\n")
    names: dict[str, Callable[..., object]] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["made"]


def test_the_cache_lies_beside_the_code(tmp_path: Path) -> None:
    made = some_kernel(tmp_path)
    folder = Path(jit.cache_folder(made))
    assert folder == tmp_path / "__pycache__" / f"kernels-{jit.digest(made)}"
    assert folder.is_dir()


def test_a_package_that_cannot_be_written_is_cached_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = some_kernel(tmp_path)
    (tmp_path / "__pycache__").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    folder = Path(jit.cache_folder(made))
    assert folder == tmp_path / "home" / "archloom" / f"kernels-{jit.digest(made)}"
    assert folder.is_dir()


def test_the_folder_that_the_user_chose_for_numba_goes_before_all(tmp_path: Path) -> None:
    made = some_kernel(tmp_path)
    folder = Path(jit.cache_folder(made, str(tmp_path / "chosen")))
    assert folder == tmp_path / "chosen" / f"kernels-{jit.digest(made)}"


def test_where_nothing_can_be_written_kernels_compile_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = some_kernel(tmp_path)
    for name in ("__pycache__", "home"):
        (tmp_path / name).write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert jit.cache_folder(made) == ""
    assert compiled(made)() == 1


def test_of_processes_that_want_a_kernel_one_compiles_it(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "from archloom.evaluators.jit import compiled\n\n"
        "@compiled\ndef part(a):\n    return a + 1\n\n"
        "@compiled\ndef whole(a):\n    return part(a) if a < 9 else part(part(a))\n"
    )
    code = (
        "import kernels; print(kernels.whole(9), kernels.whole(0.5));"
        "print(*(sum(k.stats.cache_misses.values()) for k in (kernels.whole, kernels.part)))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path)
        for _ in range(3)
    ]
    said = [process.communicate()[0].split() for process in started]
    assert [one[:2] for one in said] == [[b"11", b"1.5"]] * 3
    # the whole has two signatures; what it calls is a part of it
    assert [sum(int(one[i]) for one in said) for i in (2, 3)] == [2, 0]


def test_a_process_that_has_loaded_a_kernel_compiles_others_as_well(tmp_path: Path) -> None:
    (tmp_path / "loaded.py").write_text(
        "import numpy as np\n"
        "from archloom.evaluators.jit import compiled\n"
        "@compiled\n"
        "def first(n):\n    return np.arange(n).sum() + np.sqrt(n)\n"
        "@compiled\n"
        "def second(a):\n    return np.sort(a)[::-1].copy() + np.linalg.norm(a)\n"
    )
    both = (
        "import numpy as np\n"
        "from loaded import first, second\n"
        "print(first(4), second(np.array([3.0, 4.0])), sum(first.stats.cache_hits.values()))"
    )
    only = "from loaded import first; print(first(4))"
    said = [
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True)
        for code in (only, both)
    ]
    assert [one.stdout for one in said] == [b"8.0\n", b"8.0 [9. 8.] 1\n"]


def test_parts_of_one_name_that_several_processes_compiled_are_kept_apart(tmp_path: Path) -> None:
    """A part that is too large to be copied into its callers, for two types of one record."""
    steps = "".join(f"    x = np.sqrt(x * x + record.scale * {n})\n" for n in range(1, 120))
    (tmp_path / "kernels.py").write_text(
        "import numpy as np\nfrom typing import Any, NamedTuple\n"
        "from archloom.evaluators.jit import compiled, helper\n\n"
        "class Record(NamedTuple):\n    "
        + "; ".join(f"f{n}: int" for n in range(9))
        + "; scale: Any\n\n"
        f"@helper\ndef long(record, x):\n{steps}    return x\n\n"
        "@compiled\ndef twice(record, x):\n    return long(record, x) + long(record, x + 1)\n"
    )
    whole, half = ("Record(*range(9), 1)", "Record(*range(9), 0.5)")
    code = "from kernels import Record, twice; print([twice(r, 2.0) for r in ({})])"

    def said(*records: str) -> bytes:
        command = [sys.executable, "-c", code.format("".join(f"{record}, " for record in records))]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout

    alone = [said(whole), said(half)]
    both = b"[%s, %s]\n" % (alone[0][1:-2], alone[1][1:-2])
    assert said(whole, half) == both
    assert alone[0] != alone[1]


def test_numba_is_watched_again_after_a_kernel_compiled(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(
        "from archloom.evaluators.jit import compiled\n\n"
        "@compiled\ndef sound(a):\n    return a + 1\n\n"
        "@compiled\ndef wrong(a):\n    return a.nothing\n"
    )
    code = (
        "from numba.core import errors\n"
        "from llvmlite.binding import ffi\n"
        "from failing import sound, wrong\n"
        "errors.termcolor()\n"
        "before = errors._termcolor_inst, list(ffi.lib._lock._cblist)\n"
        "assert before[1], 'numba listens'\n"
        "sound(1)\n"
        "try:\n    wrong(1)\nexcept errors.TypingError as error:\n    print(error.msg)\n"
        "print((errors._termcolor_inst, ffi.lib._lock._cblist) == before)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True, text=True
    ).stdout
    assert "Unknown attribute 'nothing' of type int64" in said
    assert said.splitlines()[-1] == "True"


def test_bounds_are_checked_where_numba_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(
        "from archloom.evaluators.jit import compiled\n\n"
        "@compiled\ndef item(table, row, column):\n    return table[row, column] + table[-1, -2]\n"
    )
    code = (
        "import sys\nimport numpy as np\nfrom reading import item\n"
        "print(item(np.arange(6).reshape(2, 3), *map(int, sys.argv[1:])))"
    )

    def run(row: int, column: int) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-c", code, str(row), str(column)]
        checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
        return subprocess.run(call, cwd=tmp_path, env=checked, capture_output=True, text=True)

    assert run(1, 2).stdout == "9\n"
    for row, column in ((2, 0), (0, 3), (-1, 0), (0, -1)):
        assert run(row, column).returncode < 0, "the process ended"
