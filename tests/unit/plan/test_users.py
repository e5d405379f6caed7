"""SCRAM users in plans: who may be touched, which passwords are needed, and when each is set."""

import datetime
from dataclasses import replace
from itertools import pairwise

import pytest

from reconciler.codec.codec import SchemaError
from reconciler.codec.kinds import json_kind
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Create, Delete, ListedItem, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.secrets import SecretPermit
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.kinds import kind_of
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from reconciler.snapshot.file import MemoryCluster

DAY = datetime.date(2026, 1, 1)
KIND, CODEC = ScramUser.KIND, json_kind(ScramUser).CODEC
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
PERMIT = SecretPermit(("TEAM_",), ("/run/secrets/users",))
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


PRUNING = Terms("c", default_allow=False, prune=frozenset({KIND}))


def user(name: str, reference: str = "${env:TEAM_A}", **iterations: int) -> ScramUser:
    values = {f"SCRAM-{mechanism.replace('_', '-')}": number for mechanism, number in iterations.items()}
    return ScramUser(name, values, dict.fromkeys(values, PasswordSource(reference)) if reference else {})


def binding(name: str, permission: AclPermissionType) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL)
    return AclBinding(pattern, AccessControlEntry(f"User:{name}", "*", AclOperation.READ, permission))


def planned(
    live: list[ScramUser],
    wanted: list[ScramUser],
    bindings: tuple[list[AclBinding], list[AclBinding]] = ([], []),
    terms: Terms = PRUNING,
    login: str | None = None,
) -> Plan:
    said = Declaration(Origin("u.yaml", 1, 1))
    state = ClusterState("c", frozenset(bindings[0]), listings={KIND: Listing(frozenset(live))})
    desired = DesiredState(
        dict.fromkeys(bindings[1], said), listed={KIND: {one.name: DesiredItem(one, said) for one in wanted}}
    )
    everybody = Scope(include=(Selector(NameSelector(any_name=True)),))
    return propose(
        desired,
        state,
        replace(terms, scope=everybody),
        Request(DAY, Options(allow_deletes=True), permit=PERMIT, login=login),
    )


def test_only_what_differs_is_set_and_a_plan_of_what_is_there_is_empty() -> None:
    there = user("a", "", SHA_256=4096, SHA_512=8193)
    assert planned([there], [user("a", SHA_256=4096, SHA_512=8193)]).steps == ()
    (step,) = planned([there], [user("a", SHA_512=8194)]).steps
    assert step.change == Update(there, user("a", SHA_512=8194))
    assert not step.reversible
    (step,) = planned([], [user("a", SHA_512=8194)]).steps
    assert isinstance(step.change, Create)
    assert step.reversible


def test_a_plan_file_has_references_and_reads_back() -> None:
    made = planned([], [user("a", "${file:/run/secrets/users/all:a}", SHA_512=8194)])
    assert parse_plan(plan_text(made)).steps == made.steps
    document = CODEC.write(user("a", SHA_512=8194))
    assert CODEC.read(document) == user("a", SHA_512=8194)
    document["sources"][SHA_512]["password"] = "hunter2"
    with pytest.raises(SchemaError, match="is not a reference to a secret") as error:
        CODEC.read(document)
    assert "hunter2" not in str(error.value)


def test_passwords_are_set_after_denials_and_users_go_before_their_grants() -> None:
    live, wanted = [binding("gone", ALLOW), binding("gone", DENY)], [binding("new", ALLOW), binding("new", DENY)]
    plan = planned([user("gone", "", SHA_512=8192)], [user("new", SHA_512=8192)], (live, wanted))
    phases = [step.phase for step in plan.steps]
    assert phases == [
        Phase.CREATE_DENY,
        Phase.ALTER_USERS,
        Phase.CREATE_ALLOW,
        Phase.DELETE_USERS,
        Phase.DELETE_ALLOW,
        Phase.DELETE_DENY,
    ]
    assert Phase.CREATE_DENY in plan.barriers
    assert all(one < other for one, other in pairwise(plan.barriers))
    alone = planned([], [user("new", SHA_512=8192)])
    assert alone.barriers == ()


@pytest.mark.parametrize(
    "reference",
    [
        "${env:HOME}",
        "${env:XTEAM_A}",
        "${dir:/run/secrets:a}",
        "${dir:/run/secrets/users/../../../etc:passwd}",
        "${dir:/run/secrets/users-of-others:a}",
        "${dir:run/secrets/users:a}",
        "${file:/run/secrets/users:a}",
        "${file:/etc/passwd:root}",
    ],
)
def test_a_reference_that_nobody_permits_is_impossible(reference: str) -> None:
    plan = planned([], [user("a", reference, SHA_512=8192)])
    assert plan.steps == ()
    ((reason, detail),) = [(one.reason, one.detail) for one in plan.skipped]
    assert reason is SkipReason.IMPOSSIBLE
    assert detail.startswith(f"reading {reference} is not permitted")


def test_references_inside_a_permitted_directory_are_followed() -> None:
    for reference in ("${dir:/run/secrets/users:a}", "${dir:/run/secrets/users/x:a}", "${file:/run/secrets/users/f:a}"):
        (step,) = planned([], [user("a", reference, SHA_512=8192)]).steps
        assert step.phase is Phase.ALTER_USERS


def test_a_user_without_a_password_is_compared_and_never_set() -> None:
    declared = user("a", "", SHA_512=8192)
    assert [one.reason for one in planned([], [declared]).skipped] == [SkipReason.IMPOSSIBLE]
    assert planned([declared], [declared]).skipped == ()
    (step,) = planned([user("a", "", SHA_256=4096, SHA_512=8192)], [declared]).steps
    assert step.phase is Phase.DELETE_USERS, "a mechanism goes without a password"


def test_a_disabled_user_needs_no_password_and_comes_back_only_if_a_person_names_it() -> None:
    there = user("a", "", SHA_256=4096, SHA_512=8193)
    off = ScramUser("a", dict.fromkeys(there.values, DISABLED_ITERATIONS))
    plan = planned([there], [off])
    (step,) = plan.steps
    assert (step.change, step.phase) == (Update(there, off), Phase.ALTER_USERS)
    assert kind_of(step.change).references(step.change) == ()
    assert [one.text for one in plan.access.callouts] == [
        "nobody knows the password of SCRAM user a from then on: SCRAM-SHA-256 and SCRAM-SHA-512"
    ]
    assert plan.refusals == ()
    assert parse_plan(plan_text(plan)) == plan
    assert planned([off], [off]).steps == ()
    # A scheduled apply of an older commit, or of one without the line.
    back = planned([off], [user("a", SHA_512=8193)])
    assert [(one.guard, one.object) for one in back.refusals] == [(Guard.USER_ENABLE, "User:a")]
    partly = ScramUser("a", {SHA_512: DISABLED_ITERATIONS})
    assert planned([off], [partly]).refusals == (), "a mechanism that goes lets nobody in"
    assert planned([off], []).refusals == ()


@pytest.mark.parametrize("name", ["root", "broker", "probe", "we", "session"])
def test_logins_that_a_cluster_lives_by_are_not_created_altered_or_pruned(name: str) -> None:
    facts = Facts("User:we", ("User:broker",), ("User:root",))
    terms = Terms("c", default_allow=False, prune=frozenset({KIND}), facts=facts, probe="User:probe")
    there, off = user(name, "", SHA_512=8192), [ScramUser(name, {SHA_512: DISABLED_ITERATIONS})]
    set_, new = [user(name, SHA_512=8193)], [user(name, SHA_512=8192)]
    for live, wanted in (([], new), ([there], set_), ([there], []), ([there], off)):
        plan = planned(live, wanted, terms=terms, login="User:session")
        assert plan.steps == ()
        assert [one.reason for one in plan.skipped] == [SkipReason.IMPOSSIBLE]


def test_a_new_login_is_called_out_with_the_rights_that_it_has_already() -> None:
    held = [binding("a", ALLOW)]
    plan = planned([user("b", "", SHA_512=8192)], [user("a", SHA_512=8192)], (held, held))
    assert bindings_after(frozenset(held), plan.steps) == frozenset(held)
    assert [(one.rule, one.principal, one.text) for one in plan.access.callouts] == [
        (
            "login",
            "User:a",
            "whoever knows the password of SCRAM user a can log in, with the 1 ACL that it has already",
        ),
        ("login", "User:b", "nobody can log in as SCRAM user b with SCRAM-SHA-512 any more"),
    ]


def test_users_whom_nobody_declares_are_drift_where_some_are_declared() -> None:
    declared, other = user("a", "", SHA_512=8192), user("b", "", SHA_512=8192)
    keeping = Terms("c", default_allow=False)
    (skipped,) = planned([declared, other], [declared], terms=keeping).skipped
    assert (skipped.reason, skipped.subject, skipped.change) == (
        SkipReason.UNDECLARED,
        "SCRAM user b",
        Delete(other),
    )
    assert planned([declared, other], [], terms=keeping).skipped == (), "whoever declares none answers for none"


@pytest.mark.parametrize(
    ("live", "wanted", "counted"),
    [
        ([], [user("a", SHA_512=8192)], True),
        ([user("a", SHA_512=8192)], [user("a", SHA_512=8193)], True),
        ([user("a", SHA_256=8192)], [user("a", SHA_256=8192, SHA_512=8192)], True),
        ([user("a", SHA_512=8192)], [user("a", SHA_512=DISABLED_ITERATIONS)], False),
        ([user("a", SHA_512=8192)], [], False),
        ([], [user("a", SHA_512=DISABLED_ITERATIONS)], False),
    ],
)
def test_a_password_that_somebody_knows_is_new_access(
    live: list[ScramUser], wanted: list[ScramUser], *, counted: bool
) -> None:
    """Of a new user and of one who is there: whoever knows it is that user from then on."""
    plan = planned(live, wanted)
    assert len(plan.steps) == 1
    assert plan.gives_access is counted


@pytest.mark.parametrize("level", [None, 7, 10, 11, 21])
def test_logins_change_where_the_level_has_them_and_every_other_listed_kind_at_every_level(level: int | None) -> None:
    """``MetadataVersion.isScramSupported`` is 3.5-IV2, level 11: brokers of 3.9 to 4.x may be below it."""
    changes: list[tuple[set[ListedItem], ListedItem]] = [
        ({user("old", SHA_256=4096)}, user("new", SHA_256=8192)),
        ({user("a", "", SHA_256=4096)}, user("a", SHA_256=8192)),
        (set(), ClientQuota(QuotaEntity.of("a"), {"producer_byte_rate": 1.0})),
        (set(), GroupConfig("g", {"share.isolation.level": "read_committed"})),
    ]
    for there, item in changes:
        kind = type(item)
        state = ClusterState("c", listings={kind.KIND: Listing(frozenset(there))}, kafka_version=(4, 4))
        state = replace(state, metadata_version=level)
        wanted = DesiredState(listed={kind.KIND: {item.key: DesiredItem(item, Declaration(Origin("u.yaml", 1, 1)))}})
        terms = Terms("c", default_allow=False, prune=frozenset({kind.KIND}))
        plan = propose(wanted, state, terms, Request(DAY, Options(allow_deletes=True), permit=PERMIT))
        refused = kind is ScramUser and level in (7, 10)
        assert bool(plan.steps) is not refused
        assert {one.reason for one in plan.skipped} == ({SkipReason.UNSUPPORTED} if refused else set())
        for one in plan.skipped:
            why = f"SCRAM users need metadata.version 11 (3.5-IV2), and the cluster's is {level}: finalize it first"
            assert one.detail == why
        # A cluster in a file answers as a controller would.
        sent = [one.change for one in plan.steps] + [one.change for one in plan.skipped if one.change is not None]
        answers = [answer for change in sent for answer in MemoryCluster(state).send([change])]
        assert {one.code for one in answers} == {"UNSUPPORTED_VERSION" if refused else ""}
