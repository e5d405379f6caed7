"""The documents as a site: built without a warning, whole, linked, searchable, and without anything from elsewhere."""

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.driver import Browser

_ROOT = Path(__file__).parents[2]
_PHONE = (390, 844)


def _longest_line(text: str) -> int:
    """Of the code blocks and the words of a page: each is laid out on one line."""
    code = (line for block in re.findall(r"<pre.*?</pre>", text, re.S) for line in block.splitlines())
    cells = re.findall(r"<td.*?</td>", text, re.S)
    return max((len(re.sub(r"<[^>]*>", "", part)) for part in (*code, *" ".join(cells).split())), default=0)


class _Page(HTMLParser):
    """Where a page's links lead, what it loads, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = {"", "__top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.ids |= {known.get("id", ""), known.get("name", "")}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        elif tag == "link":
            self.loads.append(known["href"])
        elif "src" in known:
            self.loads.append(known["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    command = [
        str(Path(sys.executable).parent / "mkdocs"),
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(directory),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return directory


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_every_document_is_a_page_that_search_finds(site: Path, pages: dict[Path, _Page]) -> None:
    documents = {path.relative_to(_ROOT / "docs").as_posix() for path in (_ROOT / "docs").rglob("*.md")}
    wanted = {re.sub(r"(^|/)README\.md$", r"\1index.html", name).replace(".md", ".html") for name in documents}
    assert wanted <= {path.relative_to(site).as_posix() for path in pages}
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert wanted <= {entry["location"].partition("#")[0] or "index.html" for entry in found}


def test_every_link_leads_to_a_page_and_a_heading(site: Path, pages: dict[Path, _Page]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.is_file() or (target in pages and fragment not in pages[target].ids):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []


def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, _Page]) -> None:
    assert {load for page in pages.values() for load in page.loads if urlsplit(load).netloc} == set()


@pytest.mark.browser
def test_search_answers_and_nothing_else_is_asked(browser: Browser, address: str) -> None:
    with browser.page(address) as page:
        page.click("[data-md-component=search-query]")
        page.type("break-lease")
        for _ in range(600):  # the index takes ten seconds where much else is at work
            if page.count(".md-search-result__item"):
                break
            page.evaluate("new Promise(done => setTimeout(done, 100))")
        assert "lease" in page.text(".md-search-result__list")
        assert [request for request in page.requests if not request.startswith(address)] == []


@pytest.mark.browser
def test_a_phone_scrolls_no_page_sideways(browser: Browser, address: str, site: Path, pages: dict[Path, _Page]) -> None:
    wide = []
    # What could be too wide, a line of code or a word that cannot be broken; each page takes a quarter of a second, and
    # as long again if it makes its index for a search.
    read = sorted(pages, key=lambda path: _longest_line(path.read_text(encoding="utf-8")), reverse=True)[:30]
    with browser.page(address, size=_PHONE, without="**/workers/search*") as page:
        for path in read:
            page.load(address + path.relative_to(site).as_posix())
            if page.evaluate("document.documentElement.scrollWidth") > _PHONE[0]:
                wide.append(path.relative_to(site).as_posix())
    assert wide == []


@pytest.mark.browser
def test_the_dark_is_dark(browser: Browser, address: str) -> None:
    with browser.page(address, dark=True) as page:
        red, green, blue = (int(part) for part in re.findall(r"\d+", page.style("body", "background-color"))[:3])
        assert max(red, green, blue) < 80
        assert page.count(".md-nav--secondary .md-nav__link") > 1
