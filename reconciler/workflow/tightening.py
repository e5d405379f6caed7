"""Least privilege from evidence: what the logs show unused becomes an edit of the manifests, proven before it is shown.

Nothing here decides whether the edit may be merged, and nothing is written. One cluster at a time.
"""

import datetime
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeAlias

from reconciler.access import Authorizer
from reconciler.dataclass import dataclass
from reconciler.edit import Book
from reconciler.edit.pages import read
from reconciler.edit.rights import DeclaredRight, declared_rights
from reconciler.fleet.tighten import (
    GrantedRight,
    Held,
    HeldReason,
    Narrowing,
    Period,
    Proven,
    Thresholds,
    UsageEvidence,
    prove,
    suggest,
    thin_evidence,
)
from reconciler.fleet.tighten.evidence import period_of
from reconciler.fleet.tighten.suggestion import Hold
from reconciler.fleet.usage import Summary, Window
from reconciler.manifest import ClusterDeclaration, Manifests
from reconciler.model import AclBinding, AclPermissionType, Declaration, DesiredState
from reconciler.model.expiry import Expiry, instant_of
from reconciler.report.access_view import AccessView
from reconciler.report.claim_results import ClaimStatus
from reconciler.workflow.access_checks import decide_tests
from reconciler.workflow.declared_then import declared_then
from reconciler.workflow.editing import EditRefusedError, ManifestEdit, edit, texts_of
from reconciler.workflow.manifests import sound
from reconciler.workflow.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.workflow.reasons import RequestError
from reconciler.workflow.states import AccessState, declared_access, live_access, with_desired
from reconciler.workflow.usage_evidence import Decisions, files_of, scanned, unclaimed

_OWNER: Final = "owner"
_FOREVER: Final = Expiry(datetime.date.max)


@dataclass(frozen=True, slots=True)
class TightenOptions:
    """Which days of the logs count, the bounds, and whether rules of unknown age may be narrowed."""

    window: Window = field(default_factory=Window)
    bounds: Thresholds = field(default_factory=Thresholds)
    any_age: bool = False


DEFAULTS: Final = TightenOptions()


@dataclass(frozen=True, slots=True)
class Tightening:
    """What to narrow, what is held and why, and the edit; ``thin`` says why nothing is proposed at all.

    ``decisions`` counts permitted accesses, ``places`` where each right is declared.
    """

    view: AccessView
    period: Period
    summary: Summary
    edit: ManifestEdit
    decisions: int = 0
    thin: tuple[str, ...] = ()
    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()
    replayed: int = 0
    places: Mapping[AclBinding, Declaration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TightenBase:
    """The state from which rights are taken; ``authorizer`` does without facts that only the manifests state."""

    view: AccessView
    authorizer: Authorizer
    manifests: Manifests
    declaration: ClusterDeclaration
    desired: DesiredState
    book: Book
    rights: tuple[GrantedRight, ...]
    owned: frozenset[AclBinding]
    cluster_id: str = ""
    live: bool = False


def tighten(
    request: StateRequest,
    logs: Sequence[str],
    options: TightenOptions = DEFAULTS,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Tightening:
    """What the logs of a cluster's brokers show unused among the rights that the manifests declare for it.

    Rights are those of the declared state, or with a cluster in ``request`` of the cluster with everything in scope as
    declared. Raises a :class:`WorkflowError`, also where the proven proposal cannot be written.
    """
    return proposed(state_of(request, connection, tell), request, logs, options, connection)


def proposed(
    base: TightenBase,
    request: StateRequest,
    logs: Sequence[str],
    options: TightenOptions,
    connection: ConnectionOptions,
    only: Callable[[Narrowing], bool] = lambda _: True,
) -> Tightening:
    """The same for a state that is known; of what is suggested, ``only`` some."""
    place = request.path or connection.default_path
    evidence, summary = gathered(base, logs, options.window)
    thin = tuple(thin_evidence(evidence.period, summary, options.bounds, day_of(request)))
    none = ManifestEdit(place, texts_of(base.manifests))
    found = Tightening(
        base.view, evidence.period, summary, none, decisions(evidence), thin, places=base.desired.bindings
    )
    if thin:
        return found
    hold = holder(base, place, evidence.period, options, connection)
    holds = tests_hold(base, request.at)
    rights, broken = base.rights, frozenset[_Use]()
    while True:
        suggested = suggest(rights, evidence, options.bounds, hold)
        proven = prove(base.authorizer, filter(only, suggested.narrowings), evidence, holds)
        made = edited(base, place, proven, request.at, connection)
        more = _broken(base, rights, proven, made)
        if not more:
            break
        # What is written as a role no more is judged right by right, as it would be the next time.
        broken |= more
        rights = tuple(one._replace(role_use=None) if _use(one) in broken else one for one in base.rights)
    held = tuple(sorted({*suggested.held, *proven.held}))
    return replace(found, edit=made, narrowings=proven.narrowings, held=held, replayed=proven.replayed)


#: One use of a role, and the principal.
_Use: TypeAlias = tuple[Hashable, str]


def _use(right: GrantedRight) -> _Use:
    return right.role_use, right.binding.entry.principal


def _broken(base: TightenBase, rights: Sequence[GrantedRight], proven: Proven, made: ManifestEdit) -> frozenset[_Use]:
    """The uses of roles of which an edit writes something as plain rules."""
    if not made.files:
        return frozenset()
    texts = {path: text for path, text in {**texts_of(base.manifests), **made.files}.items() if text is not None}
    after = {one.binding for one in _rights([*declared_rights(read(texts), base.declaration.name)]) if not one.role_use}
    plain = {one.binding for one in rights if one.role_use is None}
    into = {narrowing.bindings: narrowing.into for narrowing in proven.narrowings}
    gone = {one: found for bindings, found in into.items() for one in bindings}
    return frozenset(
        _use(right)
        for right in rights
        if right.role_use is not None
        and any(one in after and one not in plain for one in gone.get(right.binding, (right.binding,)))
    )


def state_of(request: StateRequest, connection: ConnectionOptions, tell: Tell = ignore) -> TightenBase:
    """The state, with the rights that the manifests declare for it."""
    found: AccessState = (
        live_access(request, connection, tell=tell) if request.live else declared_access(request, connection)
    )
    if found.manifests is None or found.declaration is None or found.desired is None:
        raise RequestError("only declared rights can be narrowed", "give the directory of the manifests")
    view = with_desired(found) if request.live else found.view
    with sound():
        book = read(texts_of(found.manifests))
    declared = [
        one
        for one in declared_rights(book, found.declaration.name)
        if one.binding.entry.permission_type is AclPermissionType.ALLOW and one.binding in found.desired.bindings
    ]
    return TightenBase(
        view,
        unclaimed(view),
        found.manifests,
        found.declaration,
        found.desired,
        book,
        tuple(_rights(declared)),
        frozenset(one.binding for one in declared if one.role == _OWNER),
        found.state.cluster_id if found.state else "",
        request.live,
    )


def _rights(declared: Sequence[DeclaredRight]) -> list[GrantedRight]:
    """Each binding once: as what a role brings only where nothing else declares it."""
    found: dict[AclBinding, GrantedRight] = {}
    for one in declared:
        use = None if one.use is None else str(one.use)
        known = found.get(one.binding)
        if known is None or use is None:
            found[one.binding] = GrantedRight(one.binding, use, one.of_role)
    return list(found.values())


def gathered(base: TightenBase, logs: Sequence[str], window: Window) -> tuple[UsageEvidence, Summary]:
    """What the logs show of the state, and what reading them was like."""
    counted: Decisions = {}
    summary = Summary()
    for file in files_of(logs):
        summary += scanned(file, window, base.cluster_id, counted, by_day=True)
    period = period_of(summary.days, window.since, window.until)
    evidence = UsageEvidence(base.authorizer.bindings, base.authorizer.kafka_version, period)
    for event, (count, days) in counted.items():
        evidence.see(event, count, days)
    return evidence, summary


def decisions(evidence: UsageEvidence) -> int:
    """How many permitted accesses there were."""
    return sum(access.tally.times for found in evidence.accesses.values() for access in found)


def holder(
    base: TightenBase, place: str, period: Period, options: TightenOptions, connection: ConnectionOptions
) -> Hold:
    """What says that a right stays, whatever was seen."""
    name, declaration = base.declaration.name, base.declaration
    then = None if period.first is None else declared_then(place, name, period.first, connection)
    operating = {declaration.principal, *declaration.inter_broker_principals}
    operating |= {declaration.probe.principal} if declaration.probe else set()
    others = {other: state.bindings for other, state in base.book.desired.items() if other != name}

    def hold(binding: AclBinding) -> Held | None:
        said, principal = base.desired.bindings[binding], binding.entry.principal
        if said.keep is not None:
            return Held(binding, HeldReason.KEEP, said.keep)
        if binding in base.owned:
            return Held(binding, HeldReason.OWNER)
        sharing = [other for other, known in others.items() if _same_place(known.get(binding), said)]
        if sharing:
            return Held(binding, HeldReason.SHARED, ", ".join(sharing))
        if _is_protected(declaration, binding):
            return Held(binding, HeldReason.PROTECTED)
        if principal in operating:
            return Held(binding, HeldReason.OPERATING)
        if principal in base.authorizer.super_users:
            return Held(binding, HeldReason.SUPER_USER)
        if options.any_age:
            return None
        if then is None:
            return Held(binding, HeldReason.NO_HISTORY)
        return None if binding in then else Held(binding, HeldReason.YOUNG, f"on {period.first}")

    return hold


def _same_place(one: Declaration | None, other: Declaration) -> bool:
    return one is not None and one.origin == other.origin


def _is_protected(declaration: ClusterDeclaration, binding: AclBinding) -> bool:
    """Whether a plan might be refused for what this binding grants."""
    for item in declaration.protect:
        theirs = item.principals is None or item.principals.selects_principal(binding.entry.principal)
        if not theirs:
            continue
        if item.names is None or item.resource_type is None:
            return True
        if any(own.overlaps(binding.pattern) for own in item.names.patterns(item.resource_type)):
            return True
    return False


def tests_hold(base: TightenBase, day: datetime.date) -> Callable[[Authorizer], bool]:
    """Whether the access tests that pass now pass with other rights."""

    def passing(rights: Authorizer) -> frozenset[object]:
        results = decide_tests(base.manifests, base.declaration.name, lambda: rights, day, live=base.live)
        return frozenset((one.test.origin, one.test.name) for one in results if one.standing is ClaimStatus.PASSED)

    before = passing(base.authorizer)
    return lambda rights: not before or before <= passing(rights)


def edited(
    base: TightenBase, place: str, proven: Proven, day: datetime.date, connection: ConnectionOptions
) -> ManifestEdit:
    """The narrowings as an edit; reasons, tickets and last days go with what takes the place of a right."""
    if not proven.narrowings:
        return ManifestEdit(place, texts_of(base.manifests))
    name = base.declaration.name

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return {**book.desired, name: narrower(book.desired[name], proven.narrowings)}

    made = edit(place, wanted, day, connection=connection)
    if made.breaches:
        words = [f"{breach.origin}: {breach.subject}" for breach in made.breaches]
        raise EditRefusedError("\n  ".join(["the narrower rights would break Ownership: nothing was written", *words]))
    return made


def narrower(state: DesiredState, narrowings: Sequence[Narrowing]) -> DesiredState:
    """What is declared with the narrowings; of two declarations of one right, the one that lasts longest."""
    declared = dict(state.bindings)
    said_of = {one: state.bindings[one] for narrowing in narrowings for one in narrowing.bindings}
    for binding in said_of:
        declared.pop(binding, None)
    for narrowing in narrowings:
        longest = max((said_of[one] for one in narrowing.bindings), key=_end)
        for binding in narrowing.into:
            known = declared.get(binding)
            if known is None or _end(known) < _end(longest):
                declared[binding] = said_of.get(binding, longest)._replace(role=None)
    return replace(state, bindings=declared)


def _end(said: Declaration) -> datetime.datetime:
    return (said.expires or _FOREVER).end


def day_of(request: StateRequest) -> datetime.date:
    """The day in UTC on which it is asked."""
    return instant_of(request.at).date()
