"""Compare the price of fusion plans with runs over coordinates, on many generated cases.

    python benchmarks/agreement/plan_price.py [--groups 5000] [--priced 1000]
        [--plans 3000] [--cores 3000]
        [--first 0]

- Groups: words made, fetched and written, multiply-accumulates, and occupancy at every step of
  every tile, under each of the three halo policies (``tests/oracles/tile_simulator.py``).
- Rectangles: the same for groups that are cut into rectangles of any sizes.
- Priced: DRAM words, peak, prefetch, latency and energy of groups, tile by tile
  (``tests/oracles/group_account.py``).
- Cores: the same for groups on several cores, each with a buffer of its own
  (``tests/oracles/core_account.py``).
- Plans: the same for whole plans with pinned maps and steady weights, against books of which map is
  in DRAM and which in the buffer (``tests/oracles/plan_simulator.py``).

Prints how many were compared and how many differ; exits with 1 if any does. Cases are those of the
tests, from seed ``--first`` on.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.fusion.tiling.geometry import group_tiles
from tests.cases.groups import POLICIES, any_tile, drawn
from tests.cases.pinned_plans import pinned_plan
from tests.evaluators.fusion.test_core_rounds import check_cores
from tests.evaluators.fusion.test_group import check_price
from tests.evaluators.fusion.test_pins import books_differ
from tests.evaluators.fusion.tiling.test_geometry import check_counts, check_occupancy
from tests.evaluators.fusion.tiling.test_irregular import check_rectangles
from tests.oracles.tile_simulator import simulate

KINDS = ("any", "dense", "operators", "wild")


def check_group(seed: int) -> None:
    """Compare one random group under each policy.

    Raises:
        AssertionError: a figure differs.
    """
    shape, layers, rng = drawn(seed, KINDS[seed % len(KINDS)])
    layers = tuple(layer.with_batch(1 + seed % 2) for layer in layers)
    tile = any_tile(shape, rng)
    for policy in POLICIES:
        tiles, run = group_tiles(shape, layers, tile, policy), simulate(shape, layers, tile, policy)
        check_counts(tiles, run)
        check_occupancy(tiles, run)


def check_priced(seed: int) -> None:
    """Compare the price of one group; of a group that does not fit, the reason.

    Raises:
        AssertionError: a figure differs.
    """
    check_price(seed, ("any", "operators", "wild")[seed % 3])


def check_on_cores(seed: int) -> None:
    """Compare the price of one group on several cores; of one that does not fit, the reason.

    Raises:
        AssertionError: a figure differs.
    """
    check_cores(seed, ("any", "operators", "wild")[seed % 3])


def check_plan(seed: int) -> None:
    """Compare the price of one plan.

    Raises:
        AssertionError: a figure differs.
    """
    network, plan = pinned_plan(seed, ("any", "operators", "wild")[seed % 3])
    assert not books_differ(network, plan)


def compare(name: str, check: Callable[[int], None], first: int, count: int) -> int:
    """Print how many of ``count`` cases agree; return how many do not."""
    found: Counter[str] = Counter()
    began = time.process_time()
    seed = first
    while found["same"] + found["differ"] < count:
        try:
            check(seed)
            found["same"] += 1
        except AssertionError as wrong:
            found["differ"] += 1
            print(f"{name}, seed {seed}: {str(wrong).splitlines()[:1]}")
        except ValueError:
            # a network that cannot be: the generator found no reader for a box of a map
            found["not drawn"] += 1
        seed += 1
    spent = time.process_time() - began
    skipped = f", {found['not drawn']} seeds without a network" if found["not drawn"] else ""
    print(f"{name}: {count} compared, {found['differ']} differ{skipped}; {spent:.0f} s of CPU")
    return found["differ"]


def main() -> int:
    """Compare, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--rectangles", type=int, default=1000)
    parser.add_argument("--priced", type=int, default=1000)
    parser.add_argument("--plans", type=int, default=3000)
    parser.add_argument("--cores", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    differ = 0
    for name, check, count in (
        ("groups, each under three policies", check_group, args.groups),
        ("groups in rectangles", check_rectangles, args.rectangles),
        ("priced groups", check_priced, args.priced),
        ("groups on several cores", check_on_cores, args.cores),
        ("plans with pins", check_plan, args.plans),
    ):
        differ += compare(name, check, args.first, count)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
