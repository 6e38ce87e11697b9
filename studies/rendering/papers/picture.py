"""Picture of a table of a paper, by its kind."""

from pathlib import Path

from archloom.studies.rendering.pictures import save_figure
from archloom.studies.solve.papers import PlanRow, Results, SearchRow, StackRow, StreamRow

from ...errors import writing
from .plan_bars import plan_bars
from .search_bars import search_bars
from .search_curves import search_curves
from .search_front import search_front
from .stack_bars import stack_bars
from .stream_bars import stream_bars


def draw_table(results: Results, path: Path) -> None:
    """Draw the rows of a table.

    Raises:
        TroubleError: the file cannot be written.
    """
    streams = [row for row in results.rows if isinstance(row, StreamRow) and row.figures]
    plans = [row for row in results.rows if isinstance(row, PlanRow) and row.figures]
    searches = [row for row in results.rows if isinstance(row, SearchRow) and row.figures]
    stacks = [row for row in results.rows if isinstance(row, StackRow)]
    title = results.table.title
    if stacks:
        figure = stack_bars(title, stacks)
    elif searches:
        drawn = {"bars": search_bars, "curves": search_curves, "front": search_front}
        figure = drawn[getattr(results.table, "picture", "bars")](results.table, searches)
    else:
        figure = plan_bars(title, plans) if plans else stream_bars(title, streams)
    with writing(path):
        save_figure(figure, path)
