"""What rules, limits and lower bounds exclude of a space, in words."""

from archloom.studies.analysis import Exclusions


def excluded_title(one: Exclusions) -> str:
    """Return the title of these rows."""
    of = "all" if one.seen == one.points else f"a sample of {one.seen:,} of"
    return f"designs by outcome ({of} {one.points:,} designs)"


def excluded_rows(one: Exclusions) -> list[tuple[str, int]]:
    """Return each outcome with its number of designs."""
    return [
        *((f"infeasible: {rule}", count) for rule, count in one.rules.items()),
        ("evaluated with the full budget", one.measured),
        ("not evaluated; lower bounds exclude it from the front", one.dominated),
        ("could still join the front", one.open),
    ]
