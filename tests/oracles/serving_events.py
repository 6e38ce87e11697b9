"""Requests served one byte count at a time: queues, admission, rules and a buffer that fills.

Independent of: the kernel, the recursion over lags and its queue, and the compiled rules. Here the
buffer holds layers until they are done, idle times are found by fetching on, and what a network
needs is found by trying.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

#: (bytes of weights, bytes of maps, ticks of the array)
Layer = tuple[int, int, int]


@dataclass(frozen=True)
class Rules:
    """How requests are served; numbers are ticks."""

    rule: str
    window: int | None
    shed_at: str | None
    margins: Sequence[int]
    low: int


@dataclass
class Request:
    """A request and what becomes of it."""

    arrival: int | None
    within: int
    begun: int = -1
    ended: int = -1
    shed: bool = False


@dataclass
class Account:
    """An NPU and the requests of each network."""

    chains: Sequence[Sequence[Layer]]
    buffer: int
    queues: list[list[Request]]
    batches: Sequence[int]
    most: int
    rules: Rules
    now: int = 0
    done: int = 0
    #: (weights, when they are freed) of layers that were begun
    held: list[tuple[int, int]] = field(default_factory=list)
    #: (network, tick of the decision)
    steps: list[tuple[int, int]] = field(default_factory=list)
    taken: int = 0
    at: list[int] = field(default_factory=list)
    seen: list[list[Request]] = field(default_factory=list)

    def serve(self) -> None:
        """Serve all."""
        count = len(self.chains)
        self.at, self.seen = [0] * count, [[] for _ in range(count)]
        while True:
            heads = {m: r for m in range(count) if (r := self._head(m)) is not None}
            ready = {
                m: r for m, r in heads.items() if r.arrival is not None and r.arrival <= self.now
            }
            if ready:
                self._run(self._choose(ready), ready)
            elif future := [r.arrival for r in heads.values() if r.arrival is not None]:
                self.now = min(future)
            else:
                return

    def _head(self, m: int) -> Request | None:
        """Return the request of a network that runs or is next, after turning others away."""
        queue = self.queues[m]
        if self.rules.shed_at == "arrival":
            self._look_at_arrivals(m)
        running = [r for r in queue if r.begun >= 0 and r.ended < 0]
        if running:
            return running[0]
        for r in queue:
            if r.begun >= 0:
                continue
            if self.taken == self.most:
                return None
            if r.arrival is None or r.arrival > self.now:
                return r
            if self.rules.shed_at == "start" and self._late(m, r, 0):
                self._shed(m, r)
                continue
            return r
        return None

    def _late(self, m: int, r: Request, ahead: int) -> bool:
        assert r.arrival is not None
        return self.now + ahead + self.rules.margins[m] > r.arrival + r.within

    def _look_at_arrivals(self, m: int) -> None:
        for r in self.queues[m]:
            known = r.arrival is not None and r.arrival <= self.now
            if not known or any(r is other for other in self.seen[m]) or self.taken == self.most:
                continue
            self.seen[m].append(r)
            waiting = [x for x in self.seen[m][:-1] if x.begun < 0]
            ahead = len(waiting) * self._alone(m, 0)
            if any(x.begun >= 0 and x.ended < 0 for x in self.queues[m]):
                ahead += self._alone(m, self.at[m])
            if self._late(m, r, ahead):
                self._shed(m, r)

    def _alone(self, m: int, at: int) -> int:
        layers = self.chains[m][at:]
        return max(sum(c for _, _, c in layers), sum(w + a for w, a, _ in layers))

    def _shed(self, m: int, r: Request) -> None:
        r.begun = r.ended = self.now
        r.shed = True
        self._next_batch(m)

    def _next_batch(self, m: int) -> None:
        batch, queue = self.batches[m], self.queues[m]
        for k in range(0, len(queue), batch or len(queue)):
            before, here = queue[:k], queue[k : k + batch]
            if before and here[0].arrival is None and all(r.ended >= 0 for r in before):
                for r in here:
                    r.arrival = max(x.ended for x in before)

    def _fetch(
        self, start: int, weights: int, own: int, until: int | None = None
    ) -> tuple[int, int]:
        """Fetch weights from a tick on, beside own bytes that stay; return when and how many."""
        t, got = start, 0
        while got < weights and (until is None or t < until):
            free = self.buffer - own - got - sum(w for w, end in self.held if end > t)
            if free:
                step = min(free, weights - got)
                if until is not None:
                    step = min(step, until - t)
                t, got = t + step, got + step
                continue
            ends = [end for _, end in self.held if end > t]
            if not ends:
                break
            t = min(ends)
        return t, got

    def _run(self, m: int, ready: dict[int, Request]) -> None:
        weights, maps, compute = self.chains[m][self.at[m]]
        if self.at[m] == 0:
            ready[m].begun = self.now
            self.taken += 1
        self.steps.append((m, self.now))
        self.now, _ = self._fetch(self.now + maps, weights, 0)
        self.done = max(self.done, self.now) + compute
        self.held = [(w, end) for w, end in self.held if end > self.now] + [(weights, self.done)]
        self.at[m] += 1
        if self.at[m] == len(self.chains[m]):
            self.at[m], ready[m].ended = 0, self.done
            self._next_batch(m)

    def _choose(self, ready: dict[int, Request]) -> int:
        rules = self.rules
        due = {m: (r.arrival or 0) + r.within for m, r in ready.items()}
        slack = {m: due[m] - self.now - self._alone(m, self.at[m]) for m in ready}
        if rules.window is not None and min(slack.values()) < rules.window:
            return min(ready, key=lambda m: (slack[m], m))
        if rules.rule == "fcfs":
            return min(ready, key=lambda m: (ready[m].arrival, m))
        if rules.rule == "edf":
            return min(ready, key=lambda m: (due[m], m))
        if rules.rule == "strings":
            return self._strings(list(ready))
        return self._greedy(list(ready), rules.rule == "exact_idle")

    def _strings(self, ready: list[int]) -> int:
        def gain(m: int) -> int:
            w, a, c = self.chains[m][self.at[m]]
            return c - w - a

        needs = {m: self._need(m) for m in ready}
        if self.done - self.now <= self.rules.low:
            paying = {m: need for m, need in needs.items() if need is not None}
            if paying:
                return min(paying, key=lambda m: (paying[m], m))
            return max(ready, key=lambda m: (gain(m), -m))
        never = [m for m in ready if needs[m] is None]
        return min(never or ready, key=lambda m: (gain(m), m))

    def _need(self, m: int) -> int | None:
        """Return the least lead with which the shortest paying prefix runs without waiting."""
        chain = self.chains[m]
        layers = [*chain[self.at[m] :], *chain[: self.at[m]]]
        for length in range(1, len(layers) + 1):
            prefix = layers[:length]
            if sum(c for _, _, c in prefix) > sum(w + a for w, a, _ in prefix):
                return max(
                    sum(w + a for w, a, _ in prefix[: i + 1]) - sum(c for _, _, c in prefix[:i])
                    for i in range(length)
                )
        return None

    def _greedy(self, ready: list[int], exact: bool) -> int:
        largest = max(w + a for m in ready for w, a, _ in self.chains[m])
        found = {}
        for m in ready:
            w, a, c = self.chains[m][self.at[m]]
            fetched, _ = self._fetch(self.now + a, w, 0)
            done = max(self.done, fetched) + c
            waits = max(0, w + a - (self.done - self.now))
            # everything else that could come while the layers before are computed
            _, more = self._fetch(fetched, self.buffer, w, self.done)
            inherent = c - (self.buffer - w)
            blocks = max(0, inherent + more) - max(0, inherent) if exact else more
            potential = max(0, largest - (done - fetched))
            idle = waits + blocks + potential
            key = (idle, idle == 0 and inherent > 0, fetched - done, m)
            found[m] = (key, waits, blocks)

        def best(networks: list[int]) -> int:
            return min(networks, key=lambda m: found[m][0])

        computing = [m for m in ready if self._compute_bound(m)]
        fetching = [m for m in ready if not self._compute_bound(m)]
        if all(waits > 0 for _, waits, _ in found.values()):
            return best(computing or ready)
        if all(blocks > 0 for _, _, blocks in found.values()):
            return best(fetching or ready)
        return best(ready)

    def _compute_bound(self, m: int) -> bool:
        return sum(c for _, _, c in self.chains[m]) > sum(w + a for w, a, _ in self.chains[m])
