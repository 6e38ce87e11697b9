"""Pictures: plots of studies, networks with their groups, buffers over time.

``plots.py`` and ``style.py`` are for reports. A network is drawn by ``network.py`` from
``network_graph.py``, laid out by ``layered_layout.py`` and painted by ``scene.py``.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from . import comparison as comparison, plots as plots
    from .buffer_timeline import save_memory as save_memory
    from .files import check_picture as check_picture, save_figure as save_figure
    from .mapping import (
        PANELS as PANELS,
        draw_convergence as draw_convergence,
        draw_fronts as draw_fronts,
    )
    from .network import (
        ENDINGS as ENDINGS,
        fused_groups as fused_groups,
        picture_card as picture_card,
        pinned_reads as pinned_reads,
        save_picture as save_picture,
    )
    from .plots import stacked_bars as stacked_bars
    from .style import FADED as FADED, INK as INK, SERIES as SERIES, apply_style as apply_style
    from .summary import draw_summary as draw_summary
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
