"""Compressed forms as JSON: what a study's directory keeps of a network that comes in several."""

import json
from typing import Any, Final

from archloom.space.workload import from_dict, to_dict

from ...yaml_reader import bounded_json
from .forms import CompressedForms, PrunedGroup, Widths

#: stands in every file
FORMAT: Final = "archloom compressed network 1"


def is_forms_text(text: str) -> bool:
    """Whether a text is one of :func:`forms_to_text`, sound or not, and not of one network."""
    return text.startswith(_HEAD)


def forms_to_text(forms: CompressedForms) -> str:
    """Return the text of a file, a line for each group and form.

    :func:`forms_from_text` is the inverse.
    """
    groups = [
        {
            "name": group.name,
            "levels": list(group.levels),
            "layers": list(group.layers),
            "densities": [list(each) for each in group.densities],
        }
        for group in forms.groups
    ]
    rows = [
        {
            "pruned": list(levels),
            "percent": [forms.accuracy_percent[levels, widths] for widths in forms.widths],
        }
        for levels in forms.forms()
    ]
    return "".join(
        [
            f'{_HEAD},\n"widths": {json.dumps([list(each) for each in forms.widths])},\n',
            f'"groups": [\n{_lines(groups)}\n],\n"accuracy": [\n{_lines(rows)}\n],\n',
            f'"network": {json.dumps(to_dict(forms.network))}}}\n',
        ]
    )


def forms_from_text(text: str) -> CompressedForms:
    """Return the forms of a text.

    Raises:
        ValueError: what is wrong with it.
    """
    try:
        data = bounded_json(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format is {data['format']!r}, must be {FORMAT!r}")
        widths = [Widths(*map(_whole, each)) for each in data["widths"]]
        accuracies = {
            (_numbers(row["pruned"]), each): percent
            for row in data["accuracy"]
            for each, percent in zip(widths, _numbers(row["percent"]), strict=True)
        }
        groups = tuple(
            PrunedGroup(
                _text(group["name"]),
                _numbers(group["levels"]),
                tuple(map(_text, group["layers"])),
                tuple(map(_numbers, group["densities"])),
            )
            for group in data["groups"]
        )
        return CompressedForms(from_dict(data["network"]), groups, accuracies)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"is no JSON of compressed forms: {error}") from None


_HEAD: Final = f'{{"format": {json.dumps(FORMAT)}'


def _lines(rows: list[dict[str, Any]]) -> str:
    return ",\n".join(json.dumps(row) for row in rows)


def _numbers(found: Any) -> tuple[float, ...]:
    if not all(type(each) in (int, float) for each in found):
        raise TypeError(f"{found!r} must be numbers")
    return tuple(map(float, found))


def _whole(found: Any) -> int:
    if type(found) is not int or found < 1:
        raise TypeError(f"{found!r} must be a whole number, at least 1")
    return found


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{found!r} must be a text")
    return found
