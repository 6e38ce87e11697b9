"""Workloads that a study's directory keeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.studies.config import EntryError, Workload, is_file, load_workloads

from ..errors import UserError

if TYPE_CHECKING:
    from .header import Header


def kept_workloads(folder: Path, header: "Header") -> tuple[Workload, ...]:
    """Return the workloads of a study's directory, whatever became of the files they came from.

    Raises:
        UserError: this version of archloom no longer has a network, or option, of that name.
    """
    try:
        return load_workloads(header.config["workloads"], folder, header.networks)
    except EntryError as error:
        faults = "; ".join(str(error).splitlines())
        raise UserError(
            f"{folder}: {faults}; use the version that began the study: {header.archloom}"
        ) from None


def stored_networks(workloads: Sequence[Workload]) -> dict[int, str]:
    """Return JSON of those networks that a study's directory must keep, by position."""
    from archloom.space.workload import to_text

    kept = ((i, w) for i, w in enumerate(workloads) if is_file(w.reference))
    return {i: to_text(workload.network) for i, workload in kept}
