"""Whatever mixture of roles and rules a principal has, export says exactly its bindings."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifest.parts.rules import BUILT_IN_ROLES
from reconciler.manifest.write.manifests import export_manifests
from reconciler.model.acl import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from tests.property.test_export import check

_HOSTS = st.sampled_from(["*", "10.0.0.1"])
_NAMES = st.tuples(st.sampled_from(["a", "b.", "c"]), st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]))


@st.composite
def _brought(draw: st.DrawFn) -> set[AclBinding]:
    """What one role brings on one name of each type, or on some of them, less perhaps one binding."""
    role = BUILT_IN_ROLES[draw(st.sampled_from(sorted(BUILT_IN_ROLES)))]
    host = draw(_HOSTS)
    names: dict[ResourceType, ResourcePattern] = {}
    for kind in (*role.required, *role.optional):
        name, pattern_type = draw(_NAMES)
        cluster = kind is ResourceType.CLUSTER
        names[kind] = ResourcePattern(kind, "kafka-cluster") if cluster else ResourcePattern(kind, name, pattern_type)
    bindings = {
        AclBinding(pattern, AccessControlEntry("User:x", host, operation, rule.permission.permission_type))
        for rule in role.rules
        for pattern in (*(names[kind] for kind in rule.takes), *rule.names)
        for operation in rule.permission.operations
    }
    return bindings - {draw(st.sampled_from(sorted(bindings)))} if draw(st.integers(0, 3)) == 0 else bindings


@given(st.lists(_brought(), min_size=1, max_size=5))
def test_mixtures_of_roles_are_exported_exactly(parts: list[set[AclBinding]]) -> None:
    check(ClusterState("c", frozenset(binding for part in parts for binding in part)))


def test_a_principal_with_thousands_of_rules_is_folded() -> None:
    state = ClusterState(
        "c",
        frozenset(
            AclBinding(
                ResourcePattern(kind, f"t{number}.", PatternType.PREFIXED),
                AccessControlEntry("User:a", WILDCARD, operation, AclPermissionType.ALLOW),
            )
            for number in range(5000)
            for kind, operation in (
                (ResourceType.TOPIC, AclOperation.READ),
                (ResourceType.TOPIC, AclOperation.DESCRIBE),
                (ResourceType.GROUP, AclOperation.READ),
            )
        ),
    )
    assert export_manifests(state).files["acls/a.yaml"].count("role: consumer") == 5000


_SHAPES = st.lists(
    st.tuples(
        st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID]),
        st.sampled_from(["{}", "{}.", "{}-x", "{}x", "shared", "a{}", "a_{}", "b.{0}-{0}", "b.{}x"]),
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
        st.sampled_from([AclOperation.DESCRIBE, AclOperation.ALL]),
    ),
    max_size=8,
)


@given(st.lists(st.tuples(_SHAPES, st.integers(2, 5), _HOSTS), max_size=3))
def test_applications_that_are_called_alike_are_exported_exactly(
    shapes: list[tuple[list[tuple[ResourceType, str, PatternType, AclOperation]], int, str]],
) -> None:
    state = ClusterState(
        "c",
        frozenset(
            AclBinding(
                ResourcePattern(kind, form.format(f"app{at}{number}"), pattern_type),
                AccessControlEntry(f"User:svc-app{at}{number}", host, operation, AclPermissionType.ALLOW),
            )
            for at, (shape, count, host) in enumerate(shapes)
            for number in range(count)
            for kind, form, pattern_type, operation in shape
        ),
    )
    check(state)
