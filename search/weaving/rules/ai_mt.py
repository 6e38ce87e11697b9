"""Thresholds on lead and free buffer, after AI-MT (Baek, Kwon and Kim, ISCA 2020).

As Layerweaver's authors describe it (Sections III-B and IV-C of their paper): where little buffer
is free, the layer of least compute time; where the array has little lead, a layer that adds to it;
where all candidates fetch longer than they compute, one at random. The thresholds are the user's.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled
from archloom.evaluators.weaving import DONE, FETCHED, LAG, lead, new_engines, queue_room

from .run import Run, goes_on, take


class Thresholds(NamedTuple):
    """When the rule turns.

    Attributes:
        free: bytes of free buffer below which layers of little compute time go first.
        lead: ticks of lead below which layers that add to it go first.
        seed: of what is chosen at random.
    """

    free: int
    lead: int
    seed: int


@compiled
def ai_mt_steps(run: Run, rule: Thresholds) -> int:
    """Choose by thresholds; return the number of steps."""
    work = run.work
    engines = new_engines(queue_room(run.work))
    state = engines.state
    # when layers are done and what they have fetched: how much is held at the last fetch
    done, fetched = np.empty_like(run.chain), np.empty_like(run.chain)
    freed, step, draw = 0, 0, np.int64(rule.seed)
    while goes_on(run, engines, step):
        now = state[FETCHED] + state[LAG]
        while freed < step and done[freed] <= now:
            freed += 1
        held = state[FETCHED] - (fetched[freed - 1] if freed else 0)
        kind = 0 if work.buffer - held < rule.free else 1 if lead(engines) < rule.lead else 2
        best, key, counted, only_memory = -1, 0, 0, True
        for m in range(len(run.queries)):
            if run.queries[m] == 0:
                continue
            part = run.position[m]
            compute, moved = work.compute[part], work.fetch[part] + work.maps[part]
            only_memory &= compute <= moved
            counted += 1
            value = compute if kind == 0 else moved - compute if kind == 1 else compute - moved
            if best < 0 or value < key:
                best, key = m, value
        if best < 0:
            break
        if kind == 2 and only_memory and counted > 1:
            # a linear congruential generator (Knuth, The Art of Computer Programming 2, 3.3.4)
            draw = draw * np.int64(6364136223846793005) + np.int64(1442695040888963407)
            skip = (draw >> 33) % counted
            for m in range(len(run.queries)):
                if run.queries[m] > 0:
                    if skip == 0:
                        best = m
                        break
                    skip -= 1
        take(run, engines, step, best)
        done[step], fetched[step] = state[DONE], state[FETCHED]
        step += 1
    return step
