"""Writes the picture and the list of the packages into ``docs/explanation/architecture.md``.

Both are made from the source: the picture from the imports, the list from the first line of each
package's docstring. ``make architecture`` runs this, and a test fails where the page differs from
what it would write.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from docs.made_parts import with_parts
from tests.source_tree import LAYERS, ROOT, module_name, package_name, packages, sources, targets

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
WITH_PACKAGES = {folder.parent.name for folder in packages() if folder.parent.parent == ROOT}
"""Folders that are drawn entry by entry."""

Graph = Mapping[str, set[str]]


def entry(name: str) -> str:
    """Return the box that a module is drawn in: an entry of one of the five folders.

    The modules of a folder without packages share a box.
    """
    layer, *rest = name.split(".")[1:]
    return f"{layer}/{rest[0]}" if layer in WITH_PACKAGES and rest else layer


def arrows() -> dict[str, set[str]]:
    """Return the boxes that each box imports from, those of other boxes only."""
    found: dict[str, set[str]] = {}
    for path in sources():
        here = entry(module_name(path))
        there = {entry(target) for target in targets(path, True)}
        found.setdefault(here, set()).update(there - {here})
    return found


def reachable(graph: Graph, start: str) -> set[str]:
    """Return the boxes that ``start`` leads to, in one arrow or more."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph.get(waiting.pop(), set()) - found:
            found.add(target)
            waiting.append(target)
    return found


def reduced(graph: Graph) -> dict[str, set[str]]:
    """Return the graph without the arrows that follow from others (its transitive reduction).

    Aho, Garey, Ullman, "The transitive reduction of a directed graph", SIAM J. Comput. 1(2), 1972;
    of a graph without cycles it is unique.
    """
    beyond = {box: reachable(graph, box) for box in graph}
    return {
        box: {t for t in targets if not any(t in beyond.get(via, ()) for via in targets - {t})}
        for box, targets in graph.items()
    }


def picture(graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart: a frame for each folder, modules with round ends."""
    lines = ["```mermaid", "flowchart TD"]
    for layer in reversed(LAYERS):
        boxes = sorted(box for box in graph if box.split("/")[0] == layer)
        lines.append(f"  subgraph {layer}_folder[{layer}/]")
        lines += [f"    {identifier(box)}{label(box)}" for box in boxes]
        lines.append("  end")
    lines += [
        f"  {identifier(box)} --> {' & '.join(map(identifier, sorted(graph[box])))}"
        for box in sorted(graph, key=lambda box: (-LAYERS.index(box.split("/")[0]), box))
        if graph[box]
    ]
    return "\n".join([*lines, "```"])


def identifier(box: str) -> str:
    """Return the name of a box in Mermaid, where slashes mean something else."""
    return box.replace("/", "__")


def label(box: str) -> str:
    """Return the text of a box, in brackets that give its shape."""
    name = box.rpartition("/")[2]
    return f"[{name}]" if (ROOT / box).is_dir() else f"([{name}.py])"


def package_list(folders: Iterable[Path]) -> str:
    """Return the packages as a list, each with the first sentence of its docstring."""
    lines = [""]  # or the list would belong to the comment before it
    for folder in folders:
        depth = package_name(folder).count(".") - 1
        path = folder.relative_to(ROOT).as_posix()
        lines.append(f"{'    ' * depth}- [`{path}/`](../../{path}/__init__.py): {summary(folder)}")
    return "\n".join(lines)


def summary(folder: Path) -> str:
    """Return the first paragraph of a package's docstring in a line, with roles as plain names."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", first)


def page(text: str) -> str:
    """Return the page with its made parts replaced by what the source gives now."""
    order = sorted(packages(), key=lambda f: (LAYERS.index(f.relative_to(ROOT).parts[0]), f))
    made = {"picture": picture(reduced(arrows())), "packages": package_list(order)}
    return with_parts(text, made)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
