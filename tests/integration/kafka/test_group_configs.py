"""Group configs on a real broker: whoever may not read all of them is told so, and gets no part of them."""

import pytest

from reconciler.kafka.cluster import connect
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.listing import Create, Delete
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ReadRequest
from tests.integration.kafka.test_quotas import settings_of

pytestmark = pytest.mark.broker

GROUPS = ReadRequest(acls=False, all_topics=False, listings=[GroupConfig.KIND])
SEEN, HIDDEN = (GroupConfig(f"rights-{name}", {"share.isolation.level": "read_committed"}) for name in ("a", "b"))


def may(resource_type: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    entry = AccessControlEntry("User:nobody", "*", operation, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(resource_type, name), entry)


RIGHTS = (
    may(ResourceType.CLUSTER, "kafka-cluster", AclOperation.DESCRIBE_CONFIGS),
    may(ResourceType.GROUP, SEEN.group, AclOperation.DESCRIBE_CONFIGS),
)


def test_a_listing_is_whole_or_says_what_it_lacks(broker: Sandbox) -> None:
    with connect(settings_of(broker, "reconciler")) as ours, connect(settings_of(broker, "nobody")) as theirs:
        assert ours.read(ReadRequest(all_topics=False)).share_version == 2, "dead letter queues are in force"
        refused = theirs.read(GROUPS).listing(GroupConfig)
        assert refused.items is None
        assert refused.gap is not None
        assert "DESCRIBE_CONFIGS on the cluster" in refused.gap
        (answer,) = theirs.send([Create(SEEN)])
        assert (answer.status, answer.code) == (AnswerStatus.FAILED, "GROUP_AUTHORIZATION_FAILED")

        made = [Create(one) for one in (*RIGHTS, SEEN, HIDDEN)]
        for some in (made[:2], made[2:]):
            assert {one.status for one in ours.send(some)} == {AnswerStatus.DONE}
        part = theirs.read(GROUPS).listing(GroupConfig)
        assert part.items is None, "one group that may not be read makes the listing one that is not whole"
        assert part.gap is not None
        assert "every group" in part.gap
        ours.send([Delete(one) for one in RIGHTS])
        ours.send([Delete(SEEN), Delete(HIDDEN)])
