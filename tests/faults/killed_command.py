"""A command line that kills itself: ``python -m tests.faults.killed_command PLACE NUMBER WORD…``.

A place is before or after a request that changes a cluster; nobody has heard its answer then. PLACE is a word in the
names of those that are counted, from 0; an empty one counts them all.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from reconciler.kafka.cluster import KafkaCluster
from reconciler.kafka.kinds import ListedKind
from tests.prepared import prepared


def killed(place: str, number: int, *words: str) -> int:
    """How a command line ended; -9 if it came by the place with that number."""
    return prepared().run("tests.faults.killed_command", place, str(number), *words)


class _Places:
    def __init__(self, place: str, number: int) -> None:
        self._place, self._left = place, number

    def come_by(self, name: str) -> None:
        if self._place in name:
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1

    def around(self, owner: type, method: str, name: str) -> None:
        """Every call is two places."""
        inner: Callable[..., Any] = getattr(owner, method)

        def called(*arguments: Any, **named: Any) -> Any:
            self.come_by(f"before {name}")
            found = inner(*arguments, **named)
            self.come_by(f"after {name}")
            return found

        setattr(owner, method, called)


def main(place: str, number: str, *words: str) -> None:
    """Run the command line up to that place; one that has fewer places ends by itself."""
    from reconciler.cli.main import run

    places = _Places(place, int(number))
    # ``begin`` sends and lets the answer wait, ``requested`` is each request that one step is sent as.
    places.around(KafkaCluster, "send", "changes")
    places.around(KafkaCluster, "begin", "changes")
    places.around(KafkaCluster, "set_replication_rates", "rates")
    places.around(KafkaCluster, "cancel_reassignments", "cancellation")
    places.around(ListedKind, "requested", "part")
    sys.exit(run(list(words)))


if __name__ == "__main__":
    main(*sys.argv[1:])
