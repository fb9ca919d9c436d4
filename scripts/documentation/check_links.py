"""Checks the built documentation: every link leads to a file and a heading in it, and nothing loads from outside.

python scripts/documentation/check_links.py build/docs
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
}
"""The elements that a browser loads by itself, with the attribute that names the address."""


class Page(HTMLParser):
    """The names and addresses in a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := values.get(name)))
        if tag == "a" and (address := values.get("href")):
            self.links.append(address)
        if tag in LOADED and (address := values.get(LOADED[tag])):
            self.loaded.append(address)


def faults(directory: Path) -> Iterator[str]:
    """A line for each address that leads nowhere or outside."""
    pages = {path.resolve(): Page(path) for path in sorted(directory.rglob("*.html"))}
    for path, page in pages.items():
        place = path.relative_to(directory.resolve())
        yield from (f"{place}: loads {address} from outside" for address in page.loaded if urlsplit(address).netloc)
        for address in [*page.links, *page.loaded]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{place}: {address} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{place}: {address} names no heading of {target.name}"


def main(arguments: list[str]) -> int:
    found = list(faults(Path(arguments[0])))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
