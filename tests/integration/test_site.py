"""The documents as a site: whole, linked, and without anything that a page would have to fetch or run."""

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).parents[2]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_build", _ROOT / "docs" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Page(HTMLParser):
    """Links, ids, tags, and whether they close in the order in which they opened."""

    _VOID = frozenset({"meta", "br", "hr", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.menu: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.tags.add(tag)
        self.ids.add(known.get("id") or "")
        if tag == "a":
            (self.menu if "nav" in self._open else self.links).append(known.get("href") or "")
        if tag not in self._VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    pages: list[Path] = _module().build(tmp_path_factory.mktemp("site"))
    return {page.name: Page(page.read_text(encoding="utf-8")) for page in pages}


def test_every_document_is_a_page_and_every_page_is_in_every_menu(site: dict[str, Page]) -> None:
    assert len(site) == len([*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md")])
    for page in site.values():
        assert sorted(page.menu) == sorted(site)


def test_links_lead_to_pages_and_headings_that_are_there(site: dict[str, Page]) -> None:
    for name, page in site.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, heading = link.partition("#")
            assert (target or name) in site, f"{name}: {link}"
            assert not heading or heading in site[target or name].ids, f"{name}: {link}"


def test_pages_run_and_fetch_nothing(site: dict[str, Page]) -> None:
    for page in site.values():
        assert not page.tags & {"script", "link", "img", "iframe", "object", "form"}
