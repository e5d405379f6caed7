"""What runs have left, or still use, on a cluster: said with its age wherever a cluster is read."""

import datetime
from typing import TYPE_CHECKING

from reconciler.cli.console import tell
from reconciler.report.paint import counted, safe

if TYPE_CHECKING:
    from reconciler.apply.cleanup import Leftover
    from reconciler.model import ClusterState


def tell_leftovers(live: "ClusterState") -> None:
    """A line on stderr for each run whose sentinels, bridges or lease stand; none of it is part of any answer."""
    from reconciler.model import is_reserved

    if not any(is_reserved(binding.pattern.name) for binding in live.bindings):
        return
    from reconciler.apply.cleanup import leftovers

    for leftover in leftovers(live):
        tell(f"left out: {described(leftover)}; if that run is over, “reconciler cleanup” removes it")


def described(leftover: "Leftover") -> str:
    """``2 bridges and 3 other bindings of run R, begun 2 h ago``."""
    parts = [counted(len(leftover.bridges), "bridge")] if leftover.bridges else []
    parts.append(counted(len(leftover.bindings), "binding") + " on reserved names")
    return f"{' and '.join(parts)} of run {safe(leftover.run)}{age(leftover)}"


def age(leftover: "Leftover") -> str:
    """``, begun 2 h ago``; nothing where the run's name does not tell."""
    began = leftover.began()
    if began is None:
        return ""
    seconds = (datetime.datetime.now(datetime.UTC) - began).total_seconds()
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f", begun {seconds / size:.0f} {unit} ago"
    return f", begun {max(0.0, seconds):.0f} s ago"
