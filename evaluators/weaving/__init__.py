"""Weaving: layers of several networks interleaved on one accelerator; one computes while weights of
another are fetched.

Read ``chain.py`` (what a network's layers cost; the engines and buffers), ``ticks.py`` (both in
whole numbers) and ``engines.py`` (the recursion that all else runs on). ``simulator.py`` gives the
time stamps of a schedule, with ``spills.py`` where maps do not fit, ``metrics.py`` what a stream of
queries gets; ``bounds.py`` and :mod:`.throughput` say what no schedule is below or above.
``weight_stationary.py`` is a layer model without a search of mappings; ``from_plan.py`` makes
chains of evaluated plans, on hardware that ``buffer_split.py`` splits. ``timeline.py`` is for
pictures.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .bounds import (
        MOST_CELLS as MOST_CELLS,
        MakespanBounds as MakespanBounds,
        cells as cells,
        inherent_idle as inherent_idle,
        makespan_bounds as makespan_bounds,
        strides_of as strides_of,
        suffix_bounds as suffix_bounds,
    )
    from .buffer_split import npu_of as npu_of, split_hardware as split_hardware
    from .chain import Chain as Chain, Npu as Npu, unfit_layer as unfit_layer
    from .engines import (
        DONE as DONE,
        FETCHED as FETCHED,
        HEAD as HEAD,
        LAG as LAG,
        TAIL as TAIL,
        Clock as Clock,
        Engines as Engines,
        after_layer as after_layer,
        lag_after as lag_after,
        lead as lead,
        new_engines as new_engines,
        queue_room as queue_room,
        run_layer as run_layer,
        wait_until as wait_until,
    )
    from .from_plan import SteadyWeightsError as SteadyWeightsError, plan_chain as plan_chain
    from .map_room import (
        MapPeak as MapPeak,
        map_peak as map_peak,
    )
    from .metrics import StreamMetrics as StreamMetrics, stream_metrics as stream_metrics
    from .one_query import (
        QueryMetrics as QueryMetrics,
        alone_ticks as alone_ticks,
        query_metrics as query_metrics,
    )
    from .simulator import (
        Order as Order,
        Stamps as Stamps,
        makespan as makespan,
        simulated as simulated,
    )
    from .throughput.bound import (
        ThroughputBound as ThroughputBound,
        steady_rows as steady_rows,
        throughput_bound as throughput_bound,
    )
    from .throughput.periods import isolated_ticks as isolated_ticks
    from .throughput.resources import demands as demands
    from .ticks import (
        TickError as TickError,
        Ticks as Ticks,
        part_counts as part_counts,
        repeated as repeated,
        ticked as ticked,
    )
    from .timeline import (
        Stretch as Stretch,
        Timeline as Timeline,
        schedule_timeline as schedule_timeline,
    )
    from .weight_stationary import (
        NPUS as NPUS,
        WeightStationary as WeightStationary,
        weight_stationary_chain as weight_stationary_chain,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
