"""What authorizer logs show: used bindings, repeated denials, and accesses that a change would affect.

Bytes and bindings in, values out; ``adapters.spark`` finds and opens log files and distributes them to tasks.
"""

from reconciler.fleet.usage.binding_use import BindingUse, BindingUses
from reconciler.fleet.usage.clock import Window
from reconciler.fleet.usage.cluster import (
    NOTHING_CLAIMED,
    ClaimedUsageFacts,
    ClusterUsage,
    UnexpectedDecision,
    UsageAnalysis,
    UsageQuestion,
)
from reconciler.fleet.usage.counts import EventCount, UnreadableLines
from reconciler.fleet.usage.coverage import Coverage
from reconciler.fleet.usage.denials import Denial, DeniedAccess
from reconciler.fleet.usage.event import Event, LoggedReason, ParsedLine, UnreadableReason
from reconciler.fleet.usage.line import decisions_in
from reconciler.fleet.usage.message import ReadMessage, parse_message
from reconciler.fleet.usage.replay import ReplayedAccess, ReplayResult
from reconciler.fleet.usage.scan import MAX_LINE, Scan
from reconciler.fleet.usage.summary import Summary, summary_of

__all__ = [
    "MAX_LINE",
    "NOTHING_CLAIMED",
    "BindingUse",
    "BindingUses",
    "ClaimedUsageFacts",
    "ClusterUsage",
    "Coverage",
    "Denial",
    "DeniedAccess",
    "Event",
    "EventCount",
    "LoggedReason",
    "ParsedLine",
    "ReadMessage",
    "ReplayResult",
    "ReplayedAccess",
    "Scan",
    "Summary",
    "UnexpectedDecision",
    "UnreadableLines",
    "UnreadableReason",
    "UsageAnalysis",
    "UsageQuestion",
    "Window",
    "decisions_in",
    "parse_message",
    "summary_of",
]
