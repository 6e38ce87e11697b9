"""What is said of the paper follows from its tables."""

import pytest

from archloom.studies.analysis.stack.paper import OBSERVATIONS

#: DLAS, Tables 3 (CIFAR-10, CPUs) and 6 (ImageNet, CPUs): fastest algorithm of dense models, of
#: models with pruned weights, and the fastest of all, for each model
UNTUNED = {
    "CIFAR-10": ["GEMM GEMM WP"] * 2 + ["GEMM GEMM i8", "GEMM GEMM WP"]
    + ["Direct GEMM WP"] + ["Direct GEMM i8"] * 3,
    "ImageNet": ["GEMM GEMM WP"] * 4
    + ["Direct GEMM i8"] + ["GEMM GEMM WP"] * 2 + ["Direct GEMM WP"],
}  # fmt: skip
TUNED = {
    "CIFAR-10": ["Spatial Direct WP"] * 2 + ["Direct Direct WP", "Spatial Direct WP"]
    + ["Spatial Direct Dense"] + ["Spatial Direct WP"] * 3,
    "ImageNet": ["Spatial Direct Dense"] * 2 + ["Spatial Direct WP", "Spatial Direct Dense"],
}  # fmt: skip

#: Table 4 (CIFAR-10, GPUs), tuned: fastest algorithm of dense models
GPUS = ["Direct", "Direct", "GEMM", "Direct"] + ["Direct"] * 4

#: Table 2: top-1 of dense models and of calibrated int8; Table 5 the same
INT8 = {
    "CIFAR-10": [(93.2, 91.7), (94.3, 93.2), (92.9, 92.0), (91.3, 89.6)],
    "ImageNet": [(71.9, 65.3), (76.1, 73.1), (77.1, 75.2), (77.7, 0.4)],
}


def of(rows: list[str], place: int, name: str) -> str:
    return f"{sum(row.split()[place] == name for row in rows)} of {len(rows)}"


def theirs(number: str) -> str:
    return next(seen.theirs for seen in OBSERVATIONS if seen.number == number)


def test_counts_are_those_of_the_tables() -> None:
    two = (of(TUNED["CIFAR-10"], 2, "WP"), of(TUNED["ImageNet"], 2, "WP"))
    assert f"{two[0]} cases on CIFAR-10 (Table 3) and in {two[1]} on ImageNet" in theirs("II")
    seven = (of(TUNED["CIFAR-10"], 0, "Spatial"), of(TUNED["ImageNet"], 0, "Spatial"))
    assert theirs("VII") == f"{seven[0]} on CIFAR-10 (Table 3), {seven[1]} on ImageNet (Table 6)"
    assert theirs("VIII") == f"{of(GPUS, 0, 'Direct')} on CIFAR-10 (Table 4)"
    nine = [[row for rows in table.values() for row in rows] for table in (UNTUNED, TUNED)]
    counts = (
        f"GEMM in {of(nine[0], 1, 'GEMM')} untuned cases and {of(nine[1], 1, 'GEMM')} tuned cases"
    )
    assert counts in theirs("IX")
    assert of(nine[1], 1, "Direct") == "12 of 12"
    pairs = zip(UNTUNED["CIFAR-10"], TUNED["CIFAR-10"], strict=True)
    changed = sum(one.split()[0] != other.split()[0] for one, other in pairs)
    assert f"changes in {changed} of 8" in theirs("XI")


def test_int8_loses_what_the_tables_say() -> None:
    losses = {k: sum(a - b for a, b in v) / len(v) for k, v in INT8.items()}
    assert losses["ImageNet"] == pytest.approx(22.2, abs=0.05)
    shown = f"({losses['CIFAR-10']:.1f} in Table 2) and {losses['ImageNet']:.1f}"
    assert shown in theirs("VI")
