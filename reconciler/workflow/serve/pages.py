"""What a server answers over HTTP: its metrics, whether it is alive and up to date, and pages for people."""

import datetime
import threading
from dataclasses import field
from typing import Final
from urllib.parse import unquote

from reconciler import __version__
from reconciler.adapters.status_server import StatusAnswer
from reconciler.dataclass import dataclass
from reconciler.report.page import page
from reconciler.report.page.rounds import rounds_page
from reconciler.report.rounds import RoundHistory
from reconciler.workflow.options import now

_CLUSTERS: Final = "/clusters/"
_TEXT: Final = "text/plain"
_NOT_FOUND: Final = StatusAnswer(
    404, _TEXT, "there are /, /clusters/NAME, /metrics, /healthz, /readyz and POST /reload\n"
)


@dataclass(frozen=True, slots=True)
class ServePages:
    """The answers from what rounds left; ``wake`` begins a round, ``most`` is how old a reading may be."""

    history: RoundHistory
    wake: threading.Event
    most: datetime.timedelta
    #: However many ask at a time, one page is made at a time, so that rounds get their share of this process.
    making: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str) -> StatusAnswer:
        """See :class:`StatusPages`. The webhook needs no secret: all that it does is to look sooner."""
        if method == "POST":
            if path != "/reload":
                return _NOT_FOUND
            self.wake.set()
            return StatusAnswer(202, _TEXT, "a round begins\n")
        match path:
            case "/healthz":
                return StatusAnswer(200, _TEXT, "alive\n")
            case "/readyz":
                late = self._late()
                return StatusAnswer(503, _TEXT, f"not read lately: {', '.join(late)}\n") if late else _READY
            case "/metrics":
                return StatusAnswer(200, "text/plain; version=0.0.4", self.history.metrics())
            case "/":
                with self.making:
                    return _page(rounds_page(self.history, __version__, now(), self._late()))
            case _ if path.startswith(_CLUSTERS):
                return self._cluster(unquote(path.removeprefix(_CLUSTERS)))
        return _NOT_FOUND

    def _cluster(self, name: str) -> StatusAnswer:
        read = self.history.read.get(name)
        if read is None:
            return _NOT_FOUND
        with self.making:
            return _page(page(self.history.report([name]), __version__, read.began))

    def _late(self) -> tuple[str, ...]:
        return self.history.late(now(), self.most)


_READY: Final = StatusAnswer(200, _TEXT, "ready\n")


def _page(text: str) -> StatusAnswer:
    return StatusAnswer(200, "text/html", text, own_policy=True)
