"""Pictures: plots of studies, networks with their groups, buffers over time.

``plots.py`` and ``style.py`` are for reports. A network is drawn by ``network.py`` from
``network_graph.py``, laid out by ``layered_layout.py`` and painted by ``scene.py``.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from . import comparison as comparison, plots as plots
    from .buffer_timeline import (
        BufferContents as BufferContents,
        buffer_contents as buffer_contents,
        save_memory as save_memory,
    )
    from .files import check_picture as check_picture, save_figure as save_figure
    from .mapping import (
        PANELS as PANELS,
        draw_convergence as draw_convergence,
        draw_fronts as draw_fronts,
    )
    from .network import (
        ENDINGS as ENDINGS,
        GROUP_COLOURS as GROUP_COLOURS,
        KINDS as KINDS,
        PlacedNetwork as PlacedNetwork,
        enclosed_lines as enclosed_lines,
        pinned_lines as pinned_lines,
        placed_network as placed_network,
        save_picture as save_picture,
    )
    from .network_graph import (
        fused_groups as fused_groups,
        pinned_reads as pinned_reads,
    )
    from .plots import stacked_bars as stacked_bars
    from .style import FADED as FADED, INK as INK, SERIES as SERIES, apply_style as apply_style
    from .summary import draw_summary as draw_summary
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
