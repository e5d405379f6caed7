"""Small clusters whose patterns, hosts and principals collide, and every point that they can tell apart."""

from itertools import product

from hypothesis import strategies as st

from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from tests.property.access_naive import Cluster

PRINCIPALS = ("User:a", "User:b", "Group:a")
#: Beside those who are named: one whom no binding knows.
ASKERS = (*PRINCIPALS, "Other:x")
HOSTS = (*["*"] * 12, "10.0.0.1", "10.0.0.2", "10.0.0.0/30", "10.0.0.2/31", "::/0", "0.0.0.0/0", "localhost", "::1")
#: The address 0 is in no range, even where ranges cover all others.
FROM = ("10.0.0.1", "10.0.0.3", "10.9.9.9", "0:0:0:0:0:0:0:1", "0.0.0.0")  # noqa: S104 - nothing is bound
TEXTS = ("a", "b", "aa", "ab", "aaa", "aab", "a.", ".", "*", "a*")
NAMES = ["".join(letters) for size in (1, 2, 3) for letters in product("ab", repeat=size)]
#: Names with a letter that no pattern has, with a dot, and legal for everything but topics.
TOPICS = [*NAMES, "c", "ca", "ac", "aac", "abc", "a.", "a.b", ".a", "bc"]
GROUPS = [*TOPICS, ".", "*", "*a", "a*", "a*b", "+"]

_TYPES = (ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)
_OFTEN = (AclOperation.READ, AclOperation.WRITE, AclOperation.ALL, AclOperation.CREATE)
_OPERATIONS = (*(operation for operation in AclOperation if operation >= AclOperation.ALL), *_OFTEN * 4)

patterns = st.builds(
    lambda kind, text, pattern_type: (
        ResourcePattern(
            kind, CLUSTER_NAME if len(text) > 1 or pattern_type is PatternType.LITERAL else "k", pattern_type
        )
        if kind is ResourceType.CLUSTER
        else ResourcePattern(kind, text, pattern_type)
    ),
    st.sampled_from(_TYPES),
    st.sampled_from((*TEXTS, "a", "aa", "*", "*")),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
entries = st.builds(
    AccessControlEntry,
    st.sampled_from([*PRINCIPALS, "User:*", "User:*"]),
    st.sampled_from(HOSTS),
    st.sampled_from(_OPERATIONS),
    st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.ALLOW, AclPermissionType.DENY]),
)
bindings = st.builds(AclBinding, patterns, entries)
versions = st.sampled_from([(3, 9), (4, 0), (4, 3), (4, 4)])
super_users = st.sampled_from([(), (), ("User:b",), ("User:s",)])
clusters = st.builds(Cluster, st.frozensets(bindings, max_size=8), super_users, st.booleans(), versions)


_added = st.frozensets(bindings, max_size=3)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Cluster, Cluster]:
    """Two states of one cluster that share most of their bindings."""
    before = draw(clusters)
    removed = draw(st.frozensets(st.sampled_from(sorted(before.bindings)), max_size=3)) if before.bindings else ()
    added = draw(_added)
    return before, before._replace(bindings=(frozenset(before.bindings) - set(removed)) | added)


POINTS = [
    *((ResourceType.TOPIC, name) for name in TOPICS),
    *((ResourceType.GROUP, name) for name in GROUPS),
    (ResourceType.CLUSTER, CLUSTER_NAME),
]
