"""What authorizer logs show: bindings that were used, refusals that repeat, accesses that a change would touch.

Pure: bytes and bindings in, values out. Finding, opening and sharing out log files is ``adapters.spark``'s.
"""

from reconciler.fleet.usage.bindings_used import Standing, Uses
from reconciler.fleet.usage.clock import Window
from reconciler.fleet.usage.cluster import ClusterUsage, Judge, Odd, Question
from reconciler.fleet.usage.coverage import Coverage
from reconciler.fleet.usage.denials import Denial, Refused
from reconciler.fleet.usage.event import Event, Ground, Read, Unread
from reconciler.fleet.usage.line import parse_line
from reconciler.fleet.usage.message import parse_message
from reconciler.fleet.usage.replay import Replay, Replayed
from reconciler.fleet.usage.scan import MAX_LINE, Scan
from reconciler.fleet.usage.summary import Summary, summary_of
from reconciler.fleet.usage.tally import Lost, Tally

__all__ = [
    "MAX_LINE",
    "ClusterUsage",
    "Coverage",
    "Denial",
    "Event",
    "Ground",
    "Judge",
    "Lost",
    "Odd",
    "Question",
    "Read",
    "Refused",
    "Replay",
    "Replayed",
    "Scan",
    "Standing",
    "Summary",
    "Tally",
    "Unread",
    "Uses",
    "Window",
    "parse_line",
    "parse_message",
    "summary_of",
]
