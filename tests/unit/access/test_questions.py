"""Who, what and why, as a person asks."""

from itertools import product

import pytest

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.effective import Access, access_of, who_can
from reconciler.access.names import ResourceSet, names_of
from reconciler.access.questions import Relevance, can_i, explain
from reconciler.model.acl import AclOperation, ResourceType
from tests.worlds import bindings, pattern

_O, _T = AclOperation, ResourceType


def test_who_may_alter_the_cluster() -> None:
    authorizer = Authorizer(bindings("CLUSTER:L:kafka-cluster User:a@10.0.0.1 ALLOW ALL"), ["User:root"])
    holders = who_can(authorizer, _O.ALTER, pattern("CLUSTER:L:kafka-cluster"))
    assert [(row.principal, str(row.hosts)) for row in holders.rows] == [("User:a", "10.0.0.1")]
    assert holders.super_users == {"User:root"}
    topics = who_can(authorizer, _O.DELETE, pattern("TOPIC:L:x"))
    assert [row.principal for row in topics.rows] == ["User:a"]
    assert [row.principal for row in topics.cluster_admins] == ["User:a"]


def test_who_may_change_the_brokers_configs_is_told_with_those_who_may_alter_the_cluster() -> None:
    held = ["User:a@* ALLOW ALL", "User:b@* ALLOW ALTER_CONFIGS", "User:b@10.0.0.1 DENY ALTER_CONFIGS"]
    authorizer = Authorizer(bindings(*(f"CLUSTER:L:kafka-cluster {one}" for one in held)))
    admins = who_can(authorizer, _O.READ, pattern("TOPIC:L:x")).cluster_admins
    assert [(row.principal, row.operations) for row in admins] == [
        ("User:a", frozenset({_O.ALTER})),
        ("User:b", frozenset({_O.ALTER_CONFIGS})),
    ]
    asked = who_can(authorizer, _O.ALTER_CONFIGS, pattern("CLUSTER:L:kafka-cluster"))
    assert [row.principal for row in asked.rows] == ["User:a", "User:b"]
    assert [row.principal for row in asked.cluster_admins] == ["User:a"]


def test_everybody_but_those_who_are_denied() -> None:
    authorizer = Authorizer(bindings("TOPIC:P:a User:*@* ALLOW READ", "TOPIC:L:ab User:b@* DENY READ"))
    holders = who_can(authorizer, _O.READ, pattern("TOPIC:L:*"))
    assert [(row.principal, str(row.resources)) for row in holders.rows] == [(None, "topics starting with `a`")]
    assert [(row.principal, str(row.resources)) for row in holders.lacking] == [("User:b", "topic `ab`")]


@pytest.mark.parametrize("principal", ["User:CN=*.example.com,O=Example", "User:svc?", "User:svc[1]", "User:["])
def test_a_question_about_one_principal_knows_no_globs(principal: str) -> None:
    authorizer = Authorizer(bindings("TOPIC:L:a User:svc1@* ALLOW READ", f"TOPIC:L:b {principal}@* ALLOW READ"))
    answer = can_i(authorizer, principal, _O.READ, pattern("TOPIC:L:a"))
    assert answer.allowed is False
    assert answer.counterexample is not None
    assert answer.counterexample.principal == principal
    assert can_i(authorizer, principal, _O.READ, pattern("TOPIC:L:b")).allowed is True


def test_what_breaks_brokers_does_not_keep_a_super_user_out() -> None:
    authorizer = Authorizer(bindings("TOPIC:L:* nobody@* ALLOW READ"), ["User:root"])
    assert can_i(authorizer, "User:root", _O.READ, pattern("TOPIC:L:a")).allowed is True
    assert can_i(authorizer, "User:a", _O.READ, pattern("TOPIC:L:a")).allowed is not True
    both = authorizer.with_changes(bindings("TOPIC:L:* User:a@* ALLOW READ"))
    assert can_i(both, "User:a", _O.READ, pattern("TOPIC:L:a")).allowed is None


def test_what_a_principal_may_do_when_the_default_is_unknown() -> None:
    authorizer = Authorizer(bindings("GROUP:P:g User:a@* ALLOW READ"), (), None)
    groups = [row for row in access_of(authorizer, "User:a") if row.resources.resource_type is _T.GROUP]
    assert [(str(row.resources), row.certain) for row in groups] == [
        ("all groups except those starting with `g`", False),
        ("groups starting with `g`", True),
    ]


def test_an_explanation_shows_every_binding_on_the_resource() -> None:
    held = bindings(
        "TOPIC:L:a User:a@* ALLOW READ",
        "TOPIC:P:a User:b@* ALLOW READ",
        "TOPIC:L:* User:a@10.0.0.9 DENY READ",
        "TOPIC:L:a User:a@* ALLOW WRITE",
        "TOPIC:L:b User:a@* DENY READ",
    )
    explanation = explain(Authorizer(held), AccessRequest("User:a", "10.0.0.1", _O.READ, _T.TOPIC, "a"))
    assert explanation.allowed is True
    assert dict(explanation.considered) == {
        held[0]: Relevance.DECIDES,
        held[1]: Relevance.OTHER_PRINCIPAL,
        held[2]: Relevance.OTHER_HOST,
        held[3]: Relevance.OTHER_OPERATION,
    }


def test_a_topic_can_be_created_by_the_cluster_instead() -> None:
    authorizer = Authorizer(bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW CREATE", "TOPIC:L:* User:a@* DENY CREATE"))
    explanation = explain(authorizer, AccessRequest("User:a", "10.0.0.1", _O.CREATE, _T.TOPIC, "a"))
    assert (explanation.decision.allowed, explanation.allowed) == (False, True)


def test_can_i_answers_for_every_name_with_a_counterexample() -> None:
    authorizer = Authorizer(bindings("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:P:ab User:a@* DENY READ"))
    assert can_i(authorizer, "User:a", _O.READ, pattern("TOPIC:L:aa")).allowed is True
    answer = can_i(authorizer, "User:a", _O.READ, pattern("TOPIC:P:a"))
    assert answer.allowed is False
    assert answer.counterexample is not None
    assert answer.counterexample.resource_name == "ab"


def test_a_host_of_the_wildcard_is_told_apart_on_the_name_of_an_asterisk() -> None:
    authorizer = Authorizer(bindings("GROUP:L:* User:a@10.0.0.1 ALLOW READ"))
    holders = who_can(authorizer, _O.READ, pattern("GROUP:P:*"))
    assert [(str(row.resources), str(row.hosts)) for row in holders.rows] == [("group `*`", "10.0.0.1")]


def test_asked_about_some_names_the_answer_is_that_about_all_of_them_less_every_other_name() -> None:
    held = bindings(
        *("TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:ab User:a@* ALLOW WRITE", "TOPIC:P:abc User:*@* DENY READ"),
        *("TOPIC:L:b User:a@* ALLOW READ", "GROUP:L:ab User:a@* ALLOW READ"),
    )

    def may(rows: list[Access], kind: ResourceType, name: str) -> set[tuple[AclOperation, bool]]:
        own = [row for row in rows if row.resources.resource_type is kind and row.resources.contains(name)]
        return {(operation, row.certain) for row in own for operation in row.operations}

    names = list(product((_T.TOPIC, _T.GROUP), ("a", "ab", "abc", "b", "c")))
    patterns = [pattern(f"{kind}:{text}") for kind in ("TOPIC", "GROUP") for text in ("L:ab", "P:ab")]
    zones = [ResourceSet(item.resource_type, names_of(item)) for item in patterns]
    for setting in (True, False, None):
        authorizer = Authorizer(held, (), setting)
        whole = access_of(authorizer, "User:a")
        for asked in ([], *([zone] for zone in zones), zones):
            rows = access_of(authorizer, "User:a", asked)
            for kind, name in names:
                inside = any(zone.resource_type is kind and zone.contains(name) for zone in asked)
                assert may(rows, kind, name) == (may(whole, kind, name) if inside else set()), (setting, asked, name)
