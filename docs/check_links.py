"""Checks a built site: every link inside it leads to a file and an anchor, and nothing is loaded from the network.

python docs/check_links.py out/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements that a browser loads by itself, and the attribute with the address.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
# Kinds of <link> that are only a note, and load nothing.
NOTES = {"canonical", "search", "next", "prev", "index", "genindex", "author", "copyright", "top"}


class Page(HTMLParser):
    """The anchors of a page, its links, and the addresses that a browser loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in LOADED and not NOTES & set(given.get("rel", "").split()) and LOADED[tag] in given:
            self.loaded.add(given[LOADED[tag]])


def find_faults(folder: Path) -> list[str]:
    """One line for each link that leads nowhere, and each address that needs the network."""
    files = (path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts)  # parts of the theme
    pages = {path.resolve(): Page(path) for path in files}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        faults += [f"{name}: loads {address}" for address in sorted(page.loaded) if urlsplit(address).netloc]
        faults += [f"{name}: {link}" for link in sorted(page.links | page.loaded) if leads_nowhere(link, path, pages)]
    return faults


def leads_nowhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    """Whether a link into the site misses its file, or its anchor there."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return True
    return bool(parts.fragment) and target in pages and unquote(parts.fragment) not in pages[target].anchors


if __name__ == "__main__":
    found = find_faults(Path(sys.argv[1]))
    print("\n".join(found) or "every link leads somewhere, and nothing is loaded from the network")
    raise SystemExit(bool(found))
