"""Seeds derived from what they are for."""

import subprocess
import sys

from archloom.search.seeds import derived_seed


def test_a_seed_depends_on_every_part_and_its_place() -> None:
    parts = [(1, 2), (2, 1), (1, 2, "fusion"), (12,), ("1", 2), (1, "2"), ("1\x1fint:2",), ()]
    assert len({derived_seed(*p) for p in parts}) == len(parts)


def test_a_seed_fits_63_bits_and_spreads() -> None:
    seeds = [derived_seed(7, trial, "mapping") for trial in range(500)]
    assert len(set(seeds)) == 500
    assert all(0 <= s < 2**63 for s in seeds)
    # every bit is set in about half of them
    for bit in range(63):
        assert 180 < sum(s >> bit & 1 for s in seeds) < 320


def test_a_seed_is_the_same_in_every_process() -> None:
    """Python's own hash of a text is not."""
    code = "from archloom.search.seeds import derived_seed; print(derived_seed(3, 'fusion', 'a'))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{derived_seed(3, 'fusion', 'a')}\n"}
