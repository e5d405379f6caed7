"""The table of laws, cell by cell: each answer of each kind is what ownership, plans, undo and the audit log do."""

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from reconciler.apply.audit import audited
from reconciler.apply.environment import Outcome, StepOutcome
from reconciler.apply.preflight import RefusedError, check
from reconciler.apply.records import About, RunCluster
from reconciler.apply.undo import revert_steps
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.kinds import listed_types
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Change, Create, Delete, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.secrets import SecretPermit
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.difference import DiffRules, DriftCause, SkipReason
from reconciler.plan.kinds import compare, kind_of, kinds, objection
from reconciler.plan.observed import NO_FACTS, Facts
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms, causes_of
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.step import Step
from reconciler.policy.laws import (
    QUESTIONS,
    Audit,
    DeclaredBy,
    Ends,
    Goes,
    Law,
    Lockout,
    Lost,
    NewAccess,
    Undeclared,
    Undo,
    Unowned,
    laws,
)
from reconciler.policy.owners import Owner
from reconciler.policy.ownership import BreachKind, Ownership
from reconciler.show.kinds import KINDS
from reconciler.show.kinds import kind_of as shown_kind
from reconciler.show.reading import Report
from reconciler.show.verdicts import first_screen
from tests.security.laws_page import PAGE, refreshed

DAY: Final = datetime.date(2027, 1, 1)
END: Final = Expiry.of("2026-12-31")
NOTHING: Final = DesiredState()
ABOUT: Final = About("run", "operator", f"sha256:{'0' * 64}", f"sha256:{'0' * 64}", RunCluster("c", "c"), None)
SHA: Final = "SCRAM-SHA-512"
SOURCE: Final = {SHA: PasswordSource("${env:TEAM_A}")}
ALL: Final = Scope(
    include=(
        Selector(NameSelector(any_name=True)),
        *(Selector(None, kind, NameSelector(any_name=True)) for kind in (ResourceType.TOPIC, ResourceType.GROUP)),
    )
)


def acl(
    name: str,
    permission: AclPermissionType = AclPermissionType.ALLOW,
    principal: str | None = None,
    operation: AclOperation = AclOperation.READ,
) -> AclBinding:
    entry = AccessControlEntry(f"User:{principal or name}", "*", operation, permission)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, name), entry)


def quota(name: str, limit: float = 1.0) -> ClientQuota:
    return ClientQuota(QuotaEntity.of(name), {"producer_byte_rate": limit})


def group(name: str, value: str = "read_committed") -> GroupConfig:
    return GroupConfig(name, {"share.isolation.level": value})


def subscription(name: str, interval: str = "1000") -> ClientMetrics:
    return ClientMetrics(name, {"interval.ms": interval, "match": "client_id=a", "metrics": "*"})


def user(name: str, iterations: int = 8192) -> ScramUser:
    return ScramUser(name, {SHA: iterations}, SOURCE)


class Sample(NamedTuple):
    """A kind: an item by name and another value of it, its changes, and a document with MORE fields of an item."""

    item: Callable[[str], Any]
    other: Callable[[str], Any] | None
    changes: tuple[Change, ...]
    document: str
    values: str = ""


_MOVE: Final = Update(TopicReplicas("a", ((1,),), "id"), TopicReplicas("a", ((2,),), "id", 0))
SAMPLES: Final = {
    "acls": Sample(
        acl,
        None,
        (Create(acl("a")), Delete(acl("a"))),
        "kind: Acls\nmetadata: {name: x}\nspec: {principal: User:a, rules: [{allow: READ, topics: [a]MORE}]}",
    ),
    "topics": Sample(
        lambda name: Topic(name, 1, 1),
        None,
        (
            Create(Topic("a", 1, 1)),
            Delete(Topic("a", 1, 1)),
            Update(TopicPartitions("a", 1, "id"), TopicPartitions("a", 2, "id")),
            Update(TopicConfigs("a", {"retention.ms": "9"}, "id"), TopicConfigs("a", {"retention.ms": "8"}, "id")),
        ),
        "kind: Topics\nmetadata: {name: x}\nspec: {topics: [{name: aMORE}]}",
    ),
    "replicas": Sample(
        lambda name: Topic(name, 1, 1, {}, None, ((2,),)),
        None,
        (_MOVE,),
        "kind: Topics\nmetadata: {name: x}\nspec: {topics: [{name: a, replicaAssignments: [[2]]MORE}]}",
    ),
    "quotas": Sample(
        quota,
        lambda name: quota(name, 0.5),
        (Create(quota("a")), Update(quota("a"), quota("a", 0.5)), Delete(quota("a"))),
        "kind: Quotas\nmetadata: {name: x}\nspec: {quotas: [{user: aMORE}]}",
        ", limits: {producer_byte_rate: 1}",
    ),
    "groupConfigs": Sample(
        group,
        lambda name: group(name, "read_uncommitted"),
        (Create(group("a")), Update(group("a"), group("a", "read_uncommitted")), Delete(group("a"))),
        "kind: GroupConfigs\nmetadata: {name: x}\nspec: {groups: [{name: aMORE}]}",
        ", configs: {share.isolation.level: read_committed}",
    ),
    "clientMetrics": Sample(
        subscription,
        lambda name: subscription(name, "2000"),
        (Create(subscription("a")), Update(subscription("a"), subscription("a", "2000")), Delete(subscription("a"))),
        "kind: ClientMetrics\nmetadata: {name: x}\nspec: {subscriptions: [{name: aMORE}]}",
        ", configs: {match: client_id=a}",
    ),
    "users": Sample(
        user,
        lambda name: user(name, 8193),
        (Create(user("a")), Update(user("a"), user("a", 8193)), Delete(user("a"))),
        "kind: Users\nmetadata: {name: x}\nspec: {users: [{name: aMORE}]}",
        ", mechanisms: {SCRAM-SHA-512: {password: '${env:TEAM_A}'}}",
    ),
}
OWNERS: Final = tuple(
    Owner(
        team,
        Origin("ownership.yaml", number, 1),
        frozenset({f"{team}.yaml"}),
        NameSelector(literal=(f"User:{team}",)),
        tuple(ResourcePattern(kind, team) for kind in (ResourceType.TOPIC, ResourceType.GROUP)),
        team == "incidents",
    )
    for number, team in enumerate(("pay", "ledger", "incidents"), 1)
)


def declared(
    law: Law, item: Any, file: str = "x.yaml", *, absent: bool = False, expired: bool = False, taking: bool = False
) -> DesiredState:
    """``taking``: in the form that takes something away; the forms that a kind does not have are ignored."""
    place = Declaration(Origin(file, 1, 1), expires=END if expired else None)
    if law.kind == "acls":
        pattern, entry = item
        denied = AclBinding(pattern, entry._replace(permission_type=AclPermissionType.DENY)) if taking else item
        return DesiredState(expired={denied: place}) if expired else DesiredState({denied: place})
    if isinstance(item, Topic):
        return DesiredState(topics={item.name: DesiredTopic(item, place.origin, absent=absent or taking)})
    return DesiredState(listed={law.kind: {item.key: DesiredItem(item, place, absent or taking, expired)}})


def live(law: Law, *items: Any) -> ClusterState:
    """A cluster that has these items of a kind, and lists all kinds."""
    listings: dict[str, Listing[Any]] = {one.KIND: Listing(frozenset()) for one in listed_types()}
    if law.kind == "acls":
        return ClusterState("c", frozenset(items), listings=listings)
    if law.kind in ("topics", "replicas"):
        return ClusterState("c", topics={one.name: one for one in items}, listings=listings)
    return ClusterState("c", listings={**listings, law.kind: Listing(frozenset(items))})


def breaches(state: DesiredState) -> list[BreachKind]:
    return [one.kind for one in Ownership(OWNERS).breaches(state)]


def plan_of(desired: DesiredState, state: ClusterState, facts: Facts = NO_FACTS, *, guarded: bool = True) -> Plan:
    terms = Terms("c", ALL, default_allow=False, facts=facts)
    permit = SecretPermit(("TEAM_",), ())
    return propose(desired, state, terms, Request(DAY, Options(allow_deletes=True), permit=permit, guarded=guarded))


def loads(law: Law, more: str) -> bool:
    cluster = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
    sample = SAMPLES[law.kind]
    text = sample.document.replace("MORE", more)
    try:
        load([Source("cluster.yaml", cluster), Source("x.yaml", f"apiVersion: reconciler/v1\n{text}\n")])
    except ManifestError:
        return False
    return True


def by_both(law: Law) -> None:
    own, theirs = acl("pay"), acl("ledger")
    assert breaches(declared(law, own, "pay.yaml")) == []
    assert breaches(declared(law, theirs, "pay.yaml")) == [BreachKind.PRINCIPAL, BreachKind.RESOURCE]
    assert breaches(declared(law, acl("pay", principal="ledger"), "pay.yaml")) == [BreachKind.PRINCIPAL]
    assert breaches(declared(law, acl("ledger", principal="pay"), "pay.yaml")) == [BreachKind.RESOURCE]


def by_name(law: Law) -> None:
    kind = BreachKind.GROUP if law.kind == "groupConfigs" else BreachKind.TOPIC
    for file, found in (("pay.yaml", []), ("ledger.yaml", [kind]), ("x.yaml", [kind]), ("incidents.yaml", [kind])):
        assert breaches(declared(law, SAMPLES[law.kind].item("pay"), file)) == found


def by_principal(law: Law) -> None:
    kind = BreachKind.PRINCIPAL
    for file, found in (("pay.yaml", []), ("ledger.yaml", [kind]), ("x.yaml", [kind]), ("incidents.yaml", [kind])):
        assert breaches(declared(law, SAMPLES[law.kind].item("pay"), file)) == found
    if law.kind == "quotas":
        everybody = ClientQuota(QuotaEntity.of(""), {"producer_byte_rate": 1})
        assert breaches(declared(law, everybody, "pay.yaml")) == [BreachKind.SHARED]
        assert breaches(declared(law, everybody)) == []


def by_no_team(law: Law) -> None:
    for file, found in (("x.yaml", []), *((f"{one.team}.yaml", [BreachKind.SHARED]) for one in OWNERS)):
        assert breaches(declared(law, SAMPLES[law.kind].item("pay"), file)) == found


def unowned_additions(law: Law) -> None:
    item = SAMPLES[law.kind].item("nobody")
    for taking, file in ((False, "pay.yaml"), (False, "x.yaml"), (True, "x.yaml")):
        assert breaches(declared(law, item, file, taking=taking)) == []
    assert len(breaches(declared(law, item, "pay.yaml", taking=True))) == 1


def unowned_no_team(law: Law) -> None:
    item = SAMPLES[law.kind].item("nobody")
    kind = BreachKind.SHARED if law.declared_by is DeclaredBy.NO_TEAM else BreachKind.UNOWNED
    for taking in (False, True):
        assert breaches(declared(law, item, "pay.yaml", taking=taking)) == [kind]
        assert breaches(declared(law, item, taking=taking)) == []


def ended_judged(law: Law) -> None:
    sample = SAMPLES[law.kind]
    assert loads(law, f"{sample.values}, expires: 2020-01-01")
    for name, file in (("pay", "ledger.yaml"), ("pay", "pay.yaml"), ("nobody", "pay.yaml"), ("nobody", "x.yaml")):
        found = [breaches(declared(law, sample.item(name), file, expired=expired)) for expired in (False, True)]
        assert found[0] == found[1]
    item = sample.item("a")
    for change in (one for one in sample.changes if one.after == item):
        against = [objection(change, declared(law, item, expired=over), DiffRules()) for over in (False, True)]
        assert against == [None, "to be declared, and not over"]
    wanted, there = declared(law, item, expired=True), live(law, item)
    made = plan_of(wanted, there)
    (step,) = made.steps
    assert (step.change.after, step.expires) == (None, END)
    assert causes_of(made, made, wanted) == {step.id: DriftCause.EXPIRED}
    assert causes_of(made, made, declared(law, item, taking=True)) == {step.id: DriftCause.BY_HAND}
    # Its lines may be gone when the run is undone: the plan still says why it went.
    undone = revert_steps([step], live(law), ALL, NOTHING, Origin("plan.json", 1, 1))
    assert (undone.desired, len(undone.kept)) == (DesiredState(), 1)


def ended_never(law: Law) -> None:
    assert loads(law, SAMPLES[law.kind].values)
    assert not loads(law, f"{SAMPLES[law.kind].values}, expires: 2020-01-01")


def goes_undeclared(law: Law) -> None:
    assert not loads(law, ", absent: true")
    assert [step.change for step in plan_of(DesiredState(), live(law, acl("a"))).steps] == [Delete(acl("a"))]
    assert breaches(declared(law, acl("pay"), "incidents.yaml", taking=True)) == []
    assert len(breaches(declared(law, acl("pay"), "incidents.yaml"))) == 2


def goes_absent(law: Law) -> None:
    assert loads(law, ", absent: true")
    sample = SAMPLES[law.kind]
    (step,) = plan_of(declared(law, sample.item("a"), absent=True), live(law, sample.item("a")), guarded=False).steps
    assert isinstance(step.change, Delete)
    assert len(breaches(declared(law, sample.item("pay"), "ledger.yaml", absent=True))) == 1
    assert len(breaches(declared(law, sample.item("pay"), "incidents.yaml", absent=True))) == 1


def goes_absent_or_disabled(law: Law) -> None:
    goes_absent(law)
    assert loads(law, ", disabled: true")
    off = ScramUser("pay", {SHA: DISABLED_ITERATIONS})
    for file, found in (("pay.yaml", 0), ("ledger.yaml", 1), ("x.yaml", 1), ("incidents.yaml", 0)):
        assert len(breaches(declared(law, off, file))) == found
    assert len(breaches(declared(law, off, "incidents.yaml", expired=True))) == 1
    assert len(breaches(declared(law, off, "incidents.yaml", absent=True))) == 1


def goes_with_topic(law: Law) -> None:
    wanted = declared(law, SAMPLES[law.kind].item("a"), absent=True)
    (step,) = plan_of(wanted, live(law, Topic("a", 1, 1, {}, "id", ((1,),))), guarded=False).steps
    assert (step.change.after, kind_of(step.change).describe(step.change)) == (None, "delete topic a")


def locks_out_by_access(law: Law) -> None:
    entries = (
        AccessControlEntry("User:a", "*", one, AclPermissionType.ALLOW)
        for one in (AclOperation.ALTER, AclOperation.DESCRIBE)
    )
    needed = [AclBinding(ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME), entry) for entry in entries]
    plan = plan_of(declared(law, acl("b")), live(law, *needed), Facts("User:a"))
    assert (Guard.LOCKOUT, "User:a") in {(one.guard, one.object) for one in plan.refusals}


ROLES: Final = (Facts("User:a"), Facts(super_users=("User:a",)), Facts(inter_broker_principals=("User:a",)))


def locks_out_by_guard(law: Law) -> None:
    for facts in ROLES:
        plan = plan_of(declared(law, SAMPLES[law.kind].item("a")), live(law), facts)
        assert [(one.guard, one.object) for one in plan.refusals] == [(Guard.LOGIN_LIMIT, "User:a")]
    assert plan_of(declared(law, SAMPLES[law.kind].item("b")), live(law), ROLES[0]).refusals == ()


def locks_out_impossible(law: Law) -> None:
    sample = SAMPLES[law.kind]
    for facts in ROLES:
        for state in (live(law), live(law, user("a", 9000))):
            for absent in (False, True):
                plan = plan_of(declared(law, sample.item("a"), absent=absent), state, facts)
                assert plan.steps == ()
                assert [one.reason for one in plan.skipped if one.change] == [SkipReason.IMPOSSIBLE] * len(plan.skipped)


def locks_out_nobody(law: Law) -> None:
    sample = SAMPLES[law.kind]
    for facts in ROLES:
        if law.kind == "replicas":
            assert [*kind_of(_MOVE).risks([_MOVE], live(law), {"User:a": "our own login"})] == []
            continue
        plan = plan_of(declared(law, sample.item("a")), live(law), facts)
        assert len(plan.steps) == 1
        assert plan.refusals == ()


def counts_by_access(law: Law) -> None:
    allow, deny = acl("a"), acl("a", AclPermissionType.DENY)
    assert plan_of(declared(law, allow), live(law)).gives_access
    assert not plan_of(declared(law, deny), live(law)).gives_access
    assert not plan_of(declared(law, acl("b")), live(law, acl("b"), allow)).gives_access


def test_no_login_of_a_protected_principal_changes_unasked() -> None:
    """By whatever it is protected, in plan and in apply; its access is judged elsewhere."""
    law, none = laws()["users"], Terms("c", ALL, default_allow=False)
    request = Request(DAY, Options(allow_deletes=True), permit=SecretPermit(("TEAM_",), ()))
    for names, refused in (
        (NameSelector(literal=("User:a",)), True),
        (NameSelector(prefixes=("User:",)), True),
        (NameSelector(any_name=True), True),
        (NameSelector(literal=("User:b",)), False),
    ):
        terms = replace(none, facts=Facts(protect=(Selector(names),)))
        for wanted, there in ((user("a"), []), (user("a", 8193), [user("a")]), (None, [user("a")])):
            desired = declared(law, wanted or user("a"), absent=wanted is None)
            plan = propose(desired, live(law, *there), terms, request)
            assert [(one.guard, one.object) for one in plan.refusals] == [(Guard.PROTECTED, "User:a")] * refused
            assert len(plan.steps) == (not refused)
            before = propose(desired, live(law, *there), none, request)
            if refused:
                with pytest.raises(RefusedError, match="SCRAM user a"):
                    check(before, live(law, *there), terms)
                accepted = replace(request, accepted=(AcceptedGuard(Guard.PROTECTED, "User:a"),))
                assert propose(desired, live(law, *there), terms, accepted).refusals == ()
            else:
                check(before, live(law, *there), terms)


def counts_passwords(law: Law) -> None:
    assert plan_of(declared(law, user("a")), live(law)).gives_access
    assert plan_of(declared(law, user("a", 8193)), live(law, user("a"))).gives_access
    for wanted, absent in ((ScramUser("a", {SHA: DISABLED_ITERATIONS}), False), (user("a"), True)):
        assert not plan_of(declared(law, wanted, absent=absent), live(law, user("a"))).gives_access


def counts_never(law: Law) -> None:
    for change in SAMPLES[law.kind].changes:
        plan = Plan("c", Terms("c"), Options(), DAY, (Step(Phase.ALTER_QUOTAS, change),))
        assert not plan.gives_access


def _lost(law: Law) -> list[bool]:
    found = [kind_of(change).irreversible(change) is not None for change in SAMPLES[law.kind].changes]
    assert found == [not kind_of(change).is_reversible(change) for change in SAMPLES[law.kind].changes]
    return found


def loses_nothing(law: Law) -> None:
    assert not any(_lost(law))


def loses_passwords(law: Law) -> None:
    assert _lost(law) == [False, True, True]


def loses_records(law: Law) -> None:
    assert _lost(law) == [False, True, True, True]


def _compared(law: Law, desired: DesiredState, *, prune: bool) -> tuple[list[Change], list[SkipReason]]:
    rules = DiffRules(frozenset({law.kind}) if prune else frozenset())
    found = compare(desired, live(law, SAMPLES[law.kind].item("a")), ALL, rules)
    return [one.change for one in found.changes], [one.reason for one in found.skipped]


def undeclared_differs(law: Law) -> None:
    assert _compared(law, DesiredState(), prune=False) == ([Delete(acl("a"))], [])


def undeclared_of_a_declared_kind(law: Law) -> None:
    item = SAMPLES[law.kind].item
    assert _compared(law, DesiredState(), prune=False) == ([], [])
    other = declared(law, item("b"), absent=True)
    assert _compared(law, other, prune=False) == ([], [SkipReason.UNDECLARED])
    changes, _ = _compared(law, other, prune=True)
    assert [isinstance(change, Delete) for change in changes] == [True]


def undeclared_places_are_nothing(law: Law) -> None:
    wanted = DesiredState(topics={"a": DesiredTopic(Topic("a"), Origin("x.yaml", 1, 1))})
    assert _compared(law, wanted, prune=False) == ([], [])


def _undone(law: Law, change: Change, state: ClusterState, was: DesiredState = NOTHING) -> tuple[Any, int]:
    """What undo wants, and of how many things it says that they stay."""
    found = revert_steps([Step(Phase.ALTER_QUOTAS, change)], state, ALL, was, Origin("plan.json", 1, 1))
    wanted = found.desired
    items = {"acls": wanted.bindings, "topics": wanted.topics, "replicas": wanted.topics}
    return items.get(law.kind, wanted.listed.get(law.kind, {})), len(found.kept)


def undo_restores(law: Law) -> None:
    sample = SAMPLES[law.kind]
    if law.kind == "replicas":
        back, kept = _undone(law, _MOVE, live(law, Topic("a", 1, 1, {}, "id", ((2,),))))
        assert (back["a"].topic.replica_assignments, kept) == (((1,),), 0)
        assert _undone(law, _MOVE, live(law, Topic("a", 1, 1, {}, "id", ((3,),))))[1] == 1
        return
    item = sample.item("a")
    if law.kind == "acls":
        assert [*_undone(law, Delete(item), live(law))[0]] == [item]
        assert item not in _undone(law, Create(item), live(law, item))[0]
        gone = declared(law, item, expired=True)
        assert item not in _undone(law, Delete(item), live(law), gone)[0]
        return
    assert sample.other is not None
    assert [one.item for one in _undone(law, Delete(item), live(law))[0].values()] == [item]
    assert _undone(law, Create(item), live(law, item))[0][item.key].absent
    changed = _undone(law, Create(item), live(law, sample.other("a")))
    expired = _undone(law, Delete(item), live(law), declared(law, item, expired=True))
    assert [(len(one), kept) for one, kept in (changed, expired)] == [(0, 1), (0, 1)]


def undo_deletes_created(law: Law) -> None:
    item = SAMPLES[law.kind].item("a").with_values({SHA: 8192})
    assert _undone(law, Create(item), live(law, item))[0]["a"].absent
    for change, state in ((Update(item, user("a", 8193)), live(law, user("a", 8193))), (Delete(item), live(law))):
        wanted, kept = _undone(law, change, state)
        assert (len(wanted), kept) == (0, 1)


def undo_without_records(law: Law) -> None:
    topic = Topic("a", 1, 1, {}, "id")
    assert _undone(law, Create(Topic("a", 1, 1)), live(law, topic))[0]["a"].absent
    wanted, kept = _undone(law, Delete(topic), live(law))
    assert (wanted["a"].topic, kept) == (Topic("a", 1, 1), 1)


def _audited(law: Law) -> list[dict[str, Any]]:
    """The step of each change as a line of the audit log has it."""
    steps = [Step(Phase.ALTER_QUOTAS, change) for change in SAMPLES[law.kind].changes]
    return [audited(ABOUT, StepOutcome(step, Outcome.DONE), "2027-01-01T00:00:00Z") for step in steps]


def audit_has_both_sides(law: Law) -> None:
    for change, line in zip(SAMPLES[law.kind].changes, _audited(law), strict=True):
        assert [line[side] is not None for side in ("before", "after")] == [
            one is not None for one in (change.before, change.after)
        ]


def audit_has_no_secret(law: Law) -> None:
    audit_has_both_sides(law)
    text = json.dumps(_audited(law))
    assert "${env:TEAM_A}" in text
    assert "8193" in text


CELLS: Final[dict[Enum, Callable[[Law], None]]] = {
    DeclaredBy.RESOURCE_AND_PRINCIPAL: by_both,
    DeclaredBy.NAME: by_name,
    DeclaredBy.PRINCIPAL: by_principal,
    DeclaredBy.NO_TEAM: by_no_team,
    Unowned.ADDITIONS: unowned_additions,
    Unowned.NO_TEAM: unowned_no_team,
    Ends.JUDGED: ended_judged,
    Ends.NEVER: ended_never,
    Goes.UNDECLARED: goes_undeclared,
    Goes.ABSENT: goes_absent,
    Goes.ABSENT_OR_DISABLED: goes_absent_or_disabled,
    Goes.WITH_TOPIC: goes_with_topic,
    Lockout.EFFECTIVE_ACCESS: locks_out_by_access,
    Lockout.GUARD: locks_out_by_guard,
    Lockout.IMPOSSIBLE: locks_out_impossible,
    Lockout.NO_LOGIN: locks_out_nobody,
    NewAccess.EFFECTIVE_ACCESS: counts_by_access,
    NewAccess.PASSWORD: counts_passwords,
    NewAccess.NONE: counts_never,
    Lost.NOTHING: loses_nothing,
    Lost.PASSWORDS: loses_passwords,
    Lost.RECORDS: loses_records,
    Undeclared.DIFFERENCE: undeclared_differs,
    Undeclared.IF_KIND_DECLARED: undeclared_of_a_declared_kind,
    Undeclared.NONE: undeclared_places_are_nothing,
    Undo.RESTORES: undo_restores,
    Undo.DELETES_CREATED: undo_deletes_created,
    Undo.RESTORES_WITHOUT_RECORDS: undo_without_records,
    Audit.BOTH_SIDES: audit_has_both_sides,
    Audit.NO_SECRETS: audit_has_no_secret,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", laws())
def test_each_kind_does_what_its_answer_says(kind: str, question: str) -> None:
    CELLS[getattr(laws()[kind], question)](laws()[kind])


def test_no_kind_and_no_question_is_left_out() -> None:
    """Every change that a plan can hold has a row, every row a sample, every answer a test."""
    assert {*Law._fields} - {"kind", "words"} == {*QUESTIONS}
    assert Law._field_defaults == {}
    assert laws().keys() == SAMPLES.keys()
    assert {kind_of(change).law(change) for one in SAMPLES.values() for change in one.changes} == {*laws().values()}
    assert {kind_of(change) for one in SAMPLES.values() for change in one.changes} == {*kinds()}
    assert {getattr(law, question) for law in laws().values() for question in QUESTIONS} == CELLS.keys()


def test_each_kind_is_named_on_the_first_screen_among_any_number_of_others() -> None:
    crowd = [Create(Topic(f"t{number}", 1, 1)) for number in range(40)]
    changes = [*crowd, *(change for one in SAMPLES.values() for change in one.changes)]
    plan = Plan("c", Terms("prod"), Options(), DAY, tuple(Step(Phase.ALTER_QUOTAS, change) for change in changes))
    rows = first_screen(Report(plans=(plan,))).others
    words = {
        shown.NOUN: [shown.words([change], plan.topics).text for change in changes if shown_kind(change) is shown]
        for shown in KINDS
    }
    for noun, texts in words.items():
        assert any(row.text.startswith(tuple(texts)) for row in rows), noun
    assert sum(row.unnamed or 1 for row in rows) == len(changes)


def test_the_page_has_the_table_as_it_is() -> None:
    page = Path(PAGE).read_text(encoding="utf-8")
    assert page == refreshed(page), "run make reference"
