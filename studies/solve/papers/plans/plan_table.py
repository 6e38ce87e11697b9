"""Files that ask for a table of plans: designs, networks, planners, efforts, published figures.

docs/validation/papers.md ("Files") explains the keys.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES
from archloom.search.mapping import FACTORS
from archloom.search.software import abilities_of, without_sub_batches
from archloom.space import did_you_mean
from archloom.space.design_space import PRESETS
from archloom.space.networks import NETWORKS
from archloom.studies.config import (
    Key,
    Reading,
    Section,
    each,
    named_one,
    number,
    text,
    whole,
    word,
)

from ..figures import Metric
from ..heading import TABLES, Heading

#: figures of a row: of the plan, of layer by layer, and over the first design's row
METRICS: Final = {
    "energy_percent": Metric("energy %", "+.1f"),
    "dram_percent": Metric("DRAM traffic %", "+.1f"),
    "speedup": Metric("speedup", ".2f"),
    "edp_gain": Metric("EDP gain", ".2f"),
    "layers_fused": Metric("layers fused", ".1f"),
    "sub_batches": Metric("sub-batches", ".0f"),
    "unfused_flop_per_byte": Metric("FLOP/byte unfused", ".0f"),
    "flop_per_byte": Metric("FLOP/byte", ".0f"),
    "unfused_waiting_percent": Metric("waiting for DRAM % unfused", ".0f"),
    "waiting_percent": Metric("waiting for DRAM %", ".0f"),
    "unfused_images_per_s": Metric("images/s unfused", ".0f"),
    "images_per_s": Metric("images/s", ".0f"),
    "macs_busy_percent": Metric("MACs busy %", ".0f"),
    "area_mm2": Metric("area mm2", ".0f"),
    "tdp_w": Metric("TDP W", ".0f"),
    "area_over_first": Metric("area over first", ".2f"),
    "tdp_over_first": Metric("TDP over first", ".2f"),
    "speed_over_first": Metric("images/s over first", ".2f"),
    "perf_per_tdp_over_first": Metric("Perf/TDP over first", ".2f"),
    "search_cpu_s": Metric("search CPU-s", ".1f"),
}

#: the only figure that is another one each time; rows have it only where a table asks for it
TIMED: Final = "search_cpu_s"

_TERMS: Final = """\
Energy, DRAM traffic, speedup and EDP gain are relative to layer by layer, which is mapped by the
same search. Layers are fused where they are in a group of several. FLOP/byte is the operational
intensity with respect to DRAM. Ratios, rates and intensities are geometric means over the networks,
percentages arithmetic means. `over first` is relative to the first design of the table with the
same planner and mappings."""

#: figures of rows that ask for none
_USUAL: Final = ("energy_percent", "dram_percent", "speedup", "edp_gain", "layers_fused")

#: planner that minimises other things than EDP as well
_OWN_OBJECTIVE: Final = "deepfrack"


def _hardware() -> Key:
    """Return a key that holds a preset or a template file beside the table."""

    def check(entry: str, beside: Reading) -> str:
        if entry in PRESETS:
            return entry
        for folder in (beside.folder, TABLES):
            file = (folder / entry).resolve()
            if file.is_file():
                # files that come along have the same names wherever archloom is installed
                return str(file.relative_to(TABLES) if file.is_relative_to(TABLES) else file)
        raise ValueError(f"{entry!r} is no preset and no file; {did_you_mean(entry, PRESETS)}")

    return text().checked(check)


@dataclass(frozen=True, kw_only=True)
class Design(Section):
    """A hardware design.

    Attributes:
        hardware: name of a preset, or path of a template.
        parameters: a value for each parameter of the template.
        name: in the table; that of the preset or file if it is empty.
        keeps_weights: whether the buffer beside DRAM keeps weights too, so that they can be cached.
        technology: table that it is taken to; its own if it is empty.
    """

    hardware: Annotated[str, _hardware()]
    parameters: Annotated[dict[str, Any], Key(lambda entry, _: _values(entry))] = field(
        default_factory=dict
    )
    name: Annotated[str, text("[^,]*$", form="be a name without commas")] = ""
    keeps_weights: Annotated[bool, Key(lambda entry, _: _truth(entry))] = False
    technology: Annotated[str, text()] = ""

    @property
    def label(self) -> str:
        """As tables name it."""
        return self.name or Path(self.hardware).stem

    @property
    def source(self) -> str:
        """The preset, or the template file wherever this runs."""
        return self.hardware if self.hardware in PRESETS else str(TABLES / self.hardware)


def _values(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict) or any(
        not isinstance(name, str) or not isinstance(value, bool | int | float | str)
        for name, value in entry.items()
    ):
        raise ValueError(f"{entry!r} must be names of parameters with a value each")
    return entry


def _truth(entry: Any) -> bool:
    if not isinstance(entry, bool):
        raise ValueError(f"{entry!r} must be true or false")
    return entry


def _parts(entry: Any) -> int | str | None:
    if entry is None or entry == "auto" or (type(entry) is int and entry > 0):
        found: int | str | None = entry
        return found
    raise ValueError(f"{entry!r} must be auto, or a whole number of at least 1")


@dataclass(frozen=True, kw_only=True)
class MappingEffort(Section):
    """How layers and tiles are mapped.

    Attributes:
        name: in the table.
        search: of mappings.
        evaluations: mappings of each layer and tile, at most.
        factors: of loops.
    """

    name: Annotated[str, text("[^,]+$", form="be a name without commas")]
    search: Annotated[str, named_one("mapping search", lambda: list(MAPPING_SEARCHES))] = "auto"
    evaluations: Annotated[int, whole(1)] = 100_000
    factors: Annotated[str, word(*FACTORS)] = "imperfect"


@dataclass(frozen=True, kw_only=True)
class Planner(Section):
    """A planner.

    Attributes:
        fusion: name of the fusion search.
        objective: what it minimises; only ``deepfrack`` minimises anything but EDP.
        plans: that it evaluates, at most.
        sub_batches: into which it cuts the batch, or ``auto``; None for planners that do not.
        fold: whether it plans the networks with folded layers, as if the table said so.
    """

    fusion: Annotated[str, named_one("fusion search", lambda: list(FUSION_SEARCHES))]
    objective: Annotated[str, word("edp", "energy", "latency")] = "edp"
    plans: Annotated[int, whole(1)] = 60
    sub_batches: Annotated[int | str | None, Key(lambda entry, _: _parts(entry))] = None
    fold: Annotated[bool, Key(lambda entry, _: _truth(entry))] = False

    @property
    def label(self) -> str:
        """As tables name it."""
        text = self.fusion + " folded" * self.fold
        if self.sub_batches is not None:
            number = "" if self.sub_batches == "auto" else f"{self.sub_batches} "
            text += f" in {number}sub-batches"
        return text if self.objective == "edp" else f"{text} for {self.objective}"

    @property
    def options(self) -> dict[str, int | str]:
        """Of the fusion search."""
        return {} if self.sub_batches is None else {"sub_batches": self.sub_batches}


@dataclass(frozen=True, kw_only=True)
class PublishedPlan(Section):
    """A figure that somebody published, and where its row is.

    Attributes:
        metric: of a row.
        value: theirs.
        source: where it stands.
        design, mapping, planner: labels of the row.
        why: what makes ours another.
    """

    metric: Annotated[str, word(*METRICS)]
    value: Annotated[float, number(above=-1e9)]
    source: Annotated[str, text()]
    design: Annotated[str, text()]
    mapping: Annotated[str, text()]
    planner: Annotated[str, text()]
    why: Annotated[str, text()] = ""

    @property
    def row(self) -> str:
        """The row, for people."""
        return f"{self.design}, {self.mapping} mappings, {self.planner}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the row."""
        return {"design": self.design, "mappings": self.mapping, "planner": self.planner}


@dataclass(frozen=True, kw_only=True)
class PlanTable(Heading):
    """A table of plans.

    Attributes:
        kind: of tables.
        designs: hardware.
        networks: each is planned by itself; figures of a row are their means.
        batch: images of a pass; None for the native batch of each design.
        fold: whether layers of the vector unit are folded into those of the array beside them.
        mappings: efforts, each for all planners and for layer by layer.
        planners: who plans.
        figures: of rows, as they are shown.
        published: figures to stand beside ours.
    """

    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    terms: ClassVar[str] = _TERMS
    always_shown: ClassVar[tuple[str, ...]] = ("design", "planner")

    kind: Annotated[str, word("plans")]
    designs: Annotated[tuple[Design, ...], each(Design, 1)]
    networks: Annotated[tuple[str, ...], each(named_one("network", lambda: list(NETWORKS)), 1)]
    batch: Annotated[int | None, whole(1, 4096).or_none()] = None
    fold: Annotated[bool, Key(lambda entry, _: _truth(entry))] = False
    mappings: Annotated[tuple[MappingEffort, ...], each(MappingEffort, 1)]
    planners: Annotated[tuple[Planner, ...], each(Planner, 1)]
    figures: Annotated[tuple[str, ...], each(word(*METRICS), 1)] = _USUAL
    published: Annotated[tuple[PublishedPlan, ...], each(PublishedPlan)] = field(default=())

    @property
    def shown(self) -> tuple[str, ...]:
        """Those that the file names."""
        return self.figures

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """All networks, each by itself."""
        return [(name,) for name in self.networks]

    def contradictions(self) -> Iterator[str]:
        """Yield what is wrong between entries."""
        for key, found in {**self._labels, "networks": list(self.networks)}.items():
            for label in sorted({one for one in found if found.count(one) > 1}):
                yield f"{key}: {label!r} occurs twice; entries must differ in their names"
        for i, planner in enumerate(self.planners):
            if planner.sub_batches is not None and (why := without_sub_batches(planner.fusion)):
                yield f"planners[{i}].sub_batches: {why}"
            if (self.fold or planner.fold) and not abilities_of(planner.fusion).folds:
                yield f"planners[{i}].fusion: {planner.fusion} cannot plan folded layers"
            if planner.objective != "edp" and planner.fusion != _OWN_OBJECTIVE:
                yield (
                    f"planners[{i}].objective: {planner.fusion} minimises EDP only; only "
                    f"{_OWN_OBJECTIVE} minimises {planner.objective}"
                )

    @property
    def _labels(self) -> dict[str, list[str]]:
        return {
            "designs": [one.label for one in self.designs],
            "mappings": [one.name for one in self.mappings],
            "planners": [one.label for one in self.planners],
        }

    def astray(self) -> Iterator[str]:
        """Yield published figures whose row or metric there is not."""
        for i, theirs in enumerate(self.published):
            for key in ("design", "mapping", "planner"):
                known = self._labels[f"{key}s"]
                if (label := getattr(theirs, key)) not in known:
                    hint = did_you_mean(label, known)
                    yield f"published[{i}].{key}: {label!r} is unknown; {hint}"
            if theirs.metric not in self.figures:
                yield f"published[{i}].metric: {theirs.metric} is none of the figures"
