"""The documentation as a site: it builds without a warning, works offline, and is complete."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

import archloom
from archloom.studies.commands.cli import app

from .source_tree import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a warning, such as a link or an anchor that leads nowhere, ends the build."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


class _Loaded(HTMLParser):
    """Collects what a page loads when it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} and (place := values.get("src")):
            self.found.append(place)
        if tag == "link" and values.get("rel") not in {"prev", "next", "canonical"}:
            self.found.append(values.get("href") or "")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = _Loaded(page.read_text("utf-8")).found
        assert loaded
        assert [place for place in loaded if "//" in place] == [], page
    assert (site / "search" / "search_index.js").is_file(), "search needs a server without it"


def test_every_command_and_option_has_a_place(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text("utf-8")
    context = click.Context(app)
    for name in app.list_commands(context):
        section = page.partition(f'id="archloom-{name}"')[2].partition("<h2")[0]
        command = app.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            label = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.metavar
            assert label in section, (name, label)
            text = (
                parameter.help
                if isinstance(parameter, click.Option)
                else getattr(parameter, "about", "")
            )
            assert text, (name, label)
            assert html.escape(text.partition("docs/")[0], quote=False) in section, (name, label)


def test_every_public_name_of_the_api_is_described(site: Path) -> None:
    page = (site / "reference" / "api.html").read_text("utf-8")
    described = set(re.findall(r'id="archloom\.[\w.]*\.(\w+)"', page))
    assert set(archloom.__all__) - {"__version__"} <= described


def test_links_to_the_source_lead_to_a_copy_of_it(site: Path) -> None:
    page = (site / "concepts" / "glossary.html").read_text("utf-8")
    assert 'href="../source/space/workload/layer.py.txt"' in page
    copy = site / "source" / "space" / "workload" / "layer.py.txt"
    assert copy.read_text() == (ROOT / "space" / "workload" / "layer.py").read_text()


def test_search_works_from_a_disk(site: Path) -> None:
    """Without a server browsers start no workers, for which the site has a script of its own."""
    programs = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, programs)), None)
    if browser is None:
        pytest.skip("there is no Chromium; on Debian: apt-get install chromium")
    page = f"{(site / 'index.html').as_uri()}?q=certificate"
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000")
    done = subprocess.run(
        [browser, *options, "--dump-dom", page], capture_output=True, text=True, check=True
    )
    assert re.search(r"\d+ matching documents", done.stdout)
    assert 'href="how_to/certificates.html' in done.stdout.partition("md-search-result__list")[2]
