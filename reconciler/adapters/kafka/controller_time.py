"""The time of the active controller, as a clock that is not ours."""

import datetime

from reconciler.adapters.kafka.listing import ask
from reconciler.adapters.kafka.settings import ClientSettings


def controller_time(settings: ClientSettings) -> datetime.datetime | None:
    """What the clock of the active controller shows now; ``None`` where nobody tells."""
    match ask(settings, "quorum.time"):
        case ("time", int(milliseconds)) if milliseconds > 0:
            return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
        case _:
            return None
