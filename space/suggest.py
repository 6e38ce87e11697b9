"""The nearest valid choice, for messages about a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the names nearest to ``name``, or a list of all that there are."""
    names = list(known)
    near = get_close_matches(name, names)
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
