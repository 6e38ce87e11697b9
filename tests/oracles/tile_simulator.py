"""A slow oracle of fused groups: it runs them tile by tile over sets of coordinates.

Every map in the buffer is a set of (row, column). A tile makes or fetches coordinates, and each
real tap of each of them is asserted to be in the buffer when it is used. What is shared with the
model are its conventions: a tile of a map is a box (the hull of what its readers' windows span,
cut at the borders, and of what it must write out), kept boxes grow without holes, and a
coordinate is let go when no later tile's window starts at or before it on its axis (for rows:
later bands; for columns: later tiles of the band), nor before the raster has passed it.

Independent of: the interval arithmetic of tile sizes, halos and occupancy.
"""

from dataclasses import dataclass, field
from itertools import product

from archloom.evaluators.fusion.group_graph import Edge, GroupShape
from archloom.space.workload.layer import Layer


@dataclass
class Run:
    """What a run of one image counted; steps[tile][layer] are words in the buffer."""

    macs: int = 0
    fetched: list = field(default_factory=list)
    written: list = field(default_factory=list)
    made: dict = field(default_factory=dict)
    steps: list = field(default_factory=list)
    kept: list = field(default_factory=list)
    out: list = field(default_factory=list)


def span(positions):
    """Return all positions from the first to the last."""
    return set(range(min(positions), max(positions) + 1)) if positions else set()


def as_made(edge: Edge, axis, position):
    """Where the map as it is made holds a position of the map as it is read."""
    return (position + edge.start[axis]) // edge.patch[axis]


def window_span(layer: Layer, axis, positions, size, edge: Edge):
    """Positions of a map that the windows of a reader's outputs span, inside the map."""
    if not positions:
        return set()
    if edge.full:
        return set(range(size))
    kernel = (layer.r, layer.s)[axis]
    taps = {
        o * layer.stride[axis] - layer.padding[axis] + k * layer.dilation[axis]
        for o in positions
        for k in range(kernel)
    }
    inside = {x for x in span(taps) if 0 <= x < layer.input_size[axis]}
    return span({as_made(edge, axis, x) for x in inside})


def owned(length, anchor_length, cut):
    """Positions of an exported map that belong to the tile ``cut`` of the anchor's axis."""
    start, end = cut
    return {x for x in range(length) if start <= -(-(x + 1) * anchor_length // length) - 1 < end}


@dataclass
class Axis:
    """Per tile and map: what is made and needed, what is written, what is read."""

    new: list
    need: list
    share: list
    read: list

    @property
    def tiles(self):
        return len(self.new)


def axis_of(shape: GroupShape, layers, axis, tile, keep):
    length = shape.sizes[shape.anchor][axis]
    cuts = [(i, min(i + tile, length)) for i in range(0, length, tile)]
    return axis_over(shape, layers, axis, cuts, keep)


def axis_over(shape: GroupShape, layers, axis, cuts, keep):
    """Go back from the intervals ``cuts`` of the anchor; only where nothing is kept may they
    overlap."""
    length = shape.sizes[shape.anchor][axis]
    maps, tiles = range(len(shape.channels)), range(len(cuts))
    result = Axis(*([[set() for _ in maps] for _ in tiles] for _ in range(4)))
    for u in (*reversed(range(shape.members)), *shape.externals):
        size = shape.sizes[u][axis]
        for i in tiles:
            read = set()
            for e in shape.edges:
                if e.source == u:
                    made = result.new[i][e.reader]
                    read = span(read | window_span(layers[e.reader], axis, made, size, e))
            own = owned(size, length, cuts[i]) if u in shape.exported else set()
            result.read[i][u], result.need[i][u] = read, span(read | own)
            result.new[i][u], result.share[i][u] = result.need[i][u], own
        if keep:
            # grows without holes from the first position that any tile needs
            first = min(set().union(*(result.need[i][u] for i in tiles)), default=0)
            ever = set()
            for i in tiles:
                need = result.need[i][u]
                result.new[i][u] = span({first} | ever | need) - ever if need else set()
                result.share[i][u] = result.new[i][u] if u in shape.exported else set()
                ever |= result.new[i][u]
    return result


def taps_are_held(shape, layers, e, outputs, held):
    """Whether every real tap that a reader needs for its new outputs is in the buffer."""
    layer, (height, width) = layers[e.reader], shape.sizes[e.source]
    if e.full:
        return not outputs or held >= set(product(range(height), range(width)))
    height, width = layer.input_size
    windows = list(product(range(layer.r), range(layer.s)))
    for y, x in outputs:
        for r, s in windows:
            row = y * layer.stride[0] - layer.padding[0] + r * layer.dilation[0]
            column = x * layer.stride[1] - layer.padding[1] + s * layer.dilation[1]
            inside = 0 <= row < height and 0 <= column < width
            if inside and (as_made(e, 0, row), as_made(e, 1, column)) not in held:
                return False
    return True


def face_axes(shape: GroupShape, layers, faces):
    """Rows and columns of rectangles, side by side."""
    rows = [(f.row, f.row + f.rows) for f in faces]
    columns = [(f.column, f.column + f.columns) for f in faces]
    return [axis_over(shape, layers, a, c, keep=False) for a, c in enumerate((rows, columns))]


def simulate_faces(shape: GroupShape, layers: tuple[Layer, ...], faces) -> Run:
    """Run one image of a group in rectangles of the anchor, one after another."""
    rows, columns = face_axes(shape, layers, faces)
    return run_tiles(shape, layers, rows, columns, [(f, f) for f in range(len(faces))], "recompute")


def simulate(shape: GroupShape, layers: tuple[Layer, ...], tile, policy) -> Run:
    """Run one image of a group in tiles of ``tile`` on the anchor, rows then columns."""
    rows = axis_of(shape, layers, 0, tile[0], keep=policy == "keep_all")
    columns = axis_of(shape, layers, 1, tile[1], keep=policy != "recompute")
    places = list(product(range(rows.tiles), range(columns.tiles)))
    return run_tiles(shape, layers, rows, columns, places, policy)


def run_tiles(shape: GroupShape, layers, rows, columns, places, policy) -> Run:
    """Run all tiles, each made of tile i along the rows and tile j along the columns."""
    run = run_some(shape, layers, rows, columns, places, policy)
    for u in shape.exported:
        assert len(run.out[u]) == shape.sizes[u][0] * shape.sizes[u][1], "a word is never written"
    return run


def run_some(shape: GroupShape, layers, rows, columns, places, policy) -> Run:
    """Run tiles one after another, beginning with an empty buffer."""
    maps = range(len(shape.channels))
    run = Run(made=dict.fromkeys(maps, 0))
    held = [set() for _ in maps]
    out = [set() for _ in maps]
    for i, j in places:
        before = held
        new = [set(product(rows.new[i][u], columns.new[j][u])) for u in maps]
        full = [before[u] | new[u] for u in maps]
        held = [
            {p for p in full[u] if wanted_later(rows, columns, u, i, j, p, policy)} for u in maps
        ]
        run.steps.append(steps_of(shape, before, full, held))
        for m, layer in enumerate(layers):
            if layer.uses_macs:
                run.macs += len(new[m]) * layer.g * layer.k * layer.c * layer.r * layer.s
        for e in shape.edges:
            assert taps_are_held(shape, layers, e, new[e.reader], full[e.source]), (e, i, j)
        for u in maps:
            run.made[u] += len(new[u]) * shape.channels[u]
        far = [u for u in shape.externals if u not in shape.held]
        run.fetched.append(sum(len(new[u]) * shape.channels[u] for u in far))
        leaving = 0
        for u in shape.exported:
            share = set(product(rows.share[i][u], columns.share[j][u]))
            assert share <= full[u], "what is written out must be in the buffer"
            assert not share & out[u], "a word is written twice"
            out[u] |= share
            leaving += len(share) * shape.channels[u] * (u not in shape.unwritten)
        run.written.append(leaving)
        run.kept.append([len(h) for h in held])
    run.out = out
    return run


def wanted_later(rows, columns, u, i, j, place, policy):
    """Whether a coordinate outlives tile (i, j)."""
    if policy == "recompute":
        return False
    y, x = place
    passed = any(x in columns.new[b][u] for b in range(j + 1))
    in_band = not passed or any(
        columns.read[b][u] and min(columns.read[b][u]) <= x for b in later(columns, j)
    )
    if policy == "keep_inner":
        return in_band
    below = any(rows.read[a][u] and min(rows.read[a][u]) <= y for a in later(rows, i))
    return below or in_band


def later(axis, i):
    return range(i + 1, axis.tiles)


def steps_of(shape, before, full, after):
    """Words in the buffer while each layer of the tile runs."""
    steps = []
    for x in range(shape.members):
        total = 0
        for u in range(len(shape.channels)):
            first = u if u < shape.members else -1
            readers = [e.reader for e in shape.edges if e.source == u]
            last = shape.members - 1 if u in shape.exported else max(readers)
            state = before if x < first else full if x <= last else after
            # maps that lie in the buffer whole are no part of what the group holds
            total += len(state[u]) * shape.channels[u] * (u not in (*shape.held, *shape.kept))
        steps.append(total)
    return steps


def in_flight(run: Run, images):
    """Words of the next tile's inputs plus the last tile's outputs, for each tile."""
    tiles = len(run.fetched)
    coming = [*run.fetched[1:], run.fetched[0] if images > 1 else 0]
    leaving = [run.written[-1] if images > 1 else 0, *run.written[:-1]]
    return [coming[t] + leaving[t] for t in range(tiles)]
