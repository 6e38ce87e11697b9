"""Attributes of Timeloop components: which are read, which have no effect, and which are refused.

Names, synonyms and defaults are those of Timeloop's buffer, arithmetic and legacy network
models (NVlabs/timeloop, src/model/buffer.cpp, arithmetic.cpp, network-legacy.cpp).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ....yaml_reader import Faults, shown
from ..values import Entry, NoValueError, Scope, nearest, truth

_WORD_BITS: Final = ("word_bits", "word_width", "datawidth")
_BLOCK_SIZE: Final = ("block_size", "n_words")
_WIDTH: Final = ("width", "memory_width", "data_storage_width")
_DEPTH: Final = ("depth", "memory_depth", "data_storage_depth")
MESH: Final = ("instances", "meshX", "meshY")

_DEFAULT_WORD_BITS: Final = 16
"""As in Timeloop, for a memory that says nothing."""

NETWORK: Final = ("energy_per_hop", "router_energy")
_READ: Final = (
    *(*_WORD_BITS, *_BLOCK_SIZE, *_WIDTH, *_DEPTH, "entries", "sizeKB", "cluster_size"),
    *("multiple_buffering", "bandwidth", "read_bandwidth", "write_bandwidth", "shared_bandwidth"),
    *("technology", "vector_access_energy", "addr_gen_energy", *NETWORK, *MESH),
)

#: must have one of these values, because others change counts, cycles or energies in ways that
#: a case cannot say
_NEUTRAL: Final[dict[str, tuple[str, str]]] = {
    "min_utilization": ("0", "a minimum utilization is not checked"),
    "allow_overbooking": ("no", "overbooking is not modelled"),
    "has_power_gating": ("no", "power gating is not modelled"),
    "tile_partition_supported": ("no", "runtime partitions are not modelled"),
    "network_fill_latency": ("0", "latencies of networks are not modelled"),
    "network_drain_latency": ("0", "latencies of networks are not modelled"),
    "wire_energy": ("0", "wires are not modelled; use energy_per_hop"),
    "energy_per_ingress": ("0", "energy of an ingress is not modelled"),
    "network_type": ("1:1 1:N", "networks between peers are not modelled"),
    "per_dataspace_bandwidth_consumption_scale": ("", "scaled bandwidths are not modelled"),
}

#: accepted: neither counts nor cycles depend on them; energies come from a table or not at all
_NO_EFFECT: Final = """
    action_latency_cycles adder_energy adder_width area area_scale area_share cell_type
    clock_frequency cluster_area comment compression_supported
    concordant_compressed_tile_traversal cycle_seconds cycle_time decompression_supported
    description energy_scale energy_share exponent exponent_bits fifo_depth frequency
    global_cycle_seconds latency leak_scale mantissa mantissa_bits metadata_block_size
    metadata_counter_width metadata_datawidth metadata_storage_depth metadata_storage_width
    metadata_word_bits multiplier_width n_banks n_pipeline_stages n_ports n_rd_ports
    n_rdwr_ports n_wr_ports nbanks network_drain network_fill network_operand network_read
    network_result network_update network_word_bits nports num_banks num_pipeline_stages
    num_ports pipeline_depth power_gated_at precision read_latency reduction_supported subtype
    temperature tile_width type update_fifo_depth vdd version voltage width_a width_b
    write_latency
"""
NO_EFFECT: Final = frozenset(_NO_EFFECT.split())

STORAGE_NAMES: Final = (*_READ, *_NEUTRAL)
COMPUTE_NAMES: Final = (*MESH, "energy", "technology", "has_power_gating", *_WORD_BITS, *_WIDTH)


@dataclass(frozen=True)
class Attributes:
    """Attributes of one component.

    Attributes:
        at: the component.
        own: what stands at the component itself.
        inherited: what it has from the branches around it; the nearest one counts.
        scope: names that expressions of the component may read.
    """

    at: Entry
    own: Mapping[str, Entry]
    inherited: Mapping[str, Entry]
    scope: Scope

    def find(self, names: Iterable[str], faults: Faults) -> Entry | None:
        """Return what stands under one of several synonyms; null is nothing."""
        for layer in (self.own, self.inherited):
            given = [layer[name] for name in names if name in layer]
            for other in given[1:]:
                if other.value != given[0].value:
                    faults.add(
                        other.place,
                        f"is {shown(other.value)}, but {given[0].place.path} is "
                        f"{shown(given[0].value)}, and both mean the same",
                    )
            if given:
                return given[0] if given[0].value is not None else None
        return None

    def number(
        self, names: Iterable[str], faults: Faults, low: float = 0.0, above: bool = False
    ) -> int | float | None:
        """Return a number from ``low`` up (``above``: beyond it); None if it is not given."""
        entry = self.find(names, faults)
        if entry is None:
            return None
        # what is inherited was said around the component, and its names mean what they do there
        here = any(entry is own for own in self.own.values())
        scope = self.scope if here else self.scope.outer or self.scope
        try:
            value = scope.number(entry.value, (id(entry),))
        except NoValueError as error:
            faults.add(entry.place, str(error))
            return None
        if value < low or (above and value == low):
            limit = f"above {low:g}" if above else f"{low:g} or more"
            faults.add(entry.place, f"must be {limit}, got {shown(value)}")
            return None
        return value

    def whole(self, names: Iterable[str], faults: Faults, low: int = 1) -> int | None:
        """Return a whole number from ``low`` up; None if it is not given."""
        listed = tuple(names)
        value = self.number(listed, faults, low)
        if value is None or value == int(value):
            return None if value is None else int(value)
        entry = self.find(listed, Faults())
        if entry is not None:
            faults.add(entry.place, f"must be a whole number, got {shown(value)}")
        return None


def refuse_unknown(
    own: Mapping[str, Entry],
    known: Iterable[str],
    mentioned: set[str],
    faults: Faults,
    hint: str = "",
) -> None:
    """Name each attribute that is neither known nor read by any expression.

    Attributes in capitals are a user's own variables: Timeloop has none, and its front end leaves
    them in the files that it writes, where nothing reads them any more.
    """
    names = [*known, *NO_EFFECT]
    for name, entry in own.items():
        if name not in names and name not in mentioned and not name.isupper():
            faults.add(entry.place, f"is not known; {nearest(name, names)}{hint}")


def storage_fields(attributes: Attributes, kind: str, faults: Faults) -> dict[str, Any]:
    """Return what a record says of a memory, without name and mesh.

    Args:
        attributes: of the component.
        kind: its class, which says whether it is a DRAM.
        faults: where to note what is wrong.
    """
    _refuse_active(attributes, faults)
    tech = attributes.find(("technology",), faults)
    dram = "DRAM" in kind or (tech is not None and tech.value == "DRAM")
    word_bits = attributes.whole(_WORD_BITS, faults) or _DEFAULT_WORD_BITS
    block, cluster = _block_and_cluster(attributes, word_bits, faults)
    return {
        "size_words": _size_words(attributes, word_bits, block, dram, faults),
        "word_bits": word_bits,
        "technology": "DRAM" if dram else "SRAM",
        "block_size": block,
        "cluster_size": cluster,
        "multiple_buffering": float(
            attributes.number(("multiple_buffering",), faults, low=1) or 1.0
        ),
        **_bandwidths(attributes, faults),
        "energy_pJ": _access_energy(attributes, faults),
        **network_energies(attributes, faults),
        "addr_gen_energy_pJ": _address_energy(attributes, faults),
    }


def compute_energy(attributes: Attributes, faults: Faults) -> int | float | None:
    """Return the energy of one multiply-accumulate, if the file gives it."""
    _refuse_active(attributes, faults, ("has_power_gating",))
    return attributes.number(("energy",), faults)


def _refuse_active(attributes: Attributes, faults: Faults, names: Iterable[str] = _NEUTRAL) -> None:
    for name in names:
        neutral, reason = _NEUTRAL[name]
        entry = attributes.find((name,), faults)
        if entry is None or entry.value in ({}, []):
            continue
        text = str(entry.value)
        if neutral == "no":
            fine = truth(entry.value) is False
        else:
            fine = text in neutral.split() or (neutral == "0" and text in ("0.0", "False"))
        if not fine:
            faults.add(entry.place, f"is {shown(entry.value)}, but {reason}")


def _block_and_cluster(attributes: Attributes, word_bits: int, faults: Faults) -> tuple[int, int]:
    """Return words of a block, and instances of a cluster, one from the other and the width.

    Source: BufferLevel::ParseSpecs, "Data storage width": width = words of a block * bits of a
    word * cluster.
    """
    block = attributes.whole(_BLOCK_SIZE, faults)
    cluster = attributes.whole(("cluster_size",), faults)
    width = attributes.whole(_WIDTH, faults)
    if width is None:
        return block or 1, cluster or 1
    stated = word_bits * (block or 1) * (cluster or 1)
    both = block is not None and attributes.own.get("cluster_size") is not None
    if width % stated or (both and width != stated):
        entry = attributes.find(_WIDTH, Faults())
        if entry is not None:
            faults.add(
                entry.place,
                f"{width} bits must be words of a block * bits of a word * cluster size: "
                f"{block or 1} * {word_bits} * {cluster or 1}",
            )
        return block or 1, cluster or 1
    if block is None:
        return width // stated, cluster or 1
    return block, width // (word_bits * block)


def _size_words(
    attributes: Attributes, word_bits: int, block: int, dram: bool, faults: Faults
) -> int | None:
    """Return words of one instance; 0 holds nothing, None has no limit.

    Source: BufferLevel::ParseSpecs, "Size": entries count before a depth.
    """
    stated = {
        "entries": attributes.whole(("entries",), faults, low=0),
        "depth": attributes.whole(_DEPTH, faults, low=0),
        "sizeKB": attributes.number(("sizeKB",), faults),
    }
    given = {name: value for name, value in stated.items() if value is not None}
    if len(given) > 1 and "sizeKB" in given:
        faults.add(attributes.at.place, f"has several sizes, {', '.join(given)}; give one of them")
    if not given:
        if not dram and not any(attributes.find((n,), Faults()) for n in (*stated, *_DEPTH)):
            faults.add(attributes.at.place, "has no size: give depth, entries or sizeKB")
        return None
    name, value = next(iter(given.items()))
    if name == "sizeKB":
        return int(value * 1024 * 8) // word_bits
    return int(value) * (block if name == "depth" else 1)


def _bandwidths(attributes: Attributes, faults: Faults) -> dict[str, int | float | None]:
    """Return words per cycle of one instance, read, written and shared; None has no limit."""
    found = {
        f"{port}_bandwidth": attributes.number((f"{port}_bandwidth",), faults, above=True)
        for port in ("read", "write", "shared")
    }
    both = attributes.number(("bandwidth",), faults, above=True)
    if both is not None:
        # BufferLevel::ParseSpecs, "Bandwidth": half of it for each direction
        for port in ("read_bandwidth", "write_bandwidth"):
            found[port] = both / 2 if found[port] is None else found[port]
    return found


def _access_energy(attributes: Attributes, faults: Faults) -> dict[str, float] | None:
    """Return the energy of any vector access, where the file overrides it, else None."""
    energy = attributes.number(("vector_access_energy",), faults)
    if energy is None:
        return None
    return {"read": energy, "fill": energy, "update": energy, "leak_per_cycle": 0}


def network_energies(attributes: Attributes, faults: Faults) -> dict[str, int | float | None]:
    """Return the energies of the network from a level to the next inner one."""
    return {
        "net_energy_per_hop_pJ": attributes.number(("energy_per_hop",), faults),
        "net_router_energy_pJ": attributes.number(("router_energy",), faults),
    }


def _address_energy(attributes: Attributes, faults: Faults) -> int | float | None:
    # BufferLevel::ParseSpecs: -0.1 is its own mark for "not given"
    energy = attributes.number(("addr_gen_energy",), faults, low=-0.1)
    return None if energy is None or energy < 0 else energy
