"""Tables, numbers and designs as text for terminals.

``console.py`` has what all commands print with; ``known_names.py`` what shells complete.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .borders import border_lines as border_lines
    from .console import (
        LiveLine as LiveLine,
        fit_rows as fit_rows,
        known as known,
        new_console as new_console,
        new_table as new_table,
        plain as plain,
        plain_table as plain_table,
        print_json as print_json,
        print_line as print_line,
        print_whole as print_whole,
        source_rows as source_rows,
    )
    from .design import (
        KIB as KIB,
        capacity_text as capacity_text,
        design_text as design_text,
        group_layers as group_layers,
        halo_text as halo_text,
        kept_columns as kept_columns,
        parts_of as parts_of,
        peak_text as peak_text,
        resident_layers as resident_layers,
        tiling_text as tiling_text,
    )
    from .excluded import excluded_rows as excluded_rows, excluded_title as excluded_title
    from .fitting_table import FittingTable as FittingTable
    from .gaps import (
        finite as finite,
        fused_text as fused_text,
        gap_text as gap_text,
        gaps_text as gaps_text,
        layer_gap_text as layer_gap_text,
        percent as percent,
        plan_gap_text as plan_gap_text,
        spent_text as spent_text,
    )
    from .known_names import KNOWN_NAMES as KNOWN_NAMES
    from .layers import (
        change_text as change_text,
        inputs_of as inputs_of,
        intensity as intensity,
        moved as moved,
        operator_text as operator_text,
        reads_text as reads_text,
        shape_text as shape_text,
        window_text as window_text,
    )
    from .legend import COLUMNS as COLUMNS, front_legend as front_legend
    from .nest import (
        loop_lines as loop_lines,
        nest_lines as nest_lines,
        nests_of as nests_of,
        only_text as only_text,
        operand_texts as operand_texts,
    )
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
