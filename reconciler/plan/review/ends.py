"""What a plan gives later and by detours: who gains when something ends, and new paths from one principal to another.

An end that manifests declare, a DENY's above all, takes no step of this plan and no further review: the plan of that
day only carries it out. So each end is judged here, by the state that this plan leaves less all that has ended by then.

A new path: who could act as whom afterwards and could not before, and who gains by what others gain.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import PROBE, Authorizer
from reconciler.access.difference import AskedNames, compare_access
from reconciler.access.effective import Access, access_of
from reconciler.access.hosts import ANY_HOST, host_classes
from reconciler.access.interpretation import unnamed_principal, work_for
from reconciler.access.names import ALL_NAMES, NameSet, less, names_of, outermost
from reconciler.access.reach import ByNames, Hop, HopKind, Known, Reach, ReachRow
from reconciler.model.acl import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import as_name, first_of, pattern_name
from reconciler.model.desired import FOREVER, Control, Declaration, DesiredState, Links, ends_of
from reconciler.model.listing import NOT_READ, Create
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.kinds import kind_of
from reconciler.plan.observed import Facts
from reconciler.plan.review import access_change
from reconciler.plan.review.access_change import EVERYBODY_ELSE, AccessChange, DeclaredEnd, Transition
from reconciler.plan.review.access_review import AccessReview, ReviewedGains, difference_review, known_topics
from reconciler.plan.review.callouts import KEPT, Callout, Charge, Concern, meaning_charges, meaning_refusals
from reconciler.policy.laws import NewAccess, law_of


class Later(NamedTuple):
    """What ends bring: rows of access, each with its end, and what guards refuse because of it."""

    rows: tuple[AccessChange, ...] = ()
    charges: tuple[Charge, ...] = ()


class _AtEnd(NamedTuple):
    """An end that may give somebody access, and what has ended since the last such end."""

    ending: DeclaredEnd
    ended: tuple[AclBinding, ...]


def later(
    transition: Transition | None,
    live: ClusterState,
    desired: DesiredState,
    facts: Facts,
    *,
    default_allow: bool | None,
    as_of: datetime.date,
) -> Later:
    """What is gained after ``as_of`` that is not gained by the plan itself; no ``transition``: no ACL steps.

    The work is that of one comparison of what ends for each instant at which a DENY ends, or the last binding on a
    pattern where default-allow is not established to be off. What that gives, and the plan does not, is looked for on
    those names alone.
    """
    moments = list(_moments(transition, live, desired, facts.established_default_allow(default_allow), as_of))
    if not moments:
        return Later()
    start = transition or access_change.standing(live, facts, default_allow=default_allow)
    topics = known_topics(live, desired)
    reviewed = ReviewedGains(difference_review(start.difference, topics) if transition else AccessReview())
    reviewed.move((*start.created, *start.deleted))
    charged = _Charges(transition, facts)
    rows: list[AccessChange] = []
    was, count = start.after, len(start.created) + len(start.deleted)
    for moment in moments:
        charged.end(moment.ended)
        reviewed.move(moment.ended)
        count += len(moment.ended)
        now = was.with_changes((), moment.ended)
        difference = compare_access(was, now, work=work_for(len(moment.ended)))
        was = now
        # Nothing but what this end gives is new: what it does not give, an earlier one did, or the plan.
        gained = [row for row in (*difference.rows, *access_change.reached(difference).rows) if row.gained]
        if not gained:
            continue
        places = {AskedNames(row.principal, row.resources.resource_type, row.resources.names) for row in gained}
        places.update(place for row in gained if row.principal is None for place in reviewed.exempt(row.resources))
        work = work_for(count)
        since = difference_review(compare_access(start.before, now, work=work, within=places), topics)
        new = [replace(row, lost=(), since=moment.ending) for row in reviewed.news(since.access_changes)]
        rows += new
        reviewed.add(new)
        charged.look_at(moment.ending)
    return Later(tuple(rows), tuple(charged.charges))


class _Charges:
    """What guards refuse because of ends, each once."""

    def __init__(self, transition: Transition | None, facts: Facts) -> None:
        self._transition = transition
        self._facts = facts
        self._refused = {(refusal.guard, refusal.object) for refusal in meaning_refusals(transition, facts)}
        self._steps = _Steps(transition, facts) if transition else None
        #: What has ended since guards were asked.
        self._since: list[AclBinding] = []
        self._asked = False
        self.charges: list[Charge] = []

    def end(self, bindings: Collection[AclBinding]) -> None:
        """These are gone from now on."""
        self._since += bindings
        # Without protected names or principals, guards ask about rights on the cluster alone.
        on_cluster = any(item.pattern.resource_type is ResourceType.CLUSTER for item in bindings)
        self._asked = self._asked or on_cluster or bool(self._facts.protect)

    def look_at(self, ending: DeclaredEnd) -> None:
        """What is due to the steps once all that has ended is gone."""
        if self._steps is None or not self._asked:
            return
        ended, self._since, self._asked = self._since, [], False
        for charge in self._steps.charges(ended, self._facts):
            item = charge.refusal
            if (item.guard, item.object) not in self._refused:
                self._refused.add((item.guard, item.object))
                words = replace(item, message=f"{item.message}, {access_change.ending_words(ending)}")
                self.charges.append(charge._replace(refusal=words))


_WRITES: Final = (AclOperation.WRITE, AclOperation.ALL)


class _Steps:
    """The steps that something which ends may matter to: what they give and take may be otherwise from then on.

    That is so on the names of what ends, for its principal, or for all where it is of ``User:*`` or default-allow may
    be on. Else everybody else's access stays as it is. Whether a principal has it depends on its own bindings, so those
    that guards protect by name are always asked about.
    """

    def __init__(self, transition: Transition, facts: Facts) -> None:
        self._before, self._stated = transition.before, transition.stated
        self._created = dict.fromkeys(transition.created, True)
        self._deleted = frozenset(transition.deleted)
        #: What has ended and is still in ``before``.
        self._gone: list[AclBinding] = []
        worlds = transition.before.interpretations
        self._open = worlds.guesses or worlds.most.default_allow
        named = (item.principals.literal for item in facts.protect if item.principals is not None)
        self._watched = frozenset({WILDCARD_PRINCIPAL}.union(*named))
        self._cluster_protected = any(
            item.names is None or item.resource_type is ResourceType.CLUSTER for item in facts.protect
        )
        #: How many steps principals have.
        self._moved = Counter(step.entry.principal for step in (*transition.created, *transition.deleted))
        # By principal, those that are watched as User:*, and under None all together.
        steps: dict[tuple[ResourceType, str | None], list[tuple[NameSet, AclBinding]]] = {}
        for step in (*transition.created, *transition.deleted):
            who = step.entry.principal
            for group in (None, WILDCARD_PRINCIPAL if who in self._watched else who):
                steps.setdefault((step.pattern.resource_type, group), []).append((names_of(step.pattern), step))
        self._by_names = {key: ByNames(items) for key, items in steps.items()}

    def charges(self, ended: Collection[AclBinding], facts: Facts) -> tuple[Charge, ...]:
        """What is due to the steps where these have ended as well; what was due to them before may be left out."""
        self._gone += [item for item in ended if item not in self._created]
        for item in ended:
            if self._created.pop(item, False):
                who = item.entry.principal
                self._moved[who] -= 1
                if not self._moved[who]:
                    del self._moved[who]
        principals = {item.entry.principal for item in ended}
        everybody = self._open or WILDCARD_PRINCIPAL in principals
        groups = [None] if everybody else [*principals, WILDCARD_PRINCIPAL]
        names: dict[ResourceType, list[NameSet]] = {}
        for item in ended:
            names.setdefault(item.pattern.resource_type, []).append(names_of(item.pattern))
        if self._related(ended, groups):
            names = {kind: [ALL_NAMES] for kind in ResourceType}
        steps = dict.fromkeys(step for kind in names for step in self._near(kind, names[kind], groups))
        created = tuple(step for step in steps if step in self._created)
        deleted = tuple(step for step in steps if step in self._deleted)
        if not created and not deleted:
            return ()
        alike = self._stated is self._before
        self._before = self._before.with_changes((), self._gone)
        self._stated = self._before if alike else self._stated.with_changes((), self._gone)
        self._gone = []
        before, work = self._before, work_for(len(self._created) + len(self._deleted))
        moved = Transition(before, before.with_changes(created, deleted), created, deleted, self._stated, work)
        whose = None if everybody else self._watched | principals
        return meaning_charges(moved, facts, Concern(frozenset(names), whose, self._moved))

    def _near(
        self, kind: ResourceType, names: Iterable[NameSet], groups: Collection[str | None]
    ) -> Iterator[AclBinding]:
        """The steps on these names, and those that meet one of them: together they make rows as all steps do."""
        indexes = [self._by_names[kind, group] for group in groups if (kind, group) in self._by_names]
        near = (step for key in outermost(names) for index in indexes for step in index.meeting(key))
        zones = outermost({*names, *(names_of(step.pattern) for step in near)}) if indexes else ()
        return (step for zone in zones for index in indexes for step in index.meeting(zone))

    def _related(self, ended: Iterable[AclBinding], groups: Collection[str | None]) -> bool:
        """Whether rights on topics may count on the cluster, or the other way round."""
        kinds = {item.pattern.resource_type for item in ended}
        if ResourceType.TOPIC not in kinds:
            return ResourceType.CLUSTER in kinds
        if ResourceType.CLUSTER in kinds or any((ResourceType.CLUSTER, group) in self._by_names for group in groups):
            return True
        # Whoever may write to some topic may start an idempotent producer, which guards ask about if it is protected.
        return self._cluster_protected and any(
            item.entry.operation in _WRITES or (self._open and names_of(item.pattern).matches(PROBE))
            for item in ended
            if item.pattern.resource_type is ResourceType.TOPIC
        )


def _moments(
    transition: Transition | None,
    live: ClusterState,
    desired: DesiredState,
    default_allow: bool | None,
    as_of: datetime.date,
) -> Iterator[_AtEnd]:
    """The ends at which access may be gained, in their order; what ends otherwise is in ``ended`` of the next."""
    there = _Remaining(transition, live)
    by_instant: dict[datetime.datetime, list[AclBinding]] = {}
    for binding, expiry in ends_of(desired.bindings):
        if not expiry.over(as_of) and there.has(binding):
            by_instant.setdefault(expiry.end, []).append(binding)
    deny = AclPermissionType.DENY
    if default_allow is False and not any(
        item.entry.permission_type is deny for some in by_instant.values() for item in some
    ):
        return
    remaining = (
        {} if default_allow is False else there.counted(item.pattern for some in by_instant.values() for item in some)
    )
    ended: list[AclBinding] = []
    for instant, some in sorted(by_instant.items()):
        ended += some
        denies = any(item.entry.permission_type is deny for item in some)
        for item in some if remaining else ():
            remaining[item.pattern] -= 1
        if denies or any(remaining.get(item.pattern) == 0 for item in some):
            yield _AtEnd(DeclaredEnd(instant, deny if denies else AclPermissionType.ALLOW), tuple(ended))
            ended.clear()


class _Remaining:
    """The bindings that are there once the plan is through."""

    def __init__(self, transition: Transition | None, live: ClusterState) -> None:
        self._live = live.bindings
        self._created = frozenset(transition.created) if transition else frozenset[AclBinding]()
        self._deleted = frozenset(transition.deleted) if transition else frozenset[AclBinding]()

    def has(self, binding: AclBinding) -> bool:
        return binding in self._created or (binding in self._live and binding not in self._deleted)

    def counted(self, patterns: Iterable[ResourcePattern]) -> dict[ResourcePattern, int]:
        """How many there are on each of the patterns."""
        asked = frozenset(patterns)
        both = (item for some in (self._live - self._deleted, self._created - self._live) for item in some)
        return Counter(item.pattern for item in both if item.pattern in asked)


# What a proposal keeps on a cluster for longer than its base does: no step says so, and nobody gains by the plan.

#: So many of several are named.
_NAMED: Final = 3


def kept_longer(live: ClusterState, wanted: DesiredState, base: DesiredState, scope: Scope) -> tuple[Callout, ...]:
    """Who keeps a live ALLOW or a login past the day on which manifests of the base end it; sorted by principal.

    In the base's ``scope`` what it does not declare ends with the next plan that deletes.
    """
    kept: dict[str, list[str]] = defaultdict(list)
    for binding, declaration in wanted.bindings.items():
        if binding.entry.permission_type is not AclPermissionType.ALLOW or binding not in live.bindings:
            continue
        was = base.bindings.get(binding) or base.expired.get(binding)
        if was is not None or scope.owns(binding):
            access = f"{binding.entry.operation.name} on {pattern_name(binding.pattern)}"
            kept[binding.entry.principal] += _longer(access, declaration, was)
    for kind, items in wanted.listed.items():
        if law_of(kind).new_access is NewAccess.PASSWORD:
            for key, item in items.items():
                before = base.listed.get(kind, {}).get(key)
                if before is not None and not item.goes:
                    kept[item.item.principal] += _longer("the login", item.declaration, before.declaration)
    longer = {principal: texts for principal, texts in sorted(kept.items()) if texts}
    named = [
        Callout(KEPT, who, f"{as_name(who)} keeps {texts[0]}{_more(len(texts) - 1)}")
        for who, texts in islice(longer.items(), _NAMED)
    ]
    if more := len(longer) - len(named):
        named.append(Callout(KEPT, [*longer][_NAMED], f"{more:,} more keep access that the base ends earlier"))
    return tuple(named)


def declared_otherwise(
    live: ClusterState, wanted: DesiredState, base: DesiredState, prune: Collection[str], scope: Scope
) -> Iterator[str]:
    """What the base declares otherwise, no step shows, and a later plan carries out without a further review.

    A DENY, a limit, a login or configs that end sooner; another secret behind a password that is not set now; and
    declarations that go, so that nothing compares what stays: the last ones of a kind, and without an include each.
    """
    for binding, declaration in sorted(wanted.bindings.items(), key=lambda item: item[0]):
        was = base.bindings.get(binding)
        if was is not None and binding in live.bindings and binding.entry.permission_type is AclPermissionType.DENY:
            yield from _sooner(f"{as_name(binding.entry.principal)} {_denied(binding)}", declaration, was)
    for kind, items in sorted(wanted.listed.items()):
        for key, item in sorted(items.items()):
            before = base.listed.get(kind, {}).get(key)
            if before is None or item.goes or before.goes:
                continue
            yield from _sooner(item.item.subject, item.declaration, before.declaration)
            now, then = (kind_of(Create(user)).references(Create(user)) for user in (item.item, before.item))
            if now != then:
                sources = [", ".join(map(as_name, some)) or "nowhere" for some in (now, then)]
                yield f"{item.item.subject}: its next password comes from {sources[0]} instead of {sources[1]}"
    let_go = [*_topics_let_go(live, wanted, base, prune, scope), *_listed_let_go(live, wanted, base, prune, scope)]
    for subject in let_go:
        yield f"{subject} is declared no more, and stays as it is: drift no longer reports it"


def _topics_let_go(
    live: ClusterState, wanted: DesiredState, base: DesiredState, prune: Collection[str], scope: Scope
) -> Iterator[str]:
    compared = scope.holds_topics and bool(wanted.topics)
    there = {*live.topics, *live.unreadable_topics, *live.topic_names}
    for name, item in sorted(base.topics.items() if Topic.KIND not in prune else ()):
        stays = name not in wanted.topics and not item.absent and (name in there or live.topic_gap is not None)
        if stays and not (compared and scope.owns_topic(name, declared=False)):
            yield f"topic {name}"


def _listed_let_go(
    live: ClusterState, wanted: DesiredState, base: DesiredState, prune: Collection[str], scope: Scope
) -> Iterator[str]:
    for kind, items in sorted(base.listed.items()):
        declared, there = wanted.listed.get(kind, {}), live.listings.get(kind, NOT_READ)
        for key, item in sorted(items.items() if kind not in prune else ()):
            stays = key not in declared and not item.goes and (there.items is None or key in there.by_key)
            if stays and not (declared and scope.owns_listed(item.item, declared=False)):
                yield item.item.subject


def _denied(binding: AclBinding) -> str:
    return f"DENY {binding.entry.operation.name} on {pattern_name(binding.pattern)}"


def _sooner(subject: str, declaration: Declaration, was: Declaration) -> Iterator[str]:
    """``quota of user a ends on 2026-12-31, and in the base never``."""
    if declaration.expires is not None and declaration.expires.end < (was.expires or FOREVER).end:
        yield f"{subject} ends with {declaration.expires}, and in the base {was.expires or 'never'}"


def _longer(access: str, declaration: Declaration, was: Declaration | None) -> Iterator[str]:
    until = declaration.expires or FOREVER
    if was is not None and until.end <= (was.expires or FOREVER).end:
        return
    end = "for good" if declaration.expires is None else f"until {declaration.expires}"
    instead = ", which the base does not declare" if was is None else f" instead of until {was.expires}"
    yield f"{access} {end}{instead}"


def _more(count: int) -> str:
    return f", and {count:,} more like it" if count else ""


# Reviewed gains held against a state: what the plan was to give somebody, and something else keeps from them.
#
# Rows alone do not tell. A DENY that somebody added, or an ALLOW that somebody removed, can leave every binding of
# the plan in its place and the access that was reviewed out of reach.


def gains_not_in_force(
    reviewed: AccessReview, live: ClusterState, facts: Facts, *, default_allow: bool | None
) -> tuple[str, ...]:
    """A sentence for each reviewed gain that ``live`` does not permit everywhere.

    Where default-allow is not known, what was reviewed for the case that it is off is judged for that case; what
    depends on something else that is not known was no certain gain, and is not judged.
    """
    state = access_change.authorizer_of(live, facts.established_default_allow(default_allow) or False)
    rows: dict[str | None, list[AccessChange]] = {}
    for row in reviewed.access_changes:
        if row.gained and row.reading in (None, "least") and row.since is None:
            rows.setdefault(row.principal, []).append(row)
    hosts: dict[str, set[str]] = {}
    for _, entry in state.bindings:
        hosts.setdefault(entry.principal, set()).add(entry.host)
    of_all = hosts.get(WILDCARD_PRINCIPAL, set())
    return tuple(
        text
        for principal, own_rows in rows.items()
        for text in _sentences(principal, own_rows, state, of_all | hosts.get(principal or "", set()))
    )


def _sentences(
    principal: str | None, rows: Sequence[AccessChange], state: Authorizer, hosts: Collection[str]
) -> Iterator[str]:
    """``hosts`` are those that entries for the principal name."""
    asked_for = principal or unnamed_principal([state.interpretations.certain])
    access = access_of(state, asked_for, [row.resources for row in rows])
    samples = [host_class.sample for host_class in host_classes(hosts, state.kafka_version)]
    for row in rows:
        # A row for any host is asked about every class of hosts: a DENY on one of them narrows it.
        asked = [row.witness.host, *(samples if row.hosts == str(ANY_HOST) else ())]
        lacking = tuple(
            operation
            for operation in row.gained
            if not all(_holds(row, operation, host, access, state) for host in asked)
        )
        if lacking:
            words = access_change.operations_words(lacking, row.resources.resource_type)
            who = as_name(row.principal) if row.principal else EVERYBODY_ELSE
            yield f"{who} would not have {words} on all of {row.resources}"


def _holds(row: AccessChange, operation: AclOperation, host: str, access: Iterable[Access], state: Authorizer) -> bool:
    resource_sets = [
        item.resources
        for item in access
        if operation in item.operations and item.hosts.contains(host, state.kafka_version)
    ]
    return row.resources in resource_sets or not any(True for _ in less([row.resources], resource_sets))


#: The rule of :func:`new_paths`.
NEW_PATH: Final = "new-path"
#: The rules of callouts about a right by which somebody acts as somebody else.
OPENS_A_PATH: Final = frozenset({NEW_PATH, "impersonation", "cluster-alter", "cluster-configs"})
#: So many paths are told one by target.
_SHOWN: Final = 20
#: Rights that have a callout of their own where somebody gains them.
_REPORTED: Final = frozenset({HopKind.CREATE_TOKENS, HopKind.ALTER, HopKind.ALTER_CONFIGS, HopKind.CLUSTER_ACTION})
#: Whom a principal could act as, by the last hop; ``None``: anybody.
_Targets: TypeAlias = dict[str | None, tuple[Hop, ...]]


def new_paths(
    moved: Transition | None,
    rows: Iterable[AccessChange],
    controls: Collection[Control],
    super_users: Collection[str],
) -> tuple[Callout, ...]:
    """A callout for each principal and hop that is new, and for each that acts as somebody who gains; capped.

    One that is a single right of the principal itself is told by the callout of that right.
    """
    if moved is None:
        return ()
    gaining = {row.principal for row in rows if row.gained and row.principal is not None}
    by_text: dict[str, Callout] = {}
    befores, afters = (_worlds(target, controls, super_users) for target in (moved.before, moved.after))
    for before, after in zip(befores, afters, strict=True):
        for item in _of_world(before, after, gaining):
            by_text.setdefault(item.text, item)
    items = tuple(by_text.values())
    if len(items) <= _SHOWN:
        return items
    text = f"{len(items) - _SHOWN:,} more new paths by which a principal could act as another one"
    return (*items[:_SHOWN], Callout(NEW_PATH, items[_SHOWN].principal, text))


def _worlds(authorizer: Authorizer, controls: Collection[Control], super_users: Collection[str]) -> list[Reach]:
    """Both interpretations: where everything is permitted that may be, nothing would be new."""
    links = Links(tuple(controls))
    people = Known.of(authorizer, links, super_users)
    return [Reach(world, people, links) for world in authorizer.interpretations.both]


def _of_world(before: Reach, after: Reach, gaining: Set[str]) -> Iterator[Callout]:
    everybody = _targets(before, before.known.unnamed), _targets(after, after.known.unnamed)
    for who in (after.known.unnamed, *sorted(after.may_hop)):
        now = everybody[1] if who == after.known.unnamed else _targets(after, who)
        old = everybody[0] if who == after.known.unnamed else _targets(before, who)
        # Whoever could do anything gains nothing by another way.
        if None in old or now.keys() <= {who}:
            continue
        name = EVERYBODY_ELSE if who == after.known.unnamed else who
        new = {target: hops for target, hops in now.items() if target not in old and target != who}
        yield from _of_targets(name, new)
        yield from (
            Callout(NEW_PATH, name, f"{as_name(name)} could act as {as_name(target)}, and so gains what that gains")
            for target in sorted(gaining & now.keys() - new.keys() - {who})
        )


def _targets(reach: Reach, who: str) -> _Targets:
    rows = reach.reached(who)
    results: _Targets = {}
    for number, row in enumerate(rows):
        path = reach.path(rows, number)
        for target in _each(row):
            results.setdefault(target, path)
    return results


def _each(row: ReachRow) -> Iterable[str | None]:
    return (None,) if row.principals is None else sorted(row.principals)


def _of_targets(who: str, new: _Targets) -> Iterator[Callout]:
    by_path: dict[tuple[Hop, ...], list[str | None]] = {}
    for target, hops in new.items():
        by_path.setdefault(hops, []).append(target)
    for hops, some in by_path.items():
        if len(hops) == 1 and hops[0].kind in _REPORTED:
            continue
        names = ["anybody" if target is None else as_name(target) for target in some]
        text = f"{as_name(who)} could act as {first_of(names, _NAMED)}: {_way(hops)}"
        yield Callout(NEW_PATH, who, text)


def _way(hops: Sequence[Hop]) -> str:
    phrases = [f"{hop.request.operation.name} on {hop.resources}" for hop in hops if hop.request is not None]
    return " → ".join(phrases)
