"""Raw bindings become roles where a role says exactly that, and stay as they are where it does not."""

import datetime

import pytest
import yaml

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.rules import BUILT_IN_ROLES, FIELD_OF
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.manifests import cluster_document, differences, export_manifests
from reconciler.manifest.write.text import ExportStyle
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState

_CLUSTER = Source("cluster.yaml", cluster_document("c", ["broker:9092"]))
_NAMES = {
    ResourceType.TOPIC: "topics: [svc.orders, svc.refunds]",
    ResourceType.GROUP: "groups: {prefix: svc-}",
    ResourceType.CLUSTER: "cluster: true",
    ResourceType.TRANSACTIONAL_ID: "transactionalIds: [svc-1]",
}


def expanded(*rules: str) -> frozenset[AclBinding]:
    text = "\n".join(
        [
            "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: x}\nspec:\n  principal: User:x\n  rules:",
            *(f"    - {{{rule}}}" for rule in rules),
        ]
    )
    return frozenset(desired_state(load([_CLUSTER, Source("x.yaml", text)]), "c", datetime.date.min).bindings)


def rules_for(bindings: frozenset[AclBinding], *, roles: bool = True, implied: bool = False) -> list[dict[str, object]]:
    state = ClusterState("c", bindings)
    export = export_manifests(state, style=ExportStyle(roles=roles, implied=implied))
    files = export.files
    loaded = load([_CLUSTER, *(Source(path, text) for path, text in files.items())])
    declared = desired_state(loaded, "c", datetime.date.min).bindings.keys()
    assert declared >= bindings
    assert implied or declared == bindings
    assert not differences(export, state, {"cluster.yaml": _CLUSTER.text}, "c")
    rules: list[dict[str, object]] = yaml.safe_load(files["acls/x.yaml"])["spec"]["rules"]
    return rules


def resources(kinds: tuple[ResourceType, ...]) -> str:
    return ", ".join(_NAMES[kind] for kind in kinds)


#: Each names topics of its own, so rights alone do not tell it.
_TOLD_BY_NAMES = {"schema-registry", "ksqldb", "mirror-source"}


@pytest.mark.parametrize("name", sorted(BUILT_IN_ROLES.keys() - _TOLD_BY_NAMES))
@pytest.mark.parametrize("hosts", ["", ", hosts: [10.0.0.1, 10.0.0.2]"])
def test_every_built_in_role_is_found_again_in_what_it_brings(name: str, hosts: str) -> None:
    role = BUILT_IN_ROLES[name]
    kinds = (*role.required, *role.optional)
    [rule] = rules_for(expanded(f"role: {name}, {resources(kinds)}{hosts}"))
    assert rule["role"] == name
    assert rule.keys() - {"role", "hosts"} == {FIELD_OF[kind] for kind in kinds}


@pytest.mark.parametrize("name", sorted(BUILT_IN_ROLES))
def test_a_role_that_lacks_one_operation_is_not_said(name: str) -> None:
    role = BUILT_IN_ROLES[name]
    for missing in expanded(f"role: {name}, {resources((*role.required, *role.optional))}"):
        everything = expanded(f"role: {name}, {resources((*role.required, *role.optional))}")
        for rule in rules_for(everything - {missing}):
            assert rule.get("role") != name or missing.pattern.resource_type in (*role.optional, ResourceType.TOPIC)


def test_who_reads_and_writes_the_same_topics_produces_and_consumes() -> None:
    rules = rules_for(expanded("allow: [READ, WRITE, DESCRIBE], topics: [orders]", "allow: READ, groups: [x]"))
    assert [rule["role"] for rule in rules] == ["producer", "consumer"]


def test_several_topics_and_groups_pair_up_and_what_is_over_stays() -> None:
    rules = rules_for(
        expanded(
            "role: consumer, topics: [orders], groups: [one]",
            "role: consumer, topics: {prefix: refunds.}, groups: {prefix: two-}",
            "allow: READ, groups: {prefix: three-}",
        )
    )
    assert sorted(str(rule.get("role")) for rule in rules) == ["None", "consumer", "consumer"]


def test_a_denial_and_another_host_are_no_part_of_a_role() -> None:
    rules = rules_for(
        expanded(
            "allow: [READ, DESCRIBE], topics: [orders]",
            "allow: READ, groups: [x], hosts: [10.0.0.1]",
            "deny: READ, groups: [x]",
        )
    )
    assert not any("role" in rule for rule in rules)


def test_roles_can_be_left_out() -> None:
    assert not any("role" in rule for rule in rules_for(expanded("role: producer, topics: [a]"), roles=False))


def test_an_operation_that_no_document_has_is_still_said() -> None:
    odd = AclBinding(
        ResourcePattern(ResourceType.GROUP, "x", PatternType.LITERAL),
        AccessControlEntry("User:x", "*", AclOperation.ALL, AclPermissionType.ALLOW),
    )
    assert rules_for(frozenset({odd})) == [{"allow": "ALL", "groups": ["x"]}]


def test_what_is_implied_makes_a_consumer_and_a_producer_where_that_is_asked_for() -> None:
    held = expanded(
        "allow: READ, topics: [svc.in]", "allow: WRITE, topics: [svc.out, svc.dead]", "allow: READ, groups: [svc]"
    )
    assert not any("role" in rule for rule in rules_for(held))
    assert rules_for(held, implied=True) == [
        {"role": "producer", "topics": ["svc.dead", "svc.out"]},
        {"role": "consumer", "topics": ["svc.in"], "groups": ["svc"]},
    ]


@pytest.mark.parametrize(
    "held",
    [
        ("allow: [READ, DESCRIBE_CONFIGS], topics: [a]", "allow: [READ, DESCRIBE], groups: [a]"),
        ("allow: READ, topics: [a]", "allow: [READ, DESCRIBE], groups: [a]"),
        ("allow: [WRITE, DESCRIBE_CONFIGS], topics: [a]", "allow: [WRITE, DESCRIBE], transactionalIds: [a]"),
    ],
)
def test_what_is_implied_takes_nothing_away(held: tuple[str, ...]) -> None:
    assert not any("role" in rule for rule in rules_for(expanded(*held), implied=True))


def test_a_mirror_maker_on_the_source_is_no_connect_worker() -> None:
    held = expanded(
        "allow: [READ, WRITE, CREATE, DESCRIBE, DESCRIBE_CONFIGS], topics: {prefix: mm2-offset-syncs}",
        "allow: [READ, DESCRIBE, DESCRIBE_CONFIGS], topics: {any: true}",
        "allow: [READ, DESCRIBE], groups: {any: true}",
    )
    assert not any("role" in rule for rule in rules_for(held))


def test_nobody_owns_or_administers_every_topic_by_chance() -> None:
    held = expanded(
        "allow: [READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS], topics: {any: true}", "role: admin, topics: {any: true}"
    )
    assert not any("role" in rule for rule in rules_for(held))


def test_a_producer_does_not_get_the_transactional_ids_of_an_application_beside_it() -> None:
    held = expanded(
        "role: streams, topics: {prefix: fraud-}, groups: [fraud], transactionalIds: {prefix: fraud-}",
        "role: producer, topics: [alerts]",
    )
    rules = rules_for(held)
    assert [rule["role"] for rule in rules] == ["producer", "streams"]
    assert "transactionalIds" in rules[1]


def test_a_worker_keeps_its_own_group_and_not_that_of_a_mirror() -> None:
    held = expanded(
        "role: connect, topics: [connect-configs, connect-offsets, connect-status], groups: [connect-cluster]",
        "role: mirror, topics: {prefix: east.}, groups: {any: true}",
    )
    rules = {str(rule["role"]): rule for rule in rules_for(held)}
    assert rules["connect"]["groups"] == ["connect-cluster"]
    assert rules["mirror"]["groups"] == {"any": True}
