"""One subproblem: costs of its mappings once kept tensors and unrolled factors are fixed.

``subproblem.py`` first; ``tile_lattice.py`` has the tiles of a level, ``stationary_runs.py`` what
it costs that a tensor stops being stationary, ``least_runs.py`` the least of that, ``ports.py``
cycles, ``noc_hops.py`` hops, ``array_fill.py`` cycles of an array that fills and drains.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .array_fill import (
        ArrayFill as ArrayFill,
        bare_fill as bare_fill,
        fill_cycles as fill_cycles,
        least_fill as least_fill,
        steps_of as steps_of,
        still_waiting as still_waiting,
        waiting_at as waiting_at,
    )
    from .least_runs import (
        ALL as ALL,
        LEAST as LEAST,
        MOVING as MOVING,
        NEXT as NEXT,
        STAYING as STAYING,
        Feed as Feed,
        Scratch as Scratch,
        StepsLeft as StepsLeft,
        add_run as add_run,
        forget as forget,
        is_known as is_known,
        least_end as least_end,
        least_of_keeper as least_of_keeper,
        least_of_tensor as least_of_tensor,
        moved_for as moved_for,
        new_scratch as new_scratch,
        slot_of as slot_of,
        steps_left as steps_left,
    )
    from .loop_orders import (
        idle as idle,
        may_lead as may_lead,
        order_of as order_of,
        pack_order as pack_order,
        staying as staying,
    )
    from .noc_hops import (
        ANY as ANY,
        BOUNDED as BOUNDED,
        ratio_code as ratio_code,
        wire as wire,
        wired_bounds as wired_bounds,
    )
    from .ports import (
        Ports as Ports,
        Prices as Prices,
        binding as binding,
        chosen as chosen,
        energy_below as energy_below,
        moved as moved,
        open_ports as open_ports,
        ports_of as ports_of,
        priced as priced,
    )
    from .stationary_runs import (
        NONE as NONE,
        NOTHING as NOTHING,
        Ending as Ending,
        Tile as Tile,
        Traffic as Traffic,
        end_runs as end_runs,
        ends as ends,
        may_stay as may_stay,
        new_tile as new_tile,
        run_of as run_of,
        still_leads as still_leads,
        tries as tries,
    )
    from .subproblem import (
        ANY_TENSOR as ANY_TENSOR,
        OF_INPUTS as OF_INPUTS,
        UNPADDED as UNPADDED,
        Subproblem as Subproblem,
        leakage as leakage,
        meets as meets,
        new_subproblem as new_subproblem,
        port_cycles as port_cycles,
        prepare as prepare,
        served as served,
        step_cycles as step_cycles,
    )
    from .tile_lattice import (
        Lattice as Lattice,
        as_guessed as as_guessed,
        first_tile as first_tile,
        has_room as has_room,
        last_along as last_along,
        lattice_of as lattice_of,
        next_tile as next_tile,
        tile_at as tile_at,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
