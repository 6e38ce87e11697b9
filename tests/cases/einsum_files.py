"""Files of einsums for tests."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from archloom.space.importers.einsum import read_einsums
from archloom.space.workload import Network


def einsum_text(lines: str, ranks: Mapping[str, object], **keys: str) -> str:
    """Return the text of a file; ``keys`` are values as YAML has them."""
    sizes = ", ".join(f"{rank}: {size}" for rank, size in ranks.items())
    others = [f"{key}: {value}" for key, value in keys.items()]
    items = [f"  - {line.strip()}" for line in lines.strip().splitlines()]
    return "\n".join([f"ranks: {{{sizes}}}", *others, "einsums:", *items, ""])


def einsums(lines: str, ranks: Mapping[str, object], **keys: str) -> Network:
    """Return the network of such a file, called ``net``."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.yaml"
        path.write_text(einsum_text(lines, ranks, **keys), encoding="utf-8")
        return read_einsums(path)
