"""Nodes of a cluster: which there are, which do tasks, and what was done on them before.

A node is *checked* (has it what decides results, as this machine has it?), *prepared* (are kernels
compiled there?) and then *used*. One that differs is named, and no task goes there: workers ask
Ray for one of the nodes that are used, by name, for Ray replaces a worker wherever there is room.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from archloom.studies.storage import tell

from ...errors import TroubleError
from . import node_facts as facts

#: seconds between two questions to the cluster about its nodes
_LOOK_S: Final = 1.0

#: how often a node is tried that cannot answer
_TRIES: Final = 3

#: label that Ray gives each node
_NODE_LABEL: Final = "ray.io/node-id"


@dataclass(slots=True)
class Node:
    """A node that is there.

    Attributes:
        name: host and address, for people.
        cpus: that Ray may give to workers.
        step: ``checked`` and ``prepared`` while that is done, then ``used``; or ``refused``.
        answer: what is waited for.
        why: it is refused.
    """

    name: str
    cpus: int
    step: str
    answer: Any = None
    why: str = ""


class Nodes:
    """Nodes of the cluster that this process is connected to.

    Args:
        prepare: called once on each node before its first task, with how many processes it may
            use; returns how many kernels it compiled.

    Attributes:
        left: nodes that have gone so far.
    """

    def __init__(self, prepare: Callable[[int], int]) -> None:
        self._prepare = prepare
        self._here = facts.node_facts()
        self._nodes: dict[str, Node] = {}
        self._failures = Counter[str]()
        self._looked_at = float("-inf")
        self._served = False
        self.left = 0

    @property
    def cpus(self) -> int:
        """Workers that the nodes in use have room for, if nobody else is there."""
        return sum(node.cpus for node in self._of("used"))

    @property
    def stage(self) -> str | None:
        """What is being done on nodes, for people; None if nothing is."""
        for step, what in (("prepared", "compiling kernels"), ("checked", "checking versions")):
            if count := len(self._of(step)):
                return f"{what} on {count} node{'s' if count > 1 else ''}"
        return None

    def __contains__(self, node: str) -> bool:
        """Whether a node is there, by Ray's name."""
        return node in self._nodes

    def name(self, node: str) -> str:
        """Return what people call a node."""
        return self._nodes[node].name if node in self._nodes else node[:8]

    def selector(self) -> dict[str, str] | None:
        """Return how Ray is told which nodes are used; None if none is."""
        used = sorted(key for key, node in self._nodes.items() if node.step == "used")
        return {_NODE_LABEL: f"in({','.join(used)})"} if used else None

    def look(self, now: bool = False) -> None:
        """See which nodes have come and gone, and how far they are.

        Args:
            now: even if that was done a moment ago.

        Raises:
            TroubleError: no node can be used, no other one is being looked at, and none was used.
        """
        ray = _ray()
        if not now and monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = monotonic()
        alive = {n["NodeID"]: n for n in ray.nodes() if n["Alive"]}
        for key in [key for key in self._nodes if key not in alive]:
            node = self._nodes.pop(key)
            self.left += 1
            tell("node_left", logging.WARNING, node=node.name, message=f"node {node.name} has left")
        for key, found in alive.items():
            cpus = int(found["Resources"].get("CPU", 0))
            if key not in self._nodes and cpus >= 1:
                name = f"{found['NodeManagerHostname']} ({found['NodeManagerAddress']})"
                tell("node_joined", node=name, cpus=cpus)
                ray.cloudpickle.register_pickle_by_value(facts)
                self._nodes[key] = Node(name, cpus, "checked", _ask(key, facts.node_facts))
        asked = {node.answer: key for key, node in self._nodes.items() if node.answer is not None}
        done = ray.wait([*asked], num_returns=len(asked), timeout=0)[0] if asked else []
        for answer in done:
            self._go_on(asked[answer])
        refused = self._of("refused")
        # where one was used before, others may come
        if refused and len(refused) == len(self._nodes) and not self._served:
            told = "; ".join(f"{node.name}: {node.why}" for node in refused)
            raise TroubleError(f"no node of the cluster can be used: {told}")

    def _go_on(self, key: str) -> None:
        """Take a node's answer."""
        ray, node = _ray(), self._nodes[key]
        try:
            answer, node.answer = ray.get(node.answer), None
        except ray.exceptions.RayError as error:
            node.answer = None
            self._failures[key] += 1
            if self._failures[key] < _TRIES:
                del self._nodes[key]  # the next look finds it again, unless it has left
            else:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                self._refuse(node, f"it cannot be {node.step}: {lines[-1].strip()}")
            return
        if node.step == "checked" and (unlike := facts.differences(answer, self._here)):
            self._refuse(node, unlike)
        elif node.step == "checked":
            node.step, node.answer = "prepared", _ask(key, self._prepare, node.cpus)
        else:
            node.step, self._served = "used", True
            tell("node_ready", node=node.name, cpus=node.cpus, kernels_compiled=answer)

    def _refuse(self, node: Node, why: str) -> None:
        node.step, node.why = "refused", why
        message = f"node {node.name} is rejected: {why}"
        tell("node_refused", logging.WARNING, node=node.name, why=why, message=message)

    def _of(self, step: str) -> list[Node]:
        return [node for node in self._nodes.values() if node.step == step]


def _ray() -> Any:
    """Return Ray, which is typed in part only."""
    import ray

    return ray


def _ask(node: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Have a function called on a node, whatever else runs there; return what holds its answer."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    # a partition of the network is no reason to refuse a node
    options: dict[str, Any] = {"num_cpus": 0, "max_retries": 3, "scheduling_strategy": there}
    return _ray().remote(**options)(function).remote(*arguments)
