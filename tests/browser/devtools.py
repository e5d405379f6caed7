"""A headless browser and its pages, spoken to over a pipe in Chrome's DevTools protocol.

Nothing listens on a port. A page notes what went wrong in it and every address it asked for, so that a test can demand
that there is nothing of either.
"""

import base64
import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.browser.chromium import chromium, environment

#: Seconds that one answer may take.
PATIENCE: Final = 60.0
_FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",
    # Tests run as root in containers, where Chromium's sandbox cannot start; the pages are our own.
    "--no-sandbox",
    "--no-zygote",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--font-render-hinting=none",
)
#: Chromium reads commands from descriptor 3 and answers on 4; copies above both, so that neither is overwritten first.
_HANDOVER: Final = (
    "import fcntl, os, sys; r, w = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]); "
    "os.dup2(r, 3); os.dup2(w, 4); os.closerange(10, 256); os.execv(sys.argv[3], sys.argv[3:])"
)


class BrowserError(Exception):
    """The browser refused a command, threw an error, or did not answer."""


class Browser:
    """A running Chromium; ends with the block."""

    def __init__(self) -> None:
        """Starts it; raises :class:`tests.browser.chromium.NoBrowserError`."""
        program = chromium()
        self._scratch = tempfile.TemporaryDirectory(prefix="reconciler-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        arguments = [str(theirs_in), str(theirs_out), str(program), *_FLAGS, f"--user-data-dir={self._scratch.name}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HANDOVER, *arguments],
            pass_fds=(theirs_in, theirs_out),
            env=environment(program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Ends it, by force if it does not end by itself."""
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._scratch.cleanup()

    @contextlib.contextmanager
    def page(
        self,
        address: str | Path,
        *,
        javascript: bool = True,
        dark: bool = False,
        reduced_motion: bool = False,
        size: tuple[int, int] = (1280, 900),
    ) -> "Iterator[Page]":
        """A page loaded from a file, an address or HTML text (what begins with ``<``), alone in its session."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        self._pages[session] = page
        try:
            page.prepare(javascript=javascript, size=size)
            page.prefer(dark=dark, reduced_motion=reduced_motion)
            page.load(address)
            yield page
        finally:
            del self._pages[session]
            self.send("Target.disposeBrowserContext", browserContextId=context)

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its answer; raises :class:`BrowserError`."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self, end: float) -> dict[str, Any]:
        """The next message; an event is told to its page first. Raises :class:`BrowserError` when time is over."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser ended" if ready else f"no answer in {PATIENCE:.0f} s")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.noted(message["method"], message["params"])
        return message


class Page:
    """One page. ``problems`` are errors on its console and in its scripts, ``requests`` the addresses it asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        """Not by hand: by :meth:`Browser.page`."""
        self._browser = browser
        self._session = session
        self._loaded = False
        self.problems: list[str] = []
        self.requests: list[str] = []

    def prepare(self, *, javascript: bool, size: tuple[int, int]) -> None:
        """What has to be set before anything is loaded."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(*size)
        if not javascript:
            self.send("Emulation.setScriptExecutionDisabled", value=True)

    def prefer(self, *, dark: bool = False, reduced_motion: bool = False, media: str = "") -> None:
        """What the reader's system says to prefer; ``media`` may be ``print``."""
        features = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if reduced_motion else "no-preference",
        }
        wanted = [{"name": name, "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media=media, features=wanted)

    def resize(self, width: int, height: int) -> None:
        """The window's size in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def load(self, address: str | Path) -> None:
        """Load a file, an address or HTML text, and wait until it and what it names is there."""
        if isinstance(address, str) and address.lstrip().startswith("<"):
            address = "data:text/html;charset=utf-8;base64," + base64.b64encode(address.encode()).decode()
        target = address.resolve().as_uri() if isinstance(address, Path) else address
        self._loaded = False
        answer = self.send("Page.navigate", url=target)
        if "errorText" in answer:
            raise BrowserError(f"{target[:200]}: {answer['errorText']}")
        end = time.monotonic() + PATIENCE
        while not self._loaded:
            self._browser.receive(end)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as JSON carries it; works with the page's own scripts off, too."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"].get("exception", answer["exceptionDetails"])))
        return answer["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """The text of the first element as it is shown; raises :class:`BrowserError` where there is none."""
        found = self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")
        return str(found)

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return int(self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length"))

    def style(self, selector: str, name: str) -> str:
        """A computed style of the first element."""
        found = f"getComputedStyle(document.querySelector({json.dumps(selector)})).getPropertyValue({json.dumps(name)})"
        return str(self.evaluate(found))

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element, scrolled into view."""
        place = self.evaluate(
            "(e => { e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect(); "
            f"return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key, by name and Windows key code: Tab 9, ArrowDown 40, Enter 13 (with a carriage return as text)."""
        named: Mapping[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def names(self) -> list[tuple[str, str]]:
        """Roles and names as a screen reader is told them, in order."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        found = ((node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "")) for node in nodes)
        return [(str(role), str(name)) for role, name in found if role not in {"none", "generic", "InlineTextBox"}]

    def screenshot(self, path: Path | None = None, *, whole: bool = True) -> bytes:
        """A PNG of the whole page or of the window; also into ``path``."""
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
        if path is not None:
            path.write_bytes(data)
        return data

    def pdf(self) -> bytes:
        """What printing gives."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Any command of the protocol to this page."""
        return self._browser.send(method, self._session, **parameters)

    def noted(self, event: str, side: Mapping[str, Any]) -> None:
        """Keep what an event says."""
        match event:
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(side["request"]["url"])
            case "Runtime.exceptionThrown":
                details = side["exceptionDetails"]
                self.problems.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if side["type"] in {"error", "assert", "warning"}:
                self.problems.append(" ".join(str(item.get("value", "")) for item in side["args"]))
            case "Log.entryAdded" if side["entry"]["level"] in {"error", "warning"}:
                self.problems.append(side["entry"]["text"])
