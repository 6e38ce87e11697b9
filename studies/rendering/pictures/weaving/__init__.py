"""Pictures of woven schedules: both engines and both buffers over time.

``lanes.py`` has what is drawn, in microseconds; ``page.py`` draws it for browsers, ``drawing.py``
as PNG or SVG, ``trace.py`` writes it for trace viewers. ``serving.py`` is for requests that are
served.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .drawing import save_woven as save_woven
    from .lanes import WovenRun as WovenRun
    from .serving import save_serving as save_serving
    from .trace import save_trace as save_trace
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
