"""Declarations that a change drops where nothing compares what stays: its review names each, whatever the kind."""

from collections.abc import Sequence
from typing import Final

import pytest

from reconciler.model.acl import ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.review.ends import declared_otherwise

_PLACE: Final = Origin("a.yaml", 1, 1)
_EVERY: Final = NameSelector(any_name=True)
_OWNING: Final = Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=_EVERY), Selector(principals=_EVERY)))
_SILENT: Final = Scope()


def _topics(names: Sequence[str], *, absent: bool = False) -> DesiredState:
    return DesiredState(topics={name: DesiredTopic(Topic(name), _PLACE, absent=absent) for name in names})


def _quota(name: str) -> ClientQuota:
    return ClientQuota(QuotaEntity.of(name), {"producer_byte_rate": 1})


def _quotas(names: Sequence[str], *, absent: bool = False) -> DesiredState:
    items = {item.key: DesiredItem(item, Declaration(_PLACE), absent) for item in map(_quota, names)}
    return DesiredState(listed={ClientQuota.KIND: items} if items else {})


_READ: Final = ClusterState(
    "c",
    topics={name: Topic(name) for name in "ab"},
    listings={ClientQuota.KIND: Listing(frozenset(map(_quota, "ab")))},
)
#: Where no topic is declared, only their names are asked for, and of the listed kinds nothing.
_UNREAD: Final = ClusterState("c", topic_names=frozenset("ab"))
_KINDS: Final = {"topics": (_topics, "topic {}"), "quotas": (_quotas, "quota of user {}")}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(
    ("wanted", "scope", "live", "named"),
    [
        ("", _OWNING, _UNREAD, "ab"),
        ("", _SILENT, _UNREAD, "ab"),
        ("a", _OWNING, _READ, ""),  # b is named as undeclared, by every drift
        ("a", _SILENT, _READ, "b"),
        ("ab", _SILENT, _READ, ""),
    ],
)
def test_what_nothing_compares_any_more_is_named(
    kind: str, wanted: str, scope: Scope, live: ClusterState, named: str
) -> None:
    declared, words = _KINDS[kind]
    told = list(declared_otherwise(live, declared(wanted), declared("ab"), (), scope))
    assert told == [
        f"{words.format(name)} is declared no more, and stays as it is: drift no longer reports it" for name in named
    ]


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("scope", [_OWNING, _SILENT])
def test_what_goes_or_is_not_there_is_not_named(kind: str, scope: Scope) -> None:
    declared, _ = _KINDS[kind]
    assert not list(declared_otherwise(_READ, declared(""), declared("ab"), {kind}, scope))
    assert not list(declared_otherwise(_READ, declared(""), declared("ab", absent=True), (), scope))
    assert not list(declared_otherwise(_READ, declared(""), declared("xy"), (), scope))


def test_where_not_every_topic_shows_one_that_does_not_may_be_there() -> None:
    hidden = ClusterState("c", topic_gap="some may be hidden")
    assert len(list(declared_otherwise(hidden, _topics(""), _topics("a"), (), _SILENT))) == 1
