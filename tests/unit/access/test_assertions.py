"""Assertions as manifests make them."""

import pytest

from reconciler.access.assertion import (
    Assertion,
    AssertionKind,
    AssertionOutcome,
    Via,
    only_admins,
    only_readers,
    only_writers,
)
from reconciler.access.assertions import Checker, check
from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import AclOperation, OpaqueBinding, ResourceType
from reconciler.model.desired import Origin
from tests.worlds import binding, bindings, pattern

_O, _T = AclOperation, ResourceType
PII = (pattern("TOPIC:P:pii."),)
NOBODY = only_readers("nobody reads pii", PII, [])


def test_a_failure_shows_the_shortest_request_and_the_line() -> None:
    held = binding("TOPIC:P:pi User:a@10.0.0.1 ALLOW READ")
    verdict = check(NOBODY, Authorizer({held: Origin("a.yaml", 4, 1)}))
    assert verdict.outcome is AssertionOutcome.FAIL
    assert verdict.witness == AccessRequest("User:a", "10.0.0.1", _O.READ, _T.TOPIC, "pii.")
    assert (verdict.via, verdict.bindings, verdict.origins) == (Via.BINDING, (held,), (Origin("a.yaml", 4, 1),))


@pytest.mark.parametrize(
    ("texts", "passes"),
    [
        (["TOPIC:P:pi User:a@* ALLOW READ", "TOPIC:P:pii User:*@* DENY READ"], True),
        (["TOPIC:P:pi User:a@* ALLOW READ", "TOPIC:P:pii.x User:*@* DENY READ"], False),
        (["TOPIC:L:pii User:a@* ALLOW READ"], True),
        (["TOPIC:L:* User:a@* ALLOW WRITE"], True),
        (["TOPIC:L:* User:a@* ALLOW ALL"], False),
        (["TOPIC:L:pii.x User:a@localhost ALLOW READ"], True),
        (["CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER"], False),
        (["CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER_CONFIGS"], True),
    ],
)
def test_nobody_reads(texts: list[str], passes: bool) -> None:
    assert (check(NOBODY, Authorizer(bindings(*texts))).outcome is AssertionOutcome.PASS) is passes


def test_a_deny_on_all_names_leaves_those_that_begin_with_an_asterisk() -> None:
    """Brokers do not look at the wildcard's bindings for such a name, and a group may have one."""
    nobody = Assertion("nobody reads", AssertionKind.MUST_NOT, frozenset({_O.READ}), (pattern("GROUP:L:*"),))
    deny = "GROUP:L:* User:*@* DENY READ"
    assert check(nobody, Authorizer(bindings(deny, "GROUP:L:x User:a@* ALLOW READ"))).outcome is AssertionOutcome.PASS
    verdict = check(nobody, Authorizer(bindings(deny, "GROUP:L:*x User:a@* ALLOW READ")))
    assert verdict.witness == AccessRequest("User:a", "192.0.2.0", _O.READ, _T.GROUP, "*x")


def test_who_may_alter_the_cluster_may_do_anything() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER")
    verdict = check(NOBODY, Authorizer(held))
    assert (verdict.via, verdict.bindings) == (Via.CLUSTER_ALTER, tuple(held))
    assert check(only_readers("but a", PII, ["User:a"]), Authorizer(held)).outcome is AssertionOutcome.PASS


def test_deleting_topics_is_granted_by_the_cluster_too() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW DELETE", "TOPIC:L:* User:*@* DENY DELETE")
    (claim,) = only_admins("nobody administers pii", PII, [])
    verdict = check(claim, Authorizer(held))
    assert verdict.witness is not None
    assert (verdict.via, verdict.bindings, verdict.witness.operation) == (Via.OTHER_RESOURCE, (held[0],), _O.DELETE)


def test_the_cluster_is_named_where_it_opens_a_shorter_name() -> None:
    held = bindings("TOPIC:P:pii.eu. User:a@* ALLOW DELETE", "CLUSTER:L:kafka-cluster User:b@* ALLOW DELETE")
    nobody = Assertion("nobody deletes", AssertionKind.MUST_NOT, frozenset({_O.DELETE}), PII)
    verdict = check(nobody, Authorizer(held))
    assert verdict.witness == AccessRequest("User:b", "192.0.2.0", _O.DELETE, _T.TOPIC, "pii.")
    assert (verdict.via, verdict.bindings) == (Via.OTHER_RESOURCE, (held[1],))
    direct = bindings("TOPIC:P:pii. User:a@* ALLOW DELETE")
    assert check(nobody, Authorizer([*held, *direct])).via is Via.BINDING


def test_super_users_are_left_out_unless_asked_for() -> None:
    authorizer = Authorizer([], ["User:root"])
    assert check(NOBODY, authorizer).outcome is AssertionOutcome.PASS
    asked = Assertion("all", AssertionKind.MUST_NOT, frozenset({_O.READ}), PII, include_super_users=True)
    verdict = check(asked, authorizer)
    assert verdict.witness is not None
    assert (verdict.via, verdict.witness.principal) == (Via.SUPER_USER, "User:root")
    able = Assertion("root", AssertionKind.MUST, frozenset({_O.READ}), PII, ("User:root",))
    assert check(able, authorizer).outcome is AssertionOutcome.PASS


def test_default_allow_opens_what_nothing_covers() -> None:
    held = bindings("TOPIC:P:pii.a User:b@* ALLOW WRITE", "CLUSTER:L:kafka-cluster User:b@* ALLOW DESCRIBE")
    verdict = check(NOBODY, Authorizer(held, (), True))
    assert verdict.witness is not None
    assert (verdict.via, verdict.witness.resource_name) == (Via.DEFAULT_ALLOW, "pii.")
    unknown = check(NOBODY, Authorizer(held, (), None))
    assert unknown.outcome is AssertionOutcome.UNDECIDED
    assert unknown.reason
    covered = Authorizer([*held, binding("TOPIC:P:pii User:b@* ALLOW WRITE")], (), None)
    assert check(NOBODY, covered).outcome is AssertionOutcome.PASS


def test_must_holds_for_every_name_and_host() -> None:
    claim = Assertion("a writes", AssertionKind.MUST, frozenset({_O.WRITE}), PII, ("User:a",))
    allow = binding("TOPIC:P:pii. User:a@* ALLOW WRITE")
    assert check(claim, Authorizer([allow])).outcome is AssertionOutcome.PASS
    deny = binding("TOPIC:L:pii.x User:*@10.0.0.1 DENY WRITE")
    verdict = check(claim, Authorizer([allow, deny]))
    assert verdict.witness == AccessRequest("User:a", "10.0.0.1", _O.WRITE, _T.TOPIC, "pii.x")
    assert verdict.bindings == (deny,)
    elsewhere = Assertion("from", AssertionKind.MUST, frozenset({_O.WRITE}), PII, ("User:a",), hosts=("10.0.0.2",))
    assert check(elsewhere, Authorizer([allow, deny])).outcome is AssertionOutcome.PASS


def test_globs_range_over_those_who_are_known() -> None:
    held = bindings("TOPIC:P:pii. User:svc-a@* ALLOW READ", "TOPIC:P:pii. User:b@* ALLOW READ")
    claim = Assertion("services do not", AssertionKind.MUST_NOT, frozenset({_O.READ}), PII, ("User:svc-*",))
    verdict = check(claim, Authorizer(held))
    assert verdict.witness is not None
    assert verdict.witness.principal == "User:svc-a"
    assert (
        check(only_readers("b and services", PII, ["User:b", "User:svc-*"]), Authorizer(held)).outcome
        is AssertionOutcome.PASS
    )
    everyone = Authorizer(bindings("TOPIC:P:pii. User:*@* ALLOW READ"))
    assert check(claim, everyone).outcome is AssertionOutcome.PASS  # nobody is known who is called so
    assert Checker(everyone, ["User:svc-z"]).check(claim).outcome is AssertionOutcome.FAIL


def test_brackets_belong_to_a_principal_and_make_no_glob() -> None:
    held = Authorizer(bindings("TOPIC:P:pii. User:svc1@* ALLOW READ"))
    verdict = check(only_readers("one", PII, ["User:svc[1]"]), held)
    assert verdict.witness is not None
    assert verdict.witness.principal == "User:svc1"
    able = Assertion("may", AssertionKind.MUST, frozenset({_O.READ}), PII, ("User:svc[1]",))
    assert check(able, held).outcome is AssertionOutcome.FAIL
    assert check(only_readers("any one", PII, ["User:svc?"]), held).outcome is AssertionOutcome.PASS


def test_only_writers_speaks_of_writing() -> None:
    held = Authorizer(bindings("TOPIC:P:pii. User:a@* ALLOW READ"))
    assert check(only_writers("writers", PII, []), held).outcome is AssertionOutcome.PASS


def test_what_cannot_be_read_is_never_a_pass() -> None:
    lost = OpaqueBinding("pii.x", "User:a", "*", 2, 3, None, 3)
    assert check(NOBODY, Authorizer([], opaque=[lost])).outcome is AssertionOutcome.UNDECIDED
    broken = bindings("TOPIC:L:pii.x nobody@* ALLOW READ")
    assert check(NOBODY, Authorizer(broken)).bindings == tuple(broken)
    assert check(NOBODY, Authorizer(broken)).outcome is AssertionOutcome.UNDECIDED
    assert check(NOBODY, Authorizer(bindings("TOPIC:L:x nobody@* ALLOW READ"))).outcome is AssertionOutcome.PASS
    hanging = Authorizer(bindings("GROUP:L:#a User:a@* ALLOW READ"))
    for name, outcome in (
        ("#b", AssertionOutcome.UNDECIDED),
        ("b", AssertionOutcome.PASS),
        ("*", AssertionOutcome.UNDECIDED),
    ):
        assert check(only_readers("g", [pattern(f"GROUP:L:{name}")], ["User:a"]), hanging).outcome is outcome


def test_every_class_of_hosts_in_a_range_is_tried() -> None:
    held = bindings("TOPIC:P:pii. User:a@10.0.0.0/30 ALLOW READ", "TOPIC:P:pii. User:a@10.0.0.1 DENY READ")
    verdict = check(NOBODY, Authorizer(held, kafka_version=(4, 4)))
    assert verdict.witness is not None
    assert verdict.witness.host == "10.0.0.0"
    assert check(NOBODY, Authorizer(held, kafka_version=(4, 3))).outcome is AssertionOutcome.PASS


def test_the_wildcard_denies_itself_and_not_what_goes_on_after_it() -> None:
    held = bindings("GROUP:P:* User:a@* ALLOW READ", "GROUP:L:* User:*@* DENY READ")
    verdict = check(only_readers("groups", [pattern("GROUP:P:*")], []), Authorizer(held))
    assert verdict.witness is not None
    assert verdict.witness.resource_name == "*a"


def test_everybody_includes_whom_only_the_cluster_knows() -> None:
    """Who may create any topic by a right on the cluster, from one who is denied it there alone."""
    everyone = binding("CLUSTER:L:kafka-cluster User:*@* ALLOW CREATE")
    claim = Assertion("everybody creates pii", AssertionKind.MUST, frozenset({_O.CREATE}), PII)
    assert check(claim, Authorizer([everyone])).outcome is AssertionOutcome.PASS
    denied = binding("CLUSTER:L:kafka-cluster User:a@* DENY CREATE")
    verdict = check(claim, Authorizer([everyone, denied]))
    assert verdict.outcome is AssertionOutcome.FAIL
    assert verdict.witness is not None
    assert verdict.witness.principal == "User:a"


def test_a_principal_that_nobody_can_be_lacks_nothing() -> None:
    """A broker cannot parse it, which leaves open what happens on that name: that is no failure."""
    must = Assertion("m", AssertionKind.MUST, frozenset({_O.READ}), (pattern("TOPIC:L:a"),), ("User:*",))
    held = bindings("TOPIC:L:a User:*@* ALLOW READ")
    (nobody,) = bindings("TOPIC:L:a User:n@* DENY READ")
    nobody = nobody._replace(entry=nobody.entry._replace(principal="nobody"))
    assert check(must, Authorizer(held)).outcome is AssertionOutcome.PASS
    verdict = check(must, Authorizer([*held, nobody]))
    assert (verdict.outcome, verdict.bindings) == (AssertionOutcome.UNDECIDED, (nobody,))
    (somebody,) = bindings("TOPIC:L:a User:n@* DENY READ")
    failed = check(must, Authorizer([*held, somebody]))
    assert failed.outcome is AssertionOutcome.FAIL
    assert failed.witness is not None
    assert failed.witness.principal == "User:n"
