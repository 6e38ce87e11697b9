"""The least makespan of small chains: all orders, each run from event to event.

Independent of: states, dominance, bounds and the recursion over lags.
"""

from collections.abc import Iterator, Sequence

from .weaving_events import event_stamps


def merges(left: list[int], order: list[int]) -> Iterator[list[int]]:
    """Yield all orders of so many layers of each chain behind those of ``order``."""
    if not any(left):
        yield list(order)
    for m, count in enumerate(left):
        if count:
            left[m] -= 1
            order.append(m)
            yield from merges(left, order)
            order.pop()
            left[m] += 1


def least_makespan(chains: Sequence[Sequence[tuple[int, int, int]]], buffer: int) -> int:
    """Return the least makespan of one query of each chain of (maps, fetch, compute) layers."""
    best = 2**62
    for order in merges([len(chain) for chain in chains], []):
        heads = [iter(chain) for chain in chains]
        _, done = event_stamps([next(heads[m]) for m in order], buffer)
        best = min(best, done[-1])
    return best
