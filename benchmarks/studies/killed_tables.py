"""Tables of papers, killed at random moments and run again: do they end as if nothing had been?

    python benchmarks/studies/killed_tables.py [--tables deepfrack fast_front] [--kills 3]

Each table is measured at its tiny budget by ``archloom reproduce``, once undisturbed, then again in
a folder of its own, where the command and all that it started are killed (SIGKILL) after a random
part of the time that it took undisturbed, up to ``--kills`` times, before it may end. Its rows must
be those of the undisturbed run. CPU times differ, and so do times of kernels, which decide the
verdicts of tables of stack studies: these must have all rows. Exit code 1 if a table differs or
does not end.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.studies.solve.papers import own_tables

#: figures that are times of this machine
TIMES: Final = "cpu_s"


def command(table: str, folder: Path) -> list[str]:
    """Return what measures a table at its tiny budget."""
    words = ["reproduce", table, "--budget", "tiny", "--out", str(folder)]
    return [sys.executable, "-m", "archloom", *words]


def ended(table: str, folder: Path, after: float | None = None) -> bool:
    """Run a table, kill it ``after`` so many seconds; returns whether it came to its end.

    Raises:
        RuntimeError: it ended by itself with an error.
    """
    with tempfile.TemporaryFile("w+") as said:
        # in a group of its own, with the workers that it starts
        process = subprocess.Popen(
            command(table, folder), stdout=said, stderr=said, start_new_session=True
        )
        try:
            code = process.wait(after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        said.seek(0)
        if code:
            raise RuntimeError(f"exit code {code}: {said.read()[-2000:]}")
    return True


def without_times(found: Any) -> Any:
    """Return a result without the times of this machine."""
    if isinstance(found, dict):
        return {k: without_times(v) for k, v in found.items() if not k.endswith(TIMES)}
    return [without_times(one) for one in found] if isinstance(found, list) else found


def results(table: str, folder: Path) -> Any:
    """Return the rows of a table, as far as they must be the same."""
    rows = json.loads((folder / f"{table}.tiny.json").read_text())["rows"]
    if "verdict" in rows[0]:
        return [(row["observation"], row["claim"]) for row in rows]
    return without_times(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    names = sorted(own_tables())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=names, choices=names)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    rng, wrong, killed = random.Random(given.seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        for table in given.tables:
            calm, disturbed = Path(place, table, "calm"), Path(place, table, "disturbed")
            began = time.monotonic()
            ended(table, calm)
            lasted = time.monotonic() - began
            for kills in range(given.kills + 1):
                after = rng.uniform(0, lasted) if kills < given.kills else None
                if ended(table, disturbed, after):
                    break
            same = results(table, calm) == results(table, disturbed)
            killed += kills
            wrong += not same
            verdict = "the same" if same else "DIFFERS"
            print(f"{table}: {lasted:.0f} s, killed {kills} times, {verdict}", flush=True)
    print(f"{len(given.tables)} tables, killed {killed} times, {wrong} differ")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
