"""Sub-batches: parts of the batch that run one after another, each through the whole plan."""

from archloom.space.workload import Network


def sub_batch(network: Network, parts: int) -> Network:
    """Return what runs at a time if the batch of a pass is cut into ``parts`` that divide it."""
    return network.with_batch(network.batch // parts) if parts > 1 else network


def divisors(number: int) -> tuple[int, ...]:
    """Return all whole numbers that divide a number, ascending."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)
