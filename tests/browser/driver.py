"""A headless browser and its pages, driven by Playwright: the Chromium is ours, nothing else is fetched.

A page notes what went wrong in it and every address it asked for, so that a test can demand that there is nothing of
either.
"""

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from playwright.sync_api import Error, sync_playwright
from playwright.sync_api import Page as DrivenPage

from tests.browser.chromium import chromium, environment

#: Seconds that one answer may take.
PATIENCE: Final = 60.0
#: Chromium answers so, once in some hundred times on a busy machine, where it has no frame of the page's new size yet.
NO_FRAME: Final = "Unable to capture screenshot"
#: How often it is asked for a picture.
CAPTURES: Final = 5
_FRAME: Final = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
_FLAGS: Final = (
    "--no-zygote",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--font-render-hinting=none",
)

#: The browser refused a command, threw an error, or did not answer.
BrowserError = Error


class Browser:
    """A running Chromium; ends with the block."""

    def __init__(self) -> None:
        """Starts it; raises :class:`tests.browser.chromium.NoBrowserError`."""
        program = chromium()
        self._driver = sync_playwright().start()
        self._browser = self._driver.chromium.launch(
            executable_path=program,
            args=list(_FLAGS),
            env=dict(environment(program)),
            # Tests run as root in containers, where Chromium's sandbox cannot start; the pages are our own.
            chromium_sandbox=False,
        )

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ends it, and the driver with it."""
        self._browser.close()
        self._driver.stop()

    @contextlib.contextmanager
    def page(
        self,
        address: str | Path,
        *,
        javascript: bool = True,
        dark: bool = False,
        reduced_motion: bool = False,
        size: tuple[int, int] = (1280, 900),
        scale: float = 1,
        without: str = "",
    ) -> "Iterator[Page]":
        """A page loaded from a file, an address or HTML text (what begins with ``<``), alone in its session.

        ``scale`` is the number of pixels of a screenshot for each CSS pixel; addresses like ``without`` (``**/x.js``)
        are not loaded.
        """
        context = self._browser.new_context(
            java_script_enabled=javascript,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            device_scale_factor=scale,
            reduced_motion="reduce" if reduced_motion else "no-preference",
        )
        context.set_default_timeout(PATIENCE * 1000)
        try:
            if without:
                context.route(without, lambda route: route.abort())
            page = Page(context.new_page())
            page.load(address)
            yield page
        finally:
            context.close()


class Page:
    """One page. ``problems`` are errors on its console and in its scripts, ``requests`` the addresses it asked for."""

    def __init__(self, page: DrivenPage) -> None:
        """Not by hand: by :meth:`Browser.page`."""
        self._page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"{error.name}: {error.message}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda said: self._console(said.type, said.text))

    def _console(self, kind: str, text: str) -> None:
        if kind in {"error", "assert", "warning"}:
            self.problems.append(text)

    def print_media(self) -> None:
        """Show the page as a printer gets it."""
        self._page.emulate_media(media="print")

    def resize(self, width: int, height: int) -> None:
        """The window's size in CSS pixels."""
        self._page.set_viewport_size({"width": width, "height": height})

    def load(self, address: str | Path) -> None:
        """Load a file, an address or HTML text, and wait until it and what it names is there."""
        if isinstance(address, str) and address.lstrip().startswith("<"):
            address = "data:text/html;charset=utf-8;base64," + base64.b64encode(address.encode()).decode()
        self._page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON carries it; works with the page's own scripts off, too."""
        return self._page.evaluate(expression)

    def text(self, selector: str = "body") -> str:
        """The text of the first element as it is shown; raises :class:`BrowserError` where there is none."""
        return str(self._page.eval_on_selector(selector, "element => element.innerText"))

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return self._page.locator(selector).count()

    def style(self, selector: str, name: str) -> str:
        """A computed style of the first element."""
        script = "(element, name) => getComputedStyle(element).getPropertyValue(name)"
        return str(self._page.eval_on_selector(selector, script, name))

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element, scrolled into view."""
        self._page.locator(selector).first.click()

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self._page.keyboard.insert_text(text)

    def press(self, key: str) -> None:
        """Press a key by its name: ``Tab``, ``ArrowDown``, ``Enter``."""
        self._page.keyboard.press(key)

    def names(self) -> list[tuple[str, str]]:
        """Roles and names as a screen reader is told them, in order."""
        tree = self._page.context.new_cdp_session(self._page).send("Accessibility.getFullAXTree")
        found = (
            (node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "")) for node in tree["nodes"]
        )
        return [(str(role), str(name)) for role, name in found if role not in {"none", "generic", "InlineTextBox"}]

    def screenshot(self, path: Path | None = None, *, whole: bool = True) -> bytes:
        """A PNG of the whole page or of the window; also into ``path``."""
        for _ in range(CAPTURES - 1):
            try:
                return self._page.screenshot(path=path, full_page=whole)
            except Error as error:
                if NO_FRAME not in error.message:
                    raise
            self._page.evaluate(_FRAME)
        return self._page.screenshot(path=path, full_page=whole)

    def pdf(self) -> bytes:
        """What printing gives."""
        return self._page.pdf(print_background=True)
