"""What the site adds to MkDocs: files of the repository outside ``docs/``, and a small API package.

Pages link to source files by relative paths, which code hosts follow. The site gets a copy of each
such file below ``source/``, as plain text, and the links lead there. mkdocstrings reads all modules
of a package, so it gets one that holds nothing but the modules of the API.
"""

import posixpath
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from draw_commands import PAGE, commands
from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
CHART = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAME = re.compile(r"subgraph \w+\[([^\]\n]+)\]\n(.*?)\n +end$", re.MULTILINE | re.DOTALL)
DRAWN = {".md", ".png", ".svg"}
"""What of ``docs/`` MkDocs itself takes."""

ROLE = re.compile(r":\w+:`~?([^`]+)`")
API = ("space/errors.py", "studies/errors.py", "studies/api/*.py")
"""Where the names of the API are defined."""

_folder = TemporaryDirectory(prefix="archloom-docs-")


@event_priority(100)  # before mkdocstrings looks at its paths
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let mkdocstrings read the modules of the API alone."""
    package = Path(_folder.name, "archloom")
    for file in (file for pattern in API for file in ROOT.glob(pattern)):
        copy = package / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        # names in roles of Sphinx become code
        copy.write_text(ROLE.sub(r"`\1`", file.read_text("utf-8")), "utf-8")
        (copy.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_folder.name]
    return config


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> Environment:  # noqa: ARG001
    """Put our own script where the plugin `offline` would load one from elsewhere."""
    config.extra["polyfills"] = ["javascripts/file_worker.js"]
    return env


def outside(page: str, link: str) -> str | None:
    """Return the path in the repository that a link of a page leads to, None if MkDocs knows it."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    known = path.startswith("docs/") and Path(path).suffix in DRAWN
    return None if known or not (ROOT / path).is_file() else path


def shown(path: str) -> str:
    """Return where the site has a file of the repository; as text, so that browsers show it."""
    return f"source/{path}.txt"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a copy of each file that a page links to."""
    links = ((page.src_uri, link[1]) for page in files.documentation_pages()
             for link in LINK.finditer(page.content_string))  # fmt: skip
    for path in sorted({path for page, link in links if (path := outside(page, link))}):
        text = (ROOT / path).read_text("utf-8")
        files.append(File.generated(config, shown(path), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turn links to those files to their copies; write the reference of commands."""
    if page.file.src_uri == PAGE:
        markdown += "\n".join(commands())

    def turned(link: re.Match[str]) -> str:
        path = outside(page.file.src_uri, link[1])
        if path is None:
            return link[0]
        return f"]({posixpath.relpath(shown(path), posixpath.dirname(page.file.src_uri))})"

    return CHART.sub(as_tables, LINK.sub(turned, markdown))


def as_tables(chart: re.Match[str]) -> str:
    """Return a chart in Mermaid as tables of its arrows: its script would come from elsewhere."""
    arrows = dict(re.findall(r"^ +(\w+) --> (.+)$", chart[1], re.MULTILINE))
    lines = []
    for frame, boxes in FRAME.findall(chart[1]):
        lines += [f"| {frame} | imports |", "|---|---|"]
        for box in re.findall(r"^ +(\w+)[\[(]", boxes, re.MULTILINE):
            there = (name.replace("__", "/") for name in re.findall(r"\w+", arrows.get(box, "")))
            named = ", ".join(f"`{name}`" for name in there)
            lines.append(f"| `{box.rpartition('__')[2]}` | {named} |")
        lines.append("")
    return "\n".join(lines)
