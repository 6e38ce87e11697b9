"""Trials of a study and their Pareto front, as values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from archloom.search.hardware.certify import certificate_text
from archloom.space import Infeasible
from archloom.studies.analysis import Front as Members, trial_table
from archloom.studies.commands.study import front_json
from archloom.studies.commands.study.export import frame
from archloom.studies.storage import Trial as Record

from .cells import cell, short_table
from .network_plan import Figures

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Trial:
    """A finished trial: a design with the cost of the best software found for it.

    Attributes:
        number: number of the trial, from 0 on; -1 for the baseline.
        outcome: which software of the design it is; 0: that of the least EDP.
        state: ``complete``, ``stopped`` (by halving; the EDP is valid), ``infeasible``,
            ``failed`` (a crash), ``lost`` (workers died) or ``over_limit``.
        point: parameters of the design; empty for a preset.
        hardware: name of the design.
        area_mm2, tdp_w: area and thermal design power of the design.
        edp_js: EDP, the geometric mean over the networks, J s; None if no plan was found.
        values: figure of every objective and limited metric, by name; empty without an EDP.
        evaluations: fusion plans evaluated for each network.
        rounds, batch: number of rounds that were run, and the batch of the trial.
        networks: figures of each network, by name.
        infeasible: reason why the design is infeasible; else None.
        error: error of a trial that failed, was lost or exceeded a limit; else empty.
    """

    number: int
    outcome: int
    state: str
    point: Mapping[str, Any]
    hardware: str
    area_mm2: float
    tdp_w: float
    edp_js: float | None
    values: Mapping[str, float]
    evaluations: int
    rounds: int
    batch: int
    infeasible: Infeasible | None
    error: str
    _record: Record

    @classmethod
    def of(cls, record: Record) -> "Trial":
        """Return the trial of a record."""
        crash = record.crash
        return cls(
            number=record.number,
            outcome=record.outcome,
            state=record.state,
            point=record.point or {},
            hardware=record.hardware,
            area_mm2=record.area_mm2,
            tdp_w=record.tdp_w,
            edp_js=record.edp_js,
            values=record.values,
            evaluations=record.evaluations,
            rounds=record.rounds,
            batch=record.batch,
            infeasible=record.reason,
            error=f"{crash.error}: {crash.message}" if crash else "",
            _record=record,
        )

    @property
    def networks(self) -> dict[str, Figures]:
        """Figures of each network, by name."""
        return {
            name: Figures(found.edp_js, found.energy_pj, found.latency_cycles, found.dram_bytes)
            for name, found in self._record.networks.items()
        }

    def row(self) -> dict[str, Any]:
        """Return a row of a table as in ``archloom export``: figures, then parameters of the
        design."""
        return dict(trial_table([self._record]).rows[0])

    def __repr__(self) -> str:
        edp = "no EDP" if self.edp_js is None else f"EDP {self.edp_js:.4g} J s"
        return (
            f"<archloom.Trial {self._record.label}: {self.state}, {edp}, {self.area_mm2:.4g} mm2, "
            f"TDP {self.tdp_w:.4g} W>"
        )


@dataclass(frozen=True, repr=False)
class Front:
    """The Pareto front of a study, sorted by the first objective.

    ``len(front)``, ``front[0]`` and ``for trial in front`` work as for a list.

    Attributes:
        members: trials on the front.
        picked: trial that the rule of the study selects; None if the front is empty.
        objectives: names of the objectives, as in ``Trial.values`` (or ``edp_js``, ``area_mm2``,
            ``tdp_w``).
        proven: whether lower bounds prove that no design can change the front, whatever the
            search budget; False if that is not known.
        proven_at_this_budget: whether they prove that no design which was not evaluated can join
            the front.
        certified_share: least share of the maximum possible hypervolume that the front has, with
            costs of evaluated designs as they are; None if nothing is known of the rest of the
            space.
        certified_share_any_budget: the same if evaluated designs, too, may cost as little as their
            lower bounds; None if not known.
        proof: what the bounds prove, as text; empty if nothing.
    """

    members: tuple[Trial, ...]
    picked: Trial | None
    objectives: tuple[str, ...]
    proven: bool
    proven_at_this_budget: bool
    certified_share: float | None
    certified_share_any_budget: float | None
    proof: str
    _front: Members

    @classmethod
    def of(cls, found: Members) -> "Front":
        """Return the front of members."""
        proof, picked = found.proof, found.picked
        return cls(
            members=tuple(map(Trial.of, found.members)),
            picked=None if picked is None else Trial.of(picked),
            objectives=tuple(one.name for one in found.objective_set.objectives),
            proven=proof is not None and proof.proven,
            proven_at_this_budget=proof is not None and proof.proven_at_this_budget,
            certified_share=None if proof is None else proof.share,
            certified_share_any_budget=None if proof is None else proof.share_any_budget,
            proof="" if proof is None else certificate_text(proof),
            _front=found,
        )

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.members)

    @overload
    def __getitem__(self, at: int) -> Trial: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Trial, ...]: ...

    def __getitem__(self, at: int | slice) -> Trial | tuple[Trial, ...]:
        return self.members[at]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``archloom pareto --json`` prints."""
        found: dict[str, Any] = json.loads(front_json(self._front))
        return found

    def to_pandas(self) -> "DataFrame":
        """Return a row for each member.

        Raises:
            ArchloomError: pandas is not installed.
        """
        return frame(trial_table([trial._record for trial in self.members]))

    def __repr__(self) -> str:
        picked = (
            "none selected"
            if self.picked is None
            else f"trial {self.picked._record.label} selected"
        )
        return (
            f"<archloom.Front of {len(self)} designs in {', '.join(self.objectives)}: {picked}, "
            f"{self._known()}>"
        )

    def _known(self) -> str:
        if self.certified_share is None:
            return "not proven"
        if self.proven:
            return "proven"
        if self.proven_at_this_budget:
            return "proven at this budget"
        return f"{self.certified_share:.1%} certified at this budget"

    def _repr_html_(self) -> str:
        measured = self._front.objective_set.measured
        parameters = list(self.members[0].point) if self.members else []
        rows = [
            [
                f"{trial._record.label} *" if trial == self.picked else trial._record.label,
                *(one.shown(trial._record.figure(one)) for one in measured),
                *(trial.point.get(name) for name in parameters),
            ]
            for trial in self.members
        ]
        heads = ["trial", *(one.label for one in measured), *parameters]
        notes = [
            f"* is the selected design; {self._known()}"
            if self.members
            else "no design satisfies all limits"
        ]
        return cell(
            f"Pareto front: {len(self)} designs", notes, short_table(heads, rows, "designs")
        )
