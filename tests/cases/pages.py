"""Pages as tests read them: their text, what they load, and what they carry packed."""

import json
import re
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

_PACKED = re.compile(r'<script type="text/plain" ([^>]*)>([^<]*)</script>')


class Page(HTMLParser):
    """Reads a page: what it loads from elsewhere, its text, and whether its tags nest."""

    VOID = ("meta", "br")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.open: list[str] = []
        self.loads: list[str] = []
        self.scripts = 0
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.loads += [f"{tag} {found[name]}" for name in ("src", "href") if name in found]
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data + "\n"

    @property
    def data(self) -> Any:
        """What the page's script works with."""
        return self.part('id="data"')

    def part(self, which: str) -> Any:
        """Return what the page carries packed under an attribute."""
        (found,) = [text for name, text in _PACKED.findall(self.html) if name == which]
        return json.loads(zlib.decompress(b64decode(found)))

    @property
    def designs(self) -> list[str]:
        """The designs of which it carries numbers."""
        return list(self.part('data-numbers="all"'))

    def carried(self, kind: str) -> list[str]:
        """Return the designs of which it carries a kind of data, each by itself."""
        return [
            name.partition('"')[2].removesuffix('"')
            for name, _ in _PACKED.findall(self.html)
            if name.startswith(f"data-{kind}=")
        ]


def everything(html: str) -> str:
    """Return a page with what it carries packed, but plotly, as text."""
    found = [
        zlib.decompress(b64decode(text)).decode()
        for name, text in _PACKED.findall(html)
        if name != 'id="plotly"'
    ]
    figures = re.findall(r'data-figure="([^"]*)"', html)
    return "\n".join([html, *found, *(zlib.decompress(b64decode(f)).decode() for f in figures)])
