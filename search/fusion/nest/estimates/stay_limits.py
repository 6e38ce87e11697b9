"""What no choice of stays goes below: a quick look before one is searched for."""

from math import inf

from archloom.evaluators.jit import helper

from .stays import ROUNDING, StayOptions, StayPrices, StaySearch


@helper
def may_be_below(
    options: StayOptions, prices: StayPrices, cell: int, search: StaySearch, most: float
) -> bool:
    """Return whether a choice that fits the buffer may have less energy x latency than ``most``,
    with nobody waiting; in less time than it takes to prepare a search for one.

    What operands take too much of the buffer must go, and each word of it moves at least so many
    words, and costs so much energy, as for the operand for which that is least.
    """
    busy, words, energy = 0.0, 0.0, options.base_pj[cell]
    for m in range(options.layer_cycles.shape[0]):
        busy += options.layer_cycles[m, cell]
    for t in range(len(search.order)):
        begin = options.begin[t]
        few, low = options.words[begin, cell], options.energy[begin, cell]
        for option in range(begin + 1, options.begin[t + 1]):
            few = min(few, options.words[option, cell])
            low = min(low, options.energy[option, cell])
        search.flights[t, 0], search.flights[t, 1] = few, low
        words, energy = words + few, energy + low
    if _least(prices, busy, words, energy) > most:
        return False
    for m in range(search.used.shape[1]):
        over = _too_much(options, prices, cell, m, search)
        if over > 0:
            words_each, energy_each = _each_word(options, cell, m, search)
            more = over * words_each, over * energy_each
            if words_each < inf and _least(prices, busy, words + more[0], energy + more[1]) > most:
                return False
    return True


@helper
def _least(prices: StayPrices, busy: float, words: float, energy: float) -> float:
    """Energy x latency with nobody waiting; sums in another order may be more by their rounding."""
    cycles = max(busy, words / prices.rate)
    least: float = (1.0 - ROUNDING) * (energy + prices.leakage_pj * cycles) * cycles
    return least


@helper
def _too_much(
    options: StayOptions, prices: StayPrices, cell: int, m: int, search: StaySearch
) -> float:
    """Return how many words more than the buffer has operands take while a member runs, each in
    the least way that moves or costs nothing besides; ``search.flights`` has the fewest words and
    the least energy of each."""
    over = -prices.capacity
    for t in range(len(options.begin) - 1):
        over += _held_free(options, cell, m, t, search)
    return over


@helper
def _held_free(options: StayOptions, cell: int, m: int, t: int, search: StaySearch) -> float:
    """Words that an operand takes while a member runs, in the least way that moves or costs nothing
    besides."""
    words, energy, held = search.flights[t, 0], search.flights[t, 1], inf
    for option in range(options.begin[t], options.begin[t + 1]):
        if options.words[option, cell] <= words or options.energy[option, cell] <= energy:
            held = min(held, options.held[option, cell] * options.there[option, m])
    return held


@helper
def _each_word(options: StayOptions, cell: int, m: int, search: StaySearch) -> tuple[float, float]:
    """Return the fewest words and the least energy that come for each word that goes while a member
    runs."""
    words_each, energy_each = inf, inf
    for t in range(len(options.begin) - 1):
        held = _held_free(options, cell, m, t, search)
        words, energy = search.flights[t, 0], search.flights[t, 1]
        for option in range(options.begin[t], options.begin[t + 1]):
            freed = held - options.held[option, cell] * options.there[option, m]
            if freed > 0:
                words_each = min(words_each, (options.words[option, cell] - words) / freed)
                energy_each = min(energy_each, (options.energy[option, cell] - energy) / freed)
    return words_each, energy_each
