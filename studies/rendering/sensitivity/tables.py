"""Tables of what assumed values decide, for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from archloom.space import Infeasible
from archloom.studies.rendering.text import new_table, plain, print_line, print_whole
from archloom.studies.solve.sensitivity import DECIDES, METRICS, Effect, Outcome, Sensitivity

from .words import change_text, deciding_texts, factor_words, value_text, values_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_HEADS: Final = ("assumption", "value", "latency", "energy", "EDP", "area", "reason")


def print_sensitivity(found: Sensitivity, file: str, console: "Console") -> None:
    """Print a table for each network, and what decides in plain words.

    Args:
        found: the results.
        file: the template, which marks the values.
        console: where to.
    """
    less, more = factor_words(found.factor)
    print_line(
        f"{found.hardware.name}: {len(found.effects)} values that no source gives, as {file} marks "
        f"them; each is {less} and {more}, while all others stay",
        console,
    )
    for network in range(len(found.networks)):
        print_whole(_table(found, network), console)
        print_line(_sentence(found, network), console)
    for line in _remarks(found):
        print_line(line, console)


def _table(found: Sensitivity, network: int) -> "Table":
    run, named = found.base.runs[network], found.networks[network]
    assert not isinstance(run, Infeasible)
    title = (
        f"{named.name} (batch {named.batch}): latency {1e3 * run.latency_s:.4g} ms, energy "
        f"{1e-9 * run.energy_pj:.4g} mJ, EDP {run.edp_js:.4g} J s, area "
        f"{found.base.area_mm2:.4g} mm2; changes with other values, the largest first"
    )
    table = new_table(title, _HEADS, (_HEADS[0], _HEADS[-1]))
    for effect in found.ranked(network):
        for row in _rows(found, effect, network):
            table.add_row(*map(plain, row))
    return table


def _rows(found: Sensitivity, effect: Effect, network: int) -> Iterator[tuple[str, ...]]:
    """Yield the value as it is, then a row for each other value that it can have."""
    mark, value = effect.assumed.mark, value_text(effect.assumed.value)
    blanks = ("",) * len(METRICS)
    others = [one for one in (effect.less, effect.more) if not one.refused]
    yield (mark.key, value, *blanks, mark.reason + _refused(effect))
    for one in others:
        yield ("", f"-> {values_text(one)}", *_changes(found, one, network))


def _refused(effect: Effect) -> str:
    """Say which values there cannot be, and why."""
    if not effect.varied and effect.less.refused == effect.more.refused:
        return f" (not varied: {effect.less.refused})"
    parts = [
        f" ({word}: {one.refused})"
        for word, one in (("not less", effect.less), ("not more", effect.more))
        if one.refused
    ]
    return "".join(parts)


def _changes(found: Sensitivity, outcome: Outcome, network: int) -> tuple[str, ...]:
    run = outcome.runs[network]
    if isinstance(run, Infeasible):
        area = change_text(found.change(outcome, "area", network))
        return "", "", "", area, f"it cannot run: {run}"
    return (*(change_text(found.change(outcome, metric, network)) for metric in METRICS), "")


def _sentence(found: Sensitivity, network: int) -> str:
    """Say which values decide."""
    name, texts = found.networks[network].name, list(deciding_texts(found, network))
    if not texts:
        return f"No assumption changes a figure of {name} by more than {DECIDES:.0%}."
    many = "1 assumption decides" if len(texts) == 1 else f"{len(texts)} assumptions decide"
    return f"{many} about {name} (a figure changes by more than {DECIDES:.0%}): {'; '.join(texts)}."


def _remarks(found: Sensitivity) -> Iterator[str]:
    effort = found.effort
    fixed = [
        f"{one.assumed.mark.key} ({value_text(one.assumed.value)})"
        for one in found.effects
        if isinstance(one.assumed.value, str | tuple)
    ]
    if fixed:
        yield f"Assumed too, but no numbers: {', '.join(fixed)}."
    yield (
        "\nNetworks run layer by layer. Mappings are chosen anew for each design: search "
        f"{effort.search}, up to {effort.evaluations:,} mappings of each layer, seed "
        f"{effort.seed}; what is found for one design is tried on all. With fixed mappings a value "
        "may decide more."
    )
