"""Liveness: feature maps held while a network runs layer by layer, and their peak."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from .network import Network, is_input


@dataclass(frozen=True, slots=True)
class Span:
    """The steps in which a feature map is alive.

    Attributes:
        source: the map, as layers read it: a layer's name or an input.
        words: of the whole batch; a result as it is made, before an interleave cuts any off.
        first, last: steps, both of them included.
    """

    source: str
    words: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Liveness:
    """What must be held while layers run one after another.

    Attributes:
        order: layers (positions in the network) by the step in which they run.
        spans: one for each input, then one for each layer's result in running order.
        words: of all feature maps that are alive, in each step.
    """

    order: tuple[int, ...]
    spans: tuple[Span, ...]
    words: tuple[int, ...]

    def at(self, step: int) -> tuple[str, ...]:
        """Return the feature maps alive in ``step``, those that it reads and makes included."""
        return tuple(s.source for s in self.spans if s.first <= step <= s.last)

    @property
    def peak_words(self) -> int:
        """Most words alive in one step."""
        return max(self.words)

    @property
    def peak_step(self) -> int:
        """First step in which so many are alive."""
        return self.words.index(self.peak_words)


def alive(network: Network, order: Sequence[int] | None = None) -> Liveness:
    """Return which maps are alive in each step, if all of them were held on the chip.

    Inputs are alive from the start to their last reader; a result from the step that makes it
    to its last reader, to the end if it leaves the network. For searches that hold feature maps
    across groups (FAST's fusion, Zhang et al., ASPLOS 2022, with the lives of maps for its capacity
    rule) and for orders of branches: the peak is what a schedule needs to spill nothing.

    Args:
        network: what runs.
        order: layers by the step in which they run; None for the order of the network.

    Raises:
        ValueError: an order that leaves out or repeats a layer, or runs one before what it reads.
    """
    steps = tuple(range(len(network.layers))) if order is None else tuple(order)
    at = _steps(network, steps)
    last: dict[str, int] = {}
    for i, sources in enumerate(network.reads):
        for source in sources:
            last[source] = max(last.get(source, 0), at[i])
    end = len(steps) - 1
    spans = [
        Span(source, network.batch * prod(network.map_shape(source)), 0, step)
        for source, step in last.items()
        if is_input(source)
    ]
    for step, i in enumerate(steps):
        layer = network.layers[i]
        until = end if layer.name in network.leaving else last[layer.name]
        spans.append(Span(layer.name, layer.output_words, step, until))
    return Liveness(steps, tuple(spans), _sums(spans, len(steps)))


def _steps(network: Network, order: tuple[int, ...]) -> dict[int, int]:
    """The step of each layer in an order that is one."""
    count = len(network.layers)
    if sorted(order) != list(range(count)):
        raise ValueError(
            f"an order of {network.name} must hold each layer from 0 to {count - 1} once"
        )
    at = {i: step for step, i in enumerate(order)}
    for i, producers in enumerate(network.producers):
        for p in producers:
            if at[p] > at[i]:
                names = [network.layers[j].name for j in (i, p)]
                raise ValueError(f"{names[0]} runs before {names[1]}, which it reads")
    return at


def _sums(spans: list[Span], steps: int) -> tuple[int, ...]:
    """Words alive in each step."""
    changes = [0] * (steps + 1)
    for span in spans:
        changes[span.first] += span.words
        changes[span.last + 1] -= span.words
    return tuple(accumulate(changes[:-1]))


def largest_working_set(network: Network) -> int:
    """Return the words of inputs and results of the layer that has most of them.

    What a chip must hold to read and write every feature map once and run layer by layer (FAST,
    Zhang et al., ASPLOS 2022, section 3.3.1); their Table 1 has it in bfloat16 for batch 1. Only
    what a layer reads of a map counts; weights do not.
    """
    return max(layer.input_words + layer.output_words for layer in network.layers)
