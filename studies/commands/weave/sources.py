"""Networks that a command line names: of the catalogue, of files, or tables of layers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from archloom.evaluators.weaving import Chain
from archloom.space.workload import Network
from archloom.studies.config import WorkloadOptions, find_network, normal

from ...errors import UserError
from .chain_table import is_chain_table, read_chain_table

#: words of the two NPUs and of the presets, for readers that ask
_WORD_BITS = 16


@dataclass(frozen=True)
class Source:
    """What one word of the command line means.

    Attributes:
        label: unique among the networks that run together.
        what: a network, or a chain that a table holds.
        batch: inferences of a query; None for what the network has.
    """

    label: str
    what: Network | Chain
    batch: int | None = None


def read_sources(texts: Sequence[str], batch: int | None, least: int = 2) -> list[Source]:
    """Return what the words of a command line mean.

    A word is ``NAME`` or ``NAME:option=value,option=value``; ``batch`` is an option of each.

    Args:
        texts: words.
        batch: of those that say none.
        least: networks; one alone has nobody to be woven with.

    Raises:
        UserError: fewer words than that, a network or option that there is none of, a table with
            faults, a network without MACs; of all words at once.
    """
    found: list[Source] = []
    faults: list[str] = []
    for text in texts:
        try:
            found.append(_read(text, batch))
        except UserError as error:
            faults.append(str(error))
    if not faults and len(texts) < least:
        faults.append(
            f"{texts[0]} is the only network: give at least two networks; for a single network use "
            "archloom schedule"
        )
    if not faults and batch is not None and all(isinstance(s.what, Chain) for s in found):
        faults.append(
            f"--batch {batch}: tables of layers have a fixed batch size; leave --batch out"
        )
    if faults:
        raise UserError("\n".join(faults))
    return _labelled(found)


def _read(text: str, batch: int | None) -> Source:
    name, settings = _split(text)
    path = Path(name)
    if is_chain_table(path):
        if settings:
            raise UserError(f"{text}: a table of layers has no options; leave {settings[0]} out")
        chain = read_chain_table(path)
        return Source(chain.name, chain)
    own, others = _batch_of(text, settings)
    asked = WorkloadOptions(tuple(others), None, _WORD_BITS, "option")
    network = find_network(normal(name, Path.cwd()), asked)
    if network.folded:
        raise UserError(f"{network.name}: networks that share a chip cannot be folded; unfold it")
    if not network.macs:
        raise UserError(
            f"{network.name}: none of its {len(network.layers)} layers has MACs, so there is "
            "nothing to schedule"
        )
    label = f"{network.name}({', '.join(map(str.strip, others))})" if others else network.name
    return Source(label, network, own or batch)


def _split(text: str) -> tuple[str, list[str]]:
    """Return the name of a word and its options."""
    name, colon, rest = text.rpartition(":")
    if not colon or "=" not in rest:
        return text, []
    # a list goes on up to the next name
    return name, re.split(r",(?=[^,]*=)", rest)


def _batch_of(text: str, settings: Sequence[str]) -> tuple[int | None, list[str]]:
    """Return the batch that a word says, and its other options."""
    batch: int | None = None
    others = []
    for setting in settings:
        key, _, value = setting.partition("=")
        if key.strip() != "batch":
            others.append(setting)
        elif not value.strip().isdecimal() or int(value) < 1:
            raise UserError(f"{text}: batch={value} must be a whole number, at least 1")
        else:
            batch = int(value)
    return batch, others


def _labelled(sources: Sequence[Source]) -> list[Source]:
    """Give sources of one name numbers."""
    labels: list[str] = []
    for source in sources:
        label, number = source.label, 2
        while label in labels:
            label, number = f"{source.label}-{number}", number + 1
        labels.append(label)
    return [replace(s, label=label) for s, label in zip(sources, labels, strict=True)]
