"""States that collide: few short names, so that patterns overlap and prefixes contain each other; and wild ones."""

from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, topic_name_problem

#: What an ACL can hold, without the members that exist in filters only.
RESOURCE_TYPES = [member for member in ResourceType if member >= ResourceType.TOPIC]
PATTERN_TYPES = [PatternType.LITERAL, PatternType.PREFIXED]
OPERATIONS = [member for member in AclOperation if member >= AclOperation.ALL]
PERMISSIONS = [AclPermissionType.DENY, AclPermissionType.ALLOW]

#: Short names over two letters and a dot: one in three is a prefix of another.
short_names = st.text("ab.", min_size=1, max_size=3)
#: What a path, a page or a shell would take for something else than text.
MARKUP = ["../../x", "CN=a, O=b", "<script>alert(1)</script>", "it's", '"', "%", "\\", "a\\nb", "a|b", "`", "$(a)", "K"]
#: What YAML would take for something else than text.
YAML = [
    "a: b",
    "a:",
    "a #b",
    "#a",
    "- x",
    "-",
    "~",
    "null",
    "yes",
    "1_000",
    "2026-01-01",
    "&a",
    "*a",
    "!t",
    "{a}",
    "[a]",
]
YAML_MORE = ["@", "|", ">", "?", "? a", ",", " a", "a ", "", "---", "...", "=", "<<", "0x1f", "1e3", "a\n", "a\n b"]
#: What an eye would not see, or see elsewhere.
UNSEEN = ["\t", "\x00", "\x1b[2J", "\x85", "\u200b", "\u2028", "\u202eabc", "\ufeff", "\ufffe", "\ue000", "\xa0a"]
LETTERS = ["🦀", "é", "e\u0301", "名", "a" * 300]
#: Any text that UTF-8 can carry, hostile ones more often than chance would bring them.
wild_text = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from([*MARKUP, *YAML, *YAML_MORE, *UNSEEN, *LETTERS]),
)
wild_names = wild_text.filter(bool)

principals = st.one_of(
    st.sampled_from(["User:a", "User:ab", "User:b", "User:*", "Group:a"]), short_names.map("User:{}".format)
)
wild_principals = st.one_of(wild_text.map("User:{}".format), wild_text)
hosts = st.sampled_from([WILDCARD, "10.0.0.1", "10.0.0.2"])
odd_hosts = st.sampled_from(["0:0:0:0:0:0:0:1", "::1", "10.0.0.0/8", "fe80:0:0:0:0:0:0:1%eth0", "::ffff:10.0.0.1"])
wild_hosts = st.one_of(hosts, wild_text, odd_hosts)


any_resource_type = st.sampled_from(RESOURCE_TYPES)

# Made once: Hypothesis looks through a new strategy, with all that it is made of, longer than it draws from it.
_pattern_types = st.sampled_from(PATTERN_TYPES)
_operations = st.sampled_from(OPERATIONS)
_permissions = st.sampled_from(PERMISSIONS)
_T = TypeVar("_T")


@cache
def _or_wildcard(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(names, names, st.just(WILDCARD))


@cache
def _lists(of: st.SearchStrategy[_T], most: int) -> st.SearchStrategy[list[_T]]:
    return st.lists(of, max_size=most)


@st.composite
def patterns(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = short_names,
    resource_types: st.SearchStrategy[ResourceType] = any_resource_type,
) -> ResourcePattern:
    """Patterns of every type that a broker can hold; CLUSTER has its one name, others sometimes the wildcard."""
    resource_type = draw(resource_types)
    if resource_type is ResourceType.CLUSTER:
        return ResourcePattern(resource_type, CLUSTER_NAME)
    name = draw(_or_wildcard(names))
    return ResourcePattern(resource_type, name, draw(_pattern_types))


topic_patterns = patterns(resource_types=st.just(ResourceType.TOPIC))


@st.composite
def entries(
    draw: st.DrawFn, who: st.SearchStrategy[str] = principals, where: st.SearchStrategy[str] = hosts
) -> AccessControlEntry:
    """Entries with any operation, whatever resource they will stand beside: brokers do not check either."""
    return AccessControlEntry(draw(who), draw(where), draw(_operations), draw(_permissions))


bindings = st.builds(AclBinding, patterns(), entries())
topic_bindings = st.builds(AclBinding, topic_patterns, entries())
wild_bindings = st.builds(AclBinding, patterns(wild_names), entries(wild_principals, wild_hosts))

topic_names = st.text("ab._", min_size=1, max_size=3).filter(lambda name: topic_name_problem(name) is None)
config_maps = st.fixed_dictionaries(
    {},
    optional={
        "cleanup.policy": st.sampled_from(["compact", "delete", "compact,delete"]),
        "retention.ms": st.sampled_from(["-1", "604800000"]),
        "min.insync.replicas": st.sampled_from(["1", "2"]),
    },
)


_partitions, _replicas = st.integers(1, 4), st.integers(1, 3)
_topic_ids = st.none() | st.text("abcd", min_size=22, max_size=22)
_is_assigned = st.sampled_from([False, True])


@st.composite
def topics(draw: st.DrawFn, names: st.SearchStrategy[str] = topic_names) -> Topic:
    """Live topics: counts are known, an id or an assignment perhaps."""
    partitions, replicas = draw(_partitions), draw(_replicas)
    assigned = tuple(tuple(range(replicas)) for _ in range(partitions))
    return Topic(
        draw(names),
        partitions,
        replicas,
        draw(config_maps),
        topic_id=draw(_topic_ids),
        replica_assignments=assigned if draw(_is_assigned) else None,
    )


codes = st.none() | st.integers(0, 127)
live_topics = topics()
opaque_bindings = st.builds(OpaqueBinding, wild_text, wild_text, wild_text, codes, codes, codes, codes)
_cluster_ids = st.text("abc", min_size=1, max_size=22)
_hidden_topics = st.dictionaries(topic_names, wild_text, max_size=2)
_gaps = st.none() | wild_text


@st.composite
def states(
    draw: st.DrawFn,
    of: st.SearchStrategy[AclBinding] = bindings,
    topic: st.SearchStrategy[Topic] = live_topics,
) -> ClusterState:
    """Whole states, with what could not be read."""
    read = {item.name: item for item in draw(_lists(topic, 5))}
    hidden = draw(_hidden_topics)
    return ClusterState(
        cluster_id=draw(_cluster_ids),
        bindings=frozenset(draw(_lists(of, 12))),
        topics=read,
        opaque=tuple(draw(_lists(opaque_bindings, 3))),
        unreadable_topics={name: why for name, why in hidden.items() if name not in read},
        acl_gap=draw(_gaps),
        topic_gap=draw(_gaps),
    )


wild_states = states(of=st.one_of(bindings, wild_bindings))
