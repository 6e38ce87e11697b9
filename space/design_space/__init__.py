"""Hardware spaces: templates with parameters, the presets, and boxes of designs.

Read ``parameter.py``, ``template.py`` and ``hardware_space.py``: a point of a space is built into a
:class:`~archloom.space.hardware.Hardware` or refused with a reason. ``template_reader.py`` reads
the YAML files in ``templates/`` and ``accelerators/``, ``expression.py`` their arithmetic,
``assumptions.py`` the marks of values that no source gives. ``shipped.py`` has the names of those
that come with archloom.
:mod:`.boxes` are for bounds over many designs at once.
:mod:`.compression` adds parameters of what runs: how far a network is pruned.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .assumptions import (
        AssumedValue as AssumedValue,
        without_marks as without_marks,
    )
    from .boxes.box import (
        Box as Box,
        BoxedSpace as BoxedSpace,
        Formula as Formula,
        cut as cut,
        make_room as make_room,
        runs as runs,
        size as size,
    )
    from .boxes.interval import Interval as Interval
    from .boxes.structure import BoxStructure as BoxStructure, LevelFormulas as LevelFormulas
    from .expression import Value as Value
    from .hardware_space import HardwareSpace as HardwareSpace, key_of as key_of
    from .parameter import Parameter as Parameter, Point as Point
    from .presets import (
        preset as preset,
        with_technology as with_technology,
        with_word_bits as with_word_bits,
    )
    from .shipped import (
        PRESETS as PRESETS,
        TEMPLATES as TEMPLATES,
        preset_file as preset_file,
        shipped_file as shipped_file,
    )
    from .template import LevelTemplate as LevelTemplate, TemplateError as TemplateError
    from .template_changes import Changes as Changes, value_at as value_at
    from .template_reader import (
        TEMPLATE_KEYS as TEMPLATE_KEYS,
        read_template as read_template,
        varied as varied,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
