"""What librdkafka's log says about a failure: which broker it was waiting for, and what went wrong there.

An admin future that ran into its timeout says nothing of either. The log does, a moment later, because requests in
flight are looked at once a second (``rd_kafka_broker_timeout_scan``).
"""

import logging
import re
from collections.abc import Callable
from typing import Final

#: syslog's level of information, at which librdkafka tells of connections that brokers close.
LEVEL: Final = 6
_CLOSED: Final = re.compile(r"FAIL .*: Disconnected: ")
_UNREACHABLE: Final = re.compile(r"(?P<who>broker \d+ at \S+): Connect to ")
_TIMEOUT: Final = "REQTMOUT"
#: ``protocol://host:port/1: text``, or ``/bootstrap`` for an address that is no known broker's yet.
_BROKER: Final = re.compile(r"^(?:\w+://)?(?P<address>\S+:\d+)/(?P<broker>\d+|bootstrap): ")


class ClientLog(logging.Handler):
    """Keeps the ``last`` line about a failure and the last about a request that ``timed_out``; empty without one.

    ``lost`` is the last known broker to which no connection can be made, as people name it.
    ``closed`` is the last about a connection that a broker closed, which many do to connections that nobody uses: it
    explains something only where no broker ever answered.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Keep none yet; ``tell`` is told of every line once."""
        super().__init__()
        self.last = self.timed_out = self.closed = self.lost = ""
        self._tell, self._told = tell, set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line: an error, or the timeout of a request. Other warnings are about settings."""
        message = record.getMessage()
        line = broker_words(message.rpartition("]: ")[2])  # after the thread's name
        words = line.partition(" (after ")[0]
        if words not in self._told:  # the client tries again and again, each time after other milliseconds
            self._told.add(words)
            self._tell(line)
        if message.startswith(_TIMEOUT):
            self.last = self.timed_out = line
        elif record.levelno >= logging.ERROR:
            self.last = line
            self.lost = _lost(line) or self.lost
        elif _CLOSED.match(message):
            self.closed = line


def _lost(line: str) -> str:
    """``broker 2 at host:9092`` of a line that says that it cannot be reached; empty for every other line."""
    found = _UNREACHABLE.match(line)
    return found["who"] if found else ""


def broker_words(line: str) -> str:
    """A line of the log that begins with the broker as people name it: ``broker 1 at host:9092: Connect to …``."""
    found = _BROKER.match(line)
    if found is None:
        return line
    address, broker = found["address"], found["broker"]
    who = f"bootstrap server {address}" if broker == "bootstrap" else f"broker {broker} at {address}"
    return f"{who}: {line[found.end() :]}"
