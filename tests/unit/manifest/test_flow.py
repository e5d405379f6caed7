"""``reads`` and ``writes`` of a rule with the role of an application, and the built-in roles of common ones."""

import datetime

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.rules import BUILT_IN_ROLES
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

_CLUSTER = Source(
    "c.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {bootstrapServers: [b:1]}\n"
)
_HEAD = "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\nspec:\n  principal: User:a\n  rules:\n"


def declared(rule: str, on: datetime.date = datetime.date.min) -> set[str]:
    wanted = desired_state(load([_CLUSTER, Source("a.yaml", f"{_HEAD}    - {{{rule}}}\n")]), "c", on)
    return {str(binding) for binding in wanted.bindings}


STREAMS = "role: streams, topics: {prefix: fraud-}, groups: [fraud]"


def test_streams_takes_its_input_and_output_topics_in_one_rule() -> None:
    more = declared(f"{STREAMS}, reads: [orders], writes: {{prefix: alerts.}}") - declared(STREAMS)
    assert more == {
        "User:a ALLOW READ on TOPIC orders",
        "User:a ALLOW DESCRIBE on TOPIC orders",
        "User:a ALLOW WRITE on TOPIC PREFIXED alerts.",
        "User:a ALLOW DESCRIBE on TOPIC PREFIXED alerts.",
    }


def test_hosts_and_the_end_of_a_rule_hold_for_what_it_reads_and_writes() -> None:
    rule = f"{STREAMS}, reads: [orders], writes: [out], hosts: [10.0.0.1], expires: 2027-01-31"
    assert all("from 10.0.0.1" in binding for binding in declared(rule))
    assert declared(rule, datetime.date(2027, 2, 1)) == set()


@pytest.mark.parametrize(
    "rule",
    [
        "allow: READ, topics: [t], reads: [orders]",
        "role: connect, topics: [t], groups: [g], reads: [orders]",
        "role: producer, topics: [t], writes: [orders]",
        "deny: READ, topics: [t], writes: [orders]",
    ],
)
def test_what_a_rule_reads_and_writes_is_refused_where_it_says_nothing(rule: str) -> None:
    with pytest.raises(ManifestError, match="reads and writes belong to a rule with role: streams or role: ksqldb"):
        declared(rule)


def test_a_bad_name_in_what_a_rule_reads_is_refused() -> None:
    with pytest.raises(ManifestError, match=r"orders\.\*"):
        declared(f"{STREAMS}, reads: ['orders.*']")


#: What the applications' own documentation asks for, each with the source that the module of the roles names.
ROLES = {
    "schema-registry": (
        "topics: [_schemas], groups: [schema-registry]",
        {
            *(f"{what} on TOPIC _schemas" for what in ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")),
            "READ on GROUP schema-registry",
            "DESCRIBE on TOPIC __consumer_offsets",
        },
    ),
    "mirror-source": (
        "topics: {any: true}, groups: {any: true}",
        {
            *(f"{what} on TOPIC *" for what in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")),
            "DESCRIBE on GROUP *",
            *(
                f"{what} on TOPIC PREFIXED mm2-offset-syncs."
                for what in ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS")
            ),
        },
    ),
    "monitor": (
        "topics: {any: true}, groups: {any: true}",
        {
            *(f"{what} on TOPIC *" for what in ("DESCRIBE", "DESCRIBE_CONFIGS")),
            "DESCRIBE on GROUP *",
            *(f"{what} on CLUSTER kafka-cluster" for what in ("DESCRIBE", "DESCRIBE_CONFIGS")),
        },
    ),
    "connect-sink": (
        "topics: [orders], groups: [connect-store]",
        {
            *(f"{what} on TOPIC orders" for what in ("READ", "DESCRIBE")),
            *(f"{what} on GROUP connect-store" for what in ("READ", "DESCRIBE", "DELETE")),
        },
    ),
}


@pytest.mark.parametrize("name", ROLES)
def test_a_role_grants_what_the_application_asks_for(name: str) -> None:
    resources, expected = ROLES[name]
    assert declared(f"role: {name}, {resources}") == {f"User:a ALLOW {text}" for text in expected}


def test_viewer_is_monitor_with_the_data() -> None:
    on = "topics: {prefix: a.}, groups: {any: true}"
    more = declared(f"role: viewer, {on}") - declared(f"role: monitor, {on}")
    assert more == {"User:a ALLOW READ on TOPIC PREFIXED a."}


def test_a_server_of_ksqldb_has_its_prefix_and_reads_the_internal_topics_of_kafka() -> None:
    on = "topics: {prefix: _confluent-ksql-db1}, groups: {prefix: _confluent-ksql-db1}, transactionalIds: [db1]"
    found = declared(f"role: ksqldb, {on}, reads: [in], writes: [out]")
    assert "User:a ALLOW DESCRIBE_CONFIGS on CLUSTER kafka-cluster" in found
    assert "User:a ALLOW DESCRIBE on TOPIC __transaction_state" in found
    assert "User:a ALLOW WRITE on TOPIC out" in found
    assert not any("TOPIC in" in text and "WRITE" in text for text in found)


def test_no_role_reaches_the_data_of_topics_that_it_does_not_take() -> None:
    named = [
        f"{role.name} {operation.name}"
        for role in BUILT_IN_ROLES.values()
        for rule in role.rules
        for pattern in rule.names
        for operation in rule.permission.operations
        if pattern.name.startswith("__") and operation.name != "DESCRIBE"
    ]
    assert named == []
