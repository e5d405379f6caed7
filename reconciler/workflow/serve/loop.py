"""Rounds, one after another, until somebody stops them."""

import datetime
import threading
from collections.abc import Callable, Sequence
from typing import Final

from reconciler.adapters.memory import give_back
from reconciler.dataclass import dataclass
from reconciler.ports import Clock
from reconciler.report.rounds import ApprovedStatus, Round, RoundHistory
from reconciler.workflow.attendant import Attendant
from reconciler.workflow.options import ConnectionOptions, now
from reconciler.workflow.serve.rounds import ServeOptions, run_round
from reconciler.workflow.serve.source import ManifestSource

#: Seconds after the first round that fails; each further failure doubles them, up to the interval.
_FIRST_RETRY: Final = 5.0
#: Wall clock against monotonic clock, in seconds: by more than this, somebody has set the clock.
_CLOCK_SET: Final = 60.0
#: Nobody waits for less: a clock that is a little early must not make a round too soon for what it is to see.
_SHORTEST: Final = 0.2
#: Seconds from the beginning of a round to the next that somebody wants sooner: calls of the webhook, however many,
#: must not keep brokers busy.
_SOONEST: Final = 5.0


@dataclass(slots=True)
class ClockWatch:
    """Finds that this machine's clock was set between two rounds.

    Set forwards, it would end access too early; set back, too late. One round looks only, and says so; by the next one
    the clock has proved to be the one that everybody goes by, or is set right again.
    """

    clock: Clock
    _offset: float | None = None

    def doubt(self, at: datetime.datetime) -> str | None:
        """Why the time is not believed in this round."""
        offset = at.timestamp() - self.clock.monotonic()
        before, self._offset = self._offset, offset
        if before is None or abs(offset - before) <= _CLOCK_SET:
            return None
        way = "forwards" if offset > before else "back"
        return f"this machine's clock was set {way} by {abs(offset - before):.0f} s since the last round"


@dataclass(slots=True)
class ServeLoop:
    """Where manifests come from, what is done on which clusters, and how often; ``history`` keeps what was seen."""

    source: ManifestSource
    options: Sequence[ServeOptions]
    connection: ConnectionOptions
    attendant: Attendant
    clock: Clock
    history: RoundHistory
    interval: float
    on_round: Callable[[Round], None] = lambda _: None

    def run(self, stopped: Callable[[], bool], wake: threading.Event) -> None:
        """Run rounds until ``stopped``; setting ``wake`` begins the next one, or the end, at once."""
        watch = ClockWatch(self.clock)
        failures, again = 0, False
        while not stopped():
            wake.clear()
            began = self.clock.monotonic()
            doubt = watch.doubt(now())
            found = []
            for one in self.options:
                if stopped():
                    return
                done = run_round(self.source, one, self.connection, self.attendant, clock_doubt=doubt)
                self.history.add(done)
                self.on_round(done)
                found.append(done)
            failures = failures + 1 if any(one.failure or one.held_back for one in found) else 0
            give_back()
            # What a round did is in no reading yet: look again, so that pages and metrics show how it ended. Once, for
            # another tool may put back what goes, again and again.
            again = not again and any(_acted(one) for one in found)
            if wake.wait(_SHORTEST if again else self._pause(found, failures)):
                while not stopped() and self.clock.monotonic() < began + _SOONEST:
                    self.clock.sleep(_SHORTEST)

    def _pause(self, found: Sequence[Round], failures: int) -> float:
        """Seconds to the next round: the interval, or sooner where access ends, or where something failed."""
        pause = self.interval
        if failures:
            # A little at random, so that servers that a broker threw out together do not come back together.
            pause = min(pause, _FIRST_RETRY * 2 ** min(failures - 1, 16)) * (0.8 + 0.4 * self.clock.jitter())
        ends = [one.next_end for one in found if one.next_end is not None]
        if ends:
            pause = min(pause, (min(ends) - now()).total_seconds() + _SHORTEST)
        return max(_SHORTEST, pause)


def _acted(found: Round) -> bool:
    performed = any(one.status is ApprovedStatus.PERFORMED for one in found.approved)
    return bool(found.revoked or found.removed or performed)
