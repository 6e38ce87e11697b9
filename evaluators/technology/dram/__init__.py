"""DRAM as it behaves: rows, banks, bursts and refresh of a channel, by kind of device.

``device.py`` has the channels of ``devices.yaml``, ``energy.py`` what their commands cost.
``streams.py`` has the compiled formulas: rows that runs of bytes open, and the time that bursts
take. ``walk.py`` walks the addresses of runs at a stride. ``traffic.py`` puts all of that together
for any streams, as recorded runs ask for it; mappings are priced with ``streams.py`` alone.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .device import (
        dram_channel as dram_channel,
        dram_names as dram_names,
    )
    from .energy import channel_energy as channel_energy
    from .streams import (
        BURST_BYTES as BURST_BYTES,
        BURSTS_A_BYTE as BURSTS_A_BYTE,
        FIGURES as FIGURES,
        ROW_BYTES as ROW_BYTES,
        channel_figures as channel_figures,
        rows_of_run as rows_of_run,
        slots_per_burst as slots_per_burst,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
