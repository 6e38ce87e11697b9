"""The report of a study: a page that needs neither network nor server, and a picture."""

from pathlib import Path

from archloom.studies.config import Location
from archloom.studies.engine.progress import SILENT, Stages
from archloom.studies.rendering.pictures import draw_summary
from archloom.studies.storage import check_folder, write_whole

from ...errors import UserError, choosing, writing
from .material import Gatherer
from .page import page_values, picked_details, study_page, subtitle

HTML, PNG = "report.html", "report.png"


def write_report(
    location: Location,
    pick: str | None = None,
    stages: Stages = SILENT,
    out: Path | None = None,
) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.png``; return their paths.

    Args:
        location: of the study.
        pick: a rule in place of the study's.
        stages: hear how far it is.
        out: folder that they go to; None for the study's directory.

    Raises:
        UserError: there is no study, it has no finished trial yet, or it has no directory and
            ``out`` is None.
    """
    out = out or (location if isinstance(location, Path) else None)
    if out is None:
        raise UserError(f"{location} has no directory; give one for the report with --out")
    check_folder(out)
    stages.begin("writing the report", 5)
    stages.advance("reading the study", 0)
    material = Gatherer(location, pick).gather(stages)
    page, picture = out / HTML, out / PNG
    stages.advance("drawing the page")
    with choosing(out):
        out.mkdir(parents=True, exist_ok=True)
    with writing(page):
        write_whole(page, study_page(page_values(material)))
    stages.advance("drawing the picture")
    with writing(picture):
        draw_summary(material.view, subtitle(material.view, picked_details(material)), picture)
    stages.end()
    return page, picture
