"""Record what simulators compute for layers that ``archloom validate`` compares.

    python benchmarks/agreement/record_simulators.py scale_sim --python PYTHON [--record FILE]
    python benchmarks/agreement/record_simulators.py scale_sim

The simulators are no dependencies of Archloom: each runs in an interpreter of its own, in which it
is installed. What they answer stands in studies/analysis/published_chips/simulators/recorded/, with
versions and date; ``archloom validate scale_sim`` compares it. ``--check`` runs them again and
compares with the file instead of writing it; it ends with 1 if a row differs. Without an
interpreter the requests alone are compared with those of the file.
"""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.agreement.simulators import requests
from benchmarks.agreement.simulators.asking import ask, read, write

_HERE: Final = Path(__file__).parent / "simulators"
RECORDED: Final = Path(__file__).parents[2] / "studies/analysis/published_chips/simulators/recorded"

#: name in messages, what it is asked, and what has to be installed
SIMULATORS: Final = {
    "scale_sim": (
        "SCALE-Sim",
        requests.scale_sim,
        "pip install scalesim==3.0.0 numpy==1.26.4 into an interpreter of its own",
    ),
    "zigzag": (
        "ZigZag",
        requests.zigzag,
        "pip install zigzag-dse==3.9.1 six pandas into an interpreter of its own",
    ),
    "stream": (
        "Stream",
        requests.stream,
        # 0.0.8 needs the classes that zigzag-dse 3 no longer has
        "pip install stream-dse==0.0.8 zigzag-dse==2.5.4 six pandas plotly into an interpreter of "
        "its own",
    ),
}


def answers(name: str, python: Path, most: int | None) -> tuple[dict[str, Any], list[Any]]:
    """Return versions, and rows of a request and its answer; the first ``most`` only."""
    title, asked, needed = SIMULATORS[name]
    runner = _HERE / f"{name}_run.py"
    versions = ask(title, runner, needed, python, {})["versions"]
    rows = []
    for request in list(asked())[:most]:
        found = ask(title, runner, needed, python, request)
        del found["versions"]
        rows.append({**request, "found": found})
        print(f"{name} {len(rows)}: {request['name']}", file=sys.stderr, flush=True)
    return versions, rows


def compare_requests(name: str, file: Path) -> int:
    """Print how many requests the file has answers to; return 1 if they are not all, and only."""
    kept = read(file)
    rows = [{k: v for k, v in row.items() if k != "found"} for row in kept["rows"]]
    asked = list(SIMULATORS[name][1]())
    answered = sum(request in rows for request in asked)
    known = ", ".join(f"{package} {version}" for package, version in kept["versions"].items())
    print(f"{len(asked)} requests, {answered} of them answered in {file.name} ({known})")
    return int(asked != rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("simulator", choices=sorted(SIMULATORS))
    parser.add_argument("--python", type=Path, help="interpreter that has it")
    parser.add_argument("--record", type=Path, help="file that is written")
    parser.add_argument("--check", action="store_true", help="compare with the file")
    parser.add_argument("--first", type=int, help="only so many requests, with --check")
    asked = parser.parse_args()
    file = asked.record or RECORDED / f"{asked.simulator}.json"
    if asked.first is not None and not asked.check:
        parser.error("--first needs --check: a file holds all requests")
    if (asked.check or asked.python is None) and not file.exists():
        parser.error(f"--record {file}: no such file")
    if asked.python is None:
        if asked.check:
            _, _, needed = SIMULATORS[asked.simulator]
            parser.error(f"--check needs --python. {needed}")
        sys.exit(compare_requests(asked.simulator, file))
    versions, rows = answers(asked.simulator, asked.python, asked.first)
    if asked.check:
        kept = read(file)
        if kept["versions"] != versions:
            print(f"{file} is of {kept['versions']}, this is {versions}")
        differ = [row["name"] for row, own in zip(rows, kept["rows"], strict=False) if row != own]
        print(f"{len(rows)} rows, {len(differ)} differ{': ' if differ else ''}{', '.join(differ)}")
        sys.exit(1 if differ else 0)
    about = {
        "recorded by": "us, with benchmarks/agreement/record_simulators.py",
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions,
    }
    write(file, about, rows)


if __name__ == "__main__":
    main()
