"""Pairs of states close enough to meet: few principals, short names, every pattern type, both permissions."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TypeAlias

from hypothesis import strategies as st

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from tests.property.naive import Ask

DAY = datetime.date(2026, 1, 1)
PRINCIPALS = ("User:a", "User:b", "User:*")
HOSTS = ("*", "10.0.0.1")
OPERATIONS = (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL)
PATTERNS = (
    *(ResourcePattern(ResourceType.TOPIC, name) for name in ("*", "x", "xa", "xab", "y")),
    *(ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED) for name in ("x", "xa", "y")),
    ResourcePattern(ResourceType.GROUP, "x"),
)
TOPICS = ("x", "xa", "xab", "y")

#: Every request that these states can tell apart, a stranger's and a fresh name's included.
ASKS = [
    Ask(principal, host, operation, resource_type, name)
    for principal, host, operation, (resource_type, names) in product(
        ("User:a", "User:b", "User:stranger"),
        ("10.0.0.1", "10.0.0.2"),
        (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE),
        ((ResourceType.TOPIC, ("x", "xa", "xab", "xz", "y", "fresh")), (ResourceType.GROUP, ("x", "y"))),
    )
    for name in names
]


def _bindings(patterns: Sequence[ResourcePattern], principals: Sequence[str], hosts: Sequence[str]) -> "_Bindings":
    entries = st.builds(
        AccessControlEntry,
        st.sampled_from(principals),
        st.sampled_from(hosts),
        st.sampled_from(OPERATIONS),
        st.sampled_from([AclPermissionType.DENY, AclPermissionType.ALLOW]),
    )
    return st.builds(AclBinding, st.sampled_from(patterns), entries)


_Bindings: TypeAlias = st.SearchStrategy[AclBinding]
bindings = _bindings(PATTERNS, PRINCIPALS, HOSTS)
#: So few that nearly every pair overlaps: what takes three bindings to go wrong goes wrong here.
crowded = _bindings(PATTERNS[1:2] + PATTERNS[5:6], PRINCIPALS[1:], HOSTS[:1])
_configs = st.dictionaries(
    st.sampled_from(["retention.ms", "cleanup.policy", "min.insync.replicas"]), st.sampled_from(["1", "2"]), max_size=2
)


def _topics(*, live: bool) -> st.SearchStrategy[dict[str, Topic]]:
    one = st.builds(
        Topic,
        st.just("name"),
        st.integers(1, 3) if live else st.none() | st.integers(1, 3),
        st.just(1) if live else st.none() | st.just(1),
        _configs,
    )
    found = st.dictionaries(st.sampled_from(TOPICS), one, max_size=3)
    return found.map(
        lambda topics: {
            name: replace(topic, name=name, topic_id=f"id-{name}" if live else None) for name, topic in topics.items()
        }
    )


@dataclass(frozen=True)
class Transition:
    """A live state and a wish for it."""

    live: ClusterState
    desired: DesiredState

    def plan(self, *, default_allow: bool | None = False, allow_deletes: bool = True) -> Plan:
        """The plan, with every topic that it may delete or shorten accepted."""
        guards = (Guard.TOPIC_DELETE, Guard.DATA_LOSS)
        accepted = tuple(AcceptedGuard(guard, name) for guard in guards for name in TOPICS)
        empty = AcceptedGuard(Guard.EMPTY_DESIRED, "c")
        request = Request(DAY, Options(allow_deletes=allow_deletes), accepted=(*accepted, empty))
        return propose(self.desired, self.live, Terms("c", default_allow=default_allow), request)


def declared(found: frozenset[AclBinding], topics: dict[str, DesiredTopic]) -> DesiredState:
    place = Origin("acls.yaml", 1, 1)
    return DesiredState({binding: Declaration(place) for binding in sorted(found)}, topics)


# Made once: Hypothesis looks through a new strategy, with all that it is made of, longer than it draws from it.
_either_bindings = st.sampled_from([bindings, crowded])
_live_topics, _wanted_topics = _topics(live=True), _topics(live=False)
_absent_topics = st.sets(st.sampled_from(TOPICS), max_size=2)


@cache
def _sets(of: _Bindings, most: int) -> st.SearchStrategy[frozenset[AclBinding]]:
    return st.frozensets(of, max_size=most)


@st.composite
def transitions(draw: st.DrawFn, max_bindings: int = 8) -> Transition:
    sets = _sets(draw(_either_bindings), max_bindings)
    live = ClusterState("cluster", draw(sets), draw(_live_topics))
    wanted = draw(_wanted_topics)
    absent = draw(_absent_topics)
    place = Origin("topics.yaml", 1, 1)
    topics = {name: DesiredTopic(topic, place) for name, topic in wanted.items()}
    topics |= {name: DesiredTopic(Topic(name), place, absent=True) for name in absent - wanted.keys()}
    return Transition(live, declared(draw(sets), topics))
