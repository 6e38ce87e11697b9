"""The timeline for browsers and as a picture: what is on it; equal runs are equal files."""

import pytest

from archloom.studies.errors import UserError
from archloom.studies.rendering.pictures.weaving.drawing import save_woven
from archloom.studies.rendering.pictures.weaving.lanes import COLOURS
from archloom.studies.rendering.pictures.weaving.page import woven_figure, woven_page

from .....cases.woven_runs import woven_run


def test_the_figure_has_a_bar_for_each_stretch_in_the_colour_of_its_network():
    run = woven_run()
    figure = woven_figure(run)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    count = sum(map(len, (run.timeline.computes, run.timeline.fetches, run.timeline.maps)))
    assert sum(len(bar.x) for bar in bars) == count
    for bar in bars:
        assert bar.marker.color == COLOURS[run.names.index(bar.name)]
        assert bar.marker.pattern.shape == ("/" if "feature maps" in bar.customdata[0][0] else "")
    # each network stands in the legend once, and its name hides all that is its
    assert sorted(bar.name for bar in bars if bar.showlegend) == ["net0", "net1"]
    assert {trace.legendgroup for trace in figure.data} == {"0", "1"}
    assert figure.layout.xaxis3.title.text == "time (us)"
    titles = [figure.layout[f"yaxis{i}"].title.text for i in (2, 3)]
    assert titles == ["weight buffer (KiB)", "feature map buffer (KiB)"]


def test_one_can_zoom_in_time_alone():
    figure = woven_figure(woven_run())
    assert figure.layout.dragmode == "zoom"
    assert all(figure.layout[f"yaxis{i}"].fixedrange for i in ("", 2, 3))
    assert not figure.layout.xaxis.fixedrange
    assert figure.layout.xaxis.matches == figure.layout.xaxis2.matches == "x3"


def test_the_page_needs_no_network_and_shows_names_as_they_are():
    page = woven_page(woven_run())
    assert "<h1>net0 and net1 on small, one query each: test</h1>" in page
    assert "layer<0>" not in page
    assert "src=" not in page.split("</script>", 1)[1]
    assert "Only the first" not in page
    assert "Only the first 6 of" in woven_page(woven_run(steps=6))


@pytest.mark.parametrize("ending", ["html", "png", "svg"])
def test_equal_runs_are_equal_files(tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        save_woven(woven_run(3), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) > 10_000


def test_a_file_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(UserError, match=r"--plot .*taken.html: cannot be written"):
        save_woven(woven_run(), tmp_path / "taken.html")
