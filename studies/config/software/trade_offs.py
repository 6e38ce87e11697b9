"""What ``software.trade_offs`` asks of other keys of a study file."""

from typing import TYPE_CHECKING

from archloom.search import Limit, Objective
from archloom.space import Faults, Place

from ..errors import EntryError
from ..sections import Reading

if TYPE_CHECKING:
    from .section import Software


def tradable(software: "Software", beside: Reading) -> "Software":
    """Refuse trade-offs of energy against latency where there are none to be found.

    Raises:
        EntryError: plans that fuse layers, tenants, or objectives of which one software is best.
    """
    if not software.trade_offs:
        return software
    from archloom.search.software import plans_of

    faults, key = Faults(), Place().key("trade_offs")
    if plans_of(software.fusion) != "layer_by_layer":
        faults.add(
            key,
            "finds mappings of plans whose energy and latency are sums over layers, but fusion "
            f"{software.fusion!r} fuses layers; set fusion: none, or leave trade_offs out",
        )
    if beside.before.get("tenants"):
        faults.add(
            key,
            "finds mappings of networks that run alone, but tenants share the chip; leave tenants "
            "or trade_offs out",
        )
    objectives = beside.before.get("objectives") or ()
    constraints = beside.before.get("constraints")
    limits: tuple[Limit, ...] = constraints.limits if constraints is not None else ()
    if len(_decided([*objectives, *(limit.objective for limit in limits)])) < 2:
        faults.add(
            key,
            "needs two metrics that mappings trade against each other, such as latency and energy, "
            "among objectives and limits; add one, or leave trade_offs out",
        )
    if faults:
        raise EntryError(faults)
    return software


def _decided(objectives: list[Objective]) -> set[str]:
    """Return which of energy, latency and EDP the metrics rise with that software decides."""
    by_software = {o.metric for o in objectives if not (o.known or o.facts.of_tenants)}
    # throughput, utilisation and the like fall as latency rises
    return {m if m in ("energy", "edp") else "latency" for m in by_software}
