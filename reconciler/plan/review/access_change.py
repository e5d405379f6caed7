"""Who gains and who loses which access, in rows that a person reviews and a file can hold.

The rows are exact over all names, principals and hosts there could be (``reconciler.access``).
"""

import dataclasses
import datetime
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Annotated, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import AccessDifference, DifferenceRow, Witness, compare_access
from reconciler.access.interpretation import Work, work_for
from reconciler.access.names import RESOURCES, NameSet, ResourceSet, names_of
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import TEXTS, array, by_name, word
from reconciler.codec.objects import Field, field
from reconciler.codec.values import MOMENT
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    IMPLICATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, moment_text
from reconciler.model.flavor import supported
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, levels, limits
from reconciler.model.listing import Change, items_after
from reconciler.model.says import REQUIRED, FieldGroup, Flat, Says
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState, FactSource
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.observed import Facts
from reconciler.plan.step import Step
from reconciler.policy.owners import Agreement
from reconciler.policy.ownership import Ownership

#: Principals outside the change that are followed one by one; the rest are counted.
MAX_REACHED: Final = 200
#: How a row's missing principal is called.
EVERYBODY_ELSE: Final = "everybody else"
_TOPICS_NAMED: Final = 20
_NEWEST: Final = (4, 4)
_WORST: Final = (Agreement.MISSING, Agreement.GIVEN, Agreement.OWN)
#: So many operations at least are called ``everything``.
_MANY: Final = 4
_OPERATIONS: Final = array(by_name(item for item in AclOperation if item > AclOperation.ALL))
_TOPICS: Final = FieldGroup("topics", "Topics among the names.")
_Operations: TypeAlias = Annotated[tuple[AclOperation, ...], _OPERATIONS]
_Reading: TypeAlias = Annotated[str, word("least", "most", "perhaps")]


class DeclaredEnd(NamedTuple):
    """The first instant at which something is over that manifests declare with an end; whether a DENY is among it."""

    instant: Annotated[
        datetime.datetime, MOMENT, Says("The first instant at which it is over.", "2027-02-23T00:00:00Z")
    ]
    permission: Annotated[AclPermissionType, Says("DENY: one ends.", "DENY", name="permissionType")]


class DataOwners(NamedTuple):
    """Whose the names of a row are by Ownership, and whether they have agreed to what a plan gives on them."""

    teams: Annotated[tuple[str, ...], TEXTS, Says("The teams that own any of the names; empty: nobody does.")]
    agreement: Annotated[
        Agreement | None,
        Says(
            "own: their file gives the access; given: they consent; missing: they do not; null: no new ACL gives any.",
            "given",
            null=True,
        ),
    ] = None


def ending_words(ending: DeclaredEnd) -> str:
    """``on 2027-02-23, when a DENY ends``."""
    midnight = ending.instant.time() == datetime.time()
    when = f"on {ending.instant.date()}" if midnight else f"at {moment_text(ending.instant)}"
    return f"{when}, when {'a' if ending.permission is AclPermissionType.DENY else 'an'} {ending.permission.name} ends"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """One row: on these names, from these hosts, this principal (``None``: everybody else) gains and loses this.

    ``topics`` are the first of the topics that exist, or will, among the names; ``topic_count`` is how many.
    ``reading`` is ``None`` where the row is certain; ``least`` or ``most`` where it holds only if default-allow, which
    is not established, is off, or on; ``perhaps`` where entries that cannot be named, or hosts in doubt, decide.
    ``super_user`` says who states that the principal is a super user, whom no ACL limits: the row counts for the day on
    which the brokers' ``super.users`` no longer holds it. ``since``: nothing changes before that end.
    """

    principal: Annotated[
        str | None,
        Says("Kafka's text form; null: everybody who has no row or exception of their own.", "User:svc-orders"),
    ]
    hosts: Annotated[str, Says("The addresses that this holds for, in words.", "anywhere")]
    resources: Annotated[ResourceSet, RESOURCES, Flat]
    gained: Annotated[_Operations, Says("Operations that are permitted afterwards and were not before.")]
    lost: Annotated[_Operations, Says("Operations that were permitted before and are not afterwards.")]
    witness: Annotated[Witness, Says("One request for which it is so.")]
    topics: Annotated[
        tuple[str, ...], Says("The first of them by name.", name="first", default=REQUIRED, group=_TOPICS)
    ] = ()
    topic_count: Annotated[
        int, Says("How many there are.", 3, name="count", default=REQUIRED, group=_TOPICS, before="topics")
    ] = 0
    reading: Annotated[_Reading | None, Says("null: certain, whatever is not known.", "least", default=REQUIRED)] = None
    super_user: Annotated[
        FactSource | None,
        Says(
            "Who states that the principal is a super user, so that no ACL limits it; null: nobody.",
            "manifests",
            default=REQUIRED,
        ),
    ] = None
    since: Annotated[
        DeclaredEnd | None,
        Says(
            "The end that is declared and before which nothing changes; left out: the plan changes it.",
            omit=True,
            null=True,
        ),
    ] = None
    owners: Annotated[
        DataOwners | None,
        Says("Whose the names are; left out: no Ownership says.", omit=True, null=True),
    ] = None


@dataclass(frozen=True, slots=True, order=True)
class ExemptPrincipal:
    """A principal whose own bindings keep what happens to everybody else on these names from it."""

    principal: Annotated[str, Says("The principal.", "User:svc-orders")]
    resources: Annotated[ResourceSet, RESOURCES, Flat]


class Reached(NamedTuple):
    """Principals outside the change: the rows of those who are listed, how many more gain or lose, and a digest.

    The digest is of what all of them gain and are denied, where not all are listed, and empty where they are.
    """

    rows: tuple[DifferenceRow, ...] = ()
    more: int = 0
    digest: str = ""


def reached(difference: AccessDifference) -> Reached:
    """Whom a change of ``User:*`` or of coverage reaches, up to a bound: first those who gain, then those who lose."""
    rows = difference.reached_with_exceptions()
    gaining = {row.principal for row in rows if row.principal and row.gained}
    losing = {row.principal for row in rows if row.principal and row.lost} - gaining
    exempt = {row.principal for row in rows if row.principal} - gaining - losing
    # One who loses is listed at any rate: that access is lost has to be seen.
    front = sorted(gaining)[: MAX_REACHED - bool(losing)] + sorted(losing)
    listed = {*[*front, *sorted(gaining), *sorted(exempt)][:MAX_REACHED]}
    everybody = gaining | losing | exempt
    digest = _digest(difference, everybody, rows) if len(everybody) > MAX_REACHED else ""
    return Reached(tuple(row for row in rows if row.principal in listed), len((gaining | losing) - listed), digest)


def _digest(difference: AccessDifference, principals: Collection[str], rows: Iterable[DifferenceRow]) -> str:
    """Of what these principals gain, and of the DENYs that keep them from a gain of everybody else."""
    denied = [
        str(binding)
        for binding in difference.before.bindings
        if binding.entry.permission_type is AclPermissionType.DENY and binding.entry.principal in principals
    ]
    gained = [_gain_text(row) for row in rows if row.gained]
    return hashlib.sha256("\n".join([*sorted(denied), *sorted(gained)]).encode("utf-8", "surrogatepass")).hexdigest()


def _gain_text(row: DifferenceRow) -> str:
    kind, key, cuts = row.resources.resource_type, row.resources.names, row.resources.cuts
    names = " ".join(repr(tuple(part)) for part in (key, *cuts))
    operations = ",".join(operation.name for operation in sorted(row.gained))
    return f"{row.principal} {operations} {kind.name} {names} {row.hosts} {row.reading}"


def access_changes(
    difference: AccessDifference, others: Reached, topics: Sequence[str] = ()
) -> tuple[AccessChange, ...]:
    """The rows of a difference with those of ``others``, whom it reaches; ``topics`` is sorted."""
    moved = (row for row in others.rows if row.gained or row.lost)
    return tuple(_access_change(row, topics) for row in (*difference.rows, *moved))


def with_owners(
    rows: Iterable[AccessChange], given: Mapping[AclBinding, Declaration], rules: Sequence[Ownership]
) -> tuple[AccessChange, ...]:
    """The rows with the owners of their names; ``given`` is what the plan creates and declares.

    Nobody has to agree to a loss, so a row of losses alone has no agreement.
    """
    by_principal: dict[str, list[AclBinding]] = {}
    for binding in given:
        if binding.entry.permission_type is AclPermissionType.ALLOW:
            by_principal.setdefault(binding.entry.principal, []).append(binding)
    agreed = cache(lambda binding: [rule.agreement(binding, given[binding]) for rule in rules])
    owned = cache(lambda pattern: [rule.owners_of(pattern) for rule in rules])

    def owners(row: AccessChange) -> DataOwners | None:
        holders = [teams for teams in owned(pattern_of(row.resources)) if teams is not None]
        if not holders:
            return None
        teams = tuple(sorted(frozenset().union(*holders)))
        if not row.gained or not teams:
            return DataOwners(teams)
        everyone = by_principal.get(WILDCARD_PRINCIPAL, [])
        new = [*by_principal.get(row.principal or WILDCARD_PRINCIPAL, []), *(everyone if row.principal else [])]
        answers = {answer for item in new if _names_some(item.pattern, row.resources) for answer in agreed(item)}
        return DataOwners(teams, next((answer for answer in _WORST if answer in answers), None))

    return tuple(dataclasses.replace(row, owners=owners(row)) for row in rows)


def _names_some(pattern: ResourcePattern, resources: ResourceSet) -> bool:
    return pattern.resource_type is resources.resource_type and resources.meets(names_of(pattern))


def pattern_of(resources: ResourceSet) -> ResourcePattern:
    """The pattern that matches a resource set's names, those that it leaves out included."""
    if not resources.names.text:
        return ResourcePattern(resources.resource_type, WILDCARD)
    kind = PatternType.LITERAL if resources.names.literal else PatternType.PREFIXED
    return ResourcePattern(resources.resource_type, resources.names.text, kind)


def exceptions(difference: AccessDifference, others: Reached) -> tuple[ExemptPrincipal, ...]:
    """Where a row of everybody else does not hold for a principal, and nothing else does; sorted, each once."""
    rows = (*difference.exceptions, *others.rows)
    return tuple(
        sorted(
            {
                ExemptPrincipal(row.principal, row.resources)
                for row in rows
                if row.principal and not row.gained and not row.lost
            }
        )
    )


def _access_change(row: DifferenceRow, topics: Sequence[str]) -> AccessChange:
    hit = row.resources.select(topics) if row.resources.resource_type is ResourceType.TOPIC else []
    return AccessChange(
        row.principal,
        str(row.hosts),
        row.resources,
        tuple(sorted(row.gained)),
        tuple(sorted(row.lost)),
        row.witness,
        tuple(hit[:_TOPICS_NAMED]),
        len(hit),
        row.reading,
    )


def operations_words(operations: Sequence[AclOperation], kind: ResourceType) -> str:
    """``READ, WRITE``: without what they imply, and ``everything`` where a resource type has no others."""
    return _operations_words(tuple(operations), kind)


@cache  # asked several times of each of 100,000 rows, which have a few dozen answers
def _operations_words(operations: tuple[AclOperation, ...], kind: ResourceType) -> str:
    if len(operations) >= _MANY and supported(kind, _NEWEST) <= set(operations):
        return "everything"
    implied = {IMPLICATIONS[operation] for operation in operations if operation in IMPLICATIONS}
    return ", ".join(operation.name for operation in operations if operation not in implied)


def narrower(a: NameSet, b: NameSet) -> NameSet | None:
    """The names of both, which is the narrower of the two keys, or ``None``."""
    if a.contains(b):
        return b
    return a if b.contains(a) else None


# Who gains access in a plan, with the client quotas that limit them once it is applied.


@dataclass(frozen=True, slots=True, order=True)
class PrincipalLimit:
    """One key of a client quota, its value in Kafka's unit, and the entity that has it, in words."""

    key: Annotated[str, Says("The key of the client quota.", "producer_byte_rate")]
    value: Annotated[float, Says("Its value, in Kafka's unit.", 1048576)]
    entity: Annotated[str, Says("The entity whose quota it is, in words.", "default user")]


@dataclass(frozen=True, slots=True, order=True)
class GainingPrincipal:
    """A principal, and what limits it when it connects without a client id; no limits: nothing does."""

    principal: Annotated[str, Says("Who gains access.", "User:svc-orders")]
    limits: Annotated[tuple[PrincipalLimit, ...], Says("What limits it; empty: nothing does.", default=REQUIRED)] = ()


#: A field of the plan.
GAINING: Final[Field] = field(
    "gaining",
    array(record_of(GainingPrincipal), lines=True),
    "Who gains access, with the client quotas that limit them without a client id, once applied. In no id. Absent "
    "where quotas are not known, or there are none.",
    default=(),
    omit=True,
)


def gaining(
    rows: Iterable[AccessChange], quotas: Iterable[ClientQuota], changes: Iterable[Change]
) -> tuple[GainingPrincipal, ...]:
    """Each principal that ``rows`` let gain, sorted; none where no quota exists before or after ``changes``.

    ``quotas`` are all that the cluster has. Which one wins is KIP-55's rule, :func:`levels`: of a principal it looks at
    the name alone, whatever its type. Everybody else has no name that a quota could be for.
    """
    before = frozenset(quotas)
    after = items_after(ClientQuota, before, changes)
    if not before and not after:
        return ()
    who = {row.principal for row in rows if row.gained and row.principal is not None} - {WILDCARD_PRINCIPAL}
    by_entity = {quota.entity: quota for quota in after}
    return tuple(
        GainingPrincipal(principal, _limits(by_entity, principal.partition(":")[2])) for principal in sorted(who)
    )


def _limits(quotas: Mapping[QuotaEntity, ClientQuota], user: str) -> tuple[PrincipalLimit, ...]:
    # Only those that can matter: of thousands of principals each would look at thousands of quotas otherwise.
    candidates = tuple(levels(user, ""))
    by_key = limits((quotas[entity] for entity in candidates if entity in quotas), candidates)
    return tuple(PrincipalLimit(key, first.values[key], str(first.entity)) for key, (first, *_) in by_key.items())


# The authorizer before and after a plan's steps: what guards, the access review and the proof have in common.


@dataclass(frozen=True)
class Transition:
    """What steps do to a state's bindings. Names under ``__kr.`` are ours for a moment, and mean nothing here.

    ``before`` and ``after`` have no super users and only the default-allow that is established, so that no row is
    missing for a fact that may be untrue: a binding of a super user means something as soon as the brokers'
    ``super.users`` changes. ``stated`` is ``before`` with default-allow as it is stated.
    """

    before: Authorizer
    after: Authorizer
    created: tuple[AclBinding, ...]
    deleted: tuple[AclBinding, ...]
    stated: Authorizer
    #: Shared by all that is asked about the transition: the proof compares it moment by moment.
    work: Work = dataclasses.field(default_factory=Work)

    @cached_property
    def difference(self) -> AccessDifference:
        """Who gains and who loses what; computed once, when it is first asked for."""
        return compare_access(self.before, self.after, work=self.work)


def authorizer_of(live: ClusterState, default_allow: bool | None) -> Authorizer:
    """What the bindings of a state mean but for those on reserved names; super users are reckoned like anybody."""
    own = on_reserved_names(live.bindings)
    # The set as it is, where there is nothing to leave out: a copy of millions takes 100 MB.
    lasting = live.bindings.difference(own) if own else live.bindings
    return Authorizer(lasting, (), default_allow, live.kafka_version, opaque=live.opaque)


def transition(
    live: ClusterState, steps: Iterable[Step], facts: Facts, *, default_allow: bool | None
) -> Transition | None:
    """The transition from ``live``, on all live bindings whatever the scope is; ``None`` if no binding is touched."""
    changes = [step.change for step in steps]
    created, deleted = created_bindings(changes), deleted_bindings(changes)
    # Authorizers of a large cluster are slow to build: a plan that moves topics alone needs none.
    if not created and not deleted:
        return None
    start = standing(live, facts, default_allow=default_allow)
    after, work = start.before.with_changes(created, deleted), work_for(len(created) + len(deleted))
    return Transition(start.before, after, tuple(created), tuple(deleted), start.stated, work)


def standing(live: ClusterState, facts: Facts, *, default_allow: bool | None) -> Transition:
    """The transition that changes nothing."""
    established = facts.established_default_allow(default_allow)
    stated = before = authorizer_of(live, default_allow)
    # Both have one index, which takes most of the time and memory, unless a guess was made with the one or the other.
    if established is not default_allow:
        guessed = stated.interpretations.guesses
        before = authorizer_of(live, established) if guessed else stated.doubting(default_allow=True)
    return Transition(before, before, (), (), stated)
