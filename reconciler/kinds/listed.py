"""What a listed kind is: mechanical answers are inherited, those to the questions of law are each kind's own."""

from abc import ABC

from reconciler.kafka.sent_kind import SentKind
from reconciler.manifest.write.written import WrittenKind
from reconciler.plan.kinds.listed import ListedKind as PlannedKind
from reconciler.show.kinds.listed import ReportedKind


class ListedKind(PlannedKind, ReportedKind, WrittenKind, SentKind, ABC):
    """One listed kind on every floor; mypy refuses one that leaves out what has no default."""
