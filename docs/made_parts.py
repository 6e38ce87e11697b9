"""Parts of a page that are made, each between ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""

from collections.abc import Mapping


def with_parts(text: str, made: Mapping[str, str]) -> str:
    """Return a page with its made parts, by name, in the place of what stands there."""
    for name, part in made.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = f"{before}{begin}\n{part}\n{end}{after}"
    return text
