"""Questions about the past: the state at a time, and since when and by whose doing a fact has held."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import AccessRequest
from reconciler.app.audit import read_logs
from reconciler.app.options import now
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.codec.annotated import record_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, OpaqueBinding, ResourceType
from reconciler.model.desired import instant_of, moment_text, read_moment
from reconciler.model.flavor import NEWEST_RELEASE
from reconciler.model.markers import BreakGlass
from reconciler.model.says import AnyText, Says
from reconciler.model.state import FactSource, StatedFacts
from reconciler.model.topic import Topic
from reconciler.parts.evidence.app.usage import Decisions, files_of, scanned
from reconciler.parts.evidence.usage.counts import NO_DAYS, DaySet, Lookup
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.fleet.store import DamagedError, FleetStore
from reconciler.parts.fleet.tables import binding_of, store_at
from reconciler.parts.history.evidence import ACLS, DEFAULT_ALLOW, STATED, acl_fact, state_of
from reconciler.parts.history.intervals import CLOCKS, Cause, Fact
from reconciler.parts.history.table import Choice, FactRow, TableCoverage, TableError, at_time, of_names, of_principal
from reconciler.parts.history.update import History, NoReadingError, history_of
from reconciler.results.access import PastState
from reconciler.results.audit import LogsError
from reconciler.results.fleet_drift import HeaderError, Reading


def text_of(time: int) -> str:
    """A time in seconds as records write it."""
    return moment_text(datetime.datetime.fromtimestamp(time, datetime.UTC))


def open_history(store: FleetStore, cluster: str, audit: Sequence[str]) -> History:
    """What is known of a cluster's past, with what is new in its sources; raises :class:`WorkflowError`."""
    try:
        return history_of(store, cluster, read_logs(audit), int(now().timestamp()))
    except NoReadingError as error:
        advice = "keep readings with `reconciler serve --store PLACE`, or `reconciler fleet snapshot --store PLACE`"
        raise RequestError(str(error), advice) from error
    except (DamagedError, TableError) as error:
        advice = (
            "put it back from a copy; you may also remove all of a cluster below intervals and sightings: it is "
            "derived again from the readings and logs that are there"
        )
        raise WorkflowError(f"the history cannot be read: {error}", advice) from error
    except (HeaderError, LogsError, OSError) as error:
        raise WorkflowError(f"the history cannot be read: {error}") from error


def read_past(place: str, cluster: str, at: datetime.datetime, audit: tuple[str, ...]) -> PastState:
    """The state of a cluster at a past time; what was perhaps there is in it as such.

    Raises :class:`RequestError` for a time before the first reading or after the last one.
    """
    store = store_at(place)
    history = open_history(store, cluster, audit)
    time, coverage = int(at.timestamp()), history.coverage
    check_covered(cluster, coverage, time)
    kinds = [kind for kind, (_, hi) in coverage.first.items() if hi <= time <= coverage.last[kind][0]]
    rows = [(row, row.interval.at(time)) for row in history.rows(at_time(time)) if row.fact[0] in kinds]
    certain = [row.fact for row, there in rows if there]
    perhaps = [row for row, there in rows if there is None]
    before, after = _readings(store, cluster, coverage, time)
    state = state_of(coverage.cluster_id, certain, kinds)
    if before is not None:
        state = replace(state, kafka_version=before.kafka_version, kafka_version_gap=before.kafka_version_gap)
    opaque = tuple(_perhaps(binding_of(row.fact[1:])) for row in perhaps if row.fact[0] == ACLS)
    unsure = [row.fact for row in perhaps if row.fact[0] == STATED]
    stated = _stated_then([*certain, *unsure]) if STATED in kinds else None
    basis = _STATED_THEN if stated is not None else _NOT_STATED
    return PastState(
        replace(state, opaque=opaque, stated=stated),
        " ".join([_basis(cluster, time, before, after), basis, *(f"{note}." for note in history.notes)]),
        tuple(_unknown(row) for row in sorted(perhaps, key=lambda row: row.fact[0] != STATED)),
        dict(_at_once(row, coverage.runs) for row, there in rows if there and _given(row, coverage.runs)),
        frozenset(key for _, key, value in unsure if key != DEFAULT_ALLOW),
        any(key == DEFAULT_ALLOW for _, key, _ in unsure),
    )


def _stated_then(facts: Iterable[Fact]) -> StatedFacts:
    """What was stated at a time; of several words of one fact, which only an unsure one has, a claim counts."""
    users: dict[str, FactSource] = {}
    allow, by = None, FactSource.NOBODY
    for kind, key, *values in facts:
        if kind == STATED and key == DEFAULT_ALLOW:
            word, _, source = values[0].partition(" ")
            allow, by = word == "true", FactSource(source)
        elif kind == STATED:
            source = FactSource(values[0])
            users[key] = source if source.is_claim else users.get(key, source)
    claimed = next((source for source in users.values() if source.is_claim), None)
    return StatedFacts(tuple(sorted(users)), claimed or next(iter(users.values()), FactSource.NOBODY), allow, by)


def _given(row: FactRow, runs: Mapping[str, Mapping[str, Any]]) -> bool:
    return row.fact[0] == ACLS and row.interval.began.sure and "breakGlass" in runs.get(row.interval.began.run, {})


def _at_once(row: FactRow, runs: Mapping[str, Mapping[str, Any]]) -> tuple[AclBinding, BreakGlass]:
    """What a run gave as break-glass access."""
    run, binding = runs[row.interval.began.run], binding_of(row.fact[1:])
    end = instant_of(read_moment(run["breakGlass"]))
    since = datetime.datetime.fromtimestamp(row.interval.began.at, datetime.UTC)
    return binding, BreakGlass(binding, end, binding, since, tuple(run["overrode"]))


def check_covered(cluster: str, coverage: TableCoverage, time: int) -> None:
    """Raise :class:`RequestError` where nothing is known of a time."""
    first, last = coverage.first.get(ACLS), coverage.last.get(ACLS)
    if first is None or last is None:
        raise RequestError(f"no reading of cluster {cluster} saw all of its ACLs")
    if time < first[1]:
        raise RequestError(
            f"{text_of(time)} is before the first evidence: the first reading of cluster {cluster} ended at "
            f"{text_of(first[1] - 1 - CLOCKS)}. As clocks may differ by a minute, answers begin at {text_of(first[1])}"
        )
    if time > now().timestamp():
        raise RequestError(f"{text_of(time)} is in the future: nobody knows what cluster {cluster} will have")
    if time > last[0]:
        raise RequestError(
            f"{text_of(time)} is after the last evidence: cluster {cluster} was read at {text_of(last[0] + CLOCKS)}",
            "take a reading, and ask again; or ask the cluster as it is now, without --store",
        )


def _perhaps(binding: AclBinding) -> OpaqueBinding:
    pattern, entry = binding
    codes = (int(pattern.resource_type), int(pattern.pattern_type), int(entry.operation), int(entry.permission_type))
    return OpaqueBinding(pattern.name, entry.principal, entry.host, *codes, perhaps=True)


def _readings(
    store: FleetStore, cluster: str, coverage: TableCoverage, time: int
) -> tuple[Reading | None, Reading | None]:
    """The readings that a time lies between, as far as the store still has them."""
    stamp = f"{datetime.datetime.fromtimestamp(time, datetime.UTC):%Y%m%dT%H%M%S}"
    ids = store.run_ids()
    before = _first(store, cluster, coverage, [run for run in reversed(ids) if run < stamp])
    return before, _first(store, cluster, coverage, [run for run in ids if run > stamp])


def _first(store: FleetStore, cluster: str, coverage: TableCoverage, ids: Iterable[str]) -> Reading | None:
    for run_id in ids:
        reading = store.run(run_id).reading(cluster)
        if reading is not None and reading.cluster_id == coverage.cluster_id:
            return reading
    return None


def _basis(cluster: str, time: int, before: Reading | None, after: Reading | None) -> str:
    """What an answer rests on, in sentences."""
    readings = [reading.taken for reading in (before, after) if reading is not None]
    rests = (
        f", from readings at {' and '.join(readings)}" if readings else ", from what was derived of earlier readings"
    )
    return (
        f"Cluster {cluster} at {text_of(time)}{rests}, and audit logs. A change that no run made and that was undone "
        "between two readings is not seen."
    )


_SETTING: Final = "allow.everyone.if.no.acl.found"
_STATED_THEN: Final = f"Super users and {_SETTING} are those stated then."
_NOT_STATED: Final = f"No reading of then has super users and {_SETTING}: those stated today are perhaps right."


def _unknown(row: FactRow) -> str:
    """Between which times it is not known whether something was there, and why, in a sentence."""
    interval = row.interval
    gained = interval.from_hi is not None and interval.from_lo is not None
    after, before = interval.unknown
    until = text_of(before) if before is not None else "the last reading"
    when = f"before {until}" if after is None else f"between {text_of(after)} and {until}"
    return f"Unknown: {describe(row.fact)}, changed {when}{_by(interval.began if gained else interval.ended)}."


def _by(cause: Cause) -> str:
    if not cause.run:
        return ", of which no run has a record"
    return f" by run {cause.run}" if cause.sure else f", perhaps by run {cause.run}"


def describe(fact: Fact) -> str:
    """A fact in words."""
    if fact[0] == ACLS:
        return str(binding_of(fact[1:]))
    if fact[0] == STATED:
        text = f"{_SETTING} =" if fact[1] == DEFAULT_ALLOW else f"{fact[1]} a super user,"
        return f"{text} {fact[2]}" if fact[1] == DEFAULT_ALLOW else f"{text} by the word of the {fact[2]}"
    if fact[0] == Topic.KIND:
        return f"topic {fact[1]} {fact[2]}"
    return f"{fact[0]} {fact[2]}"


# Since when, until when, by whose doing.


class Doing(StrEnum):
    """Whose doing a change was: a run's that an audit log names, or of no run that any log names."""

    RUN = "run"
    HAND = "hand"


@dataclass(frozen=True, slots=True)
class Turn:
    """The begin or the end of an interval: exactly, by a run, or between two times."""

    exactly: Annotated[
        str | None, Says("When a run's record says that it was; null: not known.", "2026-03-01T02:00:00Z")
    ]
    after: Annotated[str | None, Says("It was later than this; null: there is no evidence.", "2026-03-01T01:59:00Z")]
    before: Annotated[str | None, Says("It was earlier than this; null: there is no evidence.", "2026-03-01T02:06:01Z")]
    run: Annotated[str | None, Says("The run that did it; null: no run has a record of it.", "20260301T020000Z-0a1b")]
    sure: Annotated[bool, Says("Whether that run's step was done for certain.", True)]
    operator: Annotated[AnyText | None, Says("Who ran it.", "ci@build-7")] = None
    proposer: Annotated[AnyText | None, Says("The commit's author, unverified.", "bob@example.com")] = None
    approved_by: Annotated[tuple[AnyText, ...], Says("Who approved it, by verified signatures.")] = ()
    commit: Annotated[str | None, Says("The commit of the manifests.", "0123abc")] = None
    url: Annotated[AnyText | None, Says("Where the pipeline shows the run.", "https://ci.example.com/runs/17")] = None
    break_glass: Annotated[
        str | None, Says("Until when it was given as break-glass access; null: it was not.", "2026-03-01T03:00:00Z")
    ] = None
    overrode: Annotated[tuple[AnyText, ...], Says("The access tests that it was given over.")] = ()
    altered_by: Annotated[
        tuple[AnyText, ...],
        Says("Whom the brokers' logs show to have altered the cluster on these days, where no run did it."),
    ] = ()


@dataclass(frozen=True, slots=True)
class HeldFact:
    """A fact, and when it held; ``began`` is ``None`` where the first evidence has it, ``ended`` where the last has."""

    what: Annotated[AnyText, Says("What held.", "User:b ALLOW READ on TOPIC x")]
    began: Annotated[Turn | None, Says("When it began; null: it was there in the first evidence.")]
    ended: Annotated[Turn | None, Says("When it ended; null: it was there in the last evidence.")]
    ticket: Annotated[AnyText | None, Says("The ticket or the reason of its declaration; null: none.", "RISK-12")]
    last_used: Annotated[
        str | None, Says("The last day on which brokers' logs show an access that it allows.", "2026-03-28")
    ] = None
    use_known: Annotated[
        bool, Says("Whether logs were given, and it is an ALLOW: else nothing is known of its use.", True)
    ] = False


HELD: Final = record_of(HeldFact)


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """Which facts are meant: about a topic or a principal, changed ``since`` a time or still there, by whose doing."""

    topic: str | None = None
    principal: str | None = None
    since: datetime.datetime | None = None
    by: Doing | None = None

    def choice(self) -> Choice | None:
        """What may be meant, for the table to leave the rest unread."""
        if self.topic is not None:
            topic = self.topic
            return of_names(lambda name: name == "*" or topic.startswith(name))
        return None if self.principal is None else of_principal(self.principal)

    def selects(self, row: FactRow) -> bool:
        """Whether an interval is meant."""
        # Who edits the operator's file is neither a run nor a hand on the cluster.
        doing = self.by is None or (row.fact[0] != STATED and any(self._turns(row)))
        return doing and self._is_about(row.fact) and self._is_of_time(row)

    def _is_about(self, fact: Fact) -> bool:
        if fact[0] == ACLS:
            pattern, entry = binding_of(fact[1:])
            if self.principal is not None and entry.principal != self.principal:
                return False
            of_topic = pattern.resource_type is ResourceType.TOPIC
            return self.topic is None or (of_topic and pattern.matches(self.topic))
        if self.topic is not None:
            return fact[:2] == (Topic.KIND, self.topic) and self.principal is None
        return self.principal is None or (fact[0] != Topic.KIND and self.principal.partition(":")[2] in fact[1])

    def _is_of_time(self, row: FactRow) -> bool:
        end = row.interval.to_hi
        return self.since is None or end is None or end > int(self.since.timestamp())

    def _turns(self, row: FactRow) -> Iterator[bool]:
        """Of each change of the interval in the time that is meant, whether it is of whose doing is meant."""
        interval, since = row.interval, int(self.since.timestamp()) if self.since is not None else 0
        if interval.from_lo is not None and (interval.from_hi or interval.from_lo) > since:
            yield bool(interval.began.run) is (self.by is Doing.RUN)
        if interval.to_hi is not None or interval.is_open:
            yield bool(interval.ended.run) is (self.by is Doing.RUN)


@dataclass(frozen=True, slots=True)
class PastSources:
    """Where the past is known from: the store of readings, audit logs, and brokers' logs as ``usage`` reads them."""

    store: str
    audit: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()

    def accesses(self, cluster_id: str) -> "Accesses":
        """What was permitted and done on which days, as the brokers' logs say."""
        counted: Decisions = {}
        for file in files_of(self.logs):
            scanned(file, Window(), cluster_id, counted, by_day=True)
        accesses: dict[AccessRequest, DaySet] = {}
        for event, (_, days) in counted.items():
            if event.allowed and not event.asked_only:
                accesses[event.request] = accesses.get(event.request, NO_DAYS) | days
        return accesses


#: Requests that were permitted, and the days of each.
Accesses: TypeAlias = Mapping[AccessRequest, DaySet]


def _alterations(accesses: Accesses) -> "Alterations":
    """Who altered the cluster, by day."""
    by_principal: dict[str, set[str]] = {}
    for request, days in accesses.items():
        if request.operation is AclOperation.ALTER and request.resource_type is ResourceType.CLUSTER:
            by_principal.setdefault(request.principal, set()).update(day.isoformat() for day in days.each())
    return by_principal


def _uses(accesses: Accesses, rows: Iterable[FactRow]) -> Mapping[AclBinding, DaySet]:
    """The days on which accesses were permitted that an ALLOW allows, by itself or beside others."""
    bindings = {binding_of(row.fact[1:]) for row in rows if row.fact[0] == ACLS}
    allows = {binding for binding in bindings if binding.entry.permission_type is AclPermissionType.ALLOW}
    lookup, uses = Lookup(allows, NEWEST_RELEASE), dict.fromkeys(allows, NO_DAYS)
    for request, days in accesses.items():
        for binding in lookup.applying(request):
            uses[binding] |= days
    return uses


#: Principals, and the days on which they did something.
Alterations: TypeAlias = dict[str, set[str]]


def ask_history(
    sources: PastSources, cluster: str, question: HistoryQuestion
) -> tuple[tuple[HeldFact, ...], str, tuple[str, ...]]:
    """When what is meant held, what that rests on, and what is to be said of the sources."""
    if question.since is not None and question.since > now():
        raise RequestError(f"{moment_text(question.since)} is in the future: nothing has changed since then")
    history = open_history(store_at(sources.store), cluster, sources.audit)
    accesses = sources.accesses(history.coverage.cluster_id)
    first, last = history.coverage.first.get(ACLS), history.coverage.last.get(ACLS)
    chosen = filter(question.selects, history.rows(question.choice()))
    rows = sorted(chosen, key=lambda row: (row.interval.from_lo or 0, describe(row.fact)))
    whose = _Whose(history.coverage.runs, _alterations(accesses), _uses(accesses, rows) if sources.logs else None)
    basis = (
        f"Cluster {cluster}, from its first reading at {text_of(first[0] + CLOCKS)} through the last one at "
        f"{text_of(last[0] + CLOCKS)}."
        if first is not None and last is not None
        else f"Cluster {cluster}: no reading saw all of its ACLs."
    )
    return tuple(_held(row, whose) for row in rows), basis, tuple(history.notes)


class KnownPast(NamedTuple):
    """When ACLs of a cluster were there, and the days on which brokers' logs show that anything was permitted."""

    cluster_id: str
    held: tuple[HeldFact, ...] = ()
    logged: frozenset[datetime.date] = frozenset()


def since_when(sources: PastSources, cluster: str, bindings: Collection[AclBinding]) -> KnownPast:
    """When ACLs came and went, the last time of each; of one that no reading has seen, nothing."""
    history = open_history(store_at(sources.store), cluster, sources.audit)
    accesses, wanted = sources.accesses(history.coverage.cluster_id), set(map(acl_fact, bindings))
    newest: dict[Fact, FactRow] = {}
    for row in history.rows():
        if row.fact in wanted and (
            row.fact not in newest or (row.interval.from_lo or 0) > (newest[row.fact].interval.from_lo or 0)
        ):
            newest[row.fact] = row
    uses = _uses(accesses, newest.values()) if sources.logs else None
    whose = _Whose(history.coverage.runs, _alterations(accesses), uses)
    logged = frozenset(day for days in accesses.values() for day in days.each())
    held = tuple(_held(row, whose) for _, row in sorted(newest.items(), key=repr))
    return KnownPast(history.coverage.cluster_id, held, logged)


class _Whose(NamedTuple):
    """Whose the runs are, who altered the cluster on which days, and when ALLOWs were used; ``None``: nobody asked."""

    runs: Mapping[str, Mapping[str, Any]]
    alterations: Alterations
    uses: Mapping[AclBinding, DaySet] | None = None


def _held(row: FactRow, whose: _Whose) -> HeldFact:
    interval = row.interval
    began = None if interval.from_lo is None else _turn(interval.began, (interval.from_lo, interval.from_hi), whose)
    stays = interval.to_hi is None and not interval.is_open
    ended = None if stays else _turn(interval.ended, (interval.to_lo, interval.to_hi), whose)
    return HeldFact(describe(row.fact), began, ended, row.ticket or None, *_last_used(row, whose.uses))


def _last_used(row: FactRow, uses: Mapping[AclBinding, DaySet] | None) -> tuple[str | None, bool]:
    """The last day of use while it was there, or perhaps was; and whether logs were asked about it."""
    days = uses.get(binding_of(row.fact[1:])) if uses is not None and row.fact[0] == ACLS else None
    if days is None:
        return None, False
    begin, end = text_of(row.interval.from_lo or 0)[:10], text_of(row.interval.to_hi or 253402300799)[:10]
    within = [day for date in days.each() if begin <= (day := date.isoformat()) <= end]
    return within[-1] if within else None, True


def _turn(cause: Cause, between: tuple[int | None, int | None], of: _Whose) -> Turn:
    whose = of.runs.get(cause.run, {})
    after, before = (text_of(time) if time is not None else None for time in between)
    # The run's own line was written when the answer came; what it found, and left, is known to the width of clocks.
    exactly = text_of(cause.at) if cause.sure else None
    return Turn(
        exactly,
        after,
        before,
        cause.run or None,
        cause.sure,
        whose.get("operator"),
        whose.get("proposer"),
        tuple(whose.get("approvedBy", ())),
        whose.get("commit"),
        whose.get("url"),
        whose.get("breakGlass"),
        tuple(whose.get("overrode", ())),
        () if cause.run else _altered(of.alterations, after, before),
    )


def _altered(alterations: Alterations, after: str | None, before: str | None) -> tuple[str, ...]:
    """Who altered the cluster on a day from one time through another."""
    first, last = (after or "")[:10], (before or "9999")[:10]
    return tuple(sorted(who for who, days in alterations.items() if any(first <= day <= last for day in days)))
