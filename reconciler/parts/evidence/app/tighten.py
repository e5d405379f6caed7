"""What the logs of one cluster show unused, as a proposal with its evidence and its proof.

A right stays, whatever was seen of it, by its rule, its cluster, its age and access tests. Narrowings become an edit.
"""

import datetime
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Final, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.app.access_checks import decide_tests
from reconciler.app.manifests import sound
from reconciler.app.options import ConnectionOptions, StateRequest, Tell, ignore
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.states import AccessState, declared_access, declared_then, live_access, with_desired
from reconciler.codec.codec import SchemaError
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.write.pages import Book, DeclaredRight, declared_rights, read
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.desired import FOREVER, Declaration, DesiredState, Expiry, instant_of
from reconciler.model.locks import denials_of_locks
from reconciler.parts.edit.app.editing import NO_GAIN, EditRefusedError, ManifestEdit, edit, instants, texts_of
from reconciler.parts.evidence.app.usage import Decisions, files_of, scanned, unclaimed
from reconciler.parts.evidence.proof import Shadow, Stage, prove, read_stage, shadow, stage_text
from reconciler.parts.evidence.show import held_entry, narrowed_entry, period_words, stage_entry
from reconciler.parts.evidence.suggestion import (
    GrantedRight,
    Held,
    HeldReason,
    Hold,
    Narrowing,
    Thresholds,
    suggest,
    thin_evidence,
)
from reconciler.parts.evidence.usage.counts import Period, UsageEvidence, period_of
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results.access import AccessView, Basis
from reconciler.results.findings import ClaimResult, ClaimStatus
from reconciler.results.tightened import TightenOutput

# The state from which rights are taken, and the rights that manifests declare for it.

_OWNER = "owner"


@dataclass(frozen=True, slots=True)
class TightenScope:
    """What the manifests declare for one cluster, as far as it may be narrowed.

    ``declared`` has a right as often as it is written; ``owned`` are those of the built-in role ``owner``;
    ``super_users`` are those that not only the manifests state.
    """

    declaration: ClusterDeclaration
    desired: DesiredState
    book: Book
    declared: tuple[DeclaredRight, ...]
    super_users: frozenset[str]

    @property
    def rights(self) -> tuple[GrantedRight, ...]:
        """Each binding once."""
        return tuple(granted(self.declared))

    @property
    def owned(self) -> frozenset[AclBinding]:
        """What an owner has by being one."""
        return frozenset(item.binding for item in self.declared if item.role == _OWNER)


@dataclass(frozen=True, slots=True)
class TightenBase:
    """The state from which rights are taken; ``authorizer`` does without facts that only the manifests state.

    It does without the DENYs of locks too, which are ``held``: a right is not unused because its holder is locked.
    """

    view: AccessView
    authorizer: Authorizer
    manifests: Manifests
    scope: TightenScope
    cluster_id: str = ""
    live: bool = False
    held: frozenset[AclBinding] = frozenset()


def state_of(request: StateRequest, connection: ConnectionOptions, tell: Tell = ignore) -> TightenBase:
    """The state, with the rights that the manifests declare for it."""
    access_state: AccessState = (
        live_access(request, connection, tell=tell) if request.live else declared_access(request, connection)
    )
    if access_state.manifests is None or access_state.declaration is None or access_state.desired is None:
        raise RequestError("only declared rights can be narrowed", "give the directory of the manifests")
    view = with_desired(access_state) if request.live else access_state.view
    with sound():
        book = read(texts_of(access_state.manifests))
    rights = unclaimed(view)
    held = (
        rights.bindings & denials_of_locks(access_state.state.bindings)
        if access_state.state is not None
        else frozenset()
    )
    rights = rights.with_changes((), held) if held else rights
    return TightenBase(
        view,
        rights,
        access_state.manifests,
        scope_of(book, access_state.declaration, access_state.desired, frozenset(rights.super_users)),
        access_state.state.cluster_id if access_state.state else "",
        request.live,
        held,
    )


def scope_of(
    book: Book, declaration: ClusterDeclaration, desired: DesiredState, super_users: frozenset[str]
) -> TightenScope:
    """What is declared for a cluster and has not expired."""
    declared = (
        right
        for right in declared_rights(book, declaration.name)
        if right.binding.entry.permission_type is AclPermissionType.ALLOW and right.binding in desired.bindings
    )
    return TightenScope(declaration, desired, book, tuple(declared), super_users)


def granted(declared: Iterable[DeclaredRight]) -> Sequence[GrantedRight]:
    """Each binding once: as what a role brings only where nothing else declares it."""
    rights: dict[AclBinding, GrantedRight] = {}
    for item in declared:
        use = None if item.use is None else str(item.use)
        earlier = rights.get(item.binding)
        if earlier is None or use is None:
            rights[item.binding] = GrantedRight(item.binding, use, item.of_role)
    return list(rights.values())


# Narrowings as an edit of the manifests; and the roles that it could only keep as plain rules.

#: One use of a role, and the principal.
RoleGrant: TypeAlias = tuple[Hashable, str]


def edited(
    place: str,
    texts: Mapping[str, str],
    narrowings: Mapping[str, Sequence[Narrowing]],
    day: datetime.date,
    connection: ConnectionOptions,
) -> ManifestEdit:
    """The narrowings of each cluster as an edit; reasons, tickets and last days go with what takes their place.

    Raises :class:`EditRefusedError` where no edit does exactly that, or it would break Ownership.
    """
    narrowings = {name: of_cluster for name, of_cluster in narrowings.items() if of_cluster}
    if not narrowings:
        return ManifestEdit(place, texts)

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        return {
            **book.desired,
            **{name: narrower(book.desired[name], of_cluster) for name, of_cluster in narrowings.items()},
        }

    manifest_edit = edit(place, wanted, NO_GAIN, day, connection=connection)
    if manifest_edit.breaches:
        words = [f"{breach.origin}: {breach.subject}" for breach in manifest_edit.breaches]
        raise EditRefusedError("\n  ".join(["the narrower rights would break Ownership: nothing was written", *words]))
    return manifest_edit


def narrower(state: DesiredState, narrowings: Sequence[Narrowing]) -> DesiredState:
    """What is declared with the narrowings; of two declarations of one right, the one that lasts longest."""
    declared = dict(state.bindings)
    declarations = {item: state.bindings[item] for narrowing in narrowings for item in narrowing.bindings}
    for binding in declarations:
        declared.pop(binding, None)
    for narrowing in narrowings:
        longest = max((declarations[item] for item in narrowing.bindings), key=_end)
        for binding in narrowing.into:
            earlier = declared.get(binding)
            if earlier is None or _end(earlier) < _end(longest):
                declared[binding] = declarations.get(binding, longest)._replace(role=None)
    return replace(state, bindings=declared)


def _end(declaration: Declaration) -> datetime.datetime:
    return (declaration.expires or FOREVER).end


def role_grant(right: GrantedRight) -> RoleGrant:
    """What brings a right."""
    return right.role_use, right.binding.entry.principal


def as_plain(rights: Sequence[GrantedRight], broken: frozenset[RoleGrant]) -> tuple[GrantedRight, ...]:
    """The rights, of which those of ``broken`` uses of roles are judged one by one, as they would be the next time."""
    return tuple(right._replace(role_use=None) if role_grant(right) in broken else right for right in rights)


def broken_roles(
    after: Book, cluster: str, rights: Sequence[GrantedRight], narrowings: Sequence[Narrowing]
) -> frozenset[RoleGrant]:
    """The uses of roles of which the manifests after an edit say something as plain rules."""
    written = {item.binding for item in granted(declared_rights(after, cluster)) if not item.role_use}
    plain = {item.binding for item in rights if item.role_use is None}
    into = {narrowing.bindings: narrowing.into for narrowing in narrowings}
    gone = {binding: replacements for bindings, replacements in into.items() for binding in bindings}
    return frozenset(
        role_grant(right)
        for right in rights
        if right.role_use is not None
        and any(item in written and item not in plain for item in gone.get(right.binding, (right.binding,)))
    )


#: Since when rights are declared: those that were when the logs begin, and the day. ``None``: no history says so.
History: TypeAlias = tuple[Collection[AclBinding] | None, datetime.date | None]


def holder(
    scope: TightenScope,
    history: History | None,
    others: Mapping[str, Mapping[AclBinding, Declaration]],
) -> Hold:
    """Why a right of a cluster stays; ``history`` is ``None`` where rules of any age may be narrowed.

    ``others`` declare what is declared for clusters of which the logs say nothing.
    """
    declaration, owned = scope.declaration, scope.owned
    operating = {declaration.principal, *declaration.inter_broker_principals}
    operating |= {declaration.probe.principal} if declaration.probe else set()

    def hold(binding: AclBinding) -> Held | None:
        declared, principal = scope.desired.bindings[binding], binding.entry.principal
        if declared.keep is not None:
            return Held(binding, HeldReason.KEEP, declared.keep)
        if binding in owned:
            return Held(binding, HeldReason.OWNER)
        sharing = [other for other, theirs in others.items() if _same_place(theirs.get(binding), declared)]
        if sharing:
            return Held(binding, HeldReason.SHARED, ", ".join(sharing))
        if _is_protected(declaration, binding):
            return Held(binding, HeldReason.PROTECTED)
        if principal in operating:
            return Held(binding, HeldReason.OPERATING)
        if principal in scope.super_users:
            return Held(binding, HeldReason.SUPER_USER)
        return None if history is None else _too_young(binding, *history)

    return hold


def _too_young(binding: AclBinding, then: Collection[AclBinding] | None, first: datetime.date | None) -> Held | None:
    if then is None:
        return Held(binding, HeldReason.NO_HISTORY)
    return None if binding in then else Held(binding, HeldReason.YOUNG, f"on {first}")


def _same_place(first: Declaration | None, second: Declaration) -> bool:
    return first is not None and first.origin == second.origin


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


def later_too(
    today: Callable[[Authorizer], bool],
    before: Authorizer,
    desired: DesiredState,
    suggested: Sequence[Narrowing],
    day: datetime.date,
) -> Callable[[Authorizer], bool]:
    """Whether other rights hold ``today``, and with them nobody gains anything whenever something ends after the day.

    What is right today may open a topic later, when an ACL ends that alone was left of its ACLs.
    """
    narrowed = narrower(desired, suggested)
    sides = [
        {item: declaration.expires for item, declaration in state.bindings.items()} for state in (desired, narrowed)
    ]
    later = instants((desired, narrowed), day)[1:]

    def without_ended(rights: Authorizer, ends: Mapping[AclBinding, Expiry | None], when: datetime.date) -> Authorizer:
        there = rights.bindings
        return rights.with_changes(
            removed=[item for item, end in ends.items() if end and end.over(when) and item in there]
        )

    def hold(rights: Authorizer) -> bool:
        if not today(rights):
            return False
        for when in later:
            difference = compare_access(
                without_ended(before, sides[0], when), without_ended(rights, {**sides[0], **sides[1]}, when)
            )
            if difference.gives():
                return False
        return True

    return hold


def tests_hold(
    manifests: Manifests,
    cluster: str,
    before: Authorizer,
    day: datetime.date,
    *,
    live: bool,
    held: frozenset[AclBinding],
) -> Callable[[Authorizer], bool]:
    """Whether the access tests that pass before pass with other rights, which are those without ``held``.

    With the DENYs of locks, which are ``held``, as well as without them: a lock neither saves a test nor excuses it.
    """

    def passing(rights: Authorizer) -> frozenset[object]:
        worlds = (rights, rights.with_changes(held)) if held else (rights,)
        return frozenset(
            (number, result.test.origin, result.test.name)
            for number, world in enumerate(worlds)
            for result in _decided(world)
            if result.standing is ClaimStatus.PASSED
        )

    def _decided(world: Authorizer) -> tuple[ClaimResult, ...]:
        return decide_tests(manifests, cluster, lambda: world, day, live=live)

    passed = passing(before)
    return lambda rights: not passed or passed <= passing(rights)


@dataclass(frozen=True, slots=True)
class TightenOptions:
    """Which days of the logs count, the bounds, and whether rules of unknown age may be narrowed."""

    window: Window = field(default_factory=Window)
    bounds: Thresholds = field(default_factory=Thresholds)
    any_age: bool = False


DEFAULTS: Final = TightenOptions()


@dataclass(frozen=True, slots=True)
class Tightening:
    """What to narrow on one cluster, what is held and why, and the edit; ``thin``: why nothing is proposed at all.

    ``decisions`` counts permitted accesses, ``places`` where each right is declared.
    """

    cluster: str
    basis: Basis
    period: Period
    summary: Summary
    edit: ManifestEdit
    decisions: int = 0
    thin: tuple[str, ...] = ()
    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()
    replayed: int = 0
    places: Mapping[AclBinding, Declaration] = field(default_factory=dict)


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
    tightening = nothing_yet(base, place, evidence, summary, thin)
    if thin:
        return tightening
    scope, name = base.scope, base.scope.declaration.name
    first = evidence.period.first
    then = None if options.any_age or first is None else declared_then(place, name, first, connection)
    others = {other: state.bindings for other, state in scope.book.desired.items() if other != name}
    hold = holder(scope, None if options.any_age else (then, first), others)
    holds = tests_hold(base.manifests, name, base.authorizer, request.at, live=base.live, held=base.held)
    rights, broken = scope.rights, frozenset[RoleGrant]()
    while True:
        suggested = suggest(rights, evidence, options.bounds, hold)
        chosen = [narrowing for narrowing in suggested.narrowings if only(narrowing)]
        lasting = later_too(holds, base.authorizer, scope.desired, chosen, request.at)
        proven = prove(base.authorizer, chosen, evidence, lasting)
        manifest_edit = edited(place, texts_of(base.manifests), {name: proven.narrowings}, request.at, connection)
        more = (
            broken_roles(read(manifest_edit.after), name, rights, proven.narrowings)
            if manifest_edit.files
            else frozenset()
        )
        if not more:
            break
        broken |= more
        rights = as_plain(scope.rights, broken)
    held = tuple(sorted({*suggested.held, *proven.held}))
    return replace(tightening, edit=manifest_edit, narrowings=proven.narrowings, held=held, replayed=proven.replayed)


def nothing_yet(
    base: TightenBase, place: str, evidence: UsageEvidence, summary: Summary, thin: tuple[str, ...]
) -> Tightening:
    """What was seen, with nothing proposed."""
    return Tightening(
        base.view.cluster,
        base.view.basis,
        evidence.period,
        summary,
        ManifestEdit(place, texts_of(base.manifests)),
        evidence.decisions,
        thin,
        places=base.scope.desired.bindings,
    )


def gathered(base: TightenBase, logs: Sequence[str], window: Window) -> tuple[UsageEvidence, Summary]:
    """What the logs show of the state, and what reading them was like."""
    counted: Decisions = {}
    summary = Summary()
    for file in files_of(logs):
        summary += scanned(file, window, base.cluster_id, counted, by_day=True)
    evidence = UsageEvidence(base.authorizer.bindings, base.authorizer.kafka_version)
    evidence.period = period_of(summary.days, window)
    for event, (count, days) in counted.items():
        evidence.see(event, count, days)
    return evidence, summary


def day_of(request: StateRequest) -> datetime.date:
    """The day in UTC on which it is asked."""
    return instant_of(request.at).date()


# A tightening first as a shadow: what it would have refused since, day by day, and the edit only on its day.


@dataclass(frozen=True, slots=True)
class Staged:
    """A stage with what it would have refused, and how the tightening stands: with an edit only on its day."""

    stage: Stage
    shadow: Shadow
    tightening: Tightening
    due: bool


def write_stage(file: str, tightening: Tightening, not_before: datetime.date, day: datetime.date) -> None:
    """Keep a proposal in a file that is not there yet, to be watched from that day on; raises a WorkflowError."""
    if not_before <= day:
        raise RequestError(f"{not_before} is not after {day}", "name a day to come")
    stage = Stage(tightening.cluster, day, not_before, tightening.narrowings)
    try:
        with Path(file).open("x", encoding="utf-8") as opened:
            opened.write(stage_text(stage))
    except OSError as error:
        raise WorkflowError(f"{file}: {error.strerror}") from error


def staged(
    request: StateRequest,
    logs: Sequence[str],
    file: str,
    options: TightenOptions = DEFAULTS,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Staged:
    """What a stage would have refused by the logs since its day; and on its day, what of it is proven and to be edited.

    What would have refused something is not proposed. On its day the logs have to show the whole window of a proposal.
    Raises a :class:`WorkflowError`.
    """
    stage = _read(file)
    place = request.path or connection.default_path
    base = state_of(request, connection, tell)
    name = base.scope.declaration.name
    if stage.cluster != name:
        raise RequestError(f"{file} is about cluster {stage.cluster}, this is {name}")
    evidence, summary = gathered(base, logs, Window(stage.since, options.window.until))
    declared = {right.binding for right in base.scope.rights}
    there = [item for item in stage.narrowings if declared.issuperset(item.bindings)]
    shown = shadow(base.authorizer, there, evidence)
    shown = replace(shown, gone=(*shown.gone, *(item for item in stage.narrowings if item not in there)))
    due = day_of(request) >= stage.not_before
    # Of the time since, all that there was has to be seen.
    bounds = replace(options.bounds, days=(stage.not_before - stage.since).days if due else 0, quarter_ends=0)
    thin = tuple(thin_evidence(evidence.period, summary, bounds, day_of(request)))
    if due and not thin:
        # Nobody's file lowers the bounds: on its day a stage only chooses among what a new run proposes.
        chosen = {binding for narrowing in shown.wanted for binding in narrowing.bindings}
        tightening = proposed(base, request, logs, options, connection, lambda item: chosen.issuperset(item.bindings))
        return Staged(stage, shown, tightening, due)
    return Staged(stage, shown, nothing_yet(base, place, evidence, summary, thin), due)


def _read(file: str) -> Stage:
    try:
        return read_stage(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"{file} cannot be read: {error}") from error
    except SchemaError as error:
        raise WorkflowError(f"{file} is no stage of a tightening: {error}") from error


# A tightening as the value that reports are made from.


def tighten_output(tightening: Tightening, watched: Staged | None = None) -> TightenOutput:
    """What was found, with how its stage stands."""
    places = dict(tightening.places)
    return TightenOutput(
        tightening.cluster,
        tightening.basis.value,
        **period_words(tightening.period),
        permitted=tightening.decisions,
        thin=tightening.thin,
        narrowed=tuple(narrowed_entry(narrowing, places) for narrowing in tightening.narrowings),
        held=tuple(held_entry(item, places) for item in tightening.held),
        decided_again=tightening.replayed,
        stage=None if watched is None else stage_entry(watched.stage, watched.shadow, due=watched.due),
    )
