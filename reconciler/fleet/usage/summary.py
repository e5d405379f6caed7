"""A summary of reading a cluster's logs: how much there was, and what could not be read."""

from typing import NamedTuple

from reconciler.fleet.usage.counts import UnreadableLines
from reconciler.fleet.usage.event import UnreadableReason
from reconciler.fleet.usage.scan import Scan


class Summary(NamedTuple):
    """Counts of lines; ``foreign`` lines are about another cluster. ``broken`` says where and why reading a file ended.

    ``days`` are the days with decisions, each with whether something was permitted; ``by_file`` are those of each file,
    whatever cluster they are about.
    """

    lines: int = 0
    other: int = 0
    outside: int = 0
    foreign: int = 0
    lost: tuple[tuple[UnreadableReason, UnreadableLines], ...] = ()
    days: frozenset[tuple[str, bool]] = frozenset()
    by_file: tuple[tuple[str, frozenset[tuple[str, bool]]], ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """How many files were read."""
        return len(self.by_file)

    @property
    def unread(self) -> int:
        """How many lines may contain a decision and could not be read."""
        return sum(lost.lines for _, lost in self.lost)

    @property
    def whole(self) -> bool:
        """Whether everything could be read."""
        return not self.unread and not self.broken

    def __add__(self, other: object) -> "Summary":
        """Both together."""
        if not isinstance(other, Summary):
            return NotImplemented
        by_file = dict(self.by_file)
        for file, days in other.by_file:
            by_file[file] = by_file.get(file, frozenset()) | days
        lost = dict(self.lost)
        for reason, more in other.lost:
            lost[reason] = lost.get(reason, UnreadableLines()) + more
        return Summary(
            self.lines + other.lines,
            self.other + other.other,
            self.outside + other.outside,
            self.foreign + other.foreign,
            tuple(sorted(lost.items())),
            self.days | other.days,
            tuple(sorted(by_file.items())),
            tuple(sorted({*self.broken, *other.broken})),
        )


def summary_of(scan: Scan, file: str, broken: str = "") -> Summary:
    """The summary of one scan of a file; without days, which a scan keeps by cluster."""
    return Summary(
        scan.lines,
        scan.other,
        scan.outside,
        lost=tuple(sorted(scan.lost.items())),
        by_file=((file, frozenset(day for days in scan.days.values() for day in days)),),
        broken=(broken,) if broken else (),
    )
