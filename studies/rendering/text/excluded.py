"""What rules, limits and lower bounds exclude of a space, in words."""

from archloom.studies.analysis import Exclusions


def excluded_title(one: Exclusions) -> str:
    """Say of which designs the rows tell."""
    of = "all" if one.seen == one.points else f"{one.seen:,} drawn of"
    return f"what became of {of} {one.points:,} designs"


def excluded_rows(one: Exclusions) -> list[tuple[str, int]]:
    """Return what becomes of designs, and of how many."""
    return [
        *((f"breaks {rule}", count) for rule, count in one.rules.items()),
        ("was run to the end", one.measured),
        ("cannot add to the front, by its lower bounds", one.dominated),
        ("may still add to the front", one.open),
    ]
