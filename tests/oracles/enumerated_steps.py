"""The best plan of a small network by enumeration: all paths through its cuts, every step in each
of its tilings, all priced, and in each nest of up to two loops that may be better.

Independent of: what bounds tilings, the arrays that bound nests, and the order in which a search
prices. Which cuts, tilings and sizes of tiles there are is the planner's word.
"""

from math import inf

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import group_options
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.nests import nestable
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE

from .enumerated_nests import nests_below


def least_product(price, most):
    """Return the least energy x latency (pJ and cycles) of all plans; ``most`` if none is less."""
    options = group_options(price)
    edges = list(options.edges().edges)
    kinds = options.edges().kinds.tolist()
    steps = {kind: _tilings(price, options, kind) for kind in set(kinds)}
    groups = {kind: edge.layers for kind, edge in zip(kinds, edges, strict=True)}
    nests = {
        kind: NestFacts(price.network, groups[kind], price.hardware)
        for kind in steps
        if options.nestable[kind] and nestable(price.network, groups[kind]) is not None
    }
    least = {}
    for kind, points in steps.items():
        some = [*points, nests[kind].least] if kind in nests else points
        least[kind] = tuple(min((p[k] for p in some), default=inf) for k in (0, 1))
    path = [(edge.start, edge.end, kind) for edge, kind in zip(edges, kinds, strict=True)]
    for kind, facts in nests.items():
        rest = _rest(path, least, kind)
        steps[kind] += _nests(price, facts, groups[kind], rest, most)
    found = min((e * t for e, t in _paths(path, steps)), default=inf)
    return min(most, found)


def _tilings(price, options, kind):
    ways = options.every_tiling(kind).ways
    return [p for way in ways if (p := _point(price, price.group(way.group, way.residents)))]


def _point(price, cost):
    if isinstance(cost, Infeasible):
        return None
    leakage = access_costs(price.hardware).leakage_pj_per_cycle
    return cost.dynamic_pj + leakage * cost.latency_cycles, cost.latency_cycles


def _nests(price, facts, layers, rest, most):
    """Energy and latency of nests that any plan below ``most`` may have."""

    def may(energy, latency):
        return (energy + rest[0]) * (latency + rest[1]) < most

    found = []
    for nest in nests_below(facts, price.network, layers, may, 2):
        group = FusionGroup(layers, nest=nest)
        cost = group_cost(price.network, group, price.hardware, price.mapper, ALONE)
        point = _point(price, cost)
        if point is not None and may(*point):
            found.append(point)
    return found


def _rest(path, least, kind):
    """What all other steps of any path with a kind of step take at the least."""
    there, back = {0: (0.0, 0.0)}, {max(end for _, end, _ in path): (0.0, 0.0)}
    far = (inf, inf)

    def nearer(known, at, point):
        known[at] = tuple(map(min, known.get(at, far), point))

    for start, end, of in path:
        nearer(there, end, _sum(there.get(start, far), least[of]))
    for start, end, of in reversed(path):
        nearer(back, start, _sum(back.get(end, far), least[of]))
    some = [_sum(there[a], back[b]) for a, b, of in path if of == kind and a in there and b in back]
    return tuple(min(point[k] for point in some) for k in (0, 1))


def _sum(one, other):
    return one[0] + other[0], one[1] + other[1]


def _paths(path, steps):
    """Energy and latency of whole paths that no other one is below in both."""
    labels = {0: [(0.0, 0)]}
    for at in sorted({start for start, _, _ in path}):
        labels[at] = _front(labels.get(at, []))
        for start, end, kind in path:
            if start == at:
                grown = [_sum(a, b) for a in labels[at] for b in _front(steps[kind])]
                labels.setdefault(end, []).extend(grown)
    return _front(labels[max(end for _, end, _ in path)])


def _front(points):
    kept = []
    for point in sorted(points):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept
