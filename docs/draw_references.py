"""Write every key of hardware templates and study files into two pages, from their JSON schemas.

``python -m docs.draw_references`` runs it; ``tests/test_references.py`` fails where a page differs
from what it would write.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from archloom.studies.commands.setup import schema_of
from tests.source_tree import ROOT

Form = Mapping[str, Any]

PAGES = {
    "template": ROOT / "docs" / "reference" / "template_reference.md",
    "study": ROOT / "docs" / "reference" / "study_reference.md",
}

INTRODUCTIONS = {
    "template": """\
# Template keys

Every key of a hardware template, with its meaning, an example, type, unit and default.
[Hardware templates](templates.md) explains how templates work and what an expression may contain.
`archloom init` writes a template to start from, and `archloom schema template` prints this page as
a JSON schema.
""",
    "study": """\
# Study file keys

Every key of a study file, with its meaning, an example, type, unit and default.
[Study files](study_files.md) explains what the values mean. `archloom init` writes a study file to
start from, and `archloom schema study` prints this page as a JSON schema. A section, such as
`executor`, is a mapping below its key; `workloads[]` is an item of the list `workloads`, and `NAME`
stands for any name.
""",
}

#: units by the ends of names; a longer end stands before a shorter one
UNITS = {
    "bandwidth_words": "words/cycle",
    "_per_s_w": "1/(s W)",
    "_per_s": "1/s",
    "_bytes": "bytes",
    "_words": "words",
    "_bits": "bits",
    "_mhz": "MHz",
    "_mm2": "mm2",
    "_percent": "%",
    "_mb": "10^6 bytes",
    "_pj": "pJ",
    "_js": "J s",
    "_ms": "ms",
    "_j": "J",
    "_s": "s",
    "_w": "W",
}

MOST_WORDS = 24
"""Of names that are listed; a catalogue has a command of its own."""


def unit(name: str) -> str:
    """Return the unit that a key's name says."""
    return next((text for end, text in UNITS.items() if name.endswith(end)), "")


def said(value: object) -> str:
    """Return a value as a line of YAML has it."""
    text = json.dumps(value)
    # quotes are needed around few texts
    plain = re.sub(r'"([A-Za-z][\w./-]*)"', r"\1", text)
    return f"`{plain}`".replace("|", "\\|")


def holds(form: Form) -> str:
    """Return what a key may hold, in words."""
    if "$ref" in form:
        return f"mapping, see {form['$ref'].rpartition('/')[2]}"
    if "anyOf" in form:
        return " or ".join(dict.fromkeys(map(holds, form["anyOf"])))
    if "enum" in form:
        values = [said(value).strip("`") for value in form["enum"]]
        if len(values) > MOST_WORDS:
            return f"one of {len(values)} names"
        return ", ".join(f"`{value}`" for value in values)
    kinds: Any = form.get("type", "anything")
    if isinstance(kinds, list):
        return " or ".join(holds({"type": kind}) for kind in kinds)
    if kinds == "array":
        many = f"{form['minItems']} values: " if form.get("maxItems") else ""
        return f"list of {many}{holds(form['items'])}"
    if kinds == "object":
        of = form.get("additionalProperties")
        return f"mapping of names to {holds(of)}" if isinstance(of, Mapping) else "mapping"
    if kinds == "string" and form.get("pattern") == "^=":
        return "expression"
    words = {"integer": "whole number", "string": "text"}
    return f"{words.get(kinds, kinds)}{bounds(form)}"


def bounds(form: Form) -> str:
    """Return the limits of a number."""
    signs = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}
    # larger numbers only keep slips out
    said_ones = {key: form[key] for key in signs if key in form and form[key] < 10**9}
    found = [f"{signs[key]} {number:g}" for key, number in said_ones.items()]
    return f" {', '.join(found)}" if found else ""


def rows(form: Form) -> Iterator[str]:
    """Yield the lines of a table with the keys of a section."""
    yield "| key | meaning, and an example | type | unit | default |"
    yield "|---|---|---|---|---|"
    required = form.get("required", ())
    for name, below in form["properties"].items():
        if not below and "allOf" in form:
            continue  # an option of some parts, in the table below
        sections_below = "properties" in below or "$ref" in json.dumps(below)
        known = "default" in below and below["default"] not in (None, [], {})
        known = known and not isinstance(below["default"], dict)
        default = "required" if name in required else said(below["default"]) if known else ""
        examples = below.get("examples") or ([below["default"]] if known else [])
        example = "" if sections_below else said(example_of(below))
        shown = " or ".join(map(said, examples)) or example
        about = below.get("description", "").replace("|", "\\|").rstrip(".")
        meaning = ". ".join(filter(None, (about, f"E.g. {shown}" if shown else "")))
        yield f"| `{name}` | {meaning} | {holds(below)} | {unit(name)} | {default} |"


def example_of(form: Form) -> object:
    """Return a value of a form that says no example."""
    if form.get("examples"):
        return form["examples"][0]
    if "anyOf" in form:
        return example_of(form["anyOf"][0])
    if "const" in form:
        return form["const"]
    if "enum" in form:
        return form["enum"][0]
    made: dict[str, object] = {
        "null": None,
        "integer": form.get("minimum", 1),
        "number": 0.5,
        "boolean": True,
        "string": "text",
        "array": [],
        "object": {},
    }
    kind = form.get("type", "string")
    if kind == "array":
        return [example_of(form["items"])]
    if kind == "object" and form.get("properties"):
        first = form.get("required") or list(form["properties"])[:1]
        return {name: example_of(form["properties"][name]) for name in first}
    return made[kind if isinstance(kind, str) else kind[0]]


def sections(name: str, form: Form) -> Iterator[tuple[str, Form]]:
    """Yield a section and those below it, each with the keys that lead to it."""
    if form.get("properties"):
        yield name, form
    for key, below in form.get("properties", {}).items():
        yield from sections(f"{name}.{key}" if name else key, below)
    parts = form.get("anyOf", [])
    for below in parts:
        yield from sections(name, below)
    if "items" in form:
        yield from sections(f"{name}[]", form["items"])
    if isinstance(form.get("additionalProperties"), Mapping):
        yield from sections(f"{name}.NAME", form["additionalProperties"])


def chapter(title: str, form: Form, level: str = "##") -> Iterator[str]:
    """Yield the lines of a section."""
    yield f"{level} {title}"
    yield ""
    if about := form.get("description"):
        yield from (about[0].upper() + about[1:], "")
    yield from rows(form)
    yield ""
    yield from options(form)


def options(form: Form) -> Iterator[str]:
    """Yield a table of the options that each part of a family has, if a section chooses one."""
    if "allOf" not in form:
        return
    known = form["properties"]["name"]["enum"]
    yield from ("[Study files](study_files.md#keys) explains these options:", "")
    yield from ("| name | option | type | default |", "|---|---|---|---|")
    for part in form["allOf"]:
        names = [name for name in part["if"]["properties"]["name"]["enum"] if name in known]
        own = {key: below for key, below in part["then"]["properties"].items() if key != "name"}
        named = ", ".join(f"`{name}`" for name in names)
        if named and not own:
            yield f"| {named} | none | | |"
        for key, below in own.items() if named else ():
            yield f"| {named} | `{key}` | {holds(below)} | {_default(below)} |"
    yield ""


def _default(form: Form) -> str:
    return said(form["default"]) if form.get("default") is not None else ""


def page(kind: str) -> str:
    """Return the page about a kind of file."""
    schema = schema_of(kind)
    lines = [INTRODUCTIONS[kind]]
    if kind == "template":
        lines += chapter("Template", schema)
        for name, form in sections("", {"properties": schema["properties"]}):
            if name:
                lines += chapter(f"`{name}`", form)
        for name in ("parameter", "rule", "assumption", "level"):
            lines += chapter(name, schema["$defs"][name])
            for below, form in sections(name, schema["$defs"][name]):
                if below != name:
                    lines += chapter(f"`{below}`", form)
    else:
        lines += chapter("Study of accelerators", schema["$defs"]["study"])
        lines += below_of(schema["$defs"]["study"])
        lines += chapter("Study with kind: stack", schema["$defs"]["stack"])
        lines += below_of(schema["$defs"]["stack"], "stack: ")
    return "\n".join(lines).rstrip() + "\n"


def below_of(form: Form, before: str = "") -> Iterator[str]:
    """Yield the lines of all sections below one; sections of one form share a chapter."""
    seen: dict[str, list[str]] = {}
    for name, below in sections("", form):
        if name:
            seen.setdefault(json.dumps(below), []).append(name)
    titles = [titled(list(dict.fromkeys(names))) for names in seen.values()]
    for text, title in zip(seen, titles, strict=True):
        form = json.loads(text)
        # several forms of one key differ in what they require
        first = f", with `{form['required'][0]}`" if titles.count(title) > 1 else ""
        yield from chapter(f"{before}{title}{first}", form, "###")


def titled(names: list[str]) -> str:
    """Return the keys that lead to a section, the first of many."""
    if len(names) <= 4:
        return ", ".join(f"`{name}`" for name in names)
    return ", ".join(f"`{name}`" for name in names[:3]) + f" and {len(names) - 3} others"


if __name__ == "__main__":
    for kind, path in PAGES.items():
        path.write_text(page(kind), "utf-8")
