"""Adopting drift: whatever differs, after adopting all of it a plan finds nothing, and comments are where they were."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.codec.kinds import LISTED
from reconciler.manifest.write.pages import read
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import is_visible
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, ScramUser
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.edit.app.adopt import adopted, differences
from reconciler.parts.edit.app.editing import as_live
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare
from tests.integration.hostile import HOSTILE
from tests.property import edits
from tests.property.test_edit import is_part

#: Everything that is not declared is a difference.
RULES = DiffRules(prune={Topic.KIND, *LISTED})
SAID = Declaration(Origin("", 1, 1), "adopted from demo: # 1")
#: What Kafka takes and YAML could read as something else.
NAMES = (
    "- x: {y} #1",
    "a: b",
    "{any: true}",
    "x'",
    'x"',
    "A%TAG",
    "[]",
    "yes",
    "1e3",
    "0x1f",
    "~",
    "a,b",
    "é",
    "@x",
    "`x`",
)


def drifted(random: Random, state: DesiredState) -> ClusterState:
    """A cluster that differs from what is declared, in ways that manifests can say."""
    live = as_live(state)
    bindings = set(live.bindings) - set(
        random.sample(sorted(live.bindings), min(len(live.bindings), random.randint(0, 5)))
    )
    people = ["User:new", "User:CN=a, O=b #1", *(one.entry.principal for one in sorted(live.bindings))]
    for _ in range(random.randint(0, 4)):
        kind = random.choice([ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID])
        entry = AccessControlEntry(random.choice(people), "*", AclOperation.DESCRIBE, random.choice(list(_PERMISSIONS)))
        bindings.add(AclBinding(ResourcePattern(kind, random.choice(NAMES)), entry))
    for _ in range(random.randint(0, 3)):
        bindings.add(edits.binding(random.choice(people), "new.x", random.choice(edits.OPERATIONS)))
    quotas = {one.key: one for one in live.listing(ClientQuota).items or ()}
    for key in random.sample(sorted(quotas), min(len(quotas), random.randint(0, 2))):
        quotas[key] = ClientQuota(key, {"consumer_byte_rate": 77, "request_percentage": 12.5})
        if random.random() < 0.4:
            del quotas[key]
    if random.random() < 0.4:
        entity = QuotaEntity.of(random.choice(NAMES[:4]), "client, one")
        quotas[entity] = ClientQuota(entity, {"producer_byte_rate": 5})
    groups = {one.key: one for one in live.listing(GroupConfig).items or ()}
    for name in random.sample(sorted(groups), min(len(groups), random.randint(0, 2))):
        groups[name] = GroupConfig(name, {"consumer.session.timeout.ms": "47000"})
        if random.random() < 0.4:
            del groups[name]
    if random.random() < 0.4:
        groups["g.new"] = GroupConfig("g.new", {"share.isolation.level": "read_committed"})
    listings: dict[str, Listing[Any]] = {
        **live.listings,
        ClientQuota.KIND: Listing(frozenset(quotas.values())),
        GroupConfig.KIND: Listing(frozenset(groups.values())),
        ScramUser.KIND: Listing(_users(random, live)),
    }
    return ClusterState("demo", frozenset(bindings), _topics(random, live.topics), listings=listings)


def _users(random: Random, before: ClusterState) -> frozenset[ScramUser]:
    users = {one.key: one for one in before.listing(ScramUser).items or ()}
    for name in random.sample(sorted(users), min(len(users), random.randint(0, 2))):
        mechanism = random.choice(["SCRAM-SHA-256", "SCRAM-SHA-512"])
        users[name] = ScramUser(name, {mechanism: random.choice([4096, 8192, 8200, DISABLED_ITERATIONS])})
        if random.random() < 0.3:
            del users[name]
    if random.random() < 0.3:
        name = random.choice(NAMES[:4])
        users[name] = ScramUser(name, {"SCRAM-SHA-256": 8200, "SCRAM-SHA-512": 4096})
    return frozenset(users.values())


_PERMISSIONS = (AclPermissionType.ALLOW, AclPermissionType.DENY)


def _topics(random: Random, before: Mapping[str, Topic]) -> dict[str, Topic]:
    topics = {
        name: replace(one, num_partitions=one.num_partitions or 4, replication_factor=1) for name, one in before.items()
    }
    for name in random.sample(sorted(topics), min(len(topics), random.randint(0, 3))):
        what = random.randrange(4)
        topic = topics[name]
        if what == 0:
            del topics[name]
        elif what == 1:
            topics[name] = replace(topic, num_partitions=random.randint(1, 9))
        elif what == 2:
            topics[name] = replace(topic, configs={**topic.configs, "max.message.bytes": "1000"})
        else:
            topics[name] = replace(topic, configs={})
    if random.random() < 0.4:
        topics["t0.unknown"] = Topic("t0.unknown", 2, 1, {"retention.ms": "-1"})
    return topics


def check(seed: int) -> None:
    random = Random(seed)
    texts = edits.Author(random).manifests()
    before = read(texts)
    live = drifted(random, before.desired["demo"])
    found, unseen = differences(compare(before.desired["demo"], live, Scope(), RULES), live)
    after, refused = adopted(texts, "demo", found, live, SAID)
    assert (unseen, refused) == ([], [])
    left = compare(read(after).desired["demo"], live, Scope(), RULES)
    assert (left.changes, left.skipped) == ((), ())
    for path, text in texts.items():
        comments = [line for line in text.splitlines() if line.startswith("#")]
        assert is_part(comments, after.get(path, "").splitlines()), path
    if not found:
        assert after == texts


@given(st.integers(0, 2**32))
def test_adopting_everything_leaves_nothing_to_do(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_five_hundred_drifts(part: int) -> None:
    for seed in range(part * 100, part * 100 + 100):
        check(seed)


@pytest.mark.parametrize(
    "name", [*(name for name in HOSTILE if not is_visible(name)), "a\r\n- deny: ALL", "${vars.team}"]
)
def test_what_no_manifest_can_say_is_left_and_said(name: str) -> None:
    texts = edits.Author(Random(1)).manifests()
    before = read(texts)
    live = as_live(before.desired["demo"])
    entry = AccessControlEntry("User:new", "*", AclOperation.READ, AclPermissionType.ALLOW)
    bad = AclBinding(ResourcePattern(ResourceType.GROUP, f"g{name}"), entry)
    good = AclBinding(ResourcePattern(ResourceType.GROUP, "good"), entry)
    live = replace(live, bindings=live.bindings | {bad, good})
    found, _ = differences(compare(before.desired["demo"], live, Scope(), RULES), live)
    after, refused = adopted(texts, "demo", found, live, SAID)
    assert len(refused) == 1
    assert read(after).desired["demo"].bindings.keys() == live.bindings - {bad}
    assert not any(name in text for text in after.values() if name not in "".join(texts.values()))
