"""The machine that kernels are timed on: properties, measured rates, hardware description.

``facts.py`` names processor, flags, libraries and load, and pins cores. ``caches.py`` reads their
sizes, ``probe.py`` measures rates of memories and multipliers in a process of its own, ``rates.py``
keeps them, and ``template.py`` makes hardware of the model of them. ``loop_nests.py`` says what
mapping of that hardware a schedule of a kernel is, and ``expectation.py`` how long it should take.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .expectation import Prediction as Prediction, predicted as predicted, warm as warm
    from .facts import (
        has_halide as has_halide,
        pinned as pinned,
        this_machine as this_machine,
        thread_environment as thread_environment,
        too_busy as too_busy,
        usable_cores as usable_cores,
    )
    from .rates import HostError as HostError, measured_rates as measured_rates
    from .template import host_template as host_template, kept_template as kept_template
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
