"""Torch as a calculator whose results depend on nothing but its inputs."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deterministic() -> Iterator[None]:
    """Let torch work with one thread and with algorithms that always sum in the same order."""
    import torch

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
