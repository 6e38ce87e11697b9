"""Spaces of choice: workloads, hardware, mappings and fusion plans, as values that check
themselves.

Read :mod:`.workload` (what runs), :mod:`.hardware` (where), :mod:`.mapping` (how the loops of one
layer run) and :mod:`.fusion` (which layers run together) in this order; then :mod:`.design_space`
(templates with parameters) and :mod:`.networks` (the catalogue). :mod:`.importers` reads files of
other tools. ``errors.py`` has the words in which faults are said, ``yaml_reader.py`` reads what
users write. Nothing here costs anything: that is :mod:`archloom.evaluators`.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .errors import (
        Infeasible as Infeasible,
        InfeasibleError as InfeasibleError,
        did_you_mean as did_you_mean,
        is_amount as is_amount,
        is_whole as is_whole,
        whole_fault as whole_fault,
    )
    from .yaml_reader import (
        Document as Document,
        Fault as Fault,
        Faults as Faults,
        KeyPath as KeyPath,
        Place as Place,
        bounded_json as bounded_json,
        bounded_text as bounded_text,
        parse_yaml as parse_yaml,
        read_yaml as read_yaml,
        shown as shown,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
