"""Values in Kafka's words; imports nothing of ours and touches no network, clock or environment.

What an :class:`AclBinding` costs stands there, measured by ``benchmarks/model.py``.
"""

from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    OpaqueBinding,
    ResourcePattern,
    ResourcePatternFilter,
)
from reconciler.model.bridge import (
    NOBODY,
    Marker,
    bridge_on,
    marker_of,
    markers,
    standing_bridges,
    without_bridges,
    without_own,
)
from reconciler.model.change import (
    AclChange,
    AlterConfigs,
    Change,
    CreateAcl,
    CreatePartitions,
    CreateTopic,
    DeleteAcl,
    DeleteTopic,
    Impossible,
    TopicChange,
)
from reconciler.model.desired import Declaration, DesiredState, DesiredTopic
from reconciler.model.enums import (
    SUPPORTED_OPERATIONS,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reconciler.model.frozen import FrozenMap
from reconciler.model.origin import Origin
from reconciler.model.principal import KafkaPrincipal
from reconciler.model.scope import RESERVED_PREFIXES, NameSelector, Scope, Selector, is_reserved
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    INTERNAL_TOPICS,
    MAX_TOPIC_NAME_LENGTH,
    METADATA_TOPIC,
    Configs,
    Topic,
    collision_key,
    topic_name_problem,
    topic_names_collide,
)
from reconciler.model.topic_configs import THROTTLE_CONFIGS, TOPIC_CONFIGS, ConfigType, data_loss, normal_form

__all__ = [
    "CLUSTER_NAME",
    "INTERNAL_TOPICS",
    "MAX_TOPIC_NAME_LENGTH",
    "METADATA_TOPIC",
    "NOBODY",
    "RESERVED_PREFIXES",
    "SUPPORTED_OPERATIONS",
    "THROTTLE_CONFIGS",
    "TOPIC_CONFIGS",
    "WILDCARD",
    "WILDCARD_PRINCIPAL",
    "AccessControlEntry",
    "AccessControlEntryFilter",
    "AclBinding",
    "AclBindingFilter",
    "AclChange",
    "AclOperation",
    "AclPermissionType",
    "AlterConfigs",
    "Change",
    "ClusterState",
    "ConfigType",
    "Configs",
    "CreateAcl",
    "CreatePartitions",
    "CreateTopic",
    "Declaration",
    "DeleteAcl",
    "DeleteTopic",
    "DesiredState",
    "DesiredTopic",
    "FrozenMap",
    "Impossible",
    "KafkaPrincipal",
    "Marker",
    "NameSelector",
    "OpaqueBinding",
    "Origin",
    "PatternType",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "Scope",
    "Selector",
    "Topic",
    "TopicChange",
    "bridge_on",
    "collision_key",
    "data_loss",
    "is_reserved",
    "marker_of",
    "markers",
    "normal_form",
    "standing_bridges",
    "topic_name_problem",
    "topic_names_collide",
    "without_bridges",
    "without_own",
]
