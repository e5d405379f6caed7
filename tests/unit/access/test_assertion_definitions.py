"""Assertions and their mending by brute force over small states: outcome, witness, what permits it and its bindings."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import pytest

from reconciler.access.assertion import (
    Assertion,
    AssertionKind,
    AssertionOutcome,
    AssertionResult,
    Principals,
    Via,
    is_glob,
    only_admins,
)
from reconciler.access.assertions import Checker, OperationGrant, check
from reconciler.access.authorizer import AccessRequest, Authorizer, Note
from reconciler.access.questions import can_i
from reconciler.access.remediation import suggest_fix
from reconciler.model.acl import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, Origin
from tests.property.access_naive import Ask, Cluster, allowed_plainly, on_some_resource, reach
from tests.worlds import binding, bindings, pattern

_O, _T = AclOperation, ResourceType
_PASS, _FAIL, _UNDECIDED = AssertionOutcome.PASS, AssertionOutcome.FAIL, AssertionOutcome.UNDECIDED
VERSION = (4, 4)
_WHO = ("User:a@*", "User:a@10.0.0.1", "User:*@*", "User:*@10.0.0.0/31", "User:b@*")
ON_TOPICS = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:P:ab", "TOPIC:L:*")
        for who in _WHO
        for what in ("ALLOW READ", "ALLOW ALL", "ALLOW CREATE", "DENY READ", "DENY ALL")
    )
)
ON_GROUPS = bindings(
    *(
        f"GROUP:{where} {who} {what}"
        for where in ("L:*", "P:*", "L:*x", "L:g")
        for who in _WHO
        for what in ("ALLOW READ", "ALLOW READ", "DENY READ")
    )
)
ON_CLUSTER = bindings(
    *(
        f"CLUSTER:{where} {who} {what}"
        for where in ("L:kafka-cluster", "P:k", "L:*")
        for who in _WHO
        for what in ("ALLOW CREATE", "DENY CREATE", "ALLOW ALTER", "DENY ALTER", "ALLOW IDEMPOTENT_WRITE")
    )
)
HOSTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2")
NAMES = {
    _T.TOPIC: ("a", "b", "aa", "ab", "aba", "c"),
    _T.GROUP: ("a", "*", "g", "*x", "*xa", "*a", "ga"),
    _T.CLUSTER: ("kafka-cluster",),
}
OPERATIONS = {
    _T.TOPIC: ({_O.READ}, {_O.DESCRIBE}, {_O.CREATE, _O.READ}),
    _T.GROUP: ({_O.READ},),
    _T.CLUSTER: ({_O.CREATE}, {_O.IDEMPOTENT_WRITE}),
}
ABOUT = {
    _T.TOPIC: ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:*", "TOPIC:P:ab", "TOPIC:L:b"),
    _T.GROUP: ("GROUP:L:*", "GROUP:P:*", "GROUP:L:*x"),
    _T.CLUSTER: ("CLUSTER:L:kafka-cluster",),
}


def worlds(seed: int, count: int) -> Iterator[tuple[Cluster, Assertion]]:
    chance = random.Random(seed)
    for _ in range(count):
        kind = chance.choice((_T.TOPIC, _T.TOPIC, _T.GROUP, _T.CLUSTER))
        main = {_T.TOPIC: ON_TOPICS, _T.GROUP: ON_GROUPS, _T.CLUSTER: ON_CLUSTER}[kind]
        held = {*chance.sample(main, chance.randrange(5)), *chance.sample(ON_CLUSTER, chance.randrange(2))}
        if kind is _T.CLUSTER:
            held |= set(
                chance.sample(
                    bindings(
                        *(
                            f"TOPIC:{w} {who} {p} WRITE"
                            for w in ("L:a", "P:a", "L:*")
                            for who in _WHO
                            for p in ("ALLOW", "DENY")
                        )
                    ),
                    2,
                )
            )
        cluster = Cluster(frozenset(held), ("User:s",), chance.random() < 0.3, VERSION)
        yield (
            cluster,
            Assertion(
                "claim",
                chance.choice([*AssertionKind]),
                frozenset(chance.choice(OPERATIONS[kind])),
                tuple(map(pattern, chance.sample(ABOUT[kind], min(len(ABOUT[kind]), chance.choice((1, 1, 2)))))),
                chance.choice([("User:*",), ("User:a",), ("User:a", "User:z"), ("User:?",), ("User:s",)]),
                chance.choice([(), (), ("User:a",), ("User:b", "User:s")]),
                chance.choice([("*",), ("*",), ("10.0.0.1",), ("10.0.0.2", "10.0.0.0")]),
                chance.random() < 0.3,
            ),
        )


def authorizer_of(cluster: Cluster) -> Authorizer:
    return Authorizer(cluster.bindings, cluster.super_users, cluster.default_allow, cluster.version)


def about(one: ResourcePattern, name: str) -> bool:
    if one.pattern_type is PatternType.PREFIXED:
        return name.startswith(one.name)
    return one.name in ("*", name)


def covered(assertion: Assertion, cluster: Cluster) -> set[str]:
    """The principals that it is about, super users among them; ``User:z`` is one whom no binding names."""
    known = {one.entry.principal for one in cluster.bindings} - {"User:*"} | {*cluster.super_users}
    found = set[str]()
    for text in assertion.principals:
        found |= known | {"User:z"} if text == "User:*" else known if text == "User:?" else {text}
    return found - set(assertion.excluded)


def permitting(cluster: Cluster, request: AccessRequest) -> Via | None:
    """What permits a request of one who is no super user."""
    principal, host, operation, kind, name = request
    if allowed_plainly(cluster, Ask(*request)):
        none = cluster._replace(default_allow=False)
        return Via.BINDING if allowed_plainly(none, Ask(*request)) else Via.DEFAULT_ALLOW
    if operation in reach(cluster, principal, host, kind, name):
        return Via.OTHER_RESOURCE
    return None


def broken_by(cluster: Cluster, assertion: Assertion) -> Iterator[tuple[AccessRequest, Via | None]]:
    hosts = HOSTS if assertion.hosts == ("*",) else assertion.hosts
    for who in covered(assertion, cluster):
        for host in hosts:
            alter = AccessRequest(who, host, _O.ALTER, _T.CLUSTER, "kafka-cluster")
            for one in assertion.patterns:
                for name in NAMES[one.resource_type]:
                    for operation in assertion.operations if about(one, name) else ():
                        request = AccessRequest(who, host, operation, one.resource_type, name)
                        via = permitting(cluster, request)
                        if assertion.claim is AssertionKind.MUST:
                            if via is None and who not in cluster.super_users:
                                yield request, None
                        elif who in cluster.super_users:
                            if assertion.include_super_users:
                                yield request, Via.SUPER_USER
                        elif via is not None:
                            yield request, via
                        elif permitting(cluster, alter) is not None:
                            yield request, Via.CLUSTER_ALTER


def test_an_outcome_its_witness_and_what_permits_it() -> None:
    seen = set[object]()
    for cluster, assertion in worlds(1, 400):
        found = check(assertion, authorizer_of(cluster))
        broken = list(broken_by(cluster, assertion))
        assert found.outcome is (_FAIL if broken else _PASS), (cluster, assertion)
        seen.add(found.via or found.outcome)
        if found.witness is None:
            assert not broken
            assert (found.via, found.bindings, found.origins, found.reason) == (None, (), (), None)
            continue
        direct = [one for one in broken if one[1] in (None, Via.BINDING, Via.DEFAULT_ALLOW, Via.OTHER_RESOURCE)]
        powerful = [one for one in broken if one[1] is Via.CLUSTER_ALTER]
        among = direct or powerful or broken
        assert len(found.witness.resource_name) == min(len(request.resource_name) for request, _ in among)
        assert found.witness.operation in assertion.operations
        assert any(about(one, found.witness.resource_name) for one in assertion.patterns)
        via = _via(cluster, assertion, found.witness)
        assert found.via is via or {found.via, via} <= {Via.BINDING, Via.OTHER_RESOURCE, Via.DEFAULT_ALLOW}, found
        assert found.via in {reason for _, reason in among}
        assert set(found.bindings) == _bindings(cluster, found)
    assert seen == {_PASS, _FAIL, *Via}


def _via(cluster: Cluster, assertion: Assertion, request: AccessRequest) -> Via | None:
    if request.principal in cluster.super_users:
        return Via.SUPER_USER
    if assertion.claim is AssertionKind.MUST:
        assert permitting(cluster, request) is None
        return None
    alter = AccessRequest(request.principal, request.host, _O.ALTER, _T.CLUSTER, "kafka-cluster")
    return permitting(cluster, request) or (Via.CLUSTER_ALTER if permitting(cluster, alter) else None)


def _bindings(cluster: Cluster, found: AssertionResult) -> set[AclBinding]:
    """What decides the request that the reason is about: alone it gives the same answer."""
    assert found.witness is not None
    request = found.witness
    if found.via is Via.CLUSTER_ALTER:
        request = AccessRequest(request.principal, request.host, _O.ALTER, _T.CLUSTER, "kafka-cluster")
    elif found.via is Via.OTHER_RESOURCE and request.resource_type is _T.TOPIC:
        request = request._replace(resource_type=_T.CLUSTER, resource_name="kafka-cluster")
    elif found.via is Via.OTHER_RESOURCE:
        alone = [
            one
            for one in cluster.bindings
            if one.pattern.resource_type is _T.TOPIC
            and on_some_resource(cluster._replace(bindings=[one]), request.principal, request.host, _O.WRITE, _T.TOPIC)
        ]
        assert set(found.bindings) <= set(alone)
        assert found.bindings or cluster.default_allow
        return set(found.bindings)
    if found.via is Via.SUPER_USER:
        return set()
    return set(authorizer_of(cluster).authorize(*request).bindings)


def test_many_assertions_of_one_state_are_checked_as_each_alone() -> None:
    cases = list(worlds(2, 60))
    for (cluster, _), (_, first), (_, second) in zip(cases, cases[1:], cases[2:], strict=False):
        authorizer = authorizer_of(cluster)
        checker = Checker(authorizer)
        for assertion in (first, second, first):
            assert checker.check(assertion) == check(assertion, authorizer)


def test_an_unknown_default_is_undecided_where_it_matters() -> None:
    reasons = set()
    for cluster, assertion in worlds(3, 150):
        known = [check(assertion, authorizer_of(cluster._replace(default_allow=on))) for on in (False, True)]
        found = check(assertion, Authorizer(cluster.bindings, cluster.super_users, None, VERSION))
        same = known[0].outcome is known[1].outcome
        assert found.outcome is (known[0].outcome if same else _UNDECIDED)
        assert (found.reason is None) is same
        if not same:
            assert found.witness in {one.witness for one in known}
            reasons.add(found.reason)
    assert reasons == {"it depends on allow.everyone.if.no.acl.found, or on entries that cannot be read"}


def test_where_the_release_is_unknown_the_reason_says_so() -> None:
    held = bindings("TOPIC:L:a User:a@10.0.0.0/8 ALLOW READ")
    nobody = Assertion("n", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("TOPIC:L:a"),))
    found = check(nobody, Authorizer(held))
    text = "it depends on allow.everyone.if.no.acl.found, or on entries that cannot be read"
    assert (found.outcome, found.reason) == (
        _UNDECIDED,
        f"{text}, or on whether a host is a range: Kafka's version is not known",
    )
    assert check(nobody, Authorizer(held, kafka_version=VERSION)).outcome is _FAIL
    lost = Authorizer([], opaque=[OpaqueBinding("a", "User:a", "*", 2, 3, None, 3)])
    assert check(nobody, lost).reason == text


def test_a_claimed_super_user_has_to_meet_it_either_way() -> None:
    able = Assertion("m", AssertionKind.MUST, frozenset({_O.READ}), (pattern("TOPIC:L:a"),), ("User:c",))
    nobody = Assertion("n", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("TOPIC:L:a"),))
    nothing = Authorizer([])
    assert Checker(nothing).check(able).outcome is _FAIL
    found = Checker(nothing, claimed_super_users=["User:c"]).check(able)
    assert (found.outcome, found.reason) == (
        _UNDECIDED,
        "it holds only if User:c is a super user, which only the manifests say",
    )
    assert found.witness is not None
    assert Checker(nothing, claimed_super_users=["User:c"], met_by_claim=True).check(able).outcome is _PASS
    assert Checker(nothing, claimed_super_users=["User:d"]).check(able).outcome is _FAIL
    held = Authorizer(bindings("TOPIC:L:a User:c@* ALLOW READ"))
    assert Checker(held, claimed_super_users=["User:c"]).check(able).outcome is _PASS
    # What an ACL grants to it is an ordinary grant.
    assert Checker(held, claimed_super_users=["User:c"]).check(nobody).outcome is _FAIL
    certain = Authorizer(bindings("TOPIC:L:a User:c@* ALLOW READ"), ["User:c"])
    assert Checker(certain, claimed_super_users=["User:c"]).check(nobody).outcome is _PASS
    every = replace(nobody, include_super_users=True)
    for checker in (Checker(nothing, claimed_super_users=["User:c"]), Checker(Authorizer([], ["User:c"]))):
        result = checker.check(every)
        assert result.witness == AccessRequest("User:c", "192.0.2.0", _O.READ, _T.TOPIC, "a")
        assert result.via is Via.SUPER_USER
        assert checker.check(replace(every, excluded=("User:c",))).outcome is _PASS
        assert checker.check(replace(every, hosts=("10.0.0.7",))).witness == replace_host(result.witness, "10.0.0.7")
    both = replace(able, principals=("User:c", "User:d"))
    assert Checker(nothing, claimed_super_users=["User:c"]).check(both).outcome is _FAIL
    # Globs match whoever is said to be one, and super users.
    for principals in (("User:?",), ("User:c*",)):
        by_glob = Checker(nothing, claimed_super_users=["User:c"]).check(replace(able, principals=principals))
        assert by_glob.outcome is _UNDECIDED
        assert (
            Checker(nothing, claimed_super_users=["User:d"]).check(replace(able, principals=("User:c*",))).outcome
            is _PASS
        )
        named = replace(every, principals=principals)
        assert Checker(Authorizer([], ["User:c"])).check(named).outcome is _FAIL
        assert Checker(nothing, ["User:c"]).check(replace(able, principals=principals)).outcome is _FAIL
        assert Checker(nothing).check(replace(able, principals=principals)).outcome is _PASS
    everybody = replace(able, principals=("User:*",))
    open_to_all = bindings("TOPIC:L:a User:*@* ALLOW READ", "TOPIC:L:a User:c@* DENY READ")
    assert Checker(Authorizer(open_to_all), claimed_super_users=["User:c"]).check(everybody).outcome is _UNDECIDED


def replace_host(request: AccessRequest, host: str) -> AccessRequest:
    return request._replace(host=host)


def test_what_breaks_brokers_leaves_it_undecided_only_where_it_can_be_met() -> None:
    nobody = Assertion("n", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("GROUP:L:a"),), ("User:a",))
    reason = "some bindings make brokers fail on such resources"
    for text, met in {
        "GROUP:L:a nobody@* ALLOW READ": True,
        "GROUP:P:a nobody@* ALLOW READ": True,
        "GROUP:L:* nobody@* ALLOW READ": True,
        "GROUP:L:ab nobody@* ALLOW READ": False,
        "TOPIC:L:a nobody@* ALLOW READ": False,
        "GROUP:L:#a User:b@* ALLOW READ": False,
    }.items():
        found = check(nobody, Authorizer(bindings(text)))
        assert (found.outcome, found.bindings) == ((_UNDECIDED, (binding(text),)) if met else (_PASS, ()))
        assert found.reason == (reason if met else None)
        # Brokers let super users in before they read an ACL, and nobody is asked where nobody is selected.
        assert check(replace(nobody, principals=("User:x?",)), Authorizer(bindings(text))).outcome is _PASS
    below = Authorizer(bindings("GROUP:L:#a User:b@* ALLOW READ"))
    for name, met in (("#", True), ("#b", True), ("!", False), ("a", False)):
        asked = replace(nobody, patterns=(pattern(f"GROUP:L:{name}"),))
        assert check(asked, below).outcome is (_UNDECIDED if met else _PASS)
    several = replace(nobody, patterns=(pattern("GROUP:L:z"), pattern("GROUP:L:a")))
    assert check(several, Authorizer(bindings("GROUP:L:a nobody@* ALLOW READ"))).outcome is _UNDECIDED
    assert check(several, Authorizer(bindings("GROUP:L:b nobody@* ALLOW READ"))).outcome is _PASS


def test_the_lines_of_the_manifests_are_told_once() -> None:
    first, second = bindings("TOPIC:L:a User:a@* ALLOW READ", "TOPIC:L:* User:a@* ALLOW ALL")
    nobody = Assertion("n", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("TOPIC:L:a"),))
    here, there = Origin("a.yaml", 1, 1), Origin("b.yaml", 2, 1)
    cases: tuple[tuple[dict[AclBinding, Note], tuple[Origin, ...]], ...] = (
        ({first: here, second: Declaration(there)}, (here, there)),
        ({first: Declaration(here), second: here}, (here,)),
        ({first: None, second: there}, (there,)),
        ({}, ()),
    )
    for notes, expected in cases:
        found = check(nobody, Authorizer([first, second], notes=notes))
        assert (found.bindings, found.origins) == ((first, second), expected)


def test_what_is_denied_to_everybody_or_granted_to_the_exempt_alone_needs_no_search() -> None:
    grants = [f"TOPIC:L:a{n} User:{n}@* ALLOW READ" for n in range(9)]
    groups = [f"GROUP:L:*{n} User:{n}@* ALLOW READ" for n in range(9)]
    nobody = Assertion("n", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("TOPIC:P:a"),))
    every = replace(nobody, patterns=(pattern("GROUP:L:*"),))
    exempt = replace(nobody, excluded=tuple(f"User:{n}" for n in range(9)))
    for assertion, texts, tried in (
        (nobody, [*grants, "TOPIC:P:a User:*@* DENY READ"], False),
        (nobody, [*grants, "TOPIC:L:* User:*@* DENY ALL"], False),
        (nobody, [*grants, "TOPIC:L:* User:*@* DENY WRITE"], True),
        (nobody, [*grants, "TOPIC:P:a User:*@10.0.0.1 DENY READ"], True),
        (nobody, [*grants, "TOPIC:P:a User:1@* DENY READ"], True),
        (exempt, grants, False),
        (replace(exempt, excluded=exempt.excluded[1:]), grants, True),
        # Names that begin with an asterisk are in no wildcard.
        (every, [*groups, "GROUP:L:* User:*@* DENY READ"], True),
        (every, [*groups, "GROUP:L:* User:*@* DENY READ", "GROUP:P:* User:*@* DENY READ"], False),
        (replace(nobody, patterns=(pattern("TOPIC:L:*"),)), [*grants, "TOPIC:L:* User:*@* DENY READ"], False),
    ):
        zone = OperationGrant.zone
        with patch.object(OperationGrant, "zone", autospec=True, side_effect=zone) as counted:
            found = check(assertion, Authorizer(bindings(*texts)))
        assert (counted.call_count > 0) is tried, texts
        assert found.outcome is (_FAIL if tried else _PASS)


def test_globs_select_the_known_principals_that_they_match() -> None:
    known = ["User:a", "User:ab", "User:b", "Group:a", "User:", "Users:x"]
    principals = Principals([*known, "User:*"])
    assert principals.known == set(known)
    for glob, expected in {
        "User:a*": {"User:a", "User:ab"},
        "User:*": {"User:a", "User:ab", "User:b", "User:"},
        "User:?": {"User:a", "User:b"},
        "*:a": {"User:a", "Group:a"},
        "*": set(known),
        "User:z*": set[str](),
        "?ser:*b": {"User:ab", "User:b"},
        "User:a": {"User:a"},
        "User:never": {"User:never"},
    }.items():
        assert principals.matching(glob) == principals.matching(glob) == expected
        assert is_glob(glob) is (glob not in ("User:a", "User:never"))


def test_onlyadmins_is_one_assertion_for_each_type() -> None:
    patterns = [pattern(text) for text in ("TOPIC:P:a", "GROUP:L:g", "TOPIC:L:b")]
    topics, groups = only_admins("t", patterns, iter(["User:a", "User:b"]))
    assert (topics.patterns, groups.patterns) == ((patterns[0], patterns[2]), (patterns[1],))
    assert topics.excluded == groups.excluded == ("User:a", "User:b")
    assert {topics.claim, groups.claim} == {AssertionKind.MUST_NOT}
    assert groups.operations == {_O.DELETE, _O.ALTER_CONFIGS}


def test_a_question_is_a_must_of_one_principal() -> None:
    for cluster, assertion in worlds(5, 200):
        authorizer = authorizer_of(cluster)
        for who in ("User:a", "User:z", "User:*", "User:s"):
            for operation in assertion.operations:
                for host in ("*", "10.0.0.1"):
                    answer = can_i(authorizer, who, operation, assertion.patterns[0], host)
                    claim = Assertion(
                        "q", AssertionKind.MUST, frozenset({operation}), assertion.patterns[:1], (who,), hosts=(host,)
                    )
                    broken = list(broken_by(cluster, claim))
                    assert (answer.allowed, answer.counterexample is None) == (not broken, not broken)


def test_a_mending_has_no_change_too_many() -> None:
    mended = 0
    for cluster, assertion in worlds(6, 250):
        authorizer = authorizer_of(cluster)
        verdict = check(assertion, authorizer)
        found = suggest_fix(verdict, authorizer)
        if verdict.outcome is _PASS:
            assert found == ((), ())
        if not found or verdict.outcome is _PASS:
            # A group that begins with an asterisk is in no wildcard, so it may take a grant that nobody asked for.
            groups = any(one.resource_type is _T.GROUP for one in assertion.patterns)
            many = len(assertion.hosts) * len(assertion.patterns) * len(assertion.operations) > 3
            if verdict.outcome is _FAIL and not groups and not many:
                assert cluster.default_allow or assertion.include_super_users, (cluster, assertion)
            continue
        mended += 1
        changes = [(one, True) for one in found.create] + [(one, False) for one in found.delete]
        assert check(assertion, _with(authorizer, changes)).outcome is _PASS
        for fewer in combinations(changes, len(changes) - 1):
            assert check(assertion, _with(authorizer, fewer)).outcome is not _PASS
        assert set(found.delete) <= set(cluster.bindings)
        for one in found.create:
            assert one.pattern in assertion.patterns
            assert one.entry.permission_type is AclPermissionType.ALLOW
            assert one.entry.host in assertion.hosts
            assert one.entry.principal != "User:z" or "User:z" in assertion.principals
            assert one.entry.operation in assertion.operations
    assert mended > 60


def _with(authorizer: Authorizer, changes: Sequence[tuple[AclBinding, bool]]) -> Authorizer:
    return authorizer.with_changes([one for one, new in changes if new], [one for one, new in changes if not new])


@pytest.mark.parametrize("default_allow", [False, True, None])
def test_mending_with_only_what_bears_on_it_is_mending_with_all(default_allow: bool | None) -> None:
    claim = Assertion("m", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("TOPIC:P:a"),))
    texts = (
        "TOPIC:L:ab User:x@* ALLOW READ",
        "TOPIC:P:a User:y@* ALLOW WRITE",
        "TOPIC:L:b User:x@* ALLOW READ",
        "CLUSTER:L:kafka-cluster User:y@* ALLOW DESCRIBE",  # not open to everybody where the default is
    )
    authorizer = Authorizer(bindings(*texts), ["User:s"], default_allow, VERSION)
    found = suggest_fix(check(claim, authorizer), authorizer)
    assert found is not None
    assert found == ((), (binding(texts[0]),))
