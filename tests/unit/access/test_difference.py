"""Differences as a person reads them."""

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import AccessDifference, compare_access
from reconciler.model.acl import AclBinding, OpaqueBinding
from tests.worlds import bindings


def told(difference: AccessDifference) -> list[str]:
    """Rows in one line each."""
    lines = []
    for row in (*difference.rows, *difference.reached()):
        for sign, operations in (("+", row.gained), ("-", row.lost)):
            if operations:
                names = ",".join(operation.name for operation in sorted(operations))
                reading = f" if {row.reading}" if row.reading else ""
                lines.append(f"{row.principal or 'others'} {sign}{names} {row.resources} from {row.hosts}{reading}")
    return lines


def change(
    before: list[AclBinding],
    after: list[AclBinding],
    *,
    default_allow: bool | None = False,
    opaque: tuple[OpaqueBinding, ...] = (),
) -> list[str]:
    sides = (Authorizer(side, (), default_allow, opaque=opaque) for side in (before, after))
    return told(compare_access(*sides))


def test_a_prefix_less_what_is_denied() -> None:
    deny = bindings("TOPIC:P:pay.audit. User:*@* DENY READ", "TOPIC:P:pay.audit. User:*@* DENY DESCRIBE")
    allow = bindings("TOPIC:P:pay. User:a@* ALLOW READ")
    assert change(deny, deny + allow) == [
        "User:a +READ,DESCRIBE topics starting with `pay.` except those starting with `pay.audit.` from any host"
    ]


def test_a_deny_of_everybody_takes_from_those_who_had_it() -> None:
    held = bindings("TOPIC:L:a User:a@* ALLOW READ", "TOPIC:L:a User:b@10.0.0.1 ALLOW READ")
    assert change(held, held + bindings("TOPIC:L:* User:*@* DENY READ")) == [
        "User:a -READ topic `a` from any host",
        "User:b -READ topic `a` from 10.0.0.1",
    ]


def test_everybody_gains_but_for_those_who_are_denied() -> None:
    deny = bindings("TOPIC:L:a User:a@* DENY ALL")
    difference = compare_access(Authorizer(deny), Authorizer(deny + bindings("TOPIC:P:a User:*@* ALLOW READ")))
    assert told(difference) == ["others +READ,DESCRIBE topics starting with `a` from any host"]
    (exception,) = [row for row in difference.reached_with_exceptions() if not row.gained]
    assert (exception.principal, str(exception.resources)) == ("User:a", "topic `a`")


def test_the_first_binding_closes_and_the_last_one_opens_under_default_allow() -> None:
    first = bindings("GROUP:L:g User:a@* ALLOW READ")
    closing = change([], first, default_allow=True)
    assert closing[0] == "others -READ,DELETE,DESCRIBE,DESCRIBE_CONFIGS,ALTER_CONFIGS group `g` from any host"
    assert closing[1] == "User:a -DELETE,DESCRIBE_CONFIGS,ALTER_CONFIGS group `g` from any host"
    opening = change(first, [], default_allow=True)
    assert [line.replace("+", "-") for line in opening] == closing


def test_an_unknown_default_is_examined_both_ways() -> None:
    first = bindings("GROUP:L:g User:a@* ALLOW READ")
    lines = change([], first, default_allow=None)
    assert lines == [
        "others -READ,DELETE,DESCRIBE,DESCRIBE_CONFIGS,ALTER_CONFIGS group `g` from any host if most",
        "User:a -DELETE,DESCRIBE_CONFIGS,ALTER_CONFIGS group `g` from any host if most",
        "User:a +READ,DESCRIBE group `g` from any host if least",
    ]


def test_the_cluster_creates_and_deletes_topics_whatever_their_denies() -> None:
    deny = bindings("TOPIC:L:* User:a@* DENY DELETE")
    lines = change(deny, deny + bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW DELETE"))
    assert lines[0] == "User:a +DELETE all topics from any host"
    lines = change([], bindings("TOPIC:L:a User:a@* ALLOW WRITE"))
    assert lines == [
        "User:a +WRITE,DESCRIBE topic `a` from any host",
        "User:a +IDEMPOTENT_WRITE the cluster from any host",
    ]


def test_super_users_stand_outside_every_row() -> None:
    after = bindings("TOPIC:L:a User:a@* ALLOW READ")
    difference = compare_access(Authorizer([], ["User:a"]), Authorizer(after, ["User:a", "User:b"]))
    assert difference.rows == ()
    assert difference.super_users_added == {"User:b"}
    assert not difference.is_empty


def test_what_cannot_be_read_makes_rows_uncertain() -> None:
    lost = (OpaqueBinding("a", "User:a", "*", 2, 3, None, 2),)
    lines = change([], bindings("TOPIC:L:a User:a@* ALLOW READ"), opaque=lost)
    assert lines == ["User:a +READ,DESCRIBE topic `a` from any host if perhaps"]


@pytest.mark.parametrize("name", ["foo*", "."])
def test_a_binding_on_a_name_that_no_topic_has_changes_nothing(name: str) -> None:
    assert change([], bindings(f"TOPIC:L:{name} User:a@* ALLOW READ")) == []


def test_a_text_that_is_no_principal_gains_nothing() -> None:
    assert change([], bindings("TOPIC:L:a nobody@* ALLOW READ")) == []


def test_a_change_of_everybody_inside_a_wide_grant_of_one() -> None:
    held = bindings("TOPIC:L:* User:a@* ALLOW READ")
    assert change(held, held + bindings("TOPIC:L:a User:*@* DENY READ")) == ["User:a -READ topic `a` from any host"]


def test_who_creates_by_the_cluster_gains_nothing_by_a_topic() -> None:
    held = bindings("CLUSTER:L:kafka-cluster User:a@* ALLOW CREATE")
    difference = compare_access(Authorizer(held), Authorizer(held + bindings("TOPIC:P:a User:*@* ALLOW CREATE")))
    assert told(difference) == ["others +CREATE topics starting with `a` from any host"]
    assert [row.principal for row in difference.reached_with_exceptions()] == ["User:a"]


def test_a_deny_of_write_on_the_last_topic_keeps_from_starting_idempotent_producers() -> None:
    held = bindings("TOPIC:L:a User:a@* ALLOW WRITE")
    lost = "User:a -IDEMPOTENT_WRITE the cluster from any host"
    assert lost in change(held, held + bindings("TOPIC:L:a User:a@* DENY WRITE"))


@pytest.mark.parametrize("sides", [((), ("User:b",)), (("User:b",), ())])
def test_bindings_of_who_is_a_super_user_on_one_side_only_make_no_row(sides: tuple[tuple[str, ...], ...]) -> None:
    """Such a principal gains, or loses, everything at once: a row about one name would say less."""
    states: tuple[list[AclBinding], list[AclBinding]] = [], bindings("TOPIC:L:a User:b@* ALLOW READ")
    before, after = (Authorizer(held, who, False) for held, who in zip(states, sides, strict=True))
    assert told(compare_access(before, after)) == []
