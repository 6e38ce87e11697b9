"""Line buffers that groups of one kind share are those of each group."""

import numpy as np

from archloom.evaluators.fusion.optimus.fused import line_buffers
from archloom.search.fusion.optimus import known_lines
from archloom.space.networks.registry import network
from archloom.space.workload.graph import connected


def figures(lines):
    rows = range(1, lines.shape.sizes[lines.shape.anchor][0] + 1)
    return [lines.words(n, 1) for n in rows], lines.floor, lines.weights, lines.inputs


def test_they_are_those_of_each_group(monkeypatch):
    monkeypatch.setattr(known_lines, "_MOST_GROUPS", 40)
    rng, shared = np.random.default_rng(0), 0
    for name in ("mobilenetv2", "vit_b_16"):
        net = network(name)
        known = known_lines.KnownLines(net)
        assert known_lines.known_lines(net) is known_lines.known_lines(net)
        for _ in range(60):
            start = int(rng.integers(0, len(net.layers) - 6))
            layers = tuple(range(start, start + int(rng.integers(2, 6))))
            if connected(net, layers):
                found = known.of(layers)
                assert figures(found) == figures(line_buffers(net, layers))
                shared += found.shape.layers != layers
    assert shared > 10
