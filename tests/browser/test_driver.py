"""What the browser fixture offers, so that a test of a page may rely on it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page as DrivenPage

from tests.browser.driver import CAPTURES, NO_FRAME, Browser, BrowserError

pytestmark = pytest.mark.browser

_PAGE = """<!doctype html><html lang="en"><head><title>t</title><style>
  body { background: rgb(255, 255, 255); }
  @media (prefers-color-scheme: dark) { body { background: rgb(0, 0, 0); } }
  @media (prefers-reduced-motion: no-preference) { p { transition: opacity 1s; } }
  @media print { button { display: none; } }
</style></head><body>
  <p id="said">without</p><noscript>scripts are off</noscript><button aria-label="go on">x</button><input id="field">
  <script>
    document.getElementById('said').innerText = 'with';
    document.querySelector('button').onclick = e => { document.getElementById('said').innerText = 'clicked'; };
  </script>
</body></html>"""


def test_shows_a_page_with_its_scripts(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(_PAGE, encoding="utf-8")

    with browser.page(file) as page:
        assert page.text("#said") == "with"
        page.click("button")
        assert page.text("#said") == "clicked"
        page.click("#field")
        page.type("größer")
        assert page.evaluate("document.getElementById('field').value") == "größer"
        page.press("Backspace")
        assert page.evaluate("document.getElementById('field').value") == "größe"
        assert ("button", "go on") in page.names()
        assert page.requests == [file.as_uri()]
        assert page.problems == []


def test_shows_a_page_without_its_scripts(browser: Browser) -> None:
    with browser.page(_PAGE, javascript=False) as page:
        assert page.text("#said") == "without"
        assert "scripts are off" in page.text()


@pytest.mark.parametrize(("dark", "colour"), [(False, "rgb(255, 255, 255)"), (True, "rgb(0, 0, 0)")])
def test_prefers_light_or_dark(browser: Browser, *, dark: bool, colour: str) -> None:
    with browser.page(_PAGE, dark=dark) as page:
        assert page.style("body", "background-color") == colour


def test_prefers_less_motion(browser: Browser) -> None:
    with browser.page(_PAGE) as page, browser.page(_PAGE, reduced_motion=True) as calm:
        assert page.style("p", "transition-duration") == "1s"
        assert calm.style("p", "transition-duration") == "0s"


def test_takes_pictures(browser: Browser, tmp_path: Path) -> None:
    with browser.page(f"{_PAGE}<div style='height: 3000px'></div>", size=(640, 400)) as page:
        window = page.screenshot(whole=False)
        picture = page.screenshot(tmp_path / "page.png")

        assert picture == (tmp_path / "page.png").read_bytes()
        assert _size(window) == (640, 400)
        assert _size(picture) > (640, 3000)
        assert page.pdf().startswith(b"%PDF-")
        page.print_media()
        assert page.style("button", "display") == "none"


@pytest.mark.parametrize(("reason", "asked"), [(NO_FRAME, CAPTURES), ("Target crashed", 1)])
def test_asks_again_for_a_picture_only_where_there_is_no_frame(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, reason: str, asked: int
) -> None:
    refused: list[str] = []

    def refuse(*_: object, **__: object) -> bytes:
        refused.append(reason)
        raise BrowserError(f"Page.screenshot: Protocol error (Page.captureScreenshot): {reason}")

    with browser.page(_PAGE) as page:
        with monkeypatch.context() as refusing:
            refusing.setattr(DrivenPage, "screenshot", refuse)
            with pytest.raises(BrowserError, match=reason):
                page.screenshot()
        assert len(refused) == asked
        assert page.screenshot().startswith(b"\x89PNG")


def test_notes_what_goes_wrong(browser: Browser) -> None:
    broken = "<script>console.error('a word'); console.info('fine'); missing()</script><img src='http://127.0.0.1:9/x'>"

    with browser.page(broken) as page:
        # The console's words and the network's come by ways of their own, in any order.
        assert "a word" in page.problems
        assert any("ReferenceError: missing is not defined" in problem for problem in page.problems)
        assert any("ERR_UNSAFE_PORT" in problem for problem in page.problems)
        assert len(page.problems) == 3
        assert page.requests[-1] == "http://127.0.0.1:9/x"
        with pytest.raises(BrowserError, match="Failed to find element"):
            page.text("nav")


def test_says_that_a_page_is_not_there(browser: Browser, tmp_path: Path) -> None:
    with pytest.raises(BrowserError, match="ERR_FILE_NOT_FOUND"), browser.page(tmp_path / "none.html"):
        pass


def _size(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
