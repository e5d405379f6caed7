"""Raw bindings become roles where a role says exactly that, and stay as they are where it does not."""

import datetime

import pytest
import yaml

from reconciler.manifest import BUILT_IN_ROLES, FIELD_OF, Source, desired_state, load
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.report.export import cluster_document, export_manifests

_CLUSTER = Source("cluster.yaml", cluster_document("c", ["broker:9092"], {}))
_NAMES = {
    ResourceType.TOPIC: "topics: [orders, refunds]",
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


def rules_for(bindings: frozenset[AclBinding], *, roles: bool = True) -> list[dict[str, object]]:
    files = export_manifests(ClusterState("c", bindings), roles=roles).files
    loaded = load([_CLUSTER, *(Source(path, text) for path, text in files.items())])
    assert desired_state(loaded, "c", datetime.date.min).bindings.keys() == bindings
    rules: list[dict[str, object]] = yaml.safe_load(files["acls/x.yaml"])["spec"]["rules"]
    return rules


def resources(kinds: tuple[ResourceType, ...]) -> str:
    return ", ".join(_NAMES[kind] for kind in kinds)


@pytest.mark.parametrize("name", sorted(BUILT_IN_ROLES))
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
