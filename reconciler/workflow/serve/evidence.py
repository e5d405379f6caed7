"""Which break-glass access a server may end: a mark alone proves nothing, for whoever may alter ACLs can write one.

It ends what was given by a run that wrote to the audit log of this server, and what a server has seen as break-glass
access before its end, or its mark before the access. Access that had been there without a mark is not ended, whatever
mark comes to it. Between two readings access may be given and be over: that counts, because it was not there before.
"""

import datetime
from collections.abc import Collection, Iterator
from dataclasses import field
from enum import StrEnum
from typing import Final

from reconciler.adapters.audit_log import LogTail
from reconciler.apply.audit_records import AUDIT
from reconciler.apply.command_records import BreakGlassRecord, Sight
from reconciler.codec import SchemaError
from reconciler.dataclass import dataclass
from reconciler.model import (
    AclBinding,
    BreakGlass,
    ClusterState,
    break_glass,
    break_glass_over,
    read_break_glass,
    running_break_glass,
)
from reconciler.model.break_glass import LONGEST

#: By so much the clocks of two machines may differ.
_GRACE: Final = datetime.timedelta(minutes=1)


class _Belief(StrEnum):
    """What is known of access with a mark. ``UNSEEN``: it was over when it was first seen."""

    GIVEN = "given"
    DOUBTED = "doubted"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is new, for the audit log."""

    sight: Sight
    access: BreakGlass


@dataclass(slots=True)
class SeenMarks:
    """What was seen of one cluster, reading by reading, and what the audit log says of it."""

    _beliefs: dict[AclBinding, _Belief] = field(default_factory=dict)
    #: Of the bindings in the last reading, for a server has 100,000 of them.
    _before: frozenset[int] | None = None
    _before_at: datetime.datetime = datetime.datetime.max.replace(tzinfo=datetime.UTC)
    _log: LogTail | None = None
    #: When access was said to be given or seen, and its end then.
    _given: dict[AclBinding, list[tuple[datetime.datetime, datetime.datetime]]] = field(default_factory=dict)
    _doubted: set[tuple[AclBinding, datetime.datetime]] = field(default_factory=set)

    def look(self, live: ClusterState, at: datetime.datetime, audit: str | None) -> list[Sighting]:
        """Take in a reading of ``at``, which is a time that is believed; what is news is returned."""
        self._read_log(audit, live.cluster_id)
        marks = [one for one in map(read_break_glass, live.bindings) if one is not None]
        marked = {one.binding for one in marks}
        for binding, belief in list(self._beliefs.items()):
            # What was given may arrive once more; of anything else nothing is left.
            if binding not in marked or (belief is not _Belief.GIVEN and binding not in live.bindings):
                del self._beliefs[binding]
        running, found = running_break_glass(live.bindings, at), []
        for binding, one in break_glass(live.bindings, at).items():
            before = self._beliefs.get(binding)
            if before is not None and not (before is _Belief.UNSEEN and binding in running):
                continue
            belief, known = self._belief(one, running=binding in running, unseen=before is _Belief.UNSEEN)
            self._beliefs[binding] = belief
            if not known and belief is not _Belief.UNSEEN:
                found.append(Sighting(Sight.SEEN if belief is _Belief.GIVEN else Sight.DOUBTED, one))
        for one in marks:
            # The mark came first, as it does in every run of ours: its access may arrive at any time.
            if one.binding not in live.bindings and at < one.end <= at + LONGEST and one.binding not in self._beliefs:
                self._beliefs[one.binding] = _Belief.GIVEN
                found.append(Sighting(Sight.SEEN, one))
        # Marks that do not count yet mark all the same: their access did not go without.
        for binding in (marked & live.bindings) - self._beliefs.keys():
            self._beliefs[binding] = _Belief.UNSEEN
        self._before, self._before_at = frozenset(map(hash, live.bindings)), at
        return found

    def vouched(self, live: ClusterState, at: datetime.datetime) -> frozenset[AclBinding]:
        """The access that is over, and that was given as break-glass access as far as anybody here knows."""
        over = break_glass_over(live.bindings, at)
        return frozenset(binding for binding in over if self._beliefs.get(binding) is _Belief.GIVEN)

    def _belief(self, one: BreakGlass, *, running: bool, unseen: bool) -> tuple[_Belief, bool]:
        """What to believe of access that is new here, and whether the audit log says so."""
        said = self._given.get(one.binding, ())
        if any(since - _GRACE <= one.end <= end + LONGEST for since, end in said):
            return _Belief.GIVEN, True
        if (one.binding, one.end) in self._doubted:
            return _Belief.DOUBTED, True
        was_there = self._before is not None and hash(one.binding) in self._before
        if was_there and not unseen:
            return _Belief.DOUBTED, False
        if running or (self._before is not None and not was_there and one.end > self._before_at):
            return _Belief.GIVEN, False
        return _Belief.UNSEEN, False

    def _read_log(self, audit: str | None, cluster_id: str) -> None:
        if audit is None:
            return
        if self._log is None:
            self._log = LogTail(audit)
        for said in _said(self._log, cluster_id):
            end = datetime.datetime.fromisoformat(said.end)
            for binding in said.bindings:
                if said.action is Sight.DOUBTED:
                    self._doubted.add((binding, end))
                else:
                    since = datetime.datetime.fromisoformat(said.time)
                    self._given.setdefault(binding, []).append((since, end))


def _said(log: LogTail, cluster_id: str) -> Iterator[BreakGlassRecord]:
    for record in log.records({"break-glass"}):
        try:
            content = AUDIT.read(record).content
        except (SchemaError, ValueError):
            continue
        if isinstance(content, BreakGlassRecord) and content.about.cluster.id == cluster_id:
            yield content


def unended(
    over: Collection[AclBinding], vouched: Collection[AclBinding], declared: Collection[AclBinding]
) -> dict[str, int]:
    """How many of the break-glass bindings that are over stay, by the reason."""
    found: dict[str, int] = {}
    for binding in over:
        if binding in declared:
            why = "break-glass access is over, but the manifests declare it: apply them, or revoke it by an edit"
        elif binding not in vouched:
            why = (
                "nobody here saw its break-glass mark before the end, which anybody who may alter ACLs can write: "
                "revoke it at once by hand if it has to go"
            )
        else:
            continue
        found[why] = found.get(why, 0) + 1
    return found
