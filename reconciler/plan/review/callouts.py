"""What a reviewer should not overlook, each with the reason why it stands out: grants, and moments without one."""

from bisect import insort
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Annotated, Final, Generic, NamedTuple, TypeVar

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import AccessDifference, DifferenceRow
from reconciler.access.hosts import ANY_HOST, is_dead
from reconciler.access.names import ASTERISK_NAMES, NameSet, ResourceSet, inside, less, meets, names_of
from reconciler.access.reach import ByNames
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    IMPLICATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from reconciler.model.addresses import ANY_OTHER_HOST
from reconciler.model.characters import as_name, binding_name, first_of
from reconciler.model.desired import DesiredState
from reconciler.model.listing import Change
from reconciler.model.says import AnyText, Says
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.state import FactSource
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.observed import Facts
from reconciler.plan.order import Violation
from reconciler.plan.phase import TITLES
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.plan.review.access_change import (
    EVERYBODY_ELSE,
    AccessChange,
    Transition,
    ending_words,
    operations_words,
)
from reconciler.plan.step import Step

#: The rule of :func:`interruptions`.
INTERRUPTED: Final = "interrupted"
#: Of access that manifests of the base end earlier.
KEPT: Final = "kept"
#: Of a step that decides who can log in.
LOGIN: Final = "login"
_RECORDS: Final = frozenset({AclOperation.READ, AclOperation.WRITE})


@dataclass(frozen=True, slots=True, order=True)
class Callout:
    """A stable rule name, who it is about (``everybody else`` where it is nobody in particular), and a sentence."""

    rule: Annotated[str, Says("Why it stands out.", "wildcard")]
    principal: Annotated[str, Says("Who gains it.", "User:svc-orders")]
    text: Annotated[AnyText, Says("In words.", "gains READ on all topics")]


#: The gravest first: whoever floods a review with harmless grants cannot push these out of what is shown.
_GRAVITY: Final = (
    *("cluster-alter", "cluster-configs", "impersonation", "everyone", "wildcard"),
    *("internal-topic", "labelled", "super-user", "cluster"),
)
#: What ALTER_CONFIGS on CLUSTER reaches: ``DynamicBrokerConfig.AllDynamicConfigs`` and
#: ``DynamicListenerConfig.ReconfigurableConfigs`` (4.x). A new listener may have no login, or one that its own
#: ``listener.name.NAME.MECHANISM.sasl.jaas.config`` decides, so whoever adds it logs in as anybody, super users too.
#: ``super.users`` is not among them: no dynamic config reaches ``StandardAuthorizer``.
_RECONFIGURES: Final = (
    "the right to reconfigure running brokers, with new listeners and who may log in there (as anybody), keys and "
    "trust stores, and the retention of every topic"
)
#: Grants of no more than this are shown last, on whatever names.
MILD: Final = frozenset({AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})
#: So many principals of whom the same is said are counted, and this many of them named.
_FOLDED: Final = 4
_NAMED: Final = 3


def callouts(
    rows: Iterable[AccessChange], desired: DesiredState, moments: Iterable[Callout] = ()
) -> tuple[Callout, ...]:
    """All that stand out, each once, the gravest first; ``moments`` are those of :func:`interruptions`.

    What is said of many principals alike is said once, with their number.
    """
    labelled = sorted(
        (name, f"{key}={value}") for name, topic in desired.topics.items() for key, value in topic.labels.items()
    )
    alike: dict[tuple[bool, int, str, str], dict[str, Callout]] = {}
    for row in rows:
        if row.gained:
            mild = row.principal is not None and MILD.issuperset(row.gained)
            when = "" if row.since is None else f", {ending_words(row.since)}"
            for item in (*_of_row(row), *_labelled(row, labelled), *_of_super_user(row)):
                callout = replace(item, text=f"{item.text}{when}") if when else item
                gain = callout.text.removeprefix(f"{as_name(callout.principal)} gains ")
                alike.setdefault((mild, _GRAVITY.index(callout.rule), callout.rule, gain), {})[callout.principal] = (
                    callout
                )
    grave, light = (
        [item for key in sorted(alike) if key[0] is mild for item in _folded(key[3], alike[key])]
        for mild in (False, True)
    )
    return (*grave, *moments, *light)


def _folded(gain: str, by_principal: dict[str, Callout]) -> Iterator[Callout]:
    """One callout of many principals, if the same is said of many."""
    principals = sorted(by_principal)
    first = by_principal[principals[0]]
    if len(principals) < _FOLDED or gain == first.text:
        yield from (by_principal[principal] for principal in principals)
        return
    text = f"{len(principals):,} principals gain {gain}: {first_of(principals, _NAMED, as_name)}"
    yield replace(first, text=text)


def interruptions(moments: Iterable[Violation]) -> tuple[Callout, ...]:
    """What is refused for a moment, although it is permitted before and after; sorted, each once."""
    return tuple(
        sorted(
            Callout(
                INTERRUPTED,
                moment.principal,
                f"after “{TITLES[moment.phase]}”, {as_name(moment.principal)} is refused {moment.operation.name} on "
                f"{moment.resource_type.name} {as_name(moment.name)} for a moment: what permits it before and after "
                "are rights on two resources, and the one goes before the other comes",
            )
            for moment in moments
        )
    )


def _of_row(row: AccessChange) -> Iterator[Callout]:
    who = row.principal or EVERYBODY_ELSE
    name = EVERYBODY_ELSE if row.principal is None else as_name(row.principal)
    kind = row.resources.resource_type
    operations = operations_words(row.gained, kind)
    certain = "" if row.reading is None else ", depending on what is not known about the cluster"
    if row.principal is None:
        yield Callout("everyone", who, f"whoever has no ACL of its own gains {operations} on {row.resources}{certain}")
    if row.principal == ANONYMOUS:
        yield Callout(
            "everyone", who, f"{name}, whoever connects without a login, gains {operations} on {row.resources}"
        )
    # CREATE_TOKENS is on a resource of type USER (KIP-373): the resource is whom one becomes, not who holds the right.
    if kind is ResourceType.USER and AclOperation.CREATE_TOKENS in row.gained:
        text = f"{name} gains CREATE_TOKENS on {row.resources}: with a token one logs in as that user{certain}"
        yield Callout("impersonation", who, text)
    if kind is ResourceType.CLUSTER and AclOperation.CLUSTER_ACTION in row.gained:
        text = f"{name} gains CLUSTER_ACTION on the cluster, by which a broker reads every topic{certain}"
        yield Callout("impersonation", who, text)
    if kind is ResourceType.CLUSTER:
        if AclOperation.ALTER in row.gained:
            text = f"{name} gains ALTER on the cluster, the right to change every ACL, and so anything{certain}"
            yield Callout("cluster-alter", who, text)
        elif AclOperation.ALTER_CONFIGS in row.gained:
            yield Callout("cluster-configs", who, f"{name} gains {operations} on the cluster: {_RECONFIGURES}{certain}")
        # Every idempotent producer needs it on old brokers, and WRITE on any topic implies it (KIP-679).
        elif row.gained != (AclOperation.IDEMPOTENT_WRITE,):
            yield Callout("cluster", who, f"{name} gains {operations} on the cluster{certain}")
    # An empty name is the root of all names: the resource set holds what nobody has created yet.
    elif not row.resources.names.text:
        text = f"{name} gains {operations} on {row.resources}, including future ones{certain}"
        yield Callout("wildcard", who, text)
    if kind is ResourceType.TOPIC and _RECORDS.intersection(row.gained):
        internal = sorted(name for name in INTERNAL_TOPICS if row.resources.contains(name))
        if internal:
            yield Callout("internal-topic", who, f"{name} gains {operations} on {', '.join(internal)}{certain}")


def _of_super_user(row: AccessChange) -> Iterator[Callout]:
    """What a stated super user gains: one callout for each, however many rows it has."""
    if row.principal is not None and row.super_user is not None:
        yield Callout(
            "super-user", row.principal, f"{as_name(row.principal)} gains access {while_super_user(row.super_user)}"
        )


def while_super_user(source: FactSource) -> str:
    """What a grant to a stated super user is worth, and whose word that is."""
    claimed = ", which only the manifests say" if source is FactSource.MANIFESTS else ""
    return f"without effect only while the brokers' super.users holds it{claimed}"


def _labelled(row: AccessChange, labelled: Iterable[tuple[str, str]]) -> Iterator[Callout]:
    """Access to the records of declared topics that carry a label, counted by label."""
    operations = [operation for operation in row.gained if operation in _RECORDS]
    if row.resources.resource_type is not ResourceType.TOPIC or not operations:
        return
    counts = Counter(label for name, label in labelled if row.resources.contains(name))
    who, words = row.principal or EVERYBODY_ELSE, operations_words(operations, ResourceType.TOPIC)
    name = EVERYBODY_ELSE if row.principal is None else as_name(row.principal)
    for label, count in counts.items():
        topics = "1 topic" if count == 1 else f"{count:,} topics"
        yield Callout("labelled", who, f"{name} gains {words} on {topics} with {as_name(label)}")


# Which steps account for a change of access that a guard refuses: those that are left out, so that the rest can go
# on.
#
# A row of access says who gains or loses what on which names. The steps that move it are known by their bindings.
# What is left is judged again, so a step too few costs another look and never lets a refused change through.


class Charge(NamedTuple):
    """A refusal, and the rows of access that it is for; none where the guard judges the plan as a whole."""

    refusal: Refusal
    rows: tuple[DifferenceRow, ...] = ()


_Row = TypeVar("_Row", bound=DifferenceRow | AccessChange)


class RowsByPlace(Generic[_Row]):
    """Rows of access by principal and names, asked for those that share a name with others."""

    def __init__(self, rows: Iterable[_Row]) -> None:
        """Keep them; in the order given where they are on the same names."""
        self._by_key: dict[tuple[str | None, ResourceType], dict[NameSet, list[_Row]]] = {}
        self._ordered: dict[tuple[str | None, ResourceType], list[NameSet]] = {}
        for row in rows:
            self.add(row)

    def add(self, row: _Row) -> None:
        """A row more."""
        place, names = (row.principal, row.resources.resource_type), row.resources.names
        zones = self._by_key.setdefault(place, {})
        if names not in zones:
            zones[names] = []
            insort(self._ordered.setdefault(place, []), names)
        zones[names].append(row)

    @property
    def principals(self) -> frozenset[str | None]:
        """Whom there is a row for; ``None`` is everybody else."""
        return frozenset(principal for principal, _ in self._by_key)

    def meeting(self, principal: str | None, resource_type: ResourceType, key: NameSet) -> Iterator[_Row]:
        """The principal's rows on sets of names that hold ``key``, or that it holds."""
        place = (principal, resource_type)
        zones = self._by_key.get(place)
        if not zones:
            return
        outer = [ASTERISK_NAMES, *(NameSet(key.text[:length]) for length in range(len(key.text) + 1))]
        for zone in sorted({*outer, *inside(self._ordered[place], key)}):
            yield from zones.get(zone, ())


def accountable(charges: Sequence[Charge], steps: Sequence[Step]) -> Mapping[Refusal, Sequence[Change]]:
    """The changes without which each refusal would not be; none of one that no step accounts for.

    Those whose binding gives or takes what a row says; where there is none, all that are on the row's names: under
    default-allow anybody's binding there may matter.
    """
    exact = _moving(charges, steps, exact=True)
    return {**exact, **_moving([charge for charge in charges if charge.refusal not in exact], steps, exact=False)}


def _moving(charges: Sequence[Charge], steps: Sequence[Step], *, exact: bool) -> dict[Refusal, list[Change]]:
    of_row: dict[int, list[Refusal]] = {}
    for charge in charges:
        for row in charge.rows:
            of_row.setdefault(id(row), []).append(charge.refusal)
    moving: dict[Refusal, list[Change]] = {}
    if not of_row:
        return moving
    index = RowsByPlace({id(row): row for charge in charges for row in charge.rows}.values())
    for step in steps:
        if (binding := touched_binding(step.change)) is None:
            continue
        everybody = not exact or binding.entry.principal == WILDCARD_PRINCIPAL
        kind, key = binding.pattern.resource_type, names_of(binding.pattern)
        near = (
            row
            for principal in (index.principals if everybody else (binding.entry.principal,))
            for row in index.meeting(principal, kind, key)
            if row.resources.meets(key) and (not exact or _moves(step.change, binding, row))
        )
        for reason in dict.fromkeys(reason for row in near for reason in of_row[id(row)]):
            moving.setdefault(reason, []).append(step.change)
    return moving


def _moves(change: Change, binding: AclBinding, row: DifferenceRow) -> bool:
    """Whether a binding that comes or goes gives what a row gains, or takes what it loses."""
    allows = binding.entry.permission_type is AclPermissionType.ALLOW
    moved = row.gained if (change.before is None) is allows else row.lost
    operation = binding.entry.operation
    meant = {operation, IMPLICATIONS.get(operation)}
    return bool(moved) and (operation is AclOperation.ALL or not moved.isdisjoint(meant))


# Guards that look at what bindings mean: lockout, protection, power over the cluster, what breaks a broker.
#
# Access before and after is computed on all live bindings (``reconciler.access``), whatever the scope is.

_OWN: Final = (AclOperation.DESCRIBE, AclOperation.ALTER)
_BROKERS: Final = (AclOperation.CLUSTER_ACTION,)
_POWERS: Final = frozenset({AclOperation.ALTER, AclOperation.ALTER_CONFIGS})


def meaning_refusals(transition: Transition | None, facts: Facts) -> tuple[Refusal, ...]:
    """Every refusal that the meaning of a transition calls for."""
    return tuple(charge.refusal for charge in meaning_charges(transition, facts))


class Concern(NamedTuple):
    """Whose access guards judge, on which resource types; everybody else's always. ``None``: that of all.

    ``moved`` are the principals of all steps, where a difference is of some of them: their rows come first.
    """

    kinds: frozenset[ResourceType]
    principals: Set[str] | None
    moved: Container[str] | None = None

    def rows(self, difference: AccessDifference) -> list[DifferenceRow]:
        """The rows of a difference that are to be judged, and the exceptions."""
        reached = difference.reached_with_exceptions(among=self.principals)
        rows = (*difference.rows, *difference.exceptions, *reached)
        judged = [row for row in rows if row.resources.resource_type in self.kinds]
        return judged if self.moved is None else sorted(judged, key=self._order)

    def _order(self, row: DifferenceRow) -> tuple[object, ...]:
        reached = not (row.principal is None or self.moved is None or row.principal in self.moved)
        return (reached, not (reached or row.gained or row.lost), row.order)


#: What guards judge of a plan.
OF_ALL: Final = Concern(frozenset(ResourceType), None)


def meaning_charges(transition: Transition | None, facts: Facts, concern: Concern = OF_ALL) -> tuple[Charge, ...]:
    """The same, with the rows of access that show which steps account for it."""
    if transition is None:
        return ()
    on_cluster = ResourceType.CLUSTER in concern.kinds
    return (
        *map(Charge, _lockouts(transition, facts) if on_cluster else ()),
        *_protected(concern.rows(transition.difference) if facts.protect else (), facts),
        *(_cluster_alter(transition.difference, concern.principals) if on_cluster else ()),
        *map(Charge, _broken(transition.after) if concern is OF_ALL else ()),
    )


def _lockouts(transition: Transition, facts: Facts) -> Iterator[Refusal]:
    """Who holds now what it needs on the cluster, and would hold it no longer, or not for certain.

    Default-allow is taken as it is stated, and as it is established.
    """
    created = [binding for binding in transition.created if binding.pattern.resource_type is ResourceType.CLUSTER]
    after = transition.stated.with_changes(transition.created, transition.deleted)
    transitions = dict.fromkeys([(transition.before, transition.after), (transition.stated, after)])
    needs: list[tuple[str, tuple[AclOperation, ...]]] = [(name, _BROKERS) for name in facts.inter_broker_principals]
    if facts.principal is not None:
        needs.append((facts.principal, _OWN))
    for principal, operations in needs:
        # Brokers ask no ACL about a super user. One that only manifests call so may be none, and could be locked out.
        if principal in facts.established_super_users:
            continue
        lost = [
            operation.name
            for operation in operations
            if any(
                _permits(before, principal, host, operation) and not _permits(after, principal, host, operation)
                for before, after in transitions
                for host in _hosts(transition.before, created, principal)
            )
        ]
        if lost:
            yield refusal(Guard.LOCKOUT, principal, f"{as_name(principal)} would lose {', '.join(lost)} on the cluster")


def _permits(authorizer: Authorizer, principal: str, host: str, operation: AclOperation) -> bool:
    return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME).allowed is True


def _hosts(before: Authorizer, created: Iterable[AclBinding], principal: str) -> set[str]:
    """The hosts that the principal's bindings on the cluster name, before or ``created``, and one that none does.

    Texts that no connection comes from are left out: nobody held anything there.
    """
    who = (principal, WILDCARD_PRINCIPAL)
    there = (before.interpretations.bindings_of(ResourceType.CLUSTER, name) for name in who)
    named = {entry.host for _, entry in chain(*there, created) if entry.principal in who}
    return {host for host in named - {WILDCARD} if not is_dead(host, before.kafka_version)} | {ANY_OTHER_HOST}


def _protected(all_rows: Collection[DifferenceRow], facts: Facts) -> Iterator[Charge]:
    """Changes of effective access to a protected name or principal, whatever binding causes them; each object once.

    What is folded out of sight in a review is still judged here.
    """
    own = RowsByPlace(all_rows)
    super_users = frozenset(facts.established_super_users)
    moved = _Moved(all_rows)
    by_name: dict[str, tuple[Refusal, list[DifferenceRow]]] = {}
    for selector in facts.protect:
        for row in moved.near(selector):
            if _touches(selector, row, own, super_users):
                who = row.principal or EVERYBODY_ELSE
                subject = who if row.principal is None else as_name(who)
                name = who if selector.names is None else f"{row.resources}"
                words = refusal(Guard.PROTECTED, name, f"changes what {subject} may do on {row.resources}")
                by_name.setdefault(name, (words, []))[1].append(row)
    for words, rows in by_name.values():
        yield Charge(words, tuple(rows))


class _Moved:
    """Rows that gain or lose, to find those that a selector may speak of: there can be thousands of both."""

    def __init__(self, rows: Iterable[DifferenceRow]) -> None:
        self._rows = [row for row in rows if row.gained or row.lost]
        by_type: dict[ResourceType, list[tuple[NameSet, int]]] = {}
        self._by_principal: dict[str | None, list[int]] = {}
        for number, row in enumerate(self._rows):
            by_type.setdefault(row.resources.resource_type, []).append((row.resources.names, number))
            self._by_principal.setdefault(row.principal, []).append(number)
        self._by_names = {kind: ByNames(items) for kind, items in by_type.items()}

    def near(self, selector: Selector) -> list[DifferenceRow]:
        """The rows on its names or, without any, of its principals and of everybody else, in order; perhaps others."""
        who = selector.principals
        if selector.names is not None and selector.resource_type is not None:
            by_names = self._by_names.get(selector.resource_type, ByNames[int]())
            keys = map(names_of, selector.names.patterns(selector.resource_type))
            numbers = {number for key in keys for number in by_names.meeting(key)}
        elif who is None or who.any_name or who.prefixes:
            return self._rows
        else:
            numbers = {number for name in (None, *who.literal) for number in self._by_principal.get(name, ())}
        return [self._rows[number] for number in sorted(numbers)]


def _remaining(own: RowsByPlace[DifferenceRow], row: DifferenceRow, principal: str) -> list[ResourceSet]:
    """What a principal's rows leave of one of everybody else; a doubtful one takes nothing from a certain."""
    near = own.meeting(principal, row.resources.resource_type, row.resources.names)
    return less([row.resources], [item.resources for item in near if item.reading in (None, row.reading)])


def _touches(
    selector: Selector, row: DifferenceRow, own: RowsByPlace[DifferenceRow], super_users: frozenset[str]
) -> bool:
    """Whether a row speaks of a protected principal, where one is named, and of a protected name, where one is."""
    if selector.principals is None:
        return _names(selector, [row.resources])
    names = selector.principals
    if row.principal is not None:
        return names.selects_principal(row.principal) and _names(selector, [row.resources])
    if names.any_name or names.prefixes:
        return _names(selector, [row.resources])
    # A row of everybody else holds for a principal where none of its own does; no row holds for super users.
    return any(
        _names(selector, _remaining(own, row, principal)) for principal in names.literal if principal not in super_users
    )


def _names(selector: Selector, resource_sets: Iterable[ResourceSet]) -> bool:
    """Whether one of the sets holds a protected name; any does where the selector is about principals alone."""
    if selector.names is None or selector.resource_type is None:
        return any(True for _ in resource_sets)
    kind, ordered = selector.resource_type, _ordered(selector.names, selector.resource_type)
    return any(
        resources.meets(key)
        for resources in resource_sets
        if resources.resource_type is kind
        for key in meets(ordered, [resources.names])
    )


@lru_cache(maxsize=64)
def _ordered(names: NameSelector, kind: ResourceType) -> list[NameSet]:
    """What a selector names, in order: each of thousands of rows may be held against an item with as many names."""
    return sorted(map(names_of, names.patterns(kind)))


def _cluster_alter(difference: AccessDifference, among: Set[str] | None) -> Iterator[Charge]:
    """Who gains ALTER or ALTER_CONFIGS on the cluster, and so may do anything; each principal once.

    With ALTER_CONFIGS it adds a listener on which it logs in as anybody: see ``cluster-configs`` of ``callouts``.

    Where everybody else gains it, those whom that reaches are not named one by one.
    """
    gaining = [row for row in difference.rows if _alters(row)]
    everybody = {str(row.hosts) for row in gaining if row.principal is None}
    if str(ANY_HOST) not in everybody:
        reached = difference.reached_with_exceptions(among=among)
        gaining += [row for row in reached if _alters(row) and str(row.hosts) not in everybody]
    altering = {_who(row) for row in gaining if AclOperation.ALTER in row.gained}
    by_principal: dict[str, list[DifferenceRow]] = {}
    for row in gaining:
        narrowed = replace(row, gained=row.gained & _POWERS, lost=frozenset())
        by_principal.setdefault(_who(row), []).append(narrowed)
    for principal, rows in by_principal.items():
        what = (
            "ALTER on the cluster, and with it the right to change every ACL"
            if principal in altering
            else "ALTER_CONFIGS on the cluster, and with it the right to add a listener on which it logs in as anybody"
        )
        yield Charge(refusal(Guard.CLUSTER_ALTER, principal, f"{as_name(principal)} would gain {what}"), tuple(rows))


def _who(row: DifferenceRow) -> str:
    return row.principal or WILDCARD_PRINCIPAL


def _alters(row: DifferenceRow) -> bool:
    return row.resources.resource_type is ResourceType.CLUSTER and not _POWERS.isdisjoint(row.gained)


def _broken(after: Authorizer) -> Iterator[Refusal]:
    """Bindings that make brokers fail or hang, and that still exist after the plan."""
    for binding in after.broker_defects.bindings:
        yield refusal(
            Guard.BROKEN_BINDING, str(binding), f"a broker may fail or hang on {binding_name(binding)}, which stays"
        )
