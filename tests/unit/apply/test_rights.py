"""What a broker asks of us before it performs each kind of change."""

import pytest

from reconciler.apply.kinds import kind_of
from reconciler.apply.kinds.interface import Right
from reconciler.model.acl import CLUSTER_NAME, AclOperation, ResourceType
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from tests.worlds import acl

CLUSTER = (ResourceType.CLUSTER, CLUSTER_NAME)
TOPIC = (ResourceType.TOPIC, "t")
QUOTA = ClientQuota(QuotaEntity.of("a"), {"consumer_byte_rate": 1.0})
USER = ScramUser("a", {"SCRAM-SHA-512": 8192})
GROUP = GroupConfig("g", {"share.isolation.level": "read_committed"})


@pytest.mark.parametrize(
    ("change", "right"),
    [
        (Create(Topic("t")), Right(AclOperation.CREATE, (TOPIC, CLUSTER))),
        (Update(TopicPartitions("t", 1), TopicPartitions("t", 2)), Right(AclOperation.ALTER, (TOPIC,))),
        (Update(TopicConfigs("t", {}), TopicConfigs("t", {})), Right(AclOperation.ALTER_CONFIGS, (TOPIC,))),
        (Update(TopicReplicas("t", ()), TopicReplicas("t", ())), None),
        (Delete(Topic("t")), None),
        (Create(acl("t", "User:a")), None),
        *((one(QUOTA), Right(AclOperation.ALTER_CONFIGS, (CLUSTER,))) for one in (Create, Delete)),
        *((one(USER), Right(AclOperation.ALTER, (CLUSTER,))) for one in (Create, Delete)),
        *((one(GROUP), Right(AclOperation.ALTER_CONFIGS, ((ResourceType.GROUP, "g"),))) for one in (Create, Delete)),
    ],
)
def test_each_change_needs_a_right_of_its_own(change: Change, right: Right | None) -> None:
    assert kind_of(change).right(change) == right
