"""Words and looks of methods and algorithms, the same in all pictures and tables."""

from typing import Final

from archloom.studies.rendering.pictures import SERIES

METHODS: Final = {
    "dense": "dense",
    "weights": "weight pruning",
    "channels": "channel pruning",
    "float16": "float16",
    "int8_uncalibrated": "int8, uncalibrated",
    "int8": "int8, calibrated",
    "int4": "int4",
}

ALGORITHMS: Final = {
    "direct": "direct",
    "gemm": "GEMM",
    "spatial_pack": "spatial pack",
    "library": "oneDNN",
    "portable": "portable (numba)",
}

MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star")


def colour(number: int) -> str:
    """Return the colour of a series by its place."""
    return SERIES[number % len(SERIES)]


def marker(number: int) -> str:
    """Return the marker of a series by its place."""
    return MARKERS[number % len(MARKERS)]


def method_name(method: str) -> str:
    """Return what a method is called."""
    return METHODS.get(method, method)


def algorithm_name(algorithm: str) -> str:
    """Return what an algorithm is called."""
    return ALGORITHMS.get(algorithm, algorithm)
