"""Tables of what assumed values decide, for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from archloom.space import Infeasible
from archloom.studies.rendering.text import new_table, plain, print_line, print_whole
from archloom.studies.solve.sensitivity import DECIDES, METRICS, Effect, Metric, Sensitivity

from .words import (
    LABELS,
    change_text,
    deciding_texts,
    factor_words,
    largest_text,
    value_text,
    values_text,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_sensitivity(found: Sensitivity, file: str, console: "Console") -> None:
    """Print the values, what they change for each network, and what decides in plain words.

    Args:
        found: the results.
        file: the template, which marks the values.
        console: where to.
    """
    print_line(
        f"{found.hardware.name}: {_count(len(found.effects), 'value')} that no source gives "
        f"(marked in {file})",
        console,
    )
    print_whole(_values(found), console)
    for network in range(len(found.networks)):
        print_whole(_changes(found, network), console)
        for line in _sentences(found, network):
            print_line(line, console)
    for line in _remarks(found):
        print_line(line, console)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _values(found: Sensitivity) -> "Table":
    """Return the values with their reasons, and the values that take their place."""
    heads = ("assumption", "value", *factor_words(found.factor), "reason")
    table = new_table("Assumptions", heads, (heads[0], heads[-1]))
    for effect in found.ranked():
        mark = effect.assumed.mark
        others = (effect.less, effect.more)
        shown = ["" if one.refused else values_text(one) for one in others]
        cells = (mark.key, value_text(effect.assumed.value), *shown, mark.reason)
        table.add_row(*map(plain, cells))
    return table


def _changes(found: Sensitivity, network: int) -> "Table":
    """Return what each value changes for a network, the largest change first."""
    run, named = found.base.runs[network], found.networks[network]
    assert not isinstance(run, Infeasible)
    title = (
        f"{named.name}, batch {named.batch}: latency {1e3 * run.latency_s:.4g} ms, energy "
        f"{1e-9 * run.energy_pj:.4g} mJ, EDP {run.edp_js:.4g} J s, area "
        f"{found.base.area_mm2:.4g} mm2; changes"
    )
    signs = (f"/{found.factor:g}", f"x{found.factor:g}")
    heads = [f"{LABELS[metric]} {sign}" for metric in METRICS for sign in signs]
    table = new_table(title, ("assumption", *heads), ("assumption",))
    for effect in found.ranked(network):
        if effect.varied:
            pairs = (_pair(found, effect, metric, network) for metric in METRICS)
            table.add_row(
                plain(effect.assumed.mark.key), *(cell for pair in pairs for cell in pair)
            )
    return table


def _pair(found: Sensitivity, effect: Effect, metric: Metric, network: int) -> Iterator[str]:
    """Yield the changes of a figure with less and with more of a value."""
    for one in (effect.less, effect.more):
        if one.refused:
            yield "-"
        elif metric != "area" and isinstance(one.runs[network], Infeasible):
            yield "cannot run"
        else:
            yield change_text(found.change(one, metric, network))


def _sentences(found: Sensitivity, network: int) -> Iterator[str]:
    """Say which values decide about a network."""
    name, texts = found.networks[network].name, list(deciding_texts(found, network))
    if not texts:
        largest = largest_text(found, network)
        yield f"No assumption changes a figure of {name} by more than {DECIDES:.0%}; {largest}."
        return
    many = "1 assumption decides" if len(texts) == 1 else f"{len(texts)} assumptions decide"
    yield f"{many} about {name} (a figure changes by more than {DECIDES:.0%}):"
    yield from (f"  {text}" for text in texts)


def _remarks(found: Sensitivity) -> Iterator[str]:
    effort, words = found.effort, factor_words(found.factor)
    yield ""
    for effect in found.effects:
        for word, one in zip(words, (effect.less, effect.more), strict=True):
            if one.refused and effect.assumed.is_number:
                yield f"{effect.assumed.mark.key} cannot be {word}: {one.refused}."
    fixed = [effect.assumed.mark.key for effect in found.effects if not effect.assumed.is_number]
    if fixed:
        yield f"Not varied, since they are no numbers: {', '.join(fixed)}."
    yield (
        f"Each value is {words[0]} and {words[1]} while all others stay. Networks run layer by "
        f"layer, with mappings chosen anew for each design: search {effort.search}, up to "
        f"{effort.evaluations:,} mappings of each layer, seed {effort.seed}; those found for one "
        "design are tried on all. Where mappings are fixed, a value may decide more."
    )
