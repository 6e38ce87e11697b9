"""Workers on nodes that come and go, of a Ray that really runs."""

import signal
from collections.abc import Iterator
from math import inf
from time import monotonic

import pytest

from archloom.studies.engine.executors.cluster import connect
from archloom.studies.engine.executors.crew import Crew
from archloom.studies.engine.executors.limited_process import ProcessLimits
from archloom.studies.engine.executors.nodes import Node, Nodes
from archloom.studies.engine.progress.watch import SILENT

from ...contracts.executor import CONTEXT

#: as Ray calls a node, one that there is not
GONE = "ab" * 28


@pytest.fixture(scope="module")
def handler() -> Iterator[object]:
    """Start Ray; give what handled SIGTERM before."""
    import ray

    before = signal.getsignal(signal.SIGTERM)
    connect(None, 1, 120.0)
    yield before
    ray.shutdown()


def test_ray_handles_no_signal(handler: object) -> None:
    """It would end the process in the middle of anything."""
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.usefixtures("handler")
def test_a_worker_for_a_node_that_has_just_left_is_made_elsewhere() -> None:
    """Ray says then that it cannot be placed, not that it died."""
    import ray

    nodes = Nodes(lambda _: 0)
    limits = ProcessLimits(inf, None, 120.0)
    shared = ray.put(ray.cloudpickle.dumps(CONTEXT))
    crew = Crew(shared, limits, 1, nodes, SILENT, lambda: None, 60.0)
    # as it was seen a moment ago, and is not looked for again while a worker is asked for, however
    # slow that is
    nodes._nodes[GONE] = Node("gone", 1, "used", None)
    nodes._served, nodes._looked_at = True, inf
    crew.tend(wait=False)
    assert crew.starting, "a worker is asked for on the node"
    nodes._looked_at = monotonic()
    ray.wait(crew.starting, timeout=30)
    crew.tend(wait=True)
    assert list(crew.by_node().values()) == [1]
    assert GONE not in nodes
