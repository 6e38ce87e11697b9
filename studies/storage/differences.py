"""Differences between two studies, in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from archloom.studies.config import shown

if TYPE_CHECKING:
    from .header import Header


def differences(found: "Header", wanted: "Header", unsaid: Mapping[str, Any]) -> str:
    """Say which keys differ, with both values; files by what changed in them.

    ``unsaid`` has the values of keys that a study's settings leave out.
    """
    old, new = found.result_settings, wanted.result_settings
    parts = []
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            if key == "space_sha256":
                parts.append("space: another template")
            elif key == "workloads":
                parts += _workload_differences(found, wanted)
            else:
                there, here = (one.get(key, unsaid.get(key)) for one in (old, new))
                parts.append(f"{key}: {there} there, {here} here")
    return "; ".join(parts)


def _workload_differences(found: "Header", wanted: "Header") -> list[str]:
    there, here = ([shown(w) for w in header.config["workloads"]] for header in (found, wanted))
    if len(there) != len(here):
        return [f"workloads: {', '.join(there)} there, {', '.join(here)} here"]
    settings = (header.result_settings["workloads"] for header in (found, wanted))
    return [
        f"workloads[{i}]: {there[i]} there, {here[i]} here"
        if there[i] != here[i]
        else f"workloads[{i}]: the network of {here[i]} changed ({_change(found, wanted, i)})"
        for i, (old, new) in enumerate(zip(*settings, strict=True))
        if old != new
    ]


def _change(found: "Header", wanted: "Header", position: int) -> str:
    """Say what is most telling of how a network changed."""
    from archloom.space.workload import explain_difference, from_text

    there, here = (from_text(header.networks[position]) for header in (found, wanted))
    telling = explain_difference(replace(there, name="the study"), replace(here, name="the file"))
    return telling[0] if telling else "names of layers"
