"""A fusion plan of one network with what it costs, as a search or a study found it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final, TypeVar

from archloom.space import Infeasible
from archloom.studies.analysis import Details
from archloom.studies.rendering import Cell
from archloom.studies.rendering.text import (
    fused_text,
    group_layers,
    percent,
    resident_layers,
    tiling_text,
)

from .cells import cell, percent_or_inf, short_table

Plan = TypeVar("Plan", bound="NetworkPlan")


@dataclass(frozen=True)
class Figures:
    """Figures of one pass; infinite if the network cannot run.

    Attributes:
        edp_js: energy of one image x latency of the pass, J s.
        energy_pj: energy of the pass.
        latency_cycles: latency of the pass.
        dram_bytes: bytes moved between DRAM and chip.
    """

    edp_js: float = inf
    energy_pj: float = inf
    latency_cycles: float = inf
    dram_bytes: float = inf

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Figures":
        """Return the figures of a record."""
        energy, cycles = record["energy_pj"], record["latency_cycles"]
        return cls(record["edp_js"], energy, cycles, record["dram_bytes"])


#: of what cannot run
NOWHERE: Final = Figures()


@dataclass(frozen=True)
class Group:
    """A group of layers that run together, tile by tile.

    Attributes:
        layers: names of the layers.
        tile: rows and columns of a tile of the last layer; None for a layer that runs by itself,
            and for groups in loop nests.
        tiles: number of tiles, or of iterations of a loop nest.
        resident: layers whose weights stay in the buffer.
        peak_bytes: peak occupancy of the buffer.
        latency_cycles: latency of the group.
        dynamic_pj: energy without leakage.
        dram_bytes: bytes moved between DRAM and chip.
        dram_bytes_unfused: bytes that its layers move if they run layer by layer.
        details: what ``archloom schedule --json`` prints of the group.
    """

    layers: tuple[str, ...]
    tile: tuple[int, int] | None
    tiles: int
    resident: tuple[str, ...]
    peak_bytes: float
    latency_cycles: int
    dynamic_pj: float
    dram_bytes: float
    dram_bytes_unfused: float
    details: Mapping[str, Any]

    @classmethod
    def of(cls, record: Details) -> "Group":
        """Return the group of a record."""
        tile = record["tile"]
        return cls(
            layers=tuple(record["layers"]),
            tile=None if tile is None else (tile[0], tile[1]),
            tiles=record["tiles"],
            resident=tuple(record["resident"]),
            peak_bytes=record["peak_bytes"],
            latency_cycles=record["latency_cycles"],
            dynamic_pj=record["dynamic_pj"],
            dram_bytes=record["dram_bytes"],
            dram_bytes_unfused=record["dram_bytes_unfused"],
            details=record,
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class NetworkPlan:
    """A fusion plan of a network on a hardware, with its cost.

    Attributes:
        network, hardware: names of both.
        batch: inferences of one pass.
        edp_js: energy of one image x latency of the pass, J s; infinite if it cannot run, like the
            next three.
        energy_pj: energy of one pass.
        latency_cycles: latency of one pass.
        dram_bytes: bytes moved between DRAM and chip in one pass.
        unfused: figures of layer-by-layer execution, with the same mapping search.
        groups: groups in the order in which they run.
        mappings: number of mappings of the plan; ``mappings_proven`` is the number of those that
            are proven to be optimal.
        mapping_gap_percent: how far the EDP can be above the least that any mappings give this
            plan, %; infinite if nothing is known.
        infeasible: reason why the plan cannot run; None if it can.
        details: figures by level, layer and group, as ``archloom show --json`` prints them; keys
            may be added.
    """

    network: str
    hardware: str
    batch: int
    edp_js: float = inf
    energy_pj: float = inf
    latency_cycles: float = inf
    dram_bytes: float = inf
    unfused: Figures = NOWHERE
    groups: tuple[Group, ...] = ()
    mappings: int = 0
    mappings_proven: int = 0
    mapping_gap_percent: float = inf
    infeasible: Infeasible | None = None
    details: Mapping[str, Any]

    @classmethod
    def of(cls: type[Plan], details: Details, batch: int, hardware: str, **others: Any) -> Plan:
        """Return the plan of a record.

        Args:
            details: of the network, as :func:`archloom.studies.analysis.details.plan_details`.
            batch: images of the pass.
            hardware: name of what it runs on.
            others: what else the plan has.
        """
        gaps, figures = details["gaps"], Figures.of(details)
        return cls(
            network=details["name"],
            hardware=hardware,
            batch=batch,
            edp_js=figures.edp_js,
            energy_pj=figures.energy_pj,
            latency_cycles=figures.latency_cycles,
            dram_bytes=figures.dram_bytes,
            unfused=Figures.of(details["unfused"]),
            groups=tuple(map(Group.of, details["groups"])),
            mappings=gaps["mappings"],
            mappings_proven=gaps["proven"],
            mapping_gap_percent=percent_or_inf(gaps["plan_percent"]),
            details=details,
            **others,
        )

    def __repr__(self) -> str:
        head = f"<archloom.{type(self).__name__} {self.network} on {self.hardware}: "
        if self.infeasible is not None:
            return f"{head}infeasible, {self.infeasible}>"
        return f"{head}{', '.join(self._notes())}>"

    def _notes(self) -> Iterator[str]:
        """Yield what is said of it in a line."""
        fused = sum(
            len(group.layers) > 1 and "folded" not in group.details for group in self.groups
        )
        yield f"EDP {self.edp_js:.4g} J s"
        if self.edp_js < self.unfused.edp_js:
            yield f"{self.edp_js / self.unfused.edp_js:.3f} of unfused"
        yield fused_text(len(self.groups), fused)
        yield f"{self.mappings_proven} of {self.mappings} mappings proven optimal"

    def _repr_html_(self) -> str:
        title = f"{self.network} (batch {self.batch}) on {self.hardware}"
        if self.infeasible is not None:
            return cell(title, [f"infeasible: {self.infeasible}"])
        rows: list[list[Cell]] = [
            [
                group_layers(group.details["layers"]),
                tiling_text(dict(group.details)),
                resident_layers(dict(group.details)),
                group.dram_bytes,
                group.dram_bytes_unfused,
                group.latency_cycles,
            ]
            for group in self.groups
        ]
        heads = ("layers", "tiles", "resident weights", "DRAM bytes", "unfused", "cycles")
        notes = [
            f"{', '.join(self._notes())}",
            f"energy {self.energy_pj / 1e6:,.2f} uJ, {self.latency_cycles:,} cycles, "
            f"{self.dram_bytes / 1024:,.1f} KiB of DRAM traffic; EDP at most "
            f"{percent(self.mapping_gap_percent)} above that of the plan with optimal mappings"
            if self.mapping_gap_percent < inf
            else f"energy {self.energy_pj / 1e6:,.2f} uJ, {self.latency_cycles:,} cycles, "
            f"{self.dram_bytes / 1024:,.1f} KiB of DRAM traffic",
        ]
        return cell(title, notes, short_table(heads, rows, "groups"))
